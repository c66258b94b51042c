#pragma once
#include <optional>

#include "paradl/machine/layer_time.hpp"
#include "paradl/mesh/exchange.hpp"
#include "paradl/network/algorithm.hpp"

namespace paradl {

/// In which order the stages of a pipeline work on micro-batches.
enum class PipelineSchedule { gpipe, one_forward_one_backward };

/// How a framework trains: everything that is neither the network nor the machine.
struct Training {
  Precision precision = Precision::fp32;
  Optimizer optimizer = Optimizer::momentum;
  int micro_batches = 1;  // per pipeline and iteration
  PipelineSchedule schedule = PipelineSchedule::gpipe;
  bool overlap = true;                         // gradient exchange behind the backward pass
  Reduction reduction = Reduction::allreduce;  // what ends a sum over filters or channels
  bool synchronised_batch_norm = false;
  /// Backward, the edges of dx are sent to their owners and added there, in place of edges of dy that are
  /// fetched: the same work where a layer has as many filters as channels.
  bool halos_of_dx = false;
  /// PEs that have the same gradient take part in its sum where that is faster; otherwise only those do that
  /// have addends.
  bool wide_sums = true;
  bool ceil_iterations = false;          // rounds I = D/B up, as the authors' tool does
  std::optional<double> gamma;           // the paper's memory reuse factor instead of our own accounting
  Bytes bucket{25e6};                    // gradients are sent in pieces of this size (PyTorch's default)
  const Algorithm* allreduce = nullptr;  // of gradients; none: a ring on every level
  double density = 1;                    // of sparse gradients
  ConvolutionPolicy convolutions;        // which algorithms modelled layer times may choose from
};

/// Everything a projection depends on besides strategy and grid.
struct Setting {
  const Workload& work;
  const Machine& machine;
  const LayerTimes& times;
  Training training;
  const Topology* topology = nullptr;  // between the machine's nodes; none: a tree of its levels
};

}  // namespace paradl
