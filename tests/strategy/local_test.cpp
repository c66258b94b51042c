// The part of a layer on one GPU: the shapes that a kernel library gets.
#include "paradl/strategy/local.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "tests/support/spec_text.hpp"

namespace paradl::test {
namespace {

using Extent = std::array<std::int64_t, 3>;

/// 8 channels of 16x12; 32 filters of 3x3, one row of padding: y is 32 x 16x12.
Layer some_conv(const std::string& more = "") {
  return only_layer("8x16x12", "op: conv, filters: 32, kernel: 3, padding: 1" + more);
}

TEST_CASE("without a cut the part is the layer itself") {
  const LocalLayer l = local_layer(some_conv(), {}, 4);
  CHECK(l.samples == 4);
  CHECK(l.x_channels == 8);
  CHECK(l.y_channels == 32);
  CHECK(l.x_extent == Extent{16, 12, 1});
  CHECK(l.y_extent == Extent{16, 12, 1});
  CHECK(l.padding == Extent{1, 1, 0});
  CHECK(l.weights == 32 * 8 * 9 + 32);
}

TEST_CASE("if a mini-batch does not divide evenly, the largest part counts") {
  CHECK(local_layer(some_conv(), {.samples = 2}, 8).samples == 4);
  CHECK(local_layer(some_conv(), {.samples = 2}, 7).samples == 4);
}

TEST_CASE("filters in two: half of y, half of the weights, all of x") {
  const LocalLayer l = local_layer(some_conv(), {.filters = 2}, 4);
  CHECK(l.x_channels == 8);
  CHECK(l.y_channels == 16);
  CHECK(l.weights == 16 * 8 * 9 + 16);
}

TEST_CASE("channels in two: half of x, half of the filters' weights, all of y") {
  const LocalLayer l = local_layer(some_conv(), {.channels = 2}, 4);
  CHECK(l.x_channels == 4);
  CHECK(l.y_channels == 32);
  CHECK(l.weights == 32 * 4 * 9 + 32);
}

TEST_CASE("rows in two: halos are part of x, and there is no padding left along them") {
  const LocalLayer l = local_layer(some_conv(), {.space = {2, 1, 1}}, 4);
  CHECK(l.y_extent == Extent{8, 12, 1});
  CHECK(l.x_extent == Extent{10, 12, 1});  // 8 rows, and one from each side
  CHECK(l.padding == Extent{0, 1, 0});
  CHECK(l.weights == local_layer(some_conv(), {}, 4).weights);

  // At stride 2 y has 8 rows; 4 of them read (4 - 1) 2 + 3 = 9.
  const LocalLayer half = local_layer(some_conv(", stride: 2"), {.space = {2, 1, 1}}, 4);
  CHECK(half.y_extent == Extent{4, 6, 1});
  CHECK(half.x_extent == Extent{9, 12, 1});
}

TEST_CASE("layers without a window have no halo") {
  const LocalLayer l = local_layer(only_layer("8x16x12", "op: relu"), {.space = {2, 1, 1}}, 4);
  CHECK(l.x_extent == Extent{8, 12, 1});
  CHECK(l.y_extent == Extent{8, 12, 1});
}

TEST_CASE("attention is split by heads") {
  const Workload work =
      load_model(shipped(), "gpt:layers=1,hidden=64,heads=8,kv-heads=4,seq=16,vocab=100").second;
  const auto at = std::ranges::find(work.layers, Op::attention, &Layer::op);
  REQUIRE(at != work.layers.end());
  const LocalLayer whole = local_layer(*at, {}, 2), half = local_layer(*at, {.both = 2}, 2);
  CHECK(whole.heads == 8);
  CHECK(whole.kv_heads == 4);
  CHECK(half.heads == 4);
  CHECK(half.kv_heads == 2);
  CHECK(half.x_channels == whole.x_channels / 2);
  CHECK(half.y_channels == 32);
  CHECK(whole.kv_length == 0);  // as long as x
}

TEST_CASE("a part of the queries reads all keys") {
  const Workload work = load_model(shipped(), "gpt:layers=1,hidden=64,heads=8,seq=16,vocab=100").second;
  const auto at = std::ranges::find(work.layers, Op::attention, &Layer::op);
  const LocalLayer quarter = local_layer(*at, {.space = {4, 1, 1}}, 2);
  CHECK(quarter.x_extent == Extent{4, 1, 1});
  CHECK(quarter.kv_length == 16);
}

}  // namespace
}  // namespace paradl::test
