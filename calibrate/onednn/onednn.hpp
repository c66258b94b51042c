#pragma once
#include <memory>

#include "calibrate/backend/device.hpp"

namespace paradl::calibrate {

/// The back end `cpu`: oneDNN for products, attention and expensive activations, plain loops for the rest. It
/// uses OMP_NUM_THREADS threads; the plain loops always use one.
std::unique_ptr<Device> make_cpu_device();

}  // namespace paradl::calibrate
