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

/// Median relative errors of kernel times for shapes that were left out of the fit (5 folds over shapes).
struct KernelErrors {
  double product = 0, forward = 0, backward_data = 0, backward_weights = 0;
  double least() const { return std::min({product, forward, backward_data, backward_weights}); }
  double most() const { return std::max({product, forward, backward_data, backward_weights}); }
};
/// The same for a device without fitted kernels: the range, over kernel kinds and DeepBench's other GPUs, of
/// the errors of parameters that were fitted on one GPU (`paradl help systems` gives the same range).
inline constexpr struct { double least = 0.16, most = 0.39; } data_sheet_errors;
using ErrorsByPrecision = std::array<std::optional<KernelErrors>, precision_names.size()>;

/// The mapping `cross-validated` of a kernel file.
ErrorsByPrecision read_kernel_errors(const YAML::Node& node, Problems& problems);
std::string kernel_errors_text(const ErrorsByPrecision& errors);

/// The errors that a kernel file states for one precision. No cost depends on them.
std::optional<KernelErrors> cross_validated(const KernelSpec& kernels, Precision precision);

}  // namespace paradl
