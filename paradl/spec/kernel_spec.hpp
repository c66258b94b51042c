#pragma once
#include <array>
#include <limits>
#include <optional>
#include <string>

#include "paradl/core/quantity.hpp"
#include "paradl/spec/document.hpp"
#include "paradl/spec/precision.hpp"

namespace paradl {

/// What the kernels of one library generation reach on one device in one precision: the few numbers of the
/// kernel-time model (paradl/machine/product_time.hpp and its neighbours) that a data sheet does not have.
/// Without a fit these are the defaults, which serve a device of which only the data sheet is known.
struct KernelParameters {
  double compute = 0.9;  // share of the peak rate that a very large tile reaches
  double tile = 15;      // elements by which small tiles fall behind: a / (a + tile), a = TmTn / (Tm + Tn)
  double ends = 0;       // terms of the inner sum that the beginning and the end of a tile take as long as
  double memory = 0.8;   // share of the memory bandwidth that products and convolutions reach
  double unaligned = 1;  // efficiency of products on tensor cores with a side that is no multiple of 8
  double stream = 0.91;  // the same of element-wise kernels, which do nothing else
  Seconds launch{6e-6};  // of one kernel
  double forward = 1;    // efficiency of a convolution relative to a matrix product: forward,
  double backward_data = 0.9;      // with respect to its input,
  double backward_weights = 0.85;  // and to its weights
  double winograd = 0.85;  // of the products inside Winograd's algorithm; 0: there are no such kernels
  double strided = 0.57;   // exponent of what a strided backward-data pass computes in vain
  double volume = 0.25;    // efficiency of three-dimensional convolutions relative to flat ones
};

/// Fitted kernels of a device: profiles/kernels/*.yaml.
struct KernelSpec {
  SourceText source;
  std::string name, device, libraries, origin;
  std::array<std::optional<KernelParameters>, precision_names.size()> fitted;  // by Precision
};

/// Reads fitted kernels. SpecError lists what is wrong with the file.
KernelSpec read_kernels(SourceText source);
/// The text of such a file; read_kernels() gives the same numbers back.
std::string kernels_text(const KernelSpec& spec);

}  // namespace paradl
