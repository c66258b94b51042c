#pragma once
#include <cstdint>
#include <memory>

#include "calibrate/cuda/context.hpp"

namespace paradl::calibrate::cuda {

/// C = alpha A B, row by row in memory, `batch` times: A is m x k, B is k x n, C is m x n. A transposed
/// matrix is stored as its transpose, row by row.
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  std::int64_t batch = 1;  // the matrices of an operand are contiguous
  bool bias = false;       // n numbers, added to each row of C
};

/// A matrix product by cuBLASLt. The heuristics propose algorithms, and the fastest one is chosen by timing.
class Gemm {
 public:
  Gemm(Context& context, const GemmShape& shape);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;
  /// All matrices must be aligned to 16 bytes.
  void run(const void* a, const void* b, void* c, float alpha = 1, const void* bias = nullptr);

 private:
  struct Plan;
  Context& context_;
  std::unique_ptr<Plan> plan_;
};

}  // namespace paradl::calibrate::cuda
