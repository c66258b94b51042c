#pragma once
#include <array>

#include "paradl/machine/kernel_device.hpp"

namespace paradl {

struct Convolution {
  double samples = 1, x_channels = 1, y_channels = 1, groups = 1;
  int dims = 2;
  std::array<double, 3> x{1, 1, 1}, y{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1};  // extents
};

enum class ConvolutionPass { forward, backward_data, backward_weights };

/// One pass of a convolution, including launches, by the fastest algorithm that the device's policy allows:
///
/// - implicit matrix product, with the groups as its batch. It moves input, output and weights once. Forward
///   (N OH OW) x K over C R S; data (N H W) x C with the same number of operations; weights K x (C R S) over
///   N OH OW, the only one whose sum is split. A strided backward-data pass does more work than necessary:
///   waste^strided;
/// - Winograd's algorithm if it exists (stride 1, no groups, square 3 x 3 or 5 x 5 kernels, no tensor cores):
///   F(2x2, 3x3) in one kernel, F(4x4, RxR) as products of transformed tiles, which need a workspace;
/// - depthwise (as many groups as channels), a direct kernel that is bound by memory.
Seconds convolution_time(const KernelDevice& device, const Convolution& c, ConvolutionPass pass);

}  // namespace paradl
