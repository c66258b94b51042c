#pragma once
#include <memory>
#include <span>
#include <string>

#include "calibrate/cuda/context.hpp"

namespace paradl::calibrate::cuda {

/// The graphs of cuDNN, and their tensors in this order. `w` is filter, taps, channel of its group. Attention
/// reads q, k and v directly from x if each head of queries has its own head of keys, and otherwise packed
/// head by head; `statistics` are 32 bits for each query of each head.
enum class GraphKind {
  conv_forward,        // x, w, y
  conv_data,           // dy, w, dx
  conv_weights,        // dy, x, dw
  attention_forward,   // q, k, v, y, statistics
  attention_backward,  // q, k, v, y, dy, statistics, dq, dk, dv
};

/// Why the library rejects the graph on GPUs of that architecture (80 is sm_80), or "". Does not check
/// whether there is an engine for it, and needs no GPU. A convolution must have equal padding on both sides
/// (see conv.hpp).
std::string problem_with(GraphKind kind, const LocalLayer& layer, Precision precision, int architecture);

/// A graph with its plan: the fastest of those that the heuristics propose.
class Graph {
 public:
  virtual ~Graph() = default;
  /// Tensors in the order of GraphKind, aligned to 16 bytes.
  virtual void run(std::span<const void* const> tensors) = 0;
};

/// nullptr if cuDNN has no engine for it on this GPU.
std::unique_ptr<Graph> make_graph(Context& context, GraphKind kind, const LocalLayer& layer);

}  // namespace paradl::calibrate::cuda
