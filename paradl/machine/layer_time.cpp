#include "paradl/machine/layer_time.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace paradl {
namespace {

/// Forward is one product; backward is two, for the gradients of the input and of the weights.
constexpr double backward_products = 2;

LayerTime roofline(const Layer& layer, FlopRate peak_rate, Bandwidth memory, Bytes item, Bytes update) {
  const OpTraits& op = traits(layer.op);
  const Flop forward{2 * layer.macs};
  // Score matrices are written and read once between the two products of attention.
  const Bytes moved = (layer.x_items + layer.y.items() + 2 * layer.scores) * item;
  LayerTime time;
  time.FW = std::max(forward / peak_rate, op.forward_passes * moved / memory);
  time.BW = std::max(backward_products * forward / peak_rate, op.backward_passes * moved / memory);
  time.WU = layer.weights * update / memory;
  return time;
}

/// Replaces the roofline's times by measured ones: a layer's own, or a share of the network's total in
/// proportion to the roofline. The measured time is forward + backward, of which a third counts as forward.
void use_measured(const Workload& work, LayerTimes& times) {
  constexpr double forward_share = 1.0 / 3;
  if (work.time > Seconds{}) {
    Seconds total;
    for (const LayerTime& t : times.layer) total += t.FW + t.BW;
    for (LayerTime& t : times.layer) {
      const double share = total > Seconds{} ? (t.FW + t.BW) / total : 1.0 / double(times.layer.size());
      const Seconds own = share * work.time;
      t.FW = forward_share * own;
      t.BW = (1 - forward_share) * own;
    }
  } else {
    for (std::size_t i = 0; i < work.layers.size(); ++i)
      if (const auto& own = work.layers[i].time) {
        times.layer[i].FW = forward_share * *own;
        times.layer[i].BW = (1 - forward_share) * *own;
      }
  }
  const auto open = [&](const Layer& l) { return !l.time && !is_view(l.op); };
  const auto rest = work.time > Seconds{} ? 0 : std::ranges::count_if(work.layers, open);
  times.source = rest == 0 ? "model file"
                           : fmt::format("model file, roofline for {} layer{}", rest, rest == 1 ? "" : "s");
  times.level = LayerSource::model_file;
  times.update_known = false;
}

}  // namespace

std::string source_key(const LayerTimes& times) {
  const std::string_view name = layer_source_names[std::size_t(times.level)];
  return times.level == LayerSource::profile ? fmt::format("{}:{}", name, times.profile_name)
                                             : std::string(name);
}

FlopRate peak(const Machine& machine, Precision precision) {
  const auto rate = machine.device.peak[std::size_t(precision)];
  if (rate) return *rate;
  std::string known;
  for (std::size_t i = 0; i < precision_names.size(); ++i)
    if (machine.device.peak[i]) known += fmt::format("{}{}", known.empty() ? "" : ", ", precision_names[i]);
  throw UsageError(fmt::format("{} ({}) has no {} peak", machine.device.name, machine.name,
                               precision_names[std::size_t(precision)]),
                   "it has: " + known);
}

LayerTimes layer_times(const Workload& work, const Machine& machine, Precision precision, Optimizer optimizer,
                       bool use_file_times, UpdateKernels updates) {
  LayerTimes times{.layer = {}, .source = "roofline"};
  const FlopRate rate = peak(machine, precision);
  const Bytes item = item_bytes(precision).activation;
  const Bytes update = update_work(optimizer, precision, updates).moved;
  for (const Layer& layer : work.layers)
    times.layer.push_back(roofline(layer, rate, machine.device.memory_bandwidth, item, update));
  if (use_file_times && work.has_times()) use_measured(work, times);
  return times;
}

}  // namespace paradl
