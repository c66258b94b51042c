#pragma once
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn_graph.h>
#include <nccl.h>
#include <nvrtc.h>

namespace paradl::calibrate::cuda {

/// EnvironmentError unless the call succeeded; `call` is its name for the message.
void check(cudaError_t code, const char* call);
void check(cudnnStatus_t code, const char* call);
void check(cublasStatus_t code, const char* call);
void check(ncclResult_t code, const char* call);
void check(nvrtcResult code, const char* call);

}  // namespace paradl::calibrate::cuda
