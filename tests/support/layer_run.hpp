#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "calibrate/backend/device.hpp"
#include "tests/support/layers.hpp"

namespace paradl::test {

/// The inputs of the passes of one layer, on the host.
struct LayerInput {
  std::vector<std::vector<float>> x;
  std::vector<std::int64_t> x_channels;
  std::array<std::vector<float>, 2> w;
  std::vector<float> dy;
  std::int64_t first_row = 0;
};

/// The outputs of the passes.
struct LayerOutput {
  std::vector<float> y;
  std::vector<std::vector<float>> dx;
  std::array<std::vector<float>, 2> dw;
};

/// Arbitrary numbers. For pooling no two are equal, and no number is so close to a kink of an activation that
/// a small change would cross it.
inline LayerInput some_input(const LocalLayer& l, unsigned seed = 1) {
  std::mt19937 random(seed);
  const auto numbers = [&](std::int64_t items) {
    std::uniform_real_distribution<float> size(0.05f, 1.0f);
    std::vector<float> out(static_cast<std::size_t>(items));
    for (float& number : out) number = random() % 2 ? size(random) : -size(random);
    return out;
  };
  LayerInput in;
  const int inputs = l.op == Op::add || l.op == Op::concat ? l.inputs : 1;
  for (int i = 0; i < inputs; ++i) {
    // The first input of a concat has the remainder.
    const std::int64_t even = l.x_channels / inputs;
    in.x_channels.push_back(l.op != Op::concat ? l.x_channels
                            : i == 0           ? l.x_channels - even * (inputs - 1)
                                               : even);
    in.x.push_back(numbers(l.samples * l.x_positions() * in.x_channels.back()));
  }
  if (l.op == Op::max_pool) {
    std::iota(in.x[0].begin(), in.x[0].end(), 0.0f);
    std::shuffle(in.x[0].begin(), in.x[0].end(), random);
    for (float& number : in.x[0]) number = number / 16 - float(in.x[0].size()) / 32;
  }
  if (l.op == Op::embedding) {
    in.first_row = 3;  // ids 0 ... rows + 5: some are before and some after the local rows
    for (float& id : in.x[0]) id = float(std::int64_t(random()) % (l.rows + 6));
  }
  if (l.op == Op::position) in.first_row = 1;
  for (std::size_t k = 0; k < 2; ++k) in.w[k] = numbers(weight_items(l)[k]);
  in.dy = numbers(l.y_items());
  return in;
}

/// One layer with its tensors in a device's memory.
class LayerRun {
 public:
  LayerRun(calibrate::Device& device, const LocalLayer& layer, const LayerInput& in)
      : device_(device), layer_(layer), work_(device.prepare(layer)) {
    if (!work_) return;
    for (const auto& x : in.x) {
      data_.x.push_back(put(x));
      data_.dx.push_back(room(x.size()));
    }
    data_.x_channels = in.x_channels;
    data_.y = room(std::size_t(layer.y_items()));
    data_.dy = put(in.dy);
    for (std::size_t k = 0; k < 2; ++k)
      if (!in.w[k].empty()) {
        data_.w[k] = put(in.w[k]);
        data_.dw[k] = room(in.w[k].size());
      }
    data_.kept = room(work_->kept_items());
    data_.statistics = room(2 * std::size_t(layer.x_channels));
    data_.counted = double(layer.samples * layer.x_positions());
    data_.first_row = in.first_row;
    sizes_ = in;
  }

  bool possible() const { return work_ != nullptr; }
  calibrate::LayerWork& work() { return *work_; }
  calibrate::LayerData& data() { return data_; }

  void forward() {
    work_->forward_statistics(data_);
    work_->forward(data_);
  }
  void backward() {
    work_->backward_statistics(data_);
    work_->backward_data(data_);
    work_->backward_weights(data_);
  }

  LayerOutput output() {
    device_.synchronize();
    LayerOutput out;
    out.y = get(data_.y, std::size_t(layer_.y_items()));
    for (std::size_t i = 0; i < data_.dx.size(); ++i) out.dx.push_back(get(data_.dx[i], sizes_.x[i].size()));
    for (std::size_t k = 0; k < 2; ++k) out.dw[k] = get(data_.dw[k], sizes_.w[k].size());
    return out;
  }

 private:
  /// Filled with conspicuous numbers, which show if a pass does not overwrite them.
  float* room(std::size_t items) {
    buffers_.push_back(device_.allocate(items));
    device_.fill(buffers_.back().get(), items, 1234.5f);
    return buffers_.back().get();
  }
  float* put(const std::vector<float>& numbers) {
    float* at = room(numbers.size());
    device_.write(at, numbers);
    return at;
  }
  std::vector<float> get(const float* from, std::size_t items) {
    std::vector<float> out(items);
    if (items) device_.read(out, from);
    return out;
  }

  calibrate::Device& device_;
  LocalLayer layer_;
  std::unique_ptr<calibrate::LayerWork> work_;
  calibrate::LayerData data_;
  std::vector<calibrate::Buffer> buffers_;
  LayerInput sizes_;
};

inline LayerOutput run_layer(calibrate::Device& device, const LocalLayer& layer, const LayerInput& in) {
  LayerRun run(device, layer, in);
  run.forward();
  run.backward();
  return run.output();
}

}  // namespace paradl::test
