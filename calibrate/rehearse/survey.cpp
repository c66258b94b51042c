#include "calibrate/rehearse/survey.hpp"

#include <algorithm>
#include <numeric>

#include "calibrate/files/system_file.hpp"
#include "calibrate/fit/robust.hpp"

namespace paradl::calibrate {
namespace {

constexpr std::array passes{&PassTimes::forward, &PassTimes::backward_data, &PassTimes::backward_weights,
                            &PassTimes::update};

PassTimes mean_of(const std::vector<PassTimes>& rounds) {
  PassTimes out;
  for (const PassTimes& round : rounds) {
    for (const auto pass : passes) out.*pass += 1.0 / double(rounds.size()) * (round.*pass);
    out.noise = std::max(out.noise, round.noise);
  }
  return out;
}

}  // namespace

void Survey::measure_layers(const std::set<LocalLayer>& layers, int turns) {
  const std::vector<LocalLayer> list(layers.begin(), layers.end());
  std::vector<std::pair<LocalLayer, std::vector<PassTimes>>> round;
  ranks_.barrier();
  time_layers(
      device_, list, optimizer_, turns,
      [&](const LocalLayer& layer, const auto& times) { round.emplace_back(layer, times); },
      [&] { return on_any(ranks_, stop_ && stop_()); });
  for (const auto& [layer, times] : round) {
    // An iteration is a sum over layers, so the mean is used: medians would leave out the jitter.
    layers_[layer].push_back(mean_over(ranks_, mean_of(times)));
    for (const PassTimes& turn : times) note_skew(turn);
  }
}

void Survey::note_skew(const PassTimes& mine) {
  for (const Seconds pass : {mine.forward, mine.backward()}) {
    const auto all = ranks_.gather(pass.base());
    const double mean = std::accumulate(all.begin(), all.end(), 0.0) / double(all.size());
    skews_ += Seconds{std::ranges::max(all) - mean};
    ++passes_;
  }
}

void Survey::measure_links(Bytes most, Seconds time) {
  if (ranks_.size() < 2) return;
  LinkOptions options;
  options.least = Bytes{64};
  options.most = most;
  options.factor = 4;
  options.time = time;
  options.allocate = [this](std::size_t items) { return device_.allocate(items); };
  options.rule = {.warm_up = 1, .least = 3, .most = 30, .noise = 0.05, .time = time};
  options.stop = stop_;
  const auto [round, interrupted] = calibrate::measure_links(ranks_, options);
  if (interrupted) return;
  ++link_rounds_;
  for (const LinkPoint& point : round) {
    const auto same = [&](const LinkPoint& p) {
      return p.operation == point.operation && p.level == point.level && p.bytes == point.bytes;
    };
    const auto known = std::ranges::find_if(points_, same);
    if (known == points_.end())
      points_.push_back(point);
    else
      known->seconds += 1.0 / link_rounds_ * (point.seconds - known->seconds);
  }
}

ProfileSpec Survey::profile() const {
  const DeviceFacts facts = device_.facts();
  ProfileSpec out{.name = "measured", .device = facts.name, .libraries = facts.libraries, .date = today()};
  out.optimizer = optimizer_;
  for (const auto& [layer, rounds] : layers_) out.entries.push_back({layer, mean_of(rounds)});
  return out;
}

std::vector<MeasuredLevel> Survey::levels() const { return measured_levels(points_, ranks_.nodes()); }

DeviceSpec measure_device(Device& device, int ranks_per_node) {
  constexpr int tries = 15;  // the best counts: a roofline is an upper bound, and other load only slows down
  const DeviceFacts facts = device.facts();
  DeviceSpec spec{.name = facts.name, .memory = 1.0 / ranks_per_node * facts.memory};
  Box box;
  box.end[4] = 8 << 20;
  const Buffer a = device.allocate(box.items()), b = device.allocate(box.items());
  const auto best = [&](const std::function<void()>& work) {
    Seconds least = device.time(work);
    for (int k = 1; k < tries; ++k) least = std::min(least, device.time(work));
    return least;
  };
  const Seconds copied = best([&] { device.copy({a.get(), box}, {b.get(), box}, box, Combine::replace); });
  spec.memory_bandwidth = 2 * double(box.items()) * Bytes{4} / copied;  // read and written
  LocalLayer product{.op = Op::fc, .samples = 512, .x_channels = 1024, .y_channels = 1024};
  product.weights = product.arrays()[0];
  if (const auto timer = LayerTimer::make(device, product, Optimizer::sgd)) {
    Seconds least = timer->turn().forward;
    for (int k = 1; k < tries; ++k) least = std::min(least, timer->turn().forward);
    spec.peak[std::size_t(Precision::fp32)] = Flop{2.0 * 512 * 1024 * 1024} / least;
  }
  return spec;
}

}  // namespace paradl::calibrate
