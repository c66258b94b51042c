#pragma once
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/support/conformance.hpp"

// Conformance of a back end: layers, and also updates, copies and pointers into buffers.

namespace paradl::test {

/// Layers that are difficult only for the CUDA back end; those for all back ends are tested as well.
inline std::vector<NamedLayer> layers_to_compare() {
  std::vector<NamedLayer> out = conformance_layers();
  out.insert(
      out.end(),
      {{"an even window", conv(2, 4, {8, 8}, 4, {.kernel = 2, .behind = 1})},
       {"more rows than windows", conv(2, 4, {9, 9}, 4, {.kernel = 3, .behind = -2})},
       {"few numbers", pool(Op::max_pool, 1, 2, {7, 8}, {.kernel = 3, .stride = 2, .padding = 1})},
       {"few numbers in space", pool(Op::max_pool, 1, 2, {5, 4, 3}, {.kernel = 2, .stride = 1, .behind = 1})},
       {"more channels than threads", same(Op::layer_norm, 3, 300, {2})},
       {"more classes than threads", same(Op::softmax, 3, 300, {2})},
       {"more ids than 16 bits hold", embedding(2, 5, 700, 6)},
       {"few positions of many", position(2, {5}, 6, 30)},
       {"heads of many", attention(1, 5, 3, 1, 4, true)}});
  return out;
}

class Comparison {
 public:
  /// `exact_numbers`: the device's storage holds all whole numbers below this one exactly.
  Comparison(calibrate::Device& device, double tolerance, std::int64_t exact_numbers)
      : device_(device), tolerance_(tolerance), exact_numbers_(exact_numbers) {}

  /// The number of differences; each is printed.
  int run() {
    for (const auto& [name, layer] : layers_to_compare()) {
      // Rounding may make two different numbers equal, and then another one is the largest.
      if (layer.op == Op::max_pool && layer.x_items() > exact_numbers_) continue;
      if (const std::string found = compare_with_plain(device_, layer, tolerance_); !found.empty())
        fail(name + ":", found);
    }
    for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::momentum, Optimizer::adam, Optimizer::lamb})
      compare(optimizer);
    compare_copies();
    return differences_;
  }

 private:
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
    if (const std::string found = difference("", got, wanted, tolerance_); !found.empty()) fail(what, found);
  }

  void fail(const std::string& what, const std::string& why) {
    ++differences_;
    std::printf("%s %s\n", what.c_str(), why.c_str());
  }

  calibrate::PlainDevice plain_;
  calibrate::Device& device_;
  double tolerance_;
  std::int64_t exact_numbers_;
  int differences_ = 0;
};

}  // namespace paradl::test
