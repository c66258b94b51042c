#pragma once
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "calibrate/plain/plain.hpp"
#include "tests/support/layer_run.hpp"

// Conformance of a back end: the passes of many small layers, copies and updates against the plain device.

namespace paradl::test {

/// Layers of every kind, with sizes that are no multiples of anything.
inline std::vector<LocalLayer> layers_to_compare() {
  std::vector<LocalLayer> out{
      conv(2, 3, {7, 9}, 8, {.kernel = 3, .padding = 1}),
      conv(2, 8, {9, 9}, 4, {.kernel = 3, .stride = 2, .padding = 1, .bias = false}),
      conv(1, 4, {8, 8}, 4, {.kernel = 1}),
      conv(2, 8, {6, 6}, 8, {.kernel = 3, .padding = 1, .groups = 4}),
      conv(2, 4, {8, 8}, 4, {.kernel = 2, .behind = 1}),   // padding behind the last row only
      conv(2, 4, {9, 9}, 4, {.kernel = 3, .behind = -2}),  // rows that no window reaches
      conv(1, 4, {9, 9}, 8, {.kernel = 3, .padding = 2, .dilation = 2}),
      conv(1, 2, {5, 6, 7}, 4, {.kernel = 3, .padding = 1}),
      conv(2, 4, {11}, 4, {.kernel = 3, .padding = 1}),
      fc(5, 24, 10),
      fc(3, 16, 8, {4}, false),
      embedding(2, 5, 11, 6),
      position(2, {5}, 6, 3),
      tokens(2, {3, 4}, 5, 2),
      gate(3, 10, {4}),
      with_groups(same(Op::group_norm, 2, 12, {5, 3}), 3),
      without_weights(same(Op::layer_norm, 3, 33, {4})),
      without_weights(same(Op::batch_norm, 3, 7, {4, 4})),
      same(Op::batch_norm, 4, 40, {9, 8}),
      same(Op::layer_norm, 3, 300, {2}),
      same(Op::rms_norm, 3, 21, {4}),
      same(Op::softmax, 3, 300, {2}),
      with_inputs(same(Op::add, 2, 5, {3}), 3),
      with_inputs(same(Op::concat, 2, 11, {3, 2}), 3),
      attention(2, 7, 4, 4, 8),
      attention(2, 9, 4, 2, 8, true),
      attention(1, 5, 3, 1, 4, true),
  };
  for (const Op op : {Op::relu, Op::gelu, Op::silu, Op::tanh, Op::sigmoid, Op::dropout, Op::loss})
    out.push_back(same(op, 2, 7, {5, 3}));
  for (const Op op : {Op::max_pool, Op::avg_pool}) {
    out.push_back(pool(op, 2, 5, {7, 8}, {.kernel = 3, .stride = 2, .padding = 1}));
    out.push_back(pool(op, 1, 3, {5, 6, 4}, {.kernel = 2, .stride = 2}));
    out.push_back(pool(op, 2, 3, {6}, {.kernel = 3, .stride = 2, .behind = 1}));
  }
  for (const Op op : {Op::global_pool, Op::flatten, Op::select}) out.push_back(to_point(op, 3, 5, {4, 3}));
  return out;
}

class Comparison {
 public:
  Comparison(calibrate::Device& device, double tolerance) : device_(device), tolerance_(tolerance) {}

  /// How many things differ; each is printed.
  int run() {
    for (const LocalLayer& layer : layers_to_compare()) compare(layer);
    for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::momentum, Optimizer::adam, Optimizer::lamb})
      compare(optimizer);
    compare_copies();
    return differences_;
  }

 private:
  void compare(const LocalLayer& layer) {
    const std::string name = std::string(traits(layer.op).name) + " " + std::to_string(++number_);
    const LayerInput in = some_input(layer);
    const LayerOutput wanted = run_layer(plain_, layer, in);
    LayerRun run(device_, layer, in);
    if (!run.possible()) return fail(name, "cannot run");
    for (int time = 0; time < 2; ++time) {  // the second time nothing may be left of the first
      run.forward();
      run.backward();
    }
    const LayerOutput got = run.output();
    compare(name + ": y", got.y, wanted.y);
    for (std::size_t i = 0; i < wanted.dx.size(); ++i) compare(name + ": dx", got.dx[i], wanted.dx[i]);
    for (std::size_t k = 0; k < 2; ++k) compare(name + ": dw", got.dw[k], wanted.dw[k]);
  }

  void compare(Optimizer optimizer) {
    constexpr std::size_t items = 1000;
    const LayerInput in = some_input(same(Op::relu, 1, items));
    const auto updated = [&](calibrate::Device& device) {
      const calibrate::Buffer w = device.allocate(items), dw = device.allocate(items),
                              state = device.allocate(std::size_t(optimizer_slots(optimizer)) * items);
      device.write(w.get(), in.x[0]);
      device.write(dw.get(), in.dy);
      for (int step = 0; step < 3; ++step) device.update(optimizer, items, w.get(), dw.get(), state.get());
      std::vector<float> out(items);
      device.read(out, w.get());
      return out;
    };
    compare(std::string(optimizer_names[std::size_t(optimizer)]), updated(device_), updated(plain_));
  }

  void compare_copies() {
    using calibrate::Box;
    const Box big{{0, 0, 0, 0, 0}, {2, 3, 4, 2, 5}}, small{{1, 0, 1, 0, 2}, {2, 2, 4, 2, 5}};
    const Box region{{1, 0, 2, 0, 3}, {2, 2, 4, 2, 5}};
    const std::vector<float> from = some_input(same(Op::relu, 1, 240), 3).x[0],
                             to = some_input(same(Op::relu, 1, 36), 4).x[0];
    for (const auto how : {calibrate::Combine::replace, calibrate::Combine::add}) {
      const auto copied = [&](calibrate::Device& device) {
        const calibrate::Buffer a = device.allocate(240 + 3), b = device.allocate(36 + 5);
        // Not at the beginning of a buffer: pointers into buffers count in items.
        device.write(a.get() + 3, from);
        device.write(b.get() + 5, to);
        device.copy({b.get() + 5, small}, {a.get() + 3, big}, region, how);
        std::vector<float> out(36 + 5);
        device.read(out, b.get());
        return out;
      };
      compare("copy", copied(device_), copied(plain_));
    }
    const calibrate::Buffer buffer = device_.allocate(7);
    std::vector<float> numbers(7, 1);
    device_.read(numbers, buffer.get());
    compare("allocate", numbers, std::vector<float>(7, 0));
    device_.fill(buffer.get() + 2, 3, 2.5f);
    device_.read(numbers, buffer.get());
    compare("fill", numbers, {0, 0, 2.5f, 2.5f, 2.5f, 0, 0});
    const double waited = device_.time([] {}).base();
    if (!(waited >= 0)) fail("time", "is negative");
  }

  void compare(const std::string& what, const std::vector<float>& got, const std::vector<float>& wanted) {
    if (got.size() != wanted.size()) return fail(what, "has another size");
    double largest = 0, difference = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      largest = std::max(largest, double(std::abs(wanted[i])));
      const double off = std::abs(double(got[i]) - double(wanted[i]));
      difference = off <= difference ? difference : off;  // a NaN stays
    }
    if (!(difference <= tolerance_ * std::max(largest, 1.0)))
      fail(what, "is off by " + std::to_string(difference) + " of " + std::to_string(largest));
  }

  void fail(const std::string& what, const std::string& why) {
    ++differences_;
    std::printf("%s %s\n", what.c_str(), why.c_str());
  }

  calibrate::PlainDevice plain_;
  calibrate::Device& device_;
  double tolerance_;
  int number_ = 0, differences_ = 0;
};

}  // namespace paradl::test
