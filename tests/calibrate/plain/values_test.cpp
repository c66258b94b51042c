#include <cmath>

#include <doctest/doctest.h>

#include "calibrate/plain/plain.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/layer_run.hpp"

// Small cases whose numbers can be checked with a pencil.

namespace {

using namespace paradl;
using namespace paradl::test;
using Numbers = std::vector<float>;

LayerInput input(Numbers x, Numbers w0 = {}, Numbers w1 = {}, Numbers dy = {}) {
  return {.x = {std::move(x)}, .x_channels = {}, .w = {std::move(w0), std::move(w1)}, .dy = std::move(dy)};
}

LayerOutput run(const LocalLayer& layer, LayerInput in) {
  const auto device = calibrate::make_plain_device();
  in.dy.resize(std::size_t(layer.y_items()), 1.0f);
  return run_layer(*device, layer, in);
}

void check_close(const Numbers& got, const Numbers& wanted) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(got[i] == doctest::Approx(wanted[i]).epsilon(1e-5).scale(1));
  }
}

}  // namespace

TEST_CASE("plain: a convolution by hand") {
  // x = 1 2 3 4, w = 1 10 100, bias 1000, one of padding on each side:
  //   y0 = 0*1 + 1*10 + 2*100 = 210,  y1 = 1 + 20 + 300 = 321,  y2 = 2 + 30 + 400 = 432,  y3 = 3 + 40 = 43
  const LayerOutput out = run(conv(1, 1, {4}, 1, {.kernel = 3, .padding = 1}),
                              input({1, 2, 3, 4}, {1, 10, 100}, {1000}, {1, 0, 0, 2}));
  CHECK(out.y == Numbers{1210, 1321, 1432, 1043});
  // dy = 1 0 0 2: window 0 covers x0, x1 with 10, 100; window 3 covers x2, x3 with 1, 10.
  CHECK(out.dx[0] == Numbers{10, 100, 2, 20});
  // tap 0: 2 x2 = 6; tap 1: x0 + 2 x3 = 9; tap 2: x1 = 2
  CHECK(out.dw[0] == Numbers{6, 9, 2});
  CHECK(out.dw[1] == Numbers{3});
}

TEST_CASE("plain: weights are filter, channel, tap") {
  // Two channels, two filters, two taps; x = (1, 10), (100, 1000): one window.
  //   filter 0: 1*1 + 2*100 + 3*10 + 4*1000 = 4231;  filter 1: 5*1 + 6*100 + 7*10 + 8*1000 = 8675
  const LayerOutput out = run(conv(1, 2, {2}, 2, {.kernel = 2, .bias = false}),
                              input({1, 10, 100, 1000}, {1, 2, 3, 4, 5, 6, 7, 8}));
  CHECK(out.y == Numbers{4231, 8675});
}

TEST_CASE("plain: a group reads only its own channels") {
  // Two groups of one channel and two filters each.
  const LayerOutput out = run(conv(1, 2, {1}, 4, {.groups = 2, .bias = false}), input({1, 10}, {1, 2, 3, 4}));
  CHECK(out.y == Numbers{1, 2, 30, 40});
}

TEST_CASE("plain: a halo of zeros in x is the same as padding") {
  // The same convolution on all rows, and on two halves with one row of halo each.
  const auto device = calibrate::make_plain_device();
  const LocalLayer whole = conv(1, 3, {8, 5}, 4, {.kernel = 3, .padding = 1});
  LocalLayer half = whole;
  half.x_extent[0] = 6;
  half.y_extent[0] = 4;
  half.padding[0] = 0;
  const LayerInput in = some_input(whole);
  const LayerOutput expected = run_layer(*device, whole, in);

  const std::size_t row = 5 * 3, y_row = 5 * 4;
  Numbers padded(10 * row, 0.0f);
  std::copy(in.x[0].begin(), in.x[0].end(), padded.begin() + long(row));
  Numbers y, dw(in.w[0].size(), 0.0f);
  for (const std::size_t part : {0, 1}) {
    LayerInput mine = in;
    mine.x[0].assign(padded.begin() + long(4 * part * row), padded.begin() + long((4 * part + 6) * row));
    mine.dy.assign(in.dy.begin() + long(4 * part * y_row), in.dy.begin() + long(4 * (part + 1) * y_row));
    const LayerOutput out = run_layer(*device, half, mine);
    y.insert(y.end(), out.y.begin(), out.y.end());
    for (std::size_t i = 0; i < dw.size(); ++i) dw[i] += out.dw[0][i];
  }
  check_close(y, expected.y);
  check_close(dw, expected.dw[0]);
}

TEST_CASE("plain: pooling by hand") {
  const LayerInput in = input({3, 1, 2, 5, 4}, {}, {}, {1, 10, 100});
  // Windows of 2 at stride 2: (3 1) (2 5) (4 and padding)
  const Window two{.kernel = 2, .stride = 2, .behind = 1};
  const LayerOutput largest = run(pool(Op::max_pool, 1, 1, {5}, two), in);
  CHECK(largest.y == Numbers{3, 5, 4});
  CHECK(largest.dx[0] == Numbers{1, 0, 0, 10, 100});
  // The mean includes padding: 4 / 2.
  const LayerOutput mean = run(pool(Op::avg_pool, 1, 1, {5}, two), in);
  CHECK(mean.y == Numbers{2, 3.5, 2});
  CHECK(mean.dx[0] == Numbers{0.5, 0.5, 5, 5, 50});
  // Two channels over three positions: (1 + 3 + 5) / 3, (2 + 4 + 12) / 3
  check_close(run(to_point(Op::global_pool, 1, 2, {3}), input({1, 2, 3, 4, 5, 12})).y, {3, 6});
}

TEST_CASE("plain: of equal largest values in a window, the first one counts") {
  const LayerOutput out = run(pool(Op::max_pool, 1, 1, {2}, {.kernel = 2}), input({7, 7}, {}, {}, {1}));
  CHECK(out.dx[0] == Numbers{1, 0});
}

TEST_CASE("plain: norms by hand") {
  // Mean 4, variance ((-3)^2 + (-1)^2 + 1^2 + 3^2) / 4 = 5
  const float r = 1 / std::sqrt(5.0f);
  const Numbers z{-3 * r, -r, r, 3 * r};
  SUBCASE("layer norm: the channels of a position") {
    check_close(run(same(Op::layer_norm, 1, 4), input({1, 3, 5, 7}, {1, 1, 1, 1}, {0, 0, 0, 0})).y, z);
    check_close(run(same(Op::layer_norm, 1, 4), input({1, 3, 5, 7}, {2, 2, 2, 2}, {1, 1, 1, 1})).y,
                {2 * z[0] + 1, 2 * z[1] + 1, 2 * z[2] + 1, 2 * z[3] + 1});
  }
  SUBCASE("batch norm: a channel over samples and positions") {
    check_close(run(same(Op::batch_norm, 2, 1, {2}), input({1, 3, 5, 7}, {1}, {0})).y, z);
  }
  SUBCASE("group norm: a group's channels over positions") {
    // Two groups of one channel: (1 5) and (3 7) by position, each of mean 3 or 5 and variance 4.
    check_close(run(with_groups(same(Op::group_norm, 1, 2, {2}), 2), input({1, 3, 5, 7}, {1, 1}, {0, 0})).y,
                {-1, -1, 1, 1});
    check_close(run(with_groups(same(Op::group_norm, 1, 2, {2}), 1), input({1, 3, 5, 7}, {1, 1}, {0, 0})).y,
                z);
  }
  SUBCASE("rms norm: no mean is subtracted") {
    // mean of squares of 1, 7: 25
    check_close(run(same(Op::rms_norm, 1, 2), input({1, 7}, {1, 10})).y, {0.2f, 14});
  }
}

TEST_CASE("plain: batch norm over two ranks is that of all their samples") {
  const auto device = calibrate::make_plain_device();
  const LocalLayer whole = same(Op::batch_norm, 4, 3, {2}), half = same(Op::batch_norm, 2, 3, {2});
  const LayerInput in = some_input(whole);
  const LayerOutput expected = run_layer(*device, whole, in);

  std::vector<std::unique_ptr<LayerRun>> parts;
  for (const long part : {0, 1}) {
    LayerInput mine = in;
    mine.x[0].assign(in.x[0].begin() + part * 12, in.x[0].begin() + (part + 1) * 12);
    mine.dy.assign(in.dy.begin() + part * 12, in.dy.begin() + (part + 1) * 12);
    parts.push_back(std::make_unique<LayerRun>(*device, half, mine));
    parts.back()->data().counted = 8;
  }
  const auto sum_statistics = [&] {
    float *a = parts[0]->data().statistics, *b = parts[1]->data().statistics;
    for (int i = 0; i < 6; ++i) a[i] = b[i] = a[i] + b[i];
  };
  for (auto& part : parts) part->work().forward_statistics(part->data());
  sum_statistics();
  for (auto& part : parts) part->work().forward(part->data());
  for (auto& part : parts) part->work().backward_statistics(part->data());
  sum_statistics();
  Numbers y, dx, dw(3, 0.0f);
  for (auto& part : parts) {
    part->work().backward_data(part->data());
    part->work().backward_weights(part->data());
    const LayerOutput out = part->output();
    y.insert(y.end(), out.y.begin(), out.y.end());
    dx.insert(dx.end(), out.dx[0].begin(), out.dx[0].end());
    for (std::size_t c = 0; c < 3; ++c) dw[c] += out.dw[0][c];  // each rank has its own part
  }
  check_close(y, expected.y);
  check_close(dx, expected.dx[0]);
  check_close(dw, expected.dw[0]);
}

TEST_CASE("plain: activations by hand") {
  CHECK(run(same(Op::relu, 1, 3), input({-2, 0, 3})).y == Numbers{0, 0, 3});
  // 1 * P(Z < 1) = 0.841345
  check_close(run(same(Op::gelu, 1, 2), input({1, 0})).y, {0.841345f, 0});
  // 1 / (1 + 1/e) = 0.731059
  check_close(run(same(Op::silu, 1, 2), input({1, -1})).y, {0.731059f, -0.268941f});
  check_close(run(same(Op::sigmoid, 1, 2), input({1, 0})).y, {0.731059f, 0.5f});
  check_close(run(same(Op::tanh, 1, 1), input({1})).y, {0.761594f});
  // pairs (2, 1), (3, -1): 2 silu(1), 3 silu(-1)
  check_close(run(gate(1, 4, {}), input({2, 1, 3, -1})).y, {1.462117f, -0.806824f});
  // e^0 : e^ln 3 = 1 : 3
  check_close(run(same(Op::softmax, 1, 2), input({0, std::log(3.0f)})).y, {0.25f, 0.75f});
  for (const Op op : {Op::dropout, Op::rotary, Op::loss}) {
    const LayerOutput out = run(same(op, 1, 2), input({5, 6}, {}, {}, {7, 8}));
    CHECK(out.y == Numbers{5, 6});
    CHECK(out.dx[0] == Numbers{7, 8});
  }
}

TEST_CASE("plain: attention by hand") {
  // One head of size 1, positions (q, k, v) = (0, 1, 10), (ln 3, 0, 20).
  //   position 0: scores 0, 0 -> shares 1/2, 1/2 -> 15
  //   position 1: scores ln 3, 0 -> shares 3/4, 1/4 -> 12.5
  const LayerInput in = input({0, 1, 10, std::log(3.0f), 0, 20});
  check_close(run(attention(1, 2, 1, 1, 1), in).y, {15, 12.5f});
  // Causal: position 0 only sees itself.
  check_close(run(attention(1, 2, 1, 1, 1, true), in).y, {10, 12.5f});
  // Two query heads share one head of keys and values: q0 = 0, q1 = ln 3 at position 0.
  check_close(run(attention(1, 2, 2, 1, 1), input({0, std::log(3.0f), 1, 10, 0, 0, 0, 20})).y,
              {15, 12.5f, 15, 15});
  // Two heads without sharing: (q, k, v) of the first, then (q, k, v) of the second, with twice the values.
  check_close(run(attention(1, 2, 2, 2, 1), input({0, 1, 10, 0, 1, 20, std::log(3.0f), 0, 20, 0, 0, 40})).y,
              {15, 30, 12.5f, 30});
}

TEST_CASE("plain: tables by hand") {
  LayerInput in = input({0, 2, 3, 2}, {1, 2, 3, 4}, {}, {1, 1, 2, 3, 5, 5, 10, 20});
  in.first_row = 2;  // rows 2 and 3 of a larger vocabulary
  const LayerOutput looked_up = run(embedding(1, 4, 2, 2), in);
  CHECK(looked_up.y == Numbers{0, 0, 1, 2, 3, 4, 1, 2});
  CHECK(looked_up.dw[0] == Numbers{2 + 10, 3 + 20, 5, 5});

  LayerInput places = input({1, 2, 3}, {10, 20}, {}, {1, 2, 4});
  places.first_row = 1;  // positions 1, 2, 3 take entries 1, 0, 1
  const LayerOutput placed = run(position(1, {3}, 1, 2), places);
  CHECK(placed.y == Numbers{21, 12, 23});
  CHECK(placed.dw[0] == Numbers{2, 1 + 4});

  const LayerOutput put = run(tokens(2, {2}, 1, 1), input({1, 2, 3, 4}, {9}, {}, {1, 2, 3, 10, 20, 30}));
  CHECK(put.y == Numbers{9, 1, 2, 9, 3, 4});
  CHECK(put.dx[0] == Numbers{2, 3, 20, 30});
  CHECK(put.dw[0] == Numbers{11});
}

TEST_CASE("plain: moves by hand") {
  // Two positions of three channels, stored channel by channel: the positions of a channel are adjacent.
  const LayerOutput flat =
      run(to_point(Op::flatten, 1, 3, {2}), input({1, 2, 3, 4, 5, 6}, {}, {}, {1, 2, 3, 4, 5, 6}));
  CHECK(flat.y == Numbers{1, 4, 2, 5, 3, 6});
  CHECK(flat.dx[0] == Numbers{1, 3, 5, 2, 4, 6});
  const LayerOutput first = run(to_point(Op::select, 1, 2, {2}), input({1, 2, 3, 4}, {}, {}, {5, 6}));
  CHECK(first.y == Numbers{1, 2});
  CHECK(first.dx[0] == Numbers{5, 6, 0, 0});

  LayerInput parts{.x = {{1, 2, 3, 4}, {5, 6}}, .x_channels = {2, 1}, .w = {}, .dy = {1, 2, 3, 4, 5, 6}};
  const LayerOutput joined = run(with_inputs(same(Op::concat, 1, 3, {2}), 2), parts);
  CHECK(joined.y == Numbers{1, 2, 5, 3, 4, 6});
  CHECK(joined.dx[0] == Numbers{1, 2, 4, 5});
  CHECK(joined.dx[1] == Numbers{3, 6});
  LayerInput addends{.x = {{1, 2}, {10, 20}, {100, 200}}, .x_channels = {}, .w = {}, .dy = {3, 4}};
  const LayerOutput added = run(with_inputs(same(Op::add, 1, 2), 3), addends);
  CHECK(added.y == Numbers{111, 222});
  CHECK(added.dx[2] == Numbers{3, 4});
}

TEST_CASE("plain: the gradient of the network's input is not computed") {
  const auto device = calibrate::make_plain_device();
  for (const LocalLayer& layer :
       {fc(2, 3, 4), pool(Op::max_pool, 1, 2, {4}, {.kernel = 2}), same(Op::batch_norm, 2, 2),
        same(Op::gelu, 1, 2), attention(1, 2, 1, 1, 1), with_inputs(same(Op::concat, 1, 4), 2)}) {
    LayerRun work(*device, layer, some_input(layer));
    work.data().dx[0] = nullptr;
    work.forward();
    CHECK_NOTHROW(work.backward());
  }
}
