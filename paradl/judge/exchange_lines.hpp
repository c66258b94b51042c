#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "paradl/core/short_list.hpp"
#include "paradl/cost/evaluator.hpp"
#include "paradl/judge/binding.hpp"

namespace paradl {

/// A collective on one level of links: the values of its formula.
struct LevelTime {
  std::string_view level;
  double p;     // units of the level below that take part; 0 for a message between two
  Bytes bytes;  // of the buffer after the inner levels
  double phi;
  Seconds time;
  int narrow, wire;  // where flows share a link: see Hop
};
using LevelTimes = ShortList<LevelTime, 8>;

/// The levels of an exchange, innermost first: their times sum to `on_links`.
LevelTimes level_times(const Charge& exchange, const Evaluation& evaluation);
/// Whether flows share a link on one of them. Faster than looking at all levels.
bool shares_links(const Charge& exchange, const Evaluation& evaluation);
/// The link that flows share on one of them.
Binding binding_of(const LevelTime& level, const Charge& exchange, const Evaluation& evaluation);

/// "allgather y", "halo of x, rows", "allreduce dw".
std::string what_of(const Charge& exchange, const Evaluation& evaluation);
/// "data", "data+spatial".
std::string axes_of(const Charge& exchange, const Evaluation& evaluation);
/// "conv1", "all weights".
std::string layer_of(const Charge& exchange, const Evaluation& evaluation);

/// One level of an exchange, and what limits it there.
struct ExchangeStep : LevelTime {
  Binding binding;
};

/// One kind of collective or message of an iteration, in words.
struct ExchangeLine {
  Term term;  // that it belongs to
  std::string what, axis, layer;
  double count;  // per iteration
  Bytes bytes;   // of the whole buffer
  Seconds each;  // on links
  std::string_view formula;         // of each step
  std::vector<ExchangeStep> steps;  // innermost level first; they sum to `each`
  NetworkFidelity fidelity = NetworkFidelity::closed_form;
};

/// All exchanges of a plan, the most expensive first.
std::vector<ExchangeLine> exchange_lines(const Evaluation& evaluation);

/// Where flows of the job share a wire: "φ = 2 on rack, allreduce dw over data: 4 flows leave a node through
/// 2 ports; 4 ports would give φ = 1". One line for each link; empty if none is shared.
std::string contention_text(const std::vector<ExchangeLine>& lines);

/// One of them.
ExchangeLine exchange_line(const Charge& exchange, const Evaluation& evaluation);

}  // namespace paradl
