#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

// The parts of CUDA that kernels/*.cu use, so that a C++ compiler accepts them. The threads of a block run in
// turn, each up to its next __syncthreads().

namespace paradl::test {

struct Index {
  unsigned x = 0;
};
extern Index threadIdx, blockIdx, blockDim, gridDim;
void next_thread();  // returns when all threads of the block are here

using HostKernel = std::function<void(void** arguments)>;
using HostKernels = std::map<std::string, HostKernel>;
HostKernels kernels_in_fp32();
HostKernels kernels_in_bf16();

template <class... Parameters, std::size_t... I>
HostKernel host_kernel(void (*kernel)(Parameters...), std::index_sequence<I...>) {
  return
      [kernel](void** arguments) { kernel(*static_cast<std::remove_const_t<Parameters>*>(arguments[I])...); };
}
template <class... Parameters>
HostKernel host_kernel(void (*kernel)(Parameters...)) {
  return host_kernel(kernel, std::index_sequence_for<Parameters...>());
}

inline float atomicAdd(float* to, float value) { return std::exchange(*to, *to + value); }
inline void __syncthreads() { next_thread(); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }

}  // namespace paradl::test
