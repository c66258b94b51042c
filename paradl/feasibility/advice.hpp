#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/cost/projection.hpp"

namespace paradl {

/// What might make something fit, from what fills the memory of the projection that comes nearest: "try
/// --micro-batches 8 --schedule 1f1b, or more GPUs: activations take 540 of 608 GiB (data+layer)".
std::string fitting_hint(std::span<const Projection> projections, const Setting& setting);

/// A fitting projection that leaves less than a twentieth of the device: "only 0.3 % of the memory is left,
/// which may not be enough". Empty otherwise.
std::string margin_text(const Projection& projection);

/// Best first: what fits by time, then what does not by how nearly it does.
void rank(std::vector<Projection>& projections);

/// Why a projection does not fit: "needs 20.7 GiB, the device has 16 GiB", "p = 128 breaks p <= min F = 64
/// (conv1)". `layer` may be empty.
std::string reason(std::string_view rule, double value, double bound, std::string_view layer);
std::string reason(const Limit& limit, const Workload& work);
std::string reasons(const Projection& projection, const Workload& work);
/// The same for a footnote under a table that shows memory itself: "needs more than the device's 16.0 GiB".
std::string footnote(const Projection& projection, const Workload& work);

/// The layers that run whole on every PE of an axis, for the report to name: "fc (spatial)".
std::vector<std::string> whole_layers(const std::vector<std::vector<Role>>& roles, const Mesh& mesh,
                                      const Workload& work);
/// The same in a few words: "fc6, fc7, fc8 (spatial); 97 layer-norm (tensor)".
std::string whole_layers_text(const std::vector<std::vector<Role>>& roles, const Mesh& mesh,
                              const Workload& work);

}  // namespace paradl
