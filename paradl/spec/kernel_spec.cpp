#include "paradl/spec/kernel_spec.hpp"

#include <fmt/format.h>

#include "paradl/core/text.hpp"
#include "paradl/spec/kernel_errors.hpp"
#include "paradl/spec/reader.hpp"

namespace paradl {
namespace {

struct Field {
  const char* key;
  double KernelParameters::*value;
  double least, most;
};

constexpr Field fields[] = {
    {"compute", &KernelParameters::compute, 1e-3, 2},
    {"tile", &KernelParameters::tile, 0, 1e4},
    {"ends", &KernelParameters::ends, 0, 1e4},
    {"memory", &KernelParameters::memory, 1e-3, 2},
    {"unaligned", &KernelParameters::unaligned, 1e-3, 1},
    {"stream", &KernelParameters::stream, 1e-3, 2},
    {"forward", &KernelParameters::forward, 1e-3, 10},
    {"backward-data", &KernelParameters::backward_data, 1e-3, 10},
    {"backward-weights", &KernelParameters::backward_weights, 1e-3, 10},
    {"winograd", &KernelParameters::winograd, 0, 10},
    {"strided", &KernelParameters::strided, 0, 10},
    {"volume", &KernelParameters::volume, 1e-3, 10},
};

KernelParameters read_parameters(const YAML::Node& node, Problems& problems) {
  Reader map(node, problems, "fitted parameters");
  KernelParameters p;
  for (const Field& field : fields)
    p.*field.value = map.number(field.key, field.least, field.most, p.*field.value);
  if (map.require("launch")) p.launch = map.quantity_or_zero<Seconds>("launch");
  map.finish();
  return p;
}

}  // namespace

KernelSpec read_kernels(SourceText source) {
  const YAML::Node root = shared_yaml(source);
  Problems problems(source);
  KernelSpec spec;
  Reader map(root, problems, "a kernel file");
  spec.name = map.text("name");
  spec.device = map.text("device");
  spec.libraries = map.text("libraries");
  spec.origin = map.text("source", "");
  if (map.require("kernels")) {
    Reader list(map.node("kernels"), problems, "`kernels`");
    for (std::size_t i = 0; i < precision_names.size(); ++i)
      if (const std::string key(precision_names[i]); list.has(key))
        spec.fitted[i] = read_parameters(list.node(key), problems);
    list.finish();
  }
  if (map.has("cross-validated")) read_kernel_errors(map.node("cross-validated"), problems);
  map.finish();
  problems.raise();
  spec.source = std::move(source);
  return spec;
}

std::string kernels_text(const KernelSpec& spec) {
  std::string out =
      fmt::format("name: {}\ndevice: {}\nlibraries: {}\nsource: |\n", spec.name, spec.device, spec.libraries);
  for (std::size_t at = 0; at < spec.origin.size();) {
    const std::size_t end = std::min(spec.origin.find('\n', at), spec.origin.size());
    out += "  " + spec.origin.substr(at, end - at) + "\n";
    at = end + 1;
  }
  out += "kernels:\n";
  for (std::size_t i = 0; i < precision_names.size(); ++i) {
    if (!spec.fitted[i]) continue;
    out += fmt::format("  {}:\n    launch: {:.4g} us\n", precision_names[i],
                       spec.fitted[i]->launch.base() * 1e6);
    for (const Field& field : fields)
      out += fmt::format("    {}: {:.4g}\n", field.key, *spec.fitted[i].*field.value);
  }
  return out;
}

}  // namespace paradl
