#pragma once
#include <string>
#include <vector>

#include "paradl/spec/precision.hpp"

namespace paradl::calibrate::cuda {

/// How items are stored in memory.
enum class Storage { fp32, fp16, bf16 };

/// UsageError for precisions that this back end does not support.
Storage storage_of(Precision precision);
constexpr std::size_t item_size(Storage storage) { return storage == Storage::fp32 ? 4 : 2; }

/// A kernel and the kinds of its parameters: `p` a pointer, `i` an i64, `f` a float, `s` a struct.
struct Kernel {
  std::string name, parameters;
};

/// All of kernels/*.cu.
const char* kernel_source();
/// The kernels that a source defines.
std::vector<Kernel> kernels_in(const std::string& source);

/// Code for GPUs of an architecture (80 is sm_80): for that one only or, if this NVRTC knows only older ones,
/// the newest portable code. EnvironmentError if it cannot be compiled.
std::vector<char> compile_kernels(Storage storage, int architecture);
/// The architectures that this NVRTC compiles for, in ascending order.
std::vector<int> known_architectures();

}  // namespace paradl::calibrate::cuda
