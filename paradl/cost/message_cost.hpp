#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "paradl/mesh/routed_exchange.hpp"
#include "paradl/network/fabric.hpp"

namespace paradl {

/// Time by bytes: linear, or as it was measured; with copies to the host and back, where there are some.
struct MessageCost {
  Linear specified;
  const Curve* measured = nullptr;
  SecondsPerByte copies = {};
  std::optional<Linear> trees = {};  // what a library would take for short messages
  Seconds operator()(Bytes m) const {
    if (measured) return (*measured)(m) + m * copies;
    return (trees ? std::min(specified(m), (*trees)(m)) : specified(m)) + m * copies;
  }
};

/// What the algorithm that was asked for takes to sum gradients, and how that was found.
struct AskedSum {
  RoutedExchange exchange;
  NetworkFidelity fidelity = NetworkFidelity::link_load;  // closed form: too many messages to follow
  std::string chosen(Bytes m) const;                      // what `auto` takes: "ring, Simple"
  std::optional<std::pair<Job, Ways>> tabulated = {};     // what it was asked for, if it is `auto`
};

}  // namespace paradl
