#include "calibrate/cuda/context.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "paradl/core/error.hpp"

namespace paradl::calibrate::cuda {
namespace {

/// Checks that the GPU exists.
void require_device(int ordinal) {
  int driver = 0, devices = 0;
  const cudaError_t asked = cudaDriverGetVersion(&driver);
  if (asked != cudaSuccess || driver == 0)
    throw EnvironmentError("no CUDA driver is loaded",
                           "run this on a machine with an NVIDIA GPU and its driver, or use `--backend cpu`; "
                           "`nvidia-smi` lists the GPUs");
  const cudaError_t counted = cudaGetDeviceCount(&devices);
  if (counted == cudaErrorNoDevice || (counted == cudaSuccess && devices == 0))
    throw EnvironmentError("no GPU is visible",
                           "`nvidia-smi` lists the GPUs; is CUDA_VISIBLE_DEVICES empty?");
  check(counted, "cudaGetDeviceCount");
  if (ordinal < 0 || ordinal >= devices)
    throw EnvironmentError(
        fmt::format("GPU {} does not exist", ordinal),
        fmt::format("{} visible, counted from 0; start as many ranks on a node as it has GPUs",
                    devices == 1 ? "1 is" : fmt::format("{} are", devices)));
}

int attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, ordinal), "cudaDeviceGetAttribute");
  return value;
}

}  // namespace

// If a constructor throws, no destructor runs. Objects created before are leaked until the program ends,
// which is soon.
Context::Context(int ordinal, Precision precision)
    : ordinal_(ordinal), precision_(precision), storage_(storage_of(precision)) {
  require_device(ordinal);
  enter();
  architecture_ = 10 * attribute(cudaDevAttrComputeCapabilityMajor, ordinal) +
                  attribute(cudaDevAttrComputeCapabilityMinor, ordinal);
  processors_ = attribute(cudaDevAttrMultiProcessorCount, ordinal);
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  check(cublasLtCreate(&blas_), "cublasLtCreate");
  const std::vector<char> code = compile_kernels(storage_, architecture_);
  check(cudaLibraryLoadData(&library_, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
        "cudaLibraryLoadData");
  for (Kernel& kernel : kernels_in(kernel_source())) {
    cudaKernel_t loaded = nullptr;
    check(cudaLibraryGetKernel(&loaded, library_, kernel.name.c_str()), "cudaLibraryGetKernel");
    kernels_[kernel.name] = {loaded, std::move(kernel.parameters)};
  }
  memory_ = std::make_shared<Memory>(*this);
}

Context::~Context() {
  cudaSetDevice(ordinal_);
  cudaStreamSynchronize(stream_);
  rooms_.clear();
  if (dnn_) cudnnDestroy(dnn_);
  cublasLtDestroy(blas_);
  cudaLibraryUnload(library_);
  cudaStreamDestroy(stream_);
}

cudnnHandle_t Context::dnn() {
  if (!dnn_) {
    check(cudnnCreate(&dnn_), "cudnnCreate");
    check(cudnnSetStream(dnn_, stream_), "cudnnSetStream");
  }
  return dnn_;
}

void Context::synchronize() const { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

void* Context::lend(std::size_t bytes) {
  constexpr std::size_t alignment = 256;
  bytes = (bytes + alignment - 1) / alignment * alignment;
  if (rooms_.empty() || lent_ + bytes > rooms_.back().bytes()) {
    lent_before_ += lent_;
    lent_ = 0;
    rooms_.emplace_back(bytes);
  }
  void* const out = static_cast<char*>(rooms_.back().get()) + lent_;
  lent_ += bytes;
  return out;
}

// After a pass that needed several rooms, one larger room replaces them.
void Context::give_back() {
  const std::size_t needed = lent_before_ + lent_;
  lent_ = lent_before_ = 0;
  if (rooms_.size() <= 1) return;
  rooms_.clear();
  void* data = nullptr;
  if (cudaMalloc(&data, needed) != cudaSuccess)
    cudaGetLastError();  // if that fails, several rooms are used again
  else
    rooms_.push_back(Room::adopt(data, needed));
}

void Context::zero(void* to, std::size_t bytes) {
  if (bytes > 0) check(cudaMemsetAsync(to, 0, bytes, stream_), "cudaMemsetAsync");
}

void Context::move(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0 && to != from)
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_), "cudaMemcpyAsync");
}

void Context::convert(std::size_t items, const void* from, bool from_wide, void* to, bool to_wide) {
  launch("convert", std::int64_t(items), std::int64_t(items), from, std::int64_t(from_wide), to,
         std::int64_t(to_wide));
}

void Context::submit(const char* kernel, std::int64_t blocks, std::string_view kinds, void** arguments) {
  const auto found = kernels_.find(kernel);
  if (found == kernels_.end() || found->second.parameters != kinds)
    throw std::logic_error(fmt::format("kernel {} ({}) does not exist", kernel, kinds));
  if (blocks <= 0) return;
  // Enough blocks to fill any GPU; the kernels loop over the rest.
  const auto grid = unsigned(std::min<std::int64_t>(blocks, 1 << 20));
  check(cudaLaunchKernel(reinterpret_cast<const void*>(found->second.kernel), dim3(grid), dim3(block_size),
                         arguments, 0, stream_),
        kernel);
}

void Event::record(const Context& context) const {
  check(cudaEventRecord(event_, context.stream()), "cudaEventRecord");
}

Seconds Event::since(const Event& earlier) const {
  float milliseconds = 0;
  check(cudaEventSynchronize(event_), "cudaEventSynchronize");
  check(cudaEventElapsedTime(&milliseconds, earlier.event_, event_), "cudaEventElapsedTime");
  return Seconds{double(milliseconds) * 1e-3};
}

Seconds shortest_time(Context& context, const std::function<void()>& work) {
  constexpr int repetitions = 3;
  work();  // warms up
  Seconds shortest;
  for (int i = 0; i < repetitions; ++i) {
    const Event begin, end;
    begin.record(context);
    work();
    end.record(context);
    const Seconds time = end.since(begin);
    if (i == 0 || time < shortest) shortest = time;
  }
  return shortest;
}

}  // namespace paradl::calibrate::cuda
