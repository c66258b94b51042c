#include "calibrate/cuda/gemm.hpp"

#include <array>
#include <optional>

#include <fmt/format.h>

#include "paradl/core/error.hpp"

namespace paradl::calibrate::cuda {
namespace {

constexpr std::size_t largest_workspace = std::size_t{32}
                                          << 20;  // NVIDIA's recommendation for its newest GPUs
constexpr int tried = 8;                          // algorithms to time, the best by the heuristics

cudaDataType_t type_of(Storage storage) {
  switch (storage) {
    case Storage::fp16:
      return CUDA_R_16F;
    case Storage::bf16:
      return CUDA_R_16BF;
    default:
      return CUDA_R_32F;
  }
}

cublasComputeType_t arithmetic(Precision precision) {
  return precision == Precision::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

template <class Value>
void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  check(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value),
        "cublasLtMatmulDescSetAttribute");
}

/// A matrix of `columns` columns of `rows` numbers each, stored column by column as in cuBLAS.
class Layout {
 public:
  Layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns, std::int64_t batch) {
    check(cublasLtMatrixLayoutCreate(&layout_, type, std::uint64_t(rows), std::uint64_t(columns), rows),
          "cublasLtMatrixLayoutCreate");
    const auto count = std::int32_t(batch);
    const std::int64_t stride = rows * columns;
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, count);
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  }
  ~Layout() {
    if (layout_) cublasLtMatrixLayoutDestroy(layout_);
  }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  cublasLtMatrixLayout_t get() const { return layout_; }

 private:
  template <class Value>
  void set(cublasLtMatrixLayoutAttribute_t attribute, const Value& value) {
    check(cublasLtMatrixLayoutSetAttribute(layout_, attribute, &value, sizeof value),
          "cublasLtMatrixLayoutSetAttribute");
  }
  cublasLtMatrixLayout_t layout_ = nullptr;
};

class Description {
 public:
  explicit Description(Precision precision) {
    check(cublasLtMatmulDescCreate(&description_, arithmetic(precision), CUDA_R_32F),
          "cublasLtMatmulDescCreate");
  }
  ~Description() {
    if (description_) cublasLtMatmulDescDestroy(description_);
  }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;
  cublasLtMatmulDesc_t get() const { return description_; }

 private:
  cublasLtMatmulDesc_t description_ = nullptr;
};

class Preference {
 public:
  Preference() {
    check(cublasLtMatmulPreferenceCreate(&preference_), "cublasLtMatmulPreferenceCreate");
    constexpr std::uint32_t alignment = 16;
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, largest_workspace);
    for (const auto operand :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      set(operand, alignment);
  }
  ~Preference() {
    if (preference_) cublasLtMatmulPreferenceDestroy(preference_);
  }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  cublasLtMatmulPreference_t get() const { return preference_; }

 private:
  template <class Value>
  void set(cublasLtMatmulPreferenceAttributes_t attribute, const Value& value) {
    check(cublasLtMatmulPreferenceSetAttribute(preference_, attribute, &value, sizeof value),
          "cublasLtMatmulPreferenceSetAttribute");
  }
  cublasLtMatmulPreference_t preference_ = nullptr;
};

}  // namespace

// cuBLAS stores matrices column by column, so it sees every matrix transposed: C' = B' A'.
struct Gemm::Plan {
  Plan(Context& context, const GemmShape& s)
      : shape(s),
        description(context.precision()),
        first(type_of(context.storage()), s.transpose_b ? s.k : s.n, s.transpose_b ? s.n : s.k, s.batch),
        second(type_of(context.storage()), s.transpose_a ? s.m : s.k, s.transpose_a ? s.k : s.m, s.batch),
        product(type_of(context.storage()), s.n, s.m, s.batch) {
    set(description.get(), CUBLASLT_MATMUL_DESC_TRANSA, s.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(description.get(), CUBLASLT_MATMUL_DESC_TRANSB, s.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (s.bias) set(description.get(), CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  }

  cublasStatus_t run(Context& context, const cublasLtMatmulHeuristicResult_t& choice, const void* a,
                     const void* b, void* c, float alpha, const void* bias, void* workspace) const {
    if (shape.bias) set(description.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    const float beta = 0;
    return cublasLtMatmul(context.blas(), description.get(), &alpha, b, first.get(), a, second.get(), &beta,
                          c, product.get(), c, product.get(), &choice.algo, workspace, choice.workspaceSize,
                          context.stream());
  }

  GemmShape shape;
  Description description;
  Layout first, second, product;
  cublasLtMatmulHeuristicResult_t chosen{};
};

Gemm::Gemm(Context& context, const GemmShape& shape)
    : context_(context), plan_(std::make_unique<Plan>(context, shape)) {
  const auto room = [&](std::int64_t rows, std::int64_t columns) {
    return Room(std::size_t(rows * columns * shape.batch) * context.item_bytes());
  };
  const Room a = room(shape.m, shape.k), b = room(shape.k, shape.n), c = room(shape.m, shape.n),
             bias = room(shape.n, 1), workspace(largest_workspace);
  for (const Room* operand : {&a, &b, &bias}) context.zero(operand->get(), operand->bytes());
  // The heuristics need any valid address of a bias.
  if (shape.bias)
    set(plan_->description.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(bias.get()));

  const Preference preference;
  std::array<cublasLtMatmulHeuristicResult_t, tried> results{};
  int found = 0;
  check(cublasLtMatmulAlgoGetHeuristic(context.blas(), plan_->description.get(), plan_->first.get(),
                                       plan_->second.get(), plan_->product.get(), plan_->product.get(),
                                       preference.get(), tried, results.data(), &found),
        "cublasLtMatmulAlgoGetHeuristic");
  std::optional<Seconds> best;
  for (std::size_t i = 0; i < std::size_t(found); ++i) {
    if (results[i].state != CUBLAS_STATUS_SUCCESS) continue;
    bool ran = true;
    const Seconds time = shortest_time(context, [&] {
      ran = ran && plan_->run(context, results[i], a.get(), b.get(), c.get(), 1, bias.get(),
                              workspace.get()) == CUBLAS_STATUS_SUCCESS;
    });
    if (!ran || (best && *best <= time)) continue;
    best = time;
    plan_->chosen = results[i];
  }
  if (!best)
    throw EnvironmentError(
        fmt::format("cuBLASLt cannot multiply {} x {} by {} x {}", shape.m, shape.k, shape.k, shape.n),
        "CUBLASLT_LOG_LEVEL=2 makes it print why");
}

Gemm::~Gemm() = default;

void Gemm::run(const void* a, const void* b, void* c, float alpha, const void* bias) {
  void* const workspace = context_.lend(plan_->chosen.workspaceSize);
  check(plan_->run(context_, plan_->chosen, a, b, c, alpha, bias, workspace), "cublasLtMatmul");
}

}  // namespace paradl::calibrate::cuda
