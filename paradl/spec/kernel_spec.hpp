#pragma once
#include <array>
#include <limits>
#include <optional>
#include <string>

#include "paradl/core/quantity.hpp"
#include "paradl/spec/document.hpp"
#include "paradl/spec/precision.hpp"

namespace paradl {

/// How efficient the kernels of one library generation are on one device in one precision: the parameters of
/// the kernel-time model (paradl/machine/product_time.hpp and similar files) that a data sheet does not give.
/// The defaults are used for a device without a fit.
struct KernelParameters {
  double compute = 0.9;  // share of the peak rate that a very large tile reaches
  double tile = 15;      // efficiency of small tiles: a / (a + tile), with a = TmTn / (Tm + Tn)
  double ends = 0;       // time to start and finish a tile, in terms of its inner sum
  double memory = 0.8;   // share of the memory bandwidth that products and convolutions reach
  double unaligned = 1;  // efficiency of products on tensor cores with a side that is not a multiple of 8
  double stream = 0.91;  // share of the memory bandwidth that element-wise kernels reach
  Seconds launch{6e-6};  // of one kernel
  double forward = 1;    // efficiency of a convolution relative to a matrix product: forward,
  double backward_data = 0.9;      // with respect to its input,
  double backward_weights = 0.85;  // and to its weights
  double winograd = 0.85;  // efficiency of the products inside Winograd's algorithm; 0: no such kernels
  double strided = 0.57;   // exponent of the unnecessary work in a strided backward-data pass
  double volume = 0.25;    // efficiency of 3-D convolutions relative to 2-D ones
};

/// Fitted kernels of a device: profiles/kernels/*.yaml.
struct KernelSpec {
  SourceText source;
  std::string name, device, libraries, origin;
  std::array<std::optional<KernelParameters>, precision_names.size()> fitted;  // by Precision
};

/// Reads fitted kernels. SpecError lists the mistakes in the file.
KernelSpec read_kernels(SourceText source);
/// The text of a kernel file; read_kernels() returns the same numbers.
std::string kernels_text(const KernelSpec& spec);

}  // namespace paradl
