#pragma once
#include "paradl/network/flows/event_queue.hpp"
#include "paradl/network/flows/max_min.hpp"
#include "paradl/network/flows/recurrence.hpp"
#include "paradl/network/timing.hpp"

namespace paradl {

/// Simulates a schedule event by event: ranks enter their steps, flows wait for their latency and send.
class FlowSimulation {
 public:
  /// With thousands of flows on shared wires, each end changes the rates of most others. Ends within a
  /// `moment` (in seconds) are then handled together: each keeps its own time, but rates are computed only
  /// once, in the middle, which is too late for the first ends and too early for the last.
  FlowSimulation(const Schedule& schedule, const Topology& topology, Routes routes, Effort effort,
                 double moment);

  /// Starts with a step that all ranks begin at `clock`; returns the time at which the last rank is done, in
  /// seconds.
  double run(std::size_t first_step, double clock);

 private:
  struct RankState {
    std::size_t own = 0, own_end = 0;  // its flows of the present step, in own_
    std::size_t last = 0;              // the end of all its flows there
    int repetition = 0;
    std::uint32_t pending = 0;  // flows until it may go on
    double clock = 0;           // when it began the present step
  };
  /// A flow that a rank sends or receives.
  struct OwnFlow {
    std::uint32_t flow, step;
  };
  enum class Phase : std::uint8_t {
    idle,
    posted,   // by one of its two ends
    joined,   // active, and represented by an equal flow
    waiting,  // for its latency
    alone,    // waiting and sending: it shares no wire
    sending
  };
  struct FlowState {
    Phase phase = Phase::idle;
    std::uint32_t leader = 0;          // the flow that represents it: itself, or an equal one
    std::uint32_t next = 0, many = 1;  // of the flows it represents: the next one in the list; their number
    double left = 0;                   // B at `since`
    double since = 0;                  // s
    double rate = 0;                   // B/s from then on
  };

  void list_own_flows(std::size_t first_step);
  void enter_step(std::uint32_t rank);
  void post_flows(std::uint32_t rank);
  void start(std::uint32_t flow, double time);
  void handle(std::uint32_t flow, double time);
  void finish(std::uint32_t flow, double time);
  void finish_one(std::uint32_t flow, double time);
  void go_on(std::uint32_t rank);
  void share_wires(double now);

  void watch(std::uint32_t rank);
  void skip_repetitions(double now);
  bool alone_under_way(const Step& step) const;
  void write_state(const Step& step, int repetition, double now);
  double part_left(std::uint32_t flow, double now) const;

  const Schedule& schedule_;
  Routes routes_;  // only wires that flows share
  MaxMin rates_;
  EventQueue events_;
  std::vector<OwnFlow> own_;  // flows of rank 0 in the order of steps, then those of rank 1, ...
  std::vector<RankState> rank_;
  std::vector<FlowState> flow_;
  std::vector<std::uint32_t> alike_;   // of each flow: the first equal one; empty: all are simulated
  std::vector<std::uint32_t> latest_;  // of each first one: the last leader

  // To detect that a repeated step has become periodic.
  Effort effort_;
  double moment_;  // s
  Recurrence recurrence_;
  std::uint32_t watched_ = 0;  // step: the last that was begun again
  bool begun_again_ = false;   // by the rank that sends its first flow
  std::vector<double> state_;
};

}  // namespace paradl
