#pragma once
#include "paradl/network/event_queue.hpp"
#include "paradl/network/max_min.hpp"
#include "paradl/network/recurrence.hpp"
#include "paradl/network/timing.hpp"

namespace paradl {

/// A schedule under way: ranks that enter their steps, flows that wait and send.
class FlowSimulation {
 public:
  FlowSimulation(const Schedule& schedule, const Topology& topology, const Routes& routes, Effort effort);

  /// From a step on that all ranks begin at `clock`; returns when the last rank is done, in seconds.
  double run(std::size_t first_step, double clock);

 private:
  struct RankState {
    std::size_t own = 0, own_end = 0;  // its flows of the present step, in own_
    std::size_t last = 0;              // the end of all its flows there
    int repetition = 0;
    std::uint32_t pending = 0;  // flows until it may go on
    double clock = 0;           // when it began the present step
  };
  enum class Phase : std::uint8_t { idle, posted, waiting, sending };  // posted: by one of its two ends
  struct FlowState {
    Phase phase = Phase::idle;
    double left = 0;   // B at `since`
    double since = 0;  // s
    double rate = 0;   // B/s from then on
  };

  void list_own_flows(std::size_t first_step);
  void enter_step(std::uint32_t rank);
  void post_flows(std::uint32_t rank);
  void handle(std::uint32_t flow, double time);
  void finish(std::uint32_t flow, double time);
  void go_on(std::uint32_t rank);
  void share_wires(double now);

  void watch(std::uint32_t rank);
  void skip_repetitions(double now);
  bool alone_under_way(const Step& step) const;
  void write_state(const Step& step, int repetition, double now);

  const Schedule& schedule_;
  const Routes& routes_;
  MaxMin rates_;
  EventQueue events_;
  std::vector<std::uint32_t> own_;   // flows of rank 0 in the order of steps, then those of rank 1, ...
  std::vector<std::uint32_t> step_;  // of each flow
  std::vector<RankState> rank_;
  std::vector<FlowState> flow_;

  // To find out that a repeated step only repeats.
  Effort effort_;
  Recurrence recurrence_;
  std::uint32_t watched_ = 0;  // step: the last that was begun again
  bool begun_again_ = false;   // by the rank that sends its first flow
  std::vector<double> state_;
};

}  // namespace paradl
