// cuda_on_host PRECISION: compares the CUDA back end with the plain one. Its kernels are compiled for the CPU
// and run on a fake CUDA runtime. Except for calls to cuDNN, cuBLASLt and NCCL, this code also runs on a GPU.
#include <cstring>

#include "calibrate/cuda/cuda.hpp"
#include "tests/calibrate/cuda/compare.hpp"
#include "tests/calibrate/cuda/host_kernels.hpp"

namespace paradl::test {

void use_kernels(HostKernels with);

}  // namespace paradl::test

int main(int argc, char** argv) {
  using namespace paradl;
  const bool narrow = argc == 2 && std::strcmp(argv[1], "bf16") == 0;
  test::use_kernels(narrow ? test::kernels_in_bf16() : test::kernels_in_fp32());
  const auto device = calibrate::make_cuda_device(0, narrow ? Precision::bf16 : Precision::fp32);
  return test::Comparison(*device, narrow ? 3e-2 : 2e-5, narrow ? 256 : 1 << 24).run() == 0 ? 0 : 1;
}
