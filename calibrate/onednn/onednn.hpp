#pragma once
#include <memory>

#include "calibrate/backend/device.hpp"

namespace paradl::calibrate {

/// The back end `cpu`: oneDNN for products, attention and the dear activations, plain loops for the rest. It
/// uses as many threads as OMP_NUM_THREADS says; the plain loops always use one.
std::unique_ptr<Device> make_cpu_device();

}  // namespace paradl::calibrate
