#include "calibrate/measure/layers.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "calibrate/backend/synthetic.hpp"
#include "calibrate/fit/robust.hpp"
#include "calibrate/measure/stopping.hpp"
#include "paradl/strategy/local.hpp"

namespace paradl::calibrate {
namespace {

constexpr std::array passes{&PassTimes::forward, &PassTimes::backward_data, &PassTimes::backward_weights,
                            &PassTimes::update};

}  // namespace

std::set<LocalLayer> shapes_on(const Workload& work, std::span<const Mesh> meshes, const Training& training,
                               const Plan& plan) {
  std::set<LocalLayer> out;
  for (const Mesh& mesh : meshes) {
    const Layout layout = place(work, mesh, training.placing(plan));
    for (const Cell& cell : layout.cells)
      out.insert(
          local_layer(work.layers[std::size_t(cell.layer)], cut_of(layout, cell, mesh), plan.samples()));
  }
  return out;
}

std::unique_ptr<LayerTimer> LayerTimer::make(Device& device, const LocalLayer& layer, Optimizer optimizer) {
  auto work = device.prepare(layer);
  if (!work) return nullptr;
  return std::unique_ptr<LayerTimer>(new LayerTimer(device, layer, optimizer, std::move(work)));
}

LayerTimer::LayerTimer(Device& device, const LocalLayer& layer, Optimizer optimizer,
                       std::unique_ptr<LayerWork> work)
    : device_(device), layer_(layer), optimizer_(optimizer), work_(std::move(work)) {
  std::uint64_t seed = 0;
  const auto memory = [&](std::int64_t items, Synthetic values) {
    memory_.push_back(device.allocate(std::size_t(items)));
    Box box;
    box.end[4] = items;
    values.seed = ++seed;
    fill(device, {memory_.back().get(), box}, box, values);
    return memory_.back().get();
  };
  const bool joins = layer.op == Op::concat;
  const double ids = layer.op == Op::embedding ? double(layer.rows) : 0;
  for (int k = 0; k < layer.inputs; ++k) {
    // All inputs of a concat but the last are assumed to have the same size.
    const std::int64_t each = layer.x_channels / layer.inputs;
    const std::int64_t channels = !joins                 ? layer.x_channels
                                  : k + 1 < layer.inputs ? each
                                                         : layer.x_channels - (layer.inputs - 1) * each;
    const std::int64_t items = layer.samples * layer.x_positions() * channels;
    data_.x.push_back(memory(items, {.integers = ids}));
    data_.x_channels.push_back(channels);
    data_.dx.push_back(ids > 0 ? nullptr : memory(items, {}));
  }
  data_.y = memory(layer.y_items(), {});
  data_.dy = memory(layer.y_items(), {});
  data_.kept = memory(std::int64_t(work_->kept_items()), {});
  data_.statistics = memory(2 * layer.x_channels, {});
  data_.counted = double(layer.samples * layer.x_positions());
  const auto [first, second] = layer.arrays();
  weights_ = memory(first + second, {.spread = 0.1});
  gradients_ = memory(first + second, {});
  state_ = memory(layer.weights * optimizer_slots(optimizer), {.spread = 0});
  if (first > 0) data_.w[0] = weights_, data_.dw[0] = gradients_;
  if (second > 0) data_.w[1] = weights_ + first, data_.dw[1] = gradients_ + first;
}

Bytes LayerTimer::memory() const {
  std::size_t items = 0;
  for (const Buffer& buffer : memory_) items += buffer.items;
  return double(items) * Bytes{4};
}

PassTimes LayerTimer::turn() {
  PassTimes out;
  forward(out);
  backward(out);
  return out;
}

void LayerTimer::forward(PassTimes& out) {
  out.forward = device_.time([&] {
    work_->forward_statistics(data_);
    work_->forward(data_);
  });
}

void LayerTimer::backward(PassTimes& out) {
  out.backward_data = device_.time([&] {
    work_->backward_statistics(data_);
    work_->backward_data(data_);
  });
  out.backward_weights = device_.time([&] { work_->backward_weights(data_); });
  if (layer_.weights > 0)
    out.update = device_.time(
        [&] { device_.update(optimizer_, std::size_t(layer_.weights), weights_, gradients_, state_); });
}

void time_layers(Device& device, std::span<const LocalLayer> layers, Optimizer optimizer, int turns,
                 const std::function<void(const LocalLayer&, const std::vector<PassTimes>&)>& measured,
                 const std::function<bool()>& stop) {
  constexpr Bytes most{1e9};  // at once: all splits of a large network do not fit into memory
  struct Entry {
    LocalLayer layer;
    std::unique_ptr<LayerTimer> timer;
    std::vector<PassTimes> times;
  };
  for (std::size_t next = 0; next < layers.size();) {
    std::vector<Entry> set;
    for (Bytes used; next < layers.size() && (set.empty() || used < most); ++next) {
      if (stop && stop()) return;
      auto timer = LayerTimer::make(device, layers[next], optimizer);
      if (!timer) continue;
      used += timer->memory();
      timer->turn();  // first touches
      set.push_back({layers[next], std::move(timer), {}});
    }
    for (int t = 0; t < turns; ++t) {
      if (stop && stop()) return;
      for (Entry& entry : set) entry.timer->forward(entry.times.emplace_back());
      for (auto entry = set.rbegin(); entry != set.rend(); ++entry)
        entry->timer->backward(entry->times.back());
    }
    for (const Entry& entry : set) measured(entry.layer, entry.times);
  }
}

PassTimes median_of(const std::vector<PassTimes>& turns) {
  constexpr double matters = 0.05;  // share of the total time below which the noise of a pass is ignored
  PassTimes out;
  Seconds all;
  for (const auto pass : passes) {
    std::vector<double> times;
    for (const PassTimes& turn : turns) times.push_back((turn.*pass).base());
    out.*pass = Seconds{median(times)};
    all += out.*pass;
  }
  for (const auto pass : passes) {
    if (out.*pass < matters * all) continue;
    std::vector<double> times;
    for (const PassTimes& turn : turns) times.push_back((turn.*pass).base());
    out.noise = std::max(out.noise, median_noise(std::move(times)));
  }
  return out;
}

PassTimes mean_over(Communicator& ranks, PassTimes mine) {
  for (const auto pass : passes) {
    const auto all = ranks.gather((mine.*pass).base());
    mine.*pass = Seconds{std::accumulate(all.begin(), all.end(), 0.0) / double(all.size())};
  }
  mine.noise = std::ranges::max(ranks.gather(mine.noise));
  return mine;
}

}  // namespace paradl::calibrate
