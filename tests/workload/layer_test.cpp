#include "paradl/workload/layer.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "tests/support/spec_text.hpp"

namespace paradl {
namespace {
using namespace test;

void check(const Halo& halo, double before, double after) {
  CHECK(halo.before == before);
  CHECK(halo.after == after);
  CHECK(halo.sum() == before + after);
}

/// A convolution over 64 rows.
Layer conv(const std::string& window) { return only_layer("1x64", "op: conv, filters: 1, " + window); }
Layer pool(const std::string& window) { return only_layer("1x64", "op: max-pool, " + window); }

// A part that computes rows a..b-1 of y owns rows s a .. s b - 1 of x. Row i of y reads rows s i - p to
// s i - p + k - 1 of x.

TEST_CASE("3 rows, one at a time: one row from either side, the paper's (K-1)/2") {
  const Layer layer = conv("kernel: 3, padding: 1");
  check(x_halo(layer, 0), 1, 1);
  check(dy_halo(layer, 0), 1, 1);
}

TEST_CASE("7 rows, two at a time, padded by 3") {
  // y a reads from 2a-3: 3 rows before 2a. y b-1 reads to 2(b-1)+3 = 2b+1: 2 rows after 2b-1.
  const Layer layer = conv("kernel: 7, stride: 2, padding: 3");
  check(x_halo(layer, 0), 3, 2);
  // dx of row 2a is in the windows of y from a-1 (up to 2a+1): 1 before. Row 2b-1 is in those up to y b+1
  // (from 2b-1): 2.
  check(dy_halo(layer, 0), 1, 2);
}

TEST_CASE("2 rows, two at a time: windows tile the input, nothing is exchanged") {
  check(x_halo(pool("kernel: 2"), 0), 0, 0);
  check(dy_halo(pool("kernel: 2"), 0), 0, 0);
  check(x_halo(pool("kernel: 4"), 0), 0, 0);
  check(x_halo(pool("kernel: 2, stride: 3"), 0), 0, 0);  // rows that no window reads
}

TEST_CASE("2 rows, one at a time, same size: all of the padding is at the end") {
  // y i reads x i and i+1.
  const Layer layer = conv("kernel: 2, padding: same");
  check(x_halo(layer, 0), 0, 1);
  check(dy_halo(layer, 0), 1, 0);
}

TEST_CASE("3 rows, two at a time, padded by 1: only rows before") {
  // y i reads 2i-1 to 2i+1.
  const Layer layer = pool("kernel: 3, stride: 2, padding: 1");
  check(x_halo(layer, 0), 1, 0);
  check(dy_halo(layer, 0), 0, 1);
}

TEST_CASE("11 rows, four at a time, padded by 2: AlexNet's first") {
  // y i reads 4i-2 to 4i+8: 2 before, and 4(b-1)+8 - (4b-1) = 5 after.
  const Layer layer = conv("kernel: 11, stride: 4, padding: 2");
  check(x_halo(layer, 0), 2, 5);
  // 4a is read by y a-1 (to 4a+4) and a-2 (to 4a): 2 before. 4b-1 is read by y b (from 4b-2): 1 after.
  check(dy_halo(layer, 0), 2, 1);
}

TEST_CASE("dilation widens the window") {
  // 3 rows, every second one: as 5 rows
  check(x_halo(conv("kernel: 3, padding: 2, dilation: 2"), 0), 2, 2);
  check(dy_halo(conv("kernel: 3, padding: 2, dilation: 2"), 0), 2, 2);
  check(x_halo(conv("kernel: 3, padding: 4, dilation: 4"), 0), 4, 4);
}

TEST_CASE("without padding there are halos on both sides") {
  // 10 rows of x make 8 of y. Halves: y 0..3 reads x 0..5, one row after its own 0..4; y 4..7 reads 4..9,
  // one before.
  check(x_halo(only_layer("1x10", "op: conv, filters: 1, kernel: 3"), 0), 1, 1);
}

TEST_CASE("layers that read no neighbours need no halo") {
  check(x_halo(conv("kernel: 1"), 0), 0, 0);
  check(x_halo(conv("kernel: 1, stride: 2"), 0), 0, 0);
  check(dy_halo(conv("kernel: 1, stride: 2"), 0), 0, 0);
  check(x_halo(only_layer("1x64", "op: relu"), 0), 0, 0);
  check(x_halo(only_layer("4x64", "op: batch-norm"), 0), 0, 0);
}

TEST_CASE("each extent has its own halo") {
  const Layer layer = only_layer("1x16x16x16", "op: conv, filters: 1, kernel: 1x3x5, padding: same");
  check(x_halo(layer, 0), 0, 0);
  check(x_halo(layer, 1), 1, 1);
  check(x_halo(layer, 2), 2, 2);
  check(x_halo(conv("kernel: 3, padding: 1"), 2), 0, 0);  // an extent that the layer does not have
}

TEST_CASE("halos are the rows that windows read, counted one by one") {
  // Rows are looked at one by one, for a part in the middle: rows 40..49 of y.
  const int a = 40, b = 50;
  for (int kernel = 1; kernel <= 7; ++kernel)
    for (int stride = 1; stride <= 4; ++stride)
      for (int dilation = 1; dilation <= 3; ++dilation)
        for (int padding = 1; padding <= dilation * (kernel - 1) + 1 - stride; ++padding) {
          CAPTURE(kernel);
          CAPTURE(stride);
          CAPTURE(dilation);
          CAPTURE(padding);
          int first = stride * a, last = stride * b - 1, dy_first = a, dy_last = b - 1;
          for (int y = 0; y < 100; ++y)
            for (int tap = 0; tap < kernel; ++tap) {
              const int x = y * stride - padding + tap * dilation;
              if (y >= a && y < b) first = std::min(first, x), last = std::max(last, x);
              // Rows between the taps of a dilated window are sent as well, so all rows from the first to the
              // last count.
              const int start = y * stride - padding, end = start + (kernel - 1) * dilation;
              if (end >= stride * a && start <= stride * b - 1)
                dy_first = std::min(dy_first, y), dy_last = std::max(dy_last, y);
            }
          Layer layer;
          layer.kernel[0] = kernel, layer.stride[0] = stride, layer.dilation[0] = dilation,
          layer.padding[0] = padding;
          check(x_halo(layer, 0), stride * a - first, last - (stride * b - 1));
          check(dy_halo(layer, 0), a - dy_first, dy_last - (b - 1));
        }
}

TEST_CASE("the items of a shape are counted") {
  const Shape image{.channels = 3, .extent = {4, 5, 1}, .dims = 2};
  CHECK(image.positions() == 20);
  CHECK(image.items() == 60);
  const Shape flat{.channels = 10};
  CHECK(flat.positions() == 1);
  CHECK(flat.items() == 10);
  CHECK_FALSE(image == flat);
}

}  // namespace
}  // namespace paradl
