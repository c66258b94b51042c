#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "calibrate/plain/plain.hpp"
#include "tests/support/layer_run.hpp"

// Tests for every back end: it must give the results of the plain device, and measure time. A test program of
// a back end calls these functions; each returns an error message, or an empty string.

namespace paradl::test {

struct NamedLayer {
  std::string name;
  LocalLayer layer;
};

/// All operations, with the shapes of ResNet-50, VGG16, CosmoFlow and BERT (but fewer samples, channels and
/// positions), and with odd sizes.
inline std::vector<NamedLayer> conformance_layers() {
  const Window half{.kernel = 3, .stride = 2, .padding = 1, .bias = false};
  std::vector<NamedLayer> out{
      {"resnet50 conv1", conv(2, 3, {40, 40}, 16, {.kernel = 7, .stride = 2, .padding = 3, .bias = false})},
      {"resnet50 1x1", conv(2, 32, {14, 14}, 64, {.kernel = 1, .bias = false})},
      {"resnet50 3x3", conv(2, 32, {14, 14}, 32, {.kernel = 3, .padding = 1, .bias = false})},
      {"resnet50 3x3 at stride 2", conv(2, 32, {14, 14}, 32, half)},
      {"resnet50 1x1 at stride 2", conv(2, 32, {14, 14}, 64, {.kernel = 1, .stride = 2, .bias = false})},
      {"vgg16 first", conv(1, 3, {32, 32}, 16, {.kernel = 3, .padding = 1})},
      {"vgg16 3x3", conv(2, 32, {15, 15}, 48, {.kernel = 3, .padding = 1})},
      {"alexnet 11x11", conv(1, 3, {47, 47}, 16, {.kernel = 11, .stride = 4, .padding = 2})},
      {"cosmoflow first", conv(1, 4, {12, 12, 12}, 16, {.kernel = 3, .padding = 1})},
      {"cosmoflow 3x3x3", conv(1, 16, {8, 8, 8}, 32, {.kernel = 3, .padding = 1})},
      {"one extent", conv(2, 16, {50}, 24, {.kernel = 5, .padding = 2})},
      {"depthwise", conv(2, 32, {14, 14}, 32, {.kernel = 3, .padding = 1, .groups = 32, .bias = false})},
      {"groups", conv(2, 32, {14, 14}, 64, {.kernel = 3, .padding = 1, .groups = 4})},
      {"odd groups", conv(1, 15, {9, 7}, 21, {.kernel = 3, .padding = 1, .groups = 3})},
      {"dilation", conv(1, 8, {17, 17}, 16, {.kernel = 3, .padding = 2, .dilation = 2})},
      {"odd sizes", conv(3, 5, {11, 13}, 7, {.kernel = 3, .stride = 2, .padding = 1})},
      {"padding behind only", conv(1, 16, {16, 16}, 16, {.kernel = 3, .stride = 2, .behind = 1})},
      {"halo in x", conv(1, 16, {9, 18}, 16, {.kernel = 3})},
      {"rows that no window reads", conv(1, 16, {12, 12}, 16, {.kernel = 2, .stride = 5})},
      {"one position", conv(2, 24, {3, 3}, 40, {.kernel = 3})},
      {"fc", fc(6, 300, 100)},
      {"fc of odd sizes", fc(3, 37, 11)},
      {"fc at positions", fc(2, 48, 96, {17}, false)},
      {"fc of one sample", fc(1, 64, 1000)},
      {"bert attention", attention(2, 32, 4, 4, 16)},
      {"attention of odd sizes", attention(1, 19, 3, 3, 5)},
      {"grouped causal attention", attention(2, 24, 6, 2, 8, true)},
      {"one position's attention", attention(2, 1, 2, 2, 8)},
      {"resnet50 pool", pool(Op::max_pool, 2, 16, {23, 23}, {.kernel = 3, .stride = 2, .padding = 1})},
      {"vgg16 pool", pool(Op::max_pool, 2, 16, {14, 14}, {.kernel = 2, .stride = 2})},
      {"pool behind", pool(Op::max_pool, 1, 5, {13, 13}, {.kernel = 2, .stride = 2, .behind = 1})},
      {"mean behind", pool(Op::avg_pool, 1, 5, {13, 13}, {.kernel = 2, .stride = 2, .behind = 1})},
      {"mean", pool(Op::avg_pool, 2, 16, {14, 14}, {.kernel = 3, .stride = 1, .padding = 1})},
      {"cosmoflow pool", pool(Op::avg_pool, 1, 16, {8, 8, 8}, {.kernel = 2, .stride = 2})},
      {"one extent's pool", pool(Op::max_pool, 2, 8, {21}, {.kernel = 3, .stride = 2})},
      {"global pool", to_point(Op::global_pool, 3, 33, {7, 7})},
      {"batch norm", same(Op::batch_norm, 3, 33, {7, 7})},
      {"batch norm of vectors", same(Op::batch_norm, 16, 8)},
      {"layer norm", same(Op::layer_norm, 2, 96, {17})},
      {"group norm", with_groups(same(Op::group_norm, 2, 32, {7, 7}), 8)},
      {"rms norm", same(Op::rms_norm, 2, 96, {17})},
      {"batch norm without weights", without_weights(same(Op::batch_norm, 3, 10, {5, 5}))},
      {"layer norm without weights", without_weights(same(Op::layer_norm, 2, 10, {5}))},
      {"gate", gate(2, 66, {17})},
      {"softmax", same(Op::softmax, 5, 103)},
      {"embedding", embedding(2, 17, 29, 24)},
      {"position", position(2, {17}, 24, 20)},
      {"tokens", tokens(2, {5, 5}, 24, 2)},
      {"add", with_inputs(same(Op::add, 2, 33, {7, 7}), 3)},
      {"concat", with_inputs(same(Op::concat, 2, 35, {7, 7}), 3)},
      {"flatten", to_point(Op::flatten, 2, 19, {5, 5})},
      {"select", to_point(Op::select, 2, 19, {5})},
  };
  for (const Op op : {Op::relu, Op::gelu, Op::silu, Op::tanh, Op::sigmoid, Op::dropout, Op::rotary, Op::loss})
    out.push_back({std::string(traits(op).name), same(op, 3, 33, {7, 5})});
  return out;
}

/// "dw[0] is off by 0.3 at 17 of 64 (-0.1 for 0.2)": by more than `tolerance` times the largest number.
inline std::string difference(const std::string& name, const std::vector<float>& got,
                              const std::vector<float>& wanted, double tolerance) {
  double largest = 0;
  for (const float number : wanted) largest = std::max(largest, std::abs(double(number)));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double off = std::abs(double(got[i]) - double(wanted[i]));
    if (!(off <= tolerance * largest))  // also catches NaN
      return name + " is off by " + std::to_string(off) + " at " + std::to_string(i) + " of " +
             std::to_string(wanted.size()) + " (" + std::to_string(got[i]) + " for " +
             std::to_string(wanted[i]) + ")";
  }
  return {};
}

/// Runs all passes twice, because a pass must not depend on the old contents of its output.
inline std::string compare_with_plain(calibrate::Device& device, const LocalLayer& layer, double tolerance) {
  const auto plain = calibrate::make_plain_device();
  const LayerInput in = some_input(layer);
  const LayerOutput wanted = run_layer(*plain, layer, in);
  LayerRun run(device, layer, in);
  if (!run.possible()) return "the device has no way to run it";
  for (int round = 0; round < 2; ++round) {
    run.forward();
    run.backward();
    const LayerOutput got = run.output();
    std::string found = difference("y", got.y, wanted.y, tolerance);
    for (std::size_t i = 0; i < wanted.dx.size(); ++i)
      if (found.empty()) found = difference("dx", got.dx[i], wanted.dx[i], tolerance);
    for (std::size_t k = 0; k < 2; ++k)
      if (found.empty())
        found = difference("dw[" + std::to_string(k) + "]", got.dw[k], wanted.dw[k], tolerance);
    if (!found.empty()) return found;
  }
  return {};
}

/// The shortest of several timings of a layer's forward pass.
inline Seconds least_time(calibrate::Device& device, const LocalLayer& layer, int times = 7) {
  LayerRun run(device, layer, some_input(layer));
  run.forward();
  device.synchronize();
  Seconds least{1e9};
  for (int i = 0; i < times; ++i) least = std::min(least, device.time([&] { run.forward(); }));
  return least;
}

/// Times are positive, and twice the samples of a large layer take longer, but not four times as long.
inline std::string check_timing(calibrate::Device& device, LocalLayer large) {
  double ratio = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {  // other programs may disturb a timing
    LocalLayer twice = large;
    twice.samples *= 2;
    const Seconds once = least_time(device, large);
    if (!(once > Seconds{0})) return "a layer takes no time";
    ratio = least_time(device, twice) / once;
    if (ratio > 1.2 && ratio < 4) return {};
  }
  return "twice the samples take " + std::to_string(ratio) + " times as long";
}

}  // namespace paradl::test
