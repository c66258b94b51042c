#pragma once
#include "paradl/spec/local_layer.hpp"

namespace paradl::calibrate::cuda {

/// A convolution as cuDNN has engines for: padded by the same on both sides. If the layer is not such a one,
/// its x is copied to one of `x_extent` rows without padding, which may be more rows or fewer.
struct Fitted {
  LocalLayer layer;
  bool copies_x = false;
};
Fitted fitted(const LocalLayer& layer);

}  // namespace paradl::calibrate::cuda
