#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "paradl/mesh/routed_exchange.hpp"
#include "paradl/network/fabric.hpp"

namespace paradl {

/// The time of a message by its bytes: linear or measured, plus copies to the host and back, if any.
struct MessageCost {
  Linear specified;
  const Curve* measured = nullptr;
  SecondsPerByte copies = {};
  std::optional<Linear> trees = {};  // the time with trees, which a library uses for short messages
  Seconds operator()(Bytes m) const {
    if (measured) return (*measured)(m) + m * copies;
    return (trees ? std::min(specified(m), (*trees)(m)) : specified(m)) + m * copies;
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
