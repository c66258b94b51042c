#pragma once
#include <limits>
#include <span>

#include "paradl/machine/kernel_device.hpp"

namespace paradl {

/// `batch` matrix products of m x k by k x n, and the bytes that they must move.
struct Product {
  double m = 1, n = 1, k = 1, batch = 1;
  Bytes moved;
};

/// The part of a result that one thread block computes.
struct Tile {
  double m, n;
};

/// The kernels that a library has for a kind of product.
struct Kernels {
  std::span<const Tile> tiles;  // each is also tried transposed
  int most_splits = 1;          // of the inner sum over thread blocks: a power of two
  double efficiency = 1;        // relative to a plain matrix product
};

/// All tiles of a matrix product library.
std::span<const Tile> product_tiles();

/// One product, without its launch, by the fastest of the kernels:
///
///     blocks = batch * ceil(m/Tm) * ceil(n/Tn) * splits,  waves = ceil(blocks / S)
///     a  = Tm Tn / (Tm + Tn)
///     tc = waves * 2 Tm Tn ceil(k/splits) / (P/S * compute * efficiency * a/(a + tile))
///     tm = moved / (W * memory * min(1, 2 blocks / S)) + time to write and read partial sums if splits > 1
///     t  = sqrt(tc^2 + tm^2)
///
/// S multiprocessors, P peak rate, W memory bandwidth. Splitting adds another, short kernel. Infinity if it
/// takes longer than `at_most`: kernels that cannot be faster are not tried.
Seconds kernel_time(const KernelDevice& device, const Product& product, const Kernels& kernels,
                    Seconds at_most = Seconds{std::numeric_limits<double>::infinity()});

/// A matrix product by a library, including its launch. Tensor cores need multiples of eight.
Seconds product_time(const KernelDevice& device, double m, double n, double k, double batch = 1);

}  // namespace paradl
