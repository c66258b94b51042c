#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "paradl/mesh/routed_exchange.hpp"
#include "paradl/network/fabric.hpp"
#include "paradl/network/measured_cost.hpp"

namespace paradl {

/// The time of a message by its bytes: linear or measured, plus copies to the host and back, if any.
struct MessageCost {
  Linear specified;
  const MeasuredCost* measured = nullptr;
  SecondsPerByte copies = {};
  std::optional<Linear> trees = {};  // the time with trees, which a library uses for short messages
  Seconds operator()(Bytes m) const { return on_links(m) + m * copies; }
  /// Without the copies.
  Seconds on_links(Bytes m) const {
    if (measured) return (*measured)(m);
    return trees ? std::min(specified(m), (*trees)(m)) : specified(m);
  }
  bool takes_trees(Bytes m) const {
    return measured ? measured->takes_trees(m) : trees && (*trees)(m) < specified(m);
  }
};

/// The time in which the requested algorithm sums gradients, and how it was computed.
struct AskedSum {
  RoutedExchange exchange;
  NetworkFidelity fidelity = NetworkFidelity::link_load;  // closed form: too many messages to route
  std::string chosen(Bytes m) const;                      // what `auto` chooses: "ring, Simple"
  std::optional<std::pair<Job, Ways>> tabulated = {};     // the job that `auto` chooses for
};

}  // namespace paradl
