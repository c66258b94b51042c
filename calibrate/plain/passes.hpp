#pragma once
#include <cstddef>

#include "calibrate/backend/device.hpp"

namespace paradl::calibrate {

/// The passes of one operation as functions of its sizes and its data; nullptr where there is nothing to do.
struct Passes {
  using Pass = void (*)(const LocalLayer&, const LayerData&);
  Pass forward = nullptr, backward_data = nullptr, backward_weights = nullptr;
  Pass forward_statistics = nullptr, backward_statistics = nullptr;
  std::size_t (*kept_items)(const LocalLayer&) = nullptr;
};

extern const Passes product_passes;                                        // products.cpp: conv, fc
extern const Passes max_pool_passes, avg_pool_passes, global_pool_passes;  // windows.cpp
extern const Passes batch_norm_passes, layer_norm_passes, group_norm_passes, rms_norm_passes;  // norms.cpp
extern const Passes relu_passes, gelu_passes, silu_passes, tanh_passes, sigmoid_passes, gate_passes,
    softmax_passes;                                                                         // pointwise.cpp
extern const Passes attention_passes;                                                       // attention.cpp
extern const Passes embedding_passes, position_passes, tokens_passes;                       // tables.cpp
extern const Passes copy_passes, add_passes, concat_passes, flatten_passes, select_passes;  // moves.cpp

}  // namespace paradl::calibrate
