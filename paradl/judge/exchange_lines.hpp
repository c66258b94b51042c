#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "paradl/cost/evaluator.hpp"
#include "paradl/judge/binding.hpp"

namespace paradl {

/// A collective on one level of links: the values of its formula.
struct ExchangeStep {
  std::string_view level;
  double p;     // units of the level below that take part; 0 for a message between two
  Bytes bytes;  // of the buffer after the inner levels
  double phi;
  Seconds time;
  Binding binding = {};
};

/// One kind of collective or message of an iteration.
struct ExchangeLine {
  Term term;  // that it belongs to
  std::string what, axis, layer;
  double count;  // per iteration
  Bytes bytes;   // of the whole buffer
  Seconds each;
  std::string_view formula;         // of each step
  std::vector<ExchangeStep> steps;  // innermost level first; they sum to `each`
  NetworkFidelity fidelity = NetworkFidelity::closed_form;
};

/// All exchanges of a plan, the most expensive first.
std::vector<ExchangeLine> exchange_lines(const Evaluation& evaluation);

/// Where flows of the job share a wire: "φ = 2 on rack, allreduce dw over data: 4 flows leave a node through
/// 2 ports; 4 ports would give φ = 1". One line for each link; empty if none is shared.
std::string contention_text(const std::vector<ExchangeLine>& lines);

/// Those of one layer of a cell; `count` is of that layer alone.
std::vector<ExchangeLine> layer_exchanges(const Evaluation& evaluation, std::size_t cell,
                                          const std::string& layer);

}  // namespace paradl
