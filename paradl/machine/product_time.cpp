#include "paradl/machine/product_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

namespace paradl {
namespace {

constexpr std::array<Tile, 10> tiles{{{256, 128},
                                      {128, 128},
                                      {128, 64},
                                      {64, 64},
                                      {128, 32},
                                      {64, 32},
                                      {32, 32},
                                      {128, 16},
                                      {64, 16},
                                      {32, 16}}};

constexpr double least_split_sum = 32;    // splitting a sum further leaves blocks too little work
constexpr double blocks_to_saturate = 2;  // half as many blocks as multiprocessors saturate the memory bus
constexpr double sum_bytes = 4;           // partial sums are kept in fp32
constexpr double tensor_multiple = 8;

/// std::ceil is a call of a library where the processor may lack SSE 4.1, and this is where models spend
/// their time.
double ceiling(double n) {
  const auto whole = double(std::int64_t(n));
  return whole < n ? whole + 1 : whole;
}
double rounded_up(double n, double multiple) { return std::ceil(n / multiple) * multiple; }
bool is_unaligned(double side) { return std::fmod(side, tensor_multiple) != 0; }

}  // namespace

std::span<const Tile> product_tiles() { return tiles; }

Seconds kernel_time(const KernelDevice& device, const Product& p, const Kernels& kernels,
                    Seconds at_most) {
  const KernelParameters& fitted = device.fitted;
  const double S = device.multiprocessors;
  const double rate = device.peak.base() / S * fitted.compute * kernels.efficiency;
  const double bandwidth = device.bandwidth.base() * fitted.memory;
  const double moved = p.moved.base() / bandwidth;
  const double partial = 2 * p.batch * p.m * p.n * sum_bytes / bandwidth;
  const double again = fitted.launch.base() / 2;  // the kernel that adds partial sums is short
  // A little more than `at_most`, so that rounding never drops a kernel that is just as fast.
  const double most = at_most > Seconds{} ? at_most.base() * at_most.base() * (1 + 1e-9) : 0;
  double least = most;  // of t^2
  // Given the least that a kernel computes and moves.
  const auto cannot_help = [&](double compute, double memory) {
    return (compute * compute + memory * memory) * (1 - 1e-12) > least;
  };
  const auto attempt = [&](double tm, double tn, double block_rate) {
    const double blocks = p.batch * ceiling(p.m / tm) * ceiling(p.n / tn);
    const double one_block = 2 * tm * tn * p.k / block_rate;  // if its sum is not split
    const double busy = one_block * blocks / S;               // if no multiprocessor ever waits
    if (cannot_help(busy, moved)) return;
    int splits = 1;
    while (splits < kernels.most_splits && cannot_help(one_block / splits, moved)) splits *= 2;
    for (; splits <= kernels.most_splits; splits *= 2) {
      const double sums = splits > 1 ? splits * partial + again : 0;
      if (cannot_help(busy, moved + sums)) break;  // nor can more splits
      const double sum = ceiling(p.k / splits);
      if (splits > 1 && sum < least_split_sum) break;
      const double waves = std::max(1.0, ceiling(blocks * splits / S));
      const double compute = waves * 2 * tm * tn * (sum + fitted.ends) / block_rate;
      const double memory = moved / std::min(1.0, blocks_to_saturate * blocks * splits / S) + sums;
      least = std::min(least, compute * compute + memory * memory);
    }
  };
  for (const Tile& tile : kernels.tiles) {
    const double side = tile.m * tile.n / (tile.m + tile.n);
    const double block_rate = rate * side / (side + fitted.tile);
    if (cannot_help(2 * p.batch * p.m * p.n * p.k / (S * block_rate), moved)) continue;  // no block is padded
    attempt(tile.m, tile.n, block_rate);
    if (tile.m != tile.n) attempt(tile.n, tile.m, block_rate);
  }
  return Seconds{least < most ? std::sqrt(least) : std::numeric_limits<double>::infinity()};
}

Seconds product_time(const KernelDevice& device, double m, double n, double k, double batch) {
  const bool unaligned = device.tensor_cores && (is_unaligned(m) || is_unaligned(n) || is_unaligned(k));
  if (device.tensor_cores)
    for (double* side : {&m, &n, &k}) *side = rounded_up(*side, tensor_multiple);
  const Product product{m, n, k, batch, batch * (m * k + k * n + m * n) * device.item};
  return device.fitted.launch +
         kernel_time(
             device, product,
             {.tiles = tiles, .most_splits = 128, .efficiency = unaligned ? device.fitted.unaligned : 1});
}

}  // namespace paradl
