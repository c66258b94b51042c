// A CUDA runtime on host memory that replaces the real one. Kernels run at once. Memory is filled with NaN at
// first, and NaN follows its end. Matrix products and cuDNN's graphs are loops.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

#include <ucontext.h>

#include "calibrate/cuda/gemm.hpp"
#include "calibrate/cuda/graph.hpp"
#include "tests/calibrate/cuda/host_kernels.hpp"

namespace paradl::test {

Index threadIdx, blockIdx, blockDim, gridDim;

namespace {

// The threads of a block are fibers of one host thread.

constexpr std::size_t stack_bytes = 64 << 10;
ucontext_t home, fibers[256];
std::vector<char> stacks(256 * stack_bytes);
bool done[256];
const HostKernel* running = nullptr;
void** its_arguments = nullptr;

void fiber() {
  (*running)(its_arguments);
  done[threadIdx.x] = true;
  swapcontext(&fibers[threadIdx.x], &home);
}

void run_block(unsigned threads, bool backwards) {
  for (unsigned t = 0; t < threads; ++t) {
    getcontext(&fibers[t]);
    fibers[t].uc_stack.ss_sp = stacks.data() + t * stack_bytes;
    fibers[t].uc_stack.ss_size = stack_bytes;
    fibers[t].uc_link = &home;
    makecontext(&fibers[t], fiber, 0);
    done[t] = false;
  }
  while (true) {
    unsigned finished = 0;
    for (unsigned i = 0; i < threads; ++i) {
      threadIdx.x = backwards ? threads - 1 - i : i;
      swapcontext(&home, &fibers[threadIdx.x]);
      finished += done[threadIdx.x];
    }
    if (finished == threads) return;
    if (finished > 0) {
      std::puts("a thread ends where others wait for it");
      std::abort();
    }
  }
}

constexpr std::size_t guard_bytes = 4096;
std::unordered_map<void*, std::size_t> rooms;
HostKernels kernels;
std::unordered_map<const void*, bool> waits;  // which kernels have threads that wait for each other

}  // namespace

void next_thread() {
  const unsigned self = threadIdx.x;
  waits[running] = true;
  swapcontext(&fibers[self], &home);
}

}  // namespace paradl::test

using paradl::test::kernels;
using paradl::test::rooms;

extern "C" {

cudaError_t cudaDriverGetVersion(int* version) { return *version = 13000, cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
  *value = which == cudaDevAttrComputeCapabilityMajor ? 8 : which == cudaDevAttrMultiProcessorCount ? 2 : 0;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return *stream = nullptr, cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t* event) { return *event = nullptr, cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  return *milliseconds = 1, cudaSuccess;
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  const std::size_t rounded = (bytes + 255) / 256 * 256 + paradl::test::guard_bytes;
  *data = std::aligned_alloc(256, rounded);
  std::memset(*data, 0xff, rounded);
  rooms[*data] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFree(void* data) {
  const auto* end = static_cast<const unsigned char*>(data) + rooms.at(data);
  if (std::any_of(end, end + paradl::test::guard_bytes, [](unsigned char byte) { return byte != 0xff; })) {
    std::puts("a kernel wrote after the end of a buffer");
    std::abort();
  }
  rooms.erase(data);
  std::free(data);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t*, const void*, cudaJitOption*, void**, unsigned,
                                cudaLibraryOption*, void**, unsigned) {
  return cudaSuccess;
}
cudaError_t cudaLibraryUnload(cudaLibrary_t) { return cudaSuccess; }
cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t, const char* name) {
  const auto found = kernels.find(name);
  if (found == kernels.end()) return cudaErrorSymbolNotFound;
  *kernel = reinterpret_cast<cudaKernel_t>(&found->second);
  return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t,
                             cudaStream_t) {
  static bool backwards = false;  // alternates, so that no kernel can rely on the order of threads
  backwards = !backwards;
  paradl::test::running = static_cast<const paradl::test::HostKernel*>(kernel);
  paradl::test::its_arguments = arguments;
  paradl::test::gridDim.x = grid.x;
  paradl::test::blockDim.x = block.x;
  const bool alone = paradl::test::waits.contains(kernel) && !paradl::test::waits[kernel];
  for (unsigned b = 0; b < grid.x; ++b) {
    paradl::test::blockIdx.x = backwards ? grid.x - 1 - b : b;
    if (alone)  // fibers would only take time
      for (paradl::test::threadIdx.x = 0; paradl::test::threadIdx.x < block.x; ++paradl::test::threadIdx.x)
        (*paradl::test::running)(arguments);
    else
      paradl::test::run_block(block.x, backwards);
  }
  paradl::test::waits.try_emplace(kernel, false);
  return cudaSuccess;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { return *handle = nullptr, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }

}  // extern "C"

namespace paradl::calibrate::cuda {
namespace {

/// The floats of a stored tensor.
class Values {
 public:
  Values(Storage storage, const void* data) : storage_(storage), data_(const_cast<void*>(data)) {
    if (reinterpret_cast<std::uintptr_t>(data) % 2 != 0) std::abort();
  }
  float operator[](std::int64_t i) const {
    if (storage_ == Storage::fp32) return static_cast<const float*>(data_)[i];
    return std::bit_cast<float>(unsigned(static_cast<const std::uint16_t*>(data_)[i]) << 16);
  }
  void set(std::int64_t i, float value) const {
    if (storage_ == Storage::fp32) {
      static_cast<float*>(data_)[i] = value;
    } else {
      const auto bits = std::bit_cast<unsigned>(value);
      static_cast<std::uint16_t*>(data_)[i] = std::uint16_t((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
    }
  }

 private:
  Storage storage_;
  void* data_;
};

void require_aligned(const void* data) {
  if (reinterpret_cast<std::uintptr_t>(data) % 16 == 0) return;
  std::puts("a library is given a tensor that is not aligned");
  std::abort();
}

class LoopGraph : public Graph {
 public:
  LoopGraph(Context& context, GraphKind kind, const LocalLayer& layer)
      : storage_(context.storage()), kind_(kind), l(layer) {}

  void run(std::span<const void* const> tensors) override {
    std::vector<Values> values;
    for (const void* tensor : tensors) values.emplace_back(storage_, tensor);
    if (kind_ < GraphKind::attention_forward) {
      for (const void* tensor : tensors) require_aligned(tensor);
      return convolve(values);
    }
    attend(values, tensors);
  }

 private:
  void convolve(const std::vector<Values>& t) const {
    const std::int64_t groups = l.groups, C = l.x_channels / groups, F = l.y_channels / groups;
    const std::int64_t K = l.kernel[0] * l.kernel[1] * l.kernel[2];
    std::vector<float> out(std::size_t(kind_ == GraphKind::conv_forward ? l.y_items()
                                       : kind_ == GraphKind::conv_data  ? l.x_items()
                                                                        : l.y_channels * C * K));
    for (std::int64_t row = 0; row < l.samples * l.y_positions(); ++row)
      for (std::int64_t tap = 0; tap < K; ++tap) {
        const std::array<std::int64_t, 3> k{tap / (l.kernel[1] * l.kernel[2]),
                                            tap / l.kernel[2] % l.kernel[1], tap % l.kernel[2]};
        std::array<std::int64_t, 3> y{row / (l.y_extent[1] * l.y_extent[2]) % l.y_extent[0],
                                      row / l.y_extent[2] % l.y_extent[1], row % l.y_extent[2]};
        std::int64_t x_row = row / l.y_positions();
        bool inside = true;
        for (std::size_t d = 0; d < 3; ++d) {
          const std::int64_t at = y[d] * l.stride[d] + k[d] * l.dilation[d] - l.padding[d];
          inside = inside && at >= 0 && at < l.x_extent[d];
          x_row = x_row * l.x_extent[d] + at;
        }
        if (!inside) continue;
        for (std::int64_t f = 0; f < l.y_channels; ++f)
          for (std::int64_t c = 0; c < C; ++c) {
            const auto x = x_row * l.x_channels + f / F * C + c, yi = row * l.y_channels + f,
                       w = (f * K + tap) * C + c;
            if (kind_ == GraphKind::conv_forward) out[std::size_t(yi)] += t[0][x] * t[1][w];
            if (kind_ == GraphKind::conv_data) out[std::size_t(x)] += t[0][yi] * t[1][w];
            if (kind_ == GraphKind::conv_weights) out[std::size_t(w)] += t[0][yi] * t[1][x];
          }
      }
    for (std::size_t i = 0; i < out.size(); ++i) t[2].set(std::int64_t(i), out[i]);
  }

  // Tensors in the order of GraphKind. Statistics are the logarithms of the softmax sums.
  void attend(const std::vector<Values>& t, std::span<const void* const> tensors) const {
    const std::int64_t L = l.x_positions(), size = l.y_channels / l.heads, sharing = l.heads / l.kv_heads;
    const bool packed = sharing > 1, backward = kind_ == GraphKind::attention_backward;
    const float scale = 1 / std::sqrt(float(size));
    const auto in_x = [&](std::int64_t n, std::int64_t h, std::int64_t i, std::int64_t heads) {
      return packed ? ((n * heads + h) * L + i) * size : (n * L + i) * l.x_channels + h * 3 * size;
    };
    auto* const statistics = static_cast<float*>(const_cast<void*>(tensors[backward ? 5 : 4]));
    std::vector<float> dk, dv;
    for (std::int64_t n = 0; n < l.samples; ++n)
      for (std::int64_t g = 0; g < l.kv_heads; ++g) {
        dk.assign(std::size_t(L * size), 0);
        dv.assign(std::size_t(L * size), 0);
        for (std::int64_t h = g * sharing; h < (g + 1) * sharing; ++h)
          for (std::int64_t i = 0; i < L; ++i) {
            const std::int64_t seen = l.causal ? i + 1 : L, q = in_x(n, h, i, l.heads),
                               y = (n * L + i) * l.y_channels + h * size, own = (n * l.heads + h) * L + i;
            std::vector<float> score(std::size_t(seen), 0), d(score);
            float sum = 0, mean = 0;
            for (std::int64_t j = 0; j < seen; ++j) {
              float& s = score[std::size_t(j)];
              for (std::int64_t e = 0; e < size; ++e)
                s += t[0][q + e] * t[1][in_x(n, g, j, l.kv_heads) + e] * scale;
              sum += std::exp(s);
            }
            if (!backward) statistics[own] = std::log(sum);
            for (float& s : score) s = std::exp(s - statistics[own]);
            if (!backward)
              for (std::int64_t e = 0; e < size; ++e) {
                float out = 0;
                for (std::int64_t j = 0; j < seen; ++j)
                  out += score[std::size_t(j)] * t[2][in_x(n, g, j, l.kv_heads) + e];
                t[3].set(y + e, out);
              }
            if (!backward) continue;
            for (std::int64_t e = 0; e < size; ++e) mean += t[4][y + e] * t[3][y + e];
            for (std::int64_t e = 0; e < size; ++e) {
              float dq = 0;
              for (std::int64_t j = 0; j < seen; ++j) {
                const std::int64_t kv = in_x(n, g, j, l.kv_heads);
                float dot = 0;
                for (std::int64_t m = 0; m < size; ++m) dot += t[4][y + m] * t[2][kv + m];
                const float ds = score[std::size_t(j)] * (dot - mean) * scale;
                dq += ds * t[1][kv + e];
                dk[std::size_t(j * size + e)] += ds * t[0][q + e];
                dv[std::size_t(j * size + e)] += score[std::size_t(j)] * t[4][y + e];
              }
              t[6].set(q + e, dq);
            }
          }
        if (backward)
          for (std::int64_t j = 0; j < L; ++j)
            for (std::int64_t e = 0; e < size; ++e) {
              t[7].set(in_x(n, g, j, l.kv_heads) + e, dk[std::size_t(j * size + e)]);
              t[8].set(in_x(n, g, j, l.kv_heads) + e, dv[std::size_t(j * size + e)]);
            }
      }
  }

  Storage storage_;
  GraphKind kind_;
  LocalLayer l;
};

}  // namespace

std::unique_ptr<Graph> make_graph(Context& context, GraphKind kind, const LocalLayer& layer) {
  return std::make_unique<LoopGraph>(context, kind, layer);
}

struct Gemm::Plan {
  GemmShape shape;
};
Gemm::Gemm(Context& context, const GemmShape& shape)
    : context_(context), plan_(std::make_unique<Plan>(Plan{shape})) {}
Gemm::~Gemm() = default;
void Gemm::run(const void* a, const void* b, void* c, float alpha, const void* bias) {
  for (const void* matrix : {a, b, static_cast<const void*>(c)}) require_aligned(matrix);
  const GemmShape& s = plan_->shape;
  const Values A(context_.storage(), a), B(context_.storage(), b), C(context_.storage(), c),
      added(context_.storage(), bias);
  for (std::int64_t batch = 0; batch < s.batch; ++batch)
    for (std::int64_t i = 0; i < s.m; ++i)
      for (std::int64_t j = 0; j < s.n; ++j) {
        float sum = 0;
        for (std::int64_t e = 0; e < s.k; ++e)
          sum += A[batch * s.m * s.k + (s.transpose_a ? e * s.m + i : i * s.k + e)] *
                 B[batch * s.k * s.n + (s.transpose_b ? j * s.k + e : e * s.n + j)];
        C.set((batch * s.m + i) * s.n + j, alpha * sum + (s.bias ? added[j] : 0.0f));
      }
}

}  // namespace paradl::calibrate::cuda

namespace paradl::test {

void use_kernels(HostKernels with) { kernels = std::move(with); }

}  // namespace paradl::test
