#include "calibrate/kernels/aceso.hpp"

#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "calibrate/kernels/csv.hpp"
#include "paradl/core/error.hpp"

namespace paradl::calibrate {
namespace {

constexpr double MiB = 1 << 20;
constexpr double item = 4;                  // bytes: these networks ran in fp32
constexpr double copy = 7.6e-6 / MiB;       // s/B: gathering parts, as the unsplit operators show
constexpr double stem_weights = 3 * 7 * 7;  // of one filter

/// `block-1-0-conv2` of a network whose first stage has `base` channels: 1x1, 3x3 and 1x1, each with twice
/// the filters of the previous one. From the second stage on, the first 3x3 has stride 2.
std::optional<Convolution> shape_of(const std::string& name, double base, double samples) {
  int stage = 0, block = 0, which = 0, end = 0;
  if (std::sscanf(name.c_str(), "block-%d-%d-conv%d%n", &stage, &block, &which, &end) != 3 ||
      end != int(name.size()))
    return {};
  const double c = base * std::pow(2, stage), extent = 56 / std::pow(2, stage);
  const bool shrinks = stage > 0 && block == 0;
  const double before = block > 0 ? 4 * c : stage > 0 ? 2 * c : c;
  const double input = shrinks && which < 3 ? 2 * extent : extent, output = which == 1 ? input : extent;
  Convolution conv{.samples = samples,
                   .x_channels = which == 1   ? before
                                 : which == 2 ? c
                                              : 2 * c,
                   .y_channels = which == 1   ? c
                                 : which == 2 ? 2 * c
                                              : 4 * c};
  conv.x = {input, input, 1};
  conv.y = {output, output, 1};
  if (which == 2) conv.kernel = {3, 3, 1};
  conv.stride = {input / output, input / output, 1};
  return conv;
}

double weights_of(const Convolution& c) { return c.x_channels * c.y_channels * c.kernel[0] * c.kernel[1]; }

}  // namespace

std::vector<OperatorTiming> read_aceso(const std::string& folder) {
  std::vector<OperatorTiming> all;
  std::set<std::string> seen;
  double base = 0;
  for (const CsvRow& row : read_rows(folder + "/profiles_aceso_v100.csv")) {
    if (row.text("family") != "resnet") continue;
    const std::string& name = row.text("op_name");
    const int ways = int(row.number("tp"));
    // The stem comes first, and is only split by its filters.
    if (name == "conv1" && ways == 1)
      base = std::round(row.number("weights_MB") * MiB / item / stem_weights / 8) * 8;
    const auto shape = shape_of(name, base, row.number("micro_batch"));
    if (!shape) continue;
    if (std::abs(weights_of(*shape) * item / ways / MiB / row.number("weights_MB") - 1) > 0.01)
      throw EnvironmentError(fmt::format("{}: {} does not have the weights of its shape", folder, name));
    const Convolution& c = *shape;
    const std::string key = fmt::format("{} {}->{} {}->{} {} /{} {}", c.samples, c.x_channels, c.y_channels,
                                        c.x[0], c.y[0], c.kernel[0], ways, row.text("algo"));
    if (!seen.insert(key).second) continue;
    all.push_back({.name = key,
                   .whole = c,
                   .ways = ways,
                   .split = row.text("algo") == "0" ? ChannelSplit::filters : ChannelSplit::channels,
                   .forward = 1e-6 * row.number("forward_compute_us"),
                   .backward = 1e-6 * row.number("backward_compute_us")});
  }
  return all;
}

NodeCollectives::NodeCollectives(const std::string& folder) {
  for (const CsvRow& row : read_rows(folder + "/alpha_beta_fits.csv")) {
    if (!row.text("system").starts_with("Aceso") || row.text("nodes") != "1") continue;
    const std::string& range = row.text("size_range");
    // By bytes, from fp16: the fp32 times scatter by 20 %, and their sums were not measured.
    if (row.text("dtype") != "fp16" || range == "all") continue;
    const bool large = range.starts_with(">=");
    lines_.push_back({row.text("collective"), int(row.number("gpus")), large ? 128 * MiB : 0,
                      large ? std::numeric_limits<double>::infinity() : 128 * MiB,
                      1e-6 * row.number("alpha_us"), 1e-6 * row.number("beta_us_per_byte")});
  }
}

double NodeCollectives::time(const std::string& collective, int ways, double bytes) const {
  for (const Line& line : lines_)
    if (line.collective == collective && line.ways == ways && line.from <= bytes && bytes < line.below)
      return line.alpha + line.beta * bytes;
  throw EnvironmentError(fmt::format("no fit of {} on {} GPUs", collective, ways));
}

double NodeCollectives::all_gather(int ways, double bytes) const { return time("all_gather", ways, bytes); }
double NodeCollectives::all_reduce(int ways, double bytes) const { return time("all_reduce", ways, bytes); }

OperatorTime modelled_operator(const KernelDevice& device, const NodeCollectives& node,
                               const OperatorTiming& t) {
  Convolution local = t.whole;
  const bool filters = t.split == ChannelSplit::filters;
  (filters ? local.y_channels : local.x_channels) /= t.ways;
  const double x = t.whole.samples * t.whole.x_channels * t.whole.x[0] * t.whole.x[1] * item;
  const double y = t.whole.samples * t.whole.y_channels * t.whole.y[0] * t.whole.y[1] * item;
  OperatorTime out;
  out.forward = convolution_time(device, local, ConvolutionPass::forward).base();
  out.backward = (convolution_time(device, local, ConvolutionPass::backward_data) +
                  convolution_time(device, local, ConvolutionPass::backward_weights))
                     .base();
  // Filters: y is gathered forward, dx is summed backward. Channels: the other way round. The timed allgather
  // includes the copy; without a split, the copy is made alone.
  const double gathered = filters ? y : x;
  (filters ? out.forward : out.backward) +=
      t.ways == 1 ? copy * gathered : node.all_gather(t.ways, gathered / t.ways);
  if (t.ways > 1) (filters ? out.backward : out.forward) += node.all_reduce(t.ways, filters ? x : y);
  return out;
}

}  // namespace paradl::calibrate
