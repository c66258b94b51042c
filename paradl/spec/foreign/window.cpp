#include "paradl/spec/foreign/window.hpp"

#include <algorithm>
#include <array>
#include <span>

// Y = floor((X + 2 padding - K) / stride) + 1, or with ceil instead of floor, or Y = ceil(X / stride) if the
// padding is `same`. Several strides and paddings may solve it, so strides are tried in order of likelihood,
// each with its smallest padding.
namespace paradl::foreign {
namespace {

using Int = std::int64_t;

constexpr Int ceil_div(Int a, Int b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }
constexpr Int floor_div(Int a, Int b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

/// One extent of the input, the window and the output.
struct Extent {
  Int X, K, Y;
};

/// The same rule for all extents of a layer.
struct Rule {
  bool ceil = false, same = false, padded = false;
};

struct Step {
  Int stride, padding;
};

// As build_workload() computes it: the last window is omitted if it would start in the padding.
Int output(const Extent& e, Step step, bool ceil) {
  const Int room = e.X + 2 * step.padding - e.K;
  const Int Y = (ceil ? ceil_div(room, step.stride) : floor_div(room, step.stride)) + 1;
  return ceil && (Y - 1) * step.stride >= e.X + step.padding ? Y - 1 : Y;
}

/// Likely strides, most likely first; values below 1 are to be skipped.
std::array<Int, 9> likely_strides(const Extent& e, WindowOf use) {
  const auto [X, K, Y] = e;
  const Int tiling = use == WindowOf::pooling ? K : 0;  // most pools tile their input
  const Int still = X == Y || X - K + 1 == Y ? 1 : 0;
  const Int nearest = (2 * X + Y - 1) / (2 * Y);  // X / Y rounded, a half down
  // The ends of the range that solves the equation, without padding and with the largest padding.
  const Int steps = std::max<Int>(1, Y - 1), bare = X - K, padded = X - K + 2 * (K / 2);
  return {tiling,
          still,
          nearest,
          X / Y,
          ceil_div(X, Y),
          floor_div(bare, steps),
          ceil_div(bare, steps),
          floor_div(padded, steps),
          ceil_div(padded, steps)};
}

/// The smallest padding with which the stride may give Y.
Int least_padding(const Extent& e, Int stride, bool ceil) {
  const auto [X, K, Y] = e;
  // floor: (Y-1) stride <= room.
  // ceil:  (Y-2) stride < room, and the last window starts before the padding after the input.
  if (!ceil) return std::max<Int>(0, ceil_div((Y - 1) * stride + K - X, 2));
  return std::max<Int>({0, ceil_div((Y - 2) * stride + 1 + K - X, 2), (Y - 1) * stride - X + 1});
}

std::optional<Step> find_step(const Extent& e, Rule rule, WindowOf use) {
  for (const Int stride : likely_strides(e, use)) {
    if (stride < 1) continue;
    if (rule.same) {
      if (ceil_div(e.X, stride) == e.Y) return Step{stride, 0};
      continue;
    }
    const Step step{stride, least_padding(e, stride, rule.ceil)};
    const Int most = rule.padded ? e.K / 2 : 0;  // frameworks refuse more than half a window
    if (step.padding <= most && output(e, step, rule.ceil) == e.Y) return step;
  }
  return {};
}

std::optional<Window> follow(Rule rule, const Numbers& X, const Numbers& K, const Numbers& Y, WindowOf use) {
  Window window{.stride = {}, .padding = {}, .same = rule.same, .ceil = rule.ceil};
  for (std::size_t d = 0; d < X.size(); ++d) {
    const auto step = find_step({X[d], K[d], Y[d]}, rule, use);
    if (!step) return {};
    window.stride.push_back(step->stride);
    window.padding.push_back(step->padding);
  }
  return window;
}

}  // namespace

std::optional<Window> find_window(const Numbers& X, const Numbers& K, const Numbers& Y, WindowOf use) {
  // Pools round up more often than they pad; convolutions cannot round up.
  static constexpr std::array for_pooling{Rule{}, Rule{.ceil = true}, Rule{.padded = true},
                                          Rule{.ceil = true, .padded = true}, Rule{.same = true}};
  static constexpr std::array for_convolution{Rule{.padded = true}, Rule{.same = true}};
  const std::span<const Rule> rules =
      use == WindowOf::pooling ? std::span<const Rule>(for_pooling) : std::span<const Rule>(for_convolution);
  for (const Rule rule : rules)
    if (auto window = follow(rule, X, K, Y, use)) return window;
  return {};
}

}  // namespace paradl::foreign
