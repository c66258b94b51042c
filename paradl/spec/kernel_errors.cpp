#include "paradl/spec/kernel_errors.hpp"

#include <fmt/format.h>

#include "paradl/spec/reader.hpp"

namespace paradl {
namespace {

struct Field {
  const char* key;
  double KernelErrors::*value;
};

constexpr Field fields[] = {
    {"product", &KernelErrors::product},
    {"forward", &KernelErrors::forward},
    {"backward-data", &KernelErrors::backward_data},
    {"backward-weights", &KernelErrors::backward_weights},
};

}  // namespace

ErrorsByPrecision read_kernel_errors(const YAML::Node& node, Problems& problems) {
  Reader list(node, problems, "`cross-validated`");
  ErrorsByPrecision out;
  for (std::size_t i = 0; i < precision_names.size(); ++i) {
    const std::string key(precision_names[i]);
    if (!list.has(key)) continue;
    Reader map(list.node(key), problems, "errors");
    KernelErrors errors;
    for (const Field& field : fields) errors.*field.value = map.number(field.key, 0, 10);
    map.finish();
    out[i] = errors;
  }
  list.finish();
  return out;
}

std::string kernel_errors_text(const ErrorsByPrecision& errors) {
  std::string out = "cross-validated:\n";
  for (std::size_t i = 0; i < precision_names.size(); ++i) {
    if (!errors[i]) continue;
    std::string line;
    for (const Field& field : fields)
      line += fmt::format("{}{}: {:.3f}", line.empty() ? "" : ", ", field.key, *errors[i].*field.value);
    out += fmt::format("  {}: {{{}}}\n", precision_names[i], line);
  }
  return out;
}

std::optional<KernelErrors> cross_validated(const KernelSpec& kernels, Precision precision) {
  const YAML::Node root = shared_yaml(kernels.source);
  if (!root["cross-validated"].IsDefined()) return {};
  Problems problems(kernels.source);
  return read_kernel_errors(root["cross-validated"], problems)[std::size_t(precision)];
}

}  // namespace paradl
