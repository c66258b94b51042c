#pragma once
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "paradl/spec/kernel_spec.hpp"

namespace YAML {
class Node;
}

namespace paradl {

class Problems;

/// How far kernel times are off: median errors, as shares, of shapes that took no part in the fit (5 folds
/// over shapes).
struct KernelErrors {
  double product = 0, forward = 0, backward_data = 0, backward_weights = 0;
  double least() const { return std::min({product, forward, backward_data, backward_weights}); }
  double most() const { return std::max({product, forward, backward_data, backward_weights}); }
};
/// The same of a device that has no fitted kernels: what defaults fitted on one GPU give on others of
/// DeepBench, the range over kinds and devices (the prototype of this model; help systems tells the same).
inline constexpr struct { double least = 0.16, most = 0.39; } data_sheet_errors;
using ErrorsByPrecision = std::array<std::optional<KernelErrors>, precision_names.size()>;

/// The mapping `cross-validated` of a file of kernels.
ErrorsByPrecision read_kernel_errors(const YAML::Node& node, Problems& problems);
std::string kernel_errors_text(const ErrorsByPrecision& errors);

/// What such a file says of one precision; no part of what prices need.
std::optional<KernelErrors> cross_validated(const KernelSpec& kernels, Precision precision);

}  // namespace paradl
