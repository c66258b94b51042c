#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include "calibrate/cuda/cuda.hpp"
#include "paradl/core/error.hpp"

namespace paradl::calibrate {
namespace {

TEST_SUITE("driver") {
  TEST_CASE("without a driver the message says so, and says what to do") {
    int driver = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0) {
      MESSAGE("there is a driver here: nothing to check");
      return;
    }
    try {
      make_cuda_device(0, Precision::fp32);
      FAIL("there should be no device");
    } catch (const EnvironmentError& error) {
      CHECK(std::string(error.what()) == "no CUDA driver is loaded");
      CHECK(error.help().find("nvidia-smi") != std::string::npos);
    }
  }

  TEST_CASE("versions are known without a driver") {
    const std::string text = cuda_versions();
    CAPTURE(text);
    CHECK(text.starts_with("CUDA 1"));
    CHECK(text.find(", cuDNN 9.") != std::string::npos);
    CHECK(text.find(", NCCL 2.") != std::string::npos);
  }
}

}  // namespace
}  // namespace paradl::calibrate
