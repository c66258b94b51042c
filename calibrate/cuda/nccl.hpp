#pragma once
#include <memory>

#include "calibrate/backend/communicator.hpp"
#include "calibrate/backend/device.hpp"

namespace paradl::calibrate {

/// NCCL among the GPUs of the ranks of `host`, by which they find each other (MPI, or anything that exchanges
/// numbers in host memory). `device` is one of make_cuda_device and must outlive it. All ranks call this at
/// once, each with a GPU of its own.
std::unique_ptr<Communicator> make_nccl_communicator(Device& device, const Communicator& host);

}  // namespace paradl::calibrate
