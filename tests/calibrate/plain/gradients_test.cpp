#include <cmath>

#include <doctest/doctest.h>

#include "calibrate/plain/plain.hpp"
#include "tests/support/layer_run.hpp"

// Compares every backward pass with differences of the forward pass: with L = sum of dy y, dL/dx is
// (L(x + h) - L(x - h)) / 2h, up to h^2 and rounding.

namespace {

using namespace paradl;
using namespace paradl::test;

double objective(calibrate::Device& device, const LocalLayer& layer, const LayerInput& in) {
  LayerRun run(device, layer, in);
  run.forward();
  const LayerOutput out = run.output();
  double total = 0;
  for (std::size_t i = 0; i < out.y.size(); ++i) total += double(out.y[i]) * double(in.dy[i]);
  return total;
}

void check_gradients(const LocalLayer& layer) {
  CAPTURE(traits(layer.op).name);
  const auto device = calibrate::make_plain_device();
  LayerInput in = some_input(layer);
  const LayerOutput out = run_layer(*device, layer, in);
  constexpr float h = 1.0f / 128;

  const auto compare = [&](std::vector<float>& numbers, const std::vector<float>& gradient) {
    REQUIRE(numbers.size() == gradient.size());
    int wrong = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const float here = numbers[i];
      numbers[i] = here + h;
      const double above = objective(*device, layer, in);
      numbers[i] = here - h;
      const double below = objective(*device, layer, in);
      numbers[i] = here;
      const double difference = (above - below) / (2 * double(h));
      if (std::abs(difference - double(gradient[i])) > 2e-3 * (1 + std::abs(difference))) {
        if (++wrong > 3) continue;
        CAPTURE(i);
        CAPTURE(difference);
        CHECK(double(gradient[i]) == difference);
      }
    }
    CHECK(wrong == 0);
  };
  if (layer.op != Op::embedding)
    for (std::size_t i = 0; i < in.x.size(); ++i) compare(in.x[i], out.dx[i]);
  for (std::size_t k = 0; k < 2; ++k) compare(in.w[k], out.dw[k]);
}

}  // namespace

TEST_CASE("plain: gradients of products") {
  check_gradients(fc(3, 5, 4));
  check_gradients(fc(2, 3, 4, {2, 2}, false));
  check_gradients(conv(2, 3, {5}, 2, {.kernel = 3, .padding = 1}));
  check_gradients(conv(2, 2, {5, 4}, 3, {.kernel = 3, .stride = 2, .padding = 1}));
  check_gradients(conv(1, 2, {4, 3, 3}, 2, {.kernel = 2, .bias = false}));
  check_gradients(conv(1, 4, {5, 5}, 6, {.kernel = 3, .padding = 1, .groups = 2}));
  check_gradients(conv(1, 3, {4, 4}, 3, {.kernel = 3, .padding = 1, .groups = 3}));
  check_gradients(conv(1, 2, {7, 6}, 2, {.kernel = 3, .padding = 2, .dilation = 2}));
  // `same` with an even extent at stride 2: no padding before the first row, one row after the last.
  check_gradients(conv(1, 2, {4, 4}, 2, {.kernel = 3, .stride = 2, .behind = 1}));
  // The last rows, which no window reads.
  check_gradients(conv(1, 2, {6, 6}, 2, {.kernel = 1, .stride = 4}));
}

TEST_CASE("plain: gradients of pooling") {
  for (const Op op : {Op::max_pool, Op::avg_pool}) {
    check_gradients(pool(op, 2, 2, {4, 4}, {.kernel = 2, .stride = 2}));
    check_gradients(pool(op, 1, 3, {5, 6}, {.kernel = 3, .stride = 2, .padding = 1}));
    check_gradients(pool(op, 1, 2, {5, 5}, {.kernel = 2, .stride = 2, .behind = 1}));
    check_gradients(pool(op, 1, 2, {4, 3, 3}, {.kernel = 2, .stride = 1}));
    check_gradients(pool(op, 1, 2, {7}, {.kernel = 3, .stride = 1, .dilation = 2}));
  }
  check_gradients(to_point(Op::global_pool, 2, 3, {2, 3}));
}

TEST_CASE("plain: gradients of norms") {
  for (const Op op : {Op::batch_norm, Op::layer_norm, Op::rms_norm}) {
    check_gradients(same(op, 3, 5, {2, 2}));
    check_gradients(without_weights(same(op, 4, 6)));
  }
  check_gradients(with_groups(same(Op::group_norm, 2, 6, {2, 3}), 3));
  check_gradients(without_weights(with_groups(same(Op::group_norm, 2, 4, {3}), 1)));
}

TEST_CASE("plain: gradients of activations") {
  for (const Op op :
       {Op::relu, Op::gelu, Op::silu, Op::tanh, Op::sigmoid, Op::dropout, Op::softmax, Op::loss})
    check_gradients(same(op, 2, 5, {3}));
  check_gradients(gate(2, 6, {3}));
}

TEST_CASE("plain: gradients of attention") {
  check_gradients(attention(2, 3, 2, 2, 2));
  check_gradients(attention(1, 4, 2, 1, 3, true));
  check_gradients(attention(1, 3, 4, 2, 2));
}

TEST_CASE("plain: gradients of tables and moves") {
  check_gradients(embedding(2, 5, 4, 3));
  check_gradients(position(2, {5}, 3, 4));
  check_gradients(position(2, {2, 2}, 3, 4));
  check_gradients(tokens(2, {2, 2}, 3, 2));
  check_gradients(with_inputs(same(Op::add, 2, 3, {2}), 3));
  check_gradients(with_inputs(same(Op::concat, 2, 7, {2}), 3));
  check_gradients(to_point(Op::flatten, 2, 3, {2, 2}));
  check_gradients(to_point(Op::select, 2, 3, {4}));
}
