#pragma once
#include <string>
#include <vector>

#include "paradl/machine/convolution_time.hpp"
#include "paradl/machine/product_time.hpp"

namespace paradl::calibrate {

/// The kinds of kernels that parameters are fitted to.
enum class KernelClass { product, forward, backward_data, backward_weights };
inline constexpr std::array<std::string_view, 4> kernel_class_names{"matrix product", "forward",
                                                                    "backward-data", "backward-weights"};
static_assert(names_every(KernelClass::backward_weights, kernel_class_names), "name every KernelClass");

/// A kernel that was timed alone.
struct KernelTiming {
  KernelClass kind = KernelClass::product;
  double m = 0, n = 0, k = 0;  // of a product
  Convolution convolution;
  double seconds = 0;
  std::string shape;  // timings with the same shape are left out of the fit together
};

/// Its time by the model.
double modelled_seconds(const KernelDevice& device, const KernelTiming& timing);

/// Timings of DeepBench (Baidu Research) on one device: deepbench_gemm.csv and deepbench_conv.csv in a
/// folder. Timings that differ only in batch or transposition have the same shape.
struct BenchSet {
  std::string device, precision, software;  // as the files spell them
};
std::vector<KernelTiming> read_deepbench(const std::string& folder, const BenchSet& set);

}  // namespace paradl::calibrate
