#pragma once
#include "paradl/spec/local_layer.hpp"

namespace paradl::calibrate::cuda {

/// A convolution that cuDNN supports: with equal padding on both sides. If the layer has another padding, its
/// x is copied to a tensor of `x_extent` rows (more or fewer), which is not padded.
struct Fitted {
  LocalLayer layer;
  bool copies_x = false;
};
Fitted fitted(const LocalLayer& layer);

}  // namespace paradl::calibrate::cuda
