#include "calibrate/kernels/pipedream.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include <fmt/format.h>

#include "calibrate/kernels/csv.hpp"
#include "paradl/core/error.hpp"
#include "paradl/machine/kernel_time.hpp"

namespace paradl::calibrate {
namespace {

constexpr double item = 4;
/// The time of an empty forward pass, because the profiler waits for each layer. A ReLU of 2 MB took 0.28 ms,
/// but its kernel only 15 us.
constexpr double timing_overhead = 0.27e-3;

/// The number after `key` in PyTorch's description of a layer: "kernel_size=(3, 3)", "stride=2".
std::int64_t number_after(const std::string& text, const std::string& key, std::int64_t fallback) {
  const std::size_t at = text.find(key + "=");
  if (at == text.npos) return fallback;
  const std::size_t digit = text.find_first_of("0123456789", at);
  return std::stoll(text.substr(digit));
}

/// Extents are square. If several inputs give the same output, the one that is a whole number of strides.
std::int64_t input_extent(std::int64_t y, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  if ((y * stride + 2 * padding - kernel) / stride + 1 == y) return y * stride;
  return (y - 1) * stride + kernel - 2 * padding;
}

/// A layer from PyTorch's description and the bytes of its output.
LocalLayer layer_of(const std::string& type, const std::string& words, std::int64_t samples, double bytes) {
  static const std::map<std::string, Op> ops{{"Conv2d", Op::conv},
                                             {"Linear", Op::fc},
                                             {"ReLU", Op::relu},
                                             {"MaxPool2d", Op::max_pool},
                                             {"BatchNorm2d", Op::batch_norm},
                                             {"AvgPool2d", Op::avg_pool},
                                             {"Dropout", Op::dropout},
                                             {"Add", Op::add},
                                             {"View", Op::flatten},
                                             {"Size", Op::flatten}};
  const auto op = ops.find(type);
  if (op == ops.end()) throw EnvironmentError(fmt::format("profiles_pipedream.csv: unknown layer {}", type));
  LocalLayer l{.op = op->second, .dims = 2, .samples = samples};
  const auto items = std::int64_t(bytes / item) / samples;
  l.x_extent[0] = l.y_extent[0] = items;  // element-wise: the shape does not matter
  if (l.op == Op::add) l.inputs = 2;
  if (l.op == Op::conv || l.op == Op::fc) {
    long long in = 0, out = 0;
    if (std::sscanf(words.c_str(), "Conv2d(%lld, %lld", &in, &out) != 2 &&
        std::sscanf(words.c_str(), "Linear(in_features=%lld, out_features=%lld", &in, &out) != 2)
      throw EnvironmentError(fmt::format("profiles_pipedream.csv: cannot read {}", words));
    l.x_channels = in;
    l.y_channels = out;
    l.bias = words.find("bias=False") == words.npos;
    l.x_extent[0] = l.y_extent[0] = 1;
  }
  if (!traits(l.op).window) return l;
  const std::int64_t kernel = number_after(words, "kernel_size", 1),
                     stride = number_after(words, "stride", 1), padding = number_after(words, "padding", 0);
  const auto y = std::int64_t(std::round(std::sqrt(double(items / l.y_channels))));
  l.groups = number_after(words, "groups", 1);
  if (l.op != Op::conv) {  // channels are not stated: one extent has all items
    const std::int64_t window = l.op == Op::avg_pool ? kernel * kernel : stride * stride;
    l.x_extent[0] = items * window;
    return l;
  }
  for (const std::size_t d : {0u, 1u}) {
    l.kernel[d] = kernel;
    l.stride[d] = stride;
    l.y_extent[d] = y;
    l.x_extent[d] = input_extent(y, kernel, stride, padding);
  }
  return l;
}

}  // namespace

double ProfiledNetwork::measured() const {
  double sum = 0;
  for (const ProfiledLayer& l : layers) sum += l.forward + l.backward;
  return sum;
}

std::vector<ProfiledNetwork> read_pipedream(const std::string& folder) {
  std::map<std::string, std::map<double, ProfiledLayer>> networks;  // layers in their order
  for (const CsvRow& row : read_rows(folder + "/profiles_pipedream.csv")) {
    const LocalLayer layer =
        layer_of(row.text("layer_type"), row.text("layer_desc"),
                 std::int64_t(row.number("batch_size_inferred")), row.number("activation_bytes"));
    networks[row.text("model")][row.number("topo_index")] = {layer, 1e-3 * row.number("fw_ms"),
                                                             1e-3 * row.number("bw_ms")};
  }
  std::vector<ProfiledNetwork> out;
  for (const auto& [name, layers] : networks) {
    ProfiledNetwork network{.name = name, .layers = {}};
    bool first = true;
    for (const auto& [_, layer] : layers) {
      if (first && layer.layer.op == Op::conv) {
        first = false;
        continue;
      }
      network.layers.push_back(layer);
    }
    out.push_back(std::move(network));
  }
  return out;
}

double modelled_network(const KernelDevice& device, const ProfiledNetwork& network) {
  double sum = 0;
  for (const ProfiledLayer& l : network.layers) {
    const PassTimes time = modelled_passes(device, l.layer);
    sum += (time.forward + time.backward()).base() + (l.forward > 0 ? timing_overhead : 0);
  }
  return sum;
}

}  // namespace paradl::calibrate
