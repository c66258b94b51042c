#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "paradl/network/routes.hpp"

namespace paradl {

/// Active flows and their rates under max-min fairness: no flow can get a higher rate per weight without
/// taking it from a flow that has no more. The weight of a flow is the inverse of its latency.
///
/// The level of a flow is its rate per weight. Levels are fair if each flow crosses a full wire on which no
/// flow has a higher level: the wire that binds it. There is exactly one such set of levels. Levels of flows
/// whose wires did not change are kept, and only the others are solved again.
class MaxMin {
 public:
  MaxMin(const Topology& topology, const Routes& routes);

  /// Adds `count` equal flows, represented by `flow`.
  void enter(std::uint32_t flow, std::uint32_t count = 1);
  void leave(std::uint32_t flow);
  std::size_t size() const {
    return size_;
  }  // active flows; equal flows that were added together count as one

  /// Computes rates again after flows were added and removed. Returns the flows whose rate has changed.
  std::span<const std::uint32_t> settle();
  /// The rate of one of its equal flows.
  double rate(std::uint32_t flow) const {  // B/s
    return flow_[flow].weight * flow_[flow].level / flow_[flow].count;
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// One flow on one wire: a link in the list of the wire's flows.
  struct Crossing {
    std::uint32_t flow = none, before = none, after = none;
  };
  struct WireState {
    std::uint32_t head = none;                           // of its crossings
    std::uint32_t flows = 0, waiting = 0;                // on it; those of them that wait for a level
    std::uint32_t bound = 0;                             // those that it binds
    bool touched = false, gained = false, open = false;  // gained: flows, since the wires were shared
    double bandwidth = 0;                                // B/s
    double carried = 0;                                  // B/s, of those that do not wait
    double weight = 0;                                   // of those that wait

    double level() const { return (bandwidth - carried) / weight; }  // at which it is full
  };
  struct FlowState {
    double weight = 0, level = 0;  // of all its equal flows
    std::uint32_t count = 1;
    std::uint32_t binding = none;            // wire
    bool released = false, waiting = false;  // those that wait are released
  };
  struct Release {
    std::uint32_t flow;
    double level;  // that it had before
  };
  struct Candidate {
    double level;  // at which the wire is full
    std::uint32_t wire;
  };

  /// One of the fastest wires does not bind a flow that has it alone: no other wire of the flow is faster.
  bool can_bind(const WireState& wire) const { return wire.flows > 1 || wire.bandwidth < fastest_; }

  void touch(std::uint32_t wire);
  void open(std::uint32_t wire);
  void release(std::uint32_t flow);
  void wait(std::uint32_t flow);
  void release_bound_by(std::uint32_t wire);
  void release_higher(std::uint32_t wire);
  void release_bound();
  double full_level(std::uint32_t wire) const;
  bool fill();
  bool fill_lowest();
  bool fill_in_order();
  void collect_candidates();
  void sink(std::size_t at, Candidate candidate);
  bool share_out(std::uint32_t wire, double level);
  void give(std::uint32_t flow, double level, std::uint32_t wire);

  const Routes& routes_;
  std::size_t size_ = 0;
  double fastest_ = 0;  // B/s, of any wire
  std::vector<WireState> wire_;
  std::vector<FlowState> flow_;
  std::vector<Crossing> crossing_;      // of each entry of Routes::wires
  std::vector<std::uint32_t> entered_;  // flows, since the wires were shared
  std::vector<std::uint32_t> touched_;  // wires, since then
  std::vector<std::uint32_t> open_, changed_;
  std::size_t spread_ = 0;  // of the open wires, those whose flows have been looked at
  std::vector<Release> releases_;
  std::size_t waiting_ = 0;  // flows
  std::vector<Candidate> candidates_;
};

}  // namespace paradl
