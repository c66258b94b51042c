#pragma once
#include <memory>

#include "calibrate/backend/communicator.hpp"
#include "calibrate/backend/device.hpp"

namespace paradl::calibrate {

/// NCCL between the GPUs of all ranks. The ranks find each other through `host` (MPI, or another communicator
/// in host memory). `device` comes from make_cuda_device and must outlive the result. All ranks call this at
/// once, each with its own GPU.
std::unique_ptr<Communicator> make_nccl_communicator(Device& device, const Communicator& host);

}  // namespace paradl::calibrate
