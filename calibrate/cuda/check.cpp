#include "calibrate/cuda/check.hpp"

#include <fmt/format.h>

#include "paradl/core/error.hpp"

namespace paradl::calibrate::cuda {
namespace {

[[noreturn]] void fail(const char* call, int code, const char* text, const char* help) {
  throw EnvironmentError(fmt::format("{} failed: {} (code {})", call, text, code), help);
}

const char* help_with(cudaError_t code) {
  switch (code) {
    case cudaErrorMemoryAllocation:
      return "use fewer samples per GPU (-b), or a GPU with more free memory (`nvidia-smi` shows what uses "
             "it)";
    case cudaErrorInsufficientDriver:
      return "the driver is older than the CUDA runtime: update it, or build with an older CUDA toolkit";
    case cudaErrorNoKernelImageForDevice:
      return "this CUDA toolkit does not support this GPU: CUDA 13 needs sm_75, a V100 needs CUDA 12";
    case cudaErrorDevicesUnavailable:
      return "another process uses the GPU exclusively: `nvidia-smi` shows which";
    default:
      return "`nvidia-smi` shows the state of the GPUs, CUDA_LAUNCH_BLOCKING=1 finds the kernel at fault";
  }
}

}  // namespace

void check(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // clears the error, unless the GPU is lost
  fail(call, int(code), cudaGetErrorString(code), help_with(code));
}

void check(cudnnStatus_t code, const char* call) {
  if (code != CUDNN_STATUS_SUCCESS)
    fail(call, int(code), cudnnGetErrorString(code),
         "CUDNN_LOGLEVEL_DBG=2 CUDNN_LOGDEST_DBG=stderr makes cuDNN print why");
}

void check(cublasStatus_t code, const char* call) {
  if (code != CUBLAS_STATUS_SUCCESS)
    fail(call, int(code), cublasLtGetStatusString(code), "CUBLASLT_LOG_LEVEL=2 makes cuBLASLt print why");
}

void check(ncclResult_t code, const char* call) {
  if (code != ncclSuccess && code != ncclInProgress)
    fail(call, int(code), ncclGetErrorString(code), "NCCL_DEBUG=INFO makes NCCL print why");
}

void check(nvrtcResult code, const char* call) {
  if (code != NVRTC_SUCCESS)
    fail(call, int(code), nvrtcGetErrorString(code), "does the version of NVRTC match the CUDA runtime?");
}

}  // namespace paradl::calibrate::cuda
