#pragma once
#include <algorithm>

#include "paradl/network/algorithm.hpp"

// The link of a message, as closed forms see it.
namespace paradl {

/// Between the ranks of one node.
inline Link inside(const Ways& ways) {
  return {ways.inner.link.alpha, ways.inner.phi * ways.inner.link.beta};
}

/// Between nodes, when all ranks of a node send at once.
inline Link shared_port(const Ways& ways) {
  return {ways.outer.link.alpha, ways.outer.phi * ways.outer.link.beta};
}

/// Between nodes, when one rank of each node sends: it shares its port only with other groups.
inline Link own_port(const Ways& ways) {
  return {ways.outer.link.alpha, std::max(1.0, ways.outer.phi / ways.inner.size) * ways.outer.link.beta};
}

/// The links in a step in which each rank either sends or receives, as in trees.
inline Ways one_way(Ways ways) {
  ways.outer.phi = std::max(1.0, ways.outer.phi / ways.both_ways);
  return ways;
}

/// Between ranks that are `distance` apart, when all of them send.
inline Link across(const Ways& ways, int distance) {
  return distance < ways.inner.size ? inside(ways) : shared_port(ways);
}

/// The same when one rank of each node sends.
inline Link across_alone(const Ways& ways, int distance) {
  return distance < ways.inner.size ? inside(ways) : own_port(ways);
}

/// The link of a ring of consecutive ranks: its slowest start-up and its slowest wire.
inline Link slowest(const Ways& ways) {
  if (ways.around) return *ways.around;
  if (ways.outer.size <= 1) return inside(ways);
  const Link in = inside(ways), out = ways.inner.size <= 1 ? shared_port(ways) : own_port(ways);
  return {ways.next.value_or(std::max(in.alpha, out.alpha)), std::max(in.beta, out.beta)};
}

/// The slowest link if every rank sends to every other.
inline Link farthest(const Ways& ways) {
  return ways.around ? *ways.around : ways.outer.size > 1 ? shared_port(ways) : inside(ways);
}

}  // namespace paradl
