// Why it is exact. While no two flows that are sent at different times overlap on a wire, the rates are known
// beforehand: a flow alone on its wires has the slowest wire for itself, and flows that share one, begin
// together and are `even` (step_load.hpp) end together. Then
//
//   begin = max(clock of source, clock of target) + latency,   end = begin + duration,
//
// and a rank's clock becomes the last end of its flows. Each step is tested for overlaps as it is added; as
// the simulation has only one outcome, a run that passes all tests is that outcome.
#include "paradl/network/flows/lockstep.hpp"

#include <algorithm>

namespace paradl {
namespace {

class Runner {
 public:
  Runner(const Schedule& schedule, const Routes& routes, const Loads& loads, std::size_t wires)
      : schedule_(schedule),
        routes_(routes),
        loads_(loads),
        clock_(static_cast<std::size_t>(schedule.ranks)),
        begin_(schedule.flows.size()),
        end_(schedule.flows.size()),
        busy_until_(wires),
        met_(wires) {}

  Lockstep run() {
    Lockstep out;
    for (std::size_t s = 0; s < schedule_.steps.size(); ++s) {
      const bool in_step = all_together();
      if (in_step) out = {.step = s, .clock = clock_[0]};
      if (!run_step(s, in_step)) return out;
    }
    out.step = schedule_.steps.size();
    for (const double clock : clock_) out.clock = std::max(out.clock, clock);
    return out;
  }

 private:
  bool all_together() const {
    for (const double clock : clock_)
      if (!together(clock, clock_[0])) return false;
    return true;
  }

  bool run_step(std::size_t s, bool in_step) {
    const Step& step = schedule_.steps[s];
    const StepLoad& load = loads_.step[s];
    if (step.repeat == 0) return true;
    if (!load.even) return false;
    for (int r = 0; r < step.repeat; ++r) {
      schedule_flows(step);
      // If the first repetition does not overlap earlier steps, later ones do not: each flow follows itself.
      if (r == 0 && !in_step && !wires_are_free(step)) return false;
      if (load.shared && !(r == 0 && in_step) && !begins_together(step)) return false;
      if (r + 1 < step.repeat) before_ = clock_;
      advance_clocks(step);
      if (r + 1 < step.repeat && repeats(step)) {
        skip(step, step.repeat - 1 - r);
        break;
      }
    }
    occupy_wires(step);
    return true;
  }

  void schedule_flows(const Step& step) {
    for (std::size_t f = step.first; f < step.first + step.count; ++f) {
      const Flow& flow = schedule_.flows[f];
      const double start = std::max(clock_[std::size_t(flow.source)], clock_[std::size_t(flow.target)]);
      begin_[f] = start + routes_.route[f].latency;
      end_[f] = begin_[f] + loads_.duration[f];
    }
  }

  void advance_clocks(const Step& step) {
    for (std::size_t f = step.first; f < step.first + step.count; ++f)
      for (const int rank : {schedule_.flows[f].source, schedule_.flows[f].target})
        clock_[std::size_t(rank)] = std::max(clock_[std::size_t(rank)], end_[f]);
  }

  bool wires_are_free(const Step& step) const {
    for (std::size_t f = step.first; f < step.first + step.count; ++f)
      for (const int w : routes_.of(f))
        if (begin_[f] < busy_until_[std::size_t(w)] && !together(begin_[f], busy_until_[std::size_t(w)]))
          return false;
    return true;
  }

  bool begins_together(const Step& step) {
    ++meeting_;
    for (std::size_t f = step.first; f < step.first + step.count; ++f)
      for (const int w : routes_.of(f)) {
        Meeting& met = met_[std::size_t(w)];
        if (met.number != meeting_)
          met = {.number = meeting_, .begin = begin_[f]};
        else if (!together(met.begin, begin_[f]))
          return false;
      }
    return true;
  }

  void occupy_wires(const Step& step) {
    for (std::size_t f = step.first; f < step.first + step.count; ++f)
      for (const int w : routes_.of(f))
        busy_until_[std::size_t(w)] = std::max(busy_until_[std::size_t(w)], end_[f]);
  }

  double gain(std::int32_t rank) const { return clock_[std::size_t(rank)] - before_[std::size_t(rank)]; }

  /// A step depends only on differences of clocks. Once a repetition has delayed all clocks of its ranks by
  /// the same time, the next ones will do so again. This state is reached, because the slowest flow sets the
  /// pace of its ranks.
  bool repeats(const Step& step) const {
    for (const Flow& flow : schedule_.of(step)) {
      const double all = gain(schedule_.flows[step.first].source);
      if (!together(gain(flow.source), all) || !together(gain(flow.target), all)) return false;
    }
    return true;
  }

  void skip(const Step& step, int repetitions) {
    if (step.count == 0) return;
    const double later = repetitions * gain(schedule_.flows[step.first].source);
    for (std::size_t f = step.first; f < step.first + step.count; ++f) end_[f] += later;
    advance_clocks(step);  // a clock is the last end of its rank's flows
  }

  struct Meeting {
    long long number = -1;
    double begin = 0;
  };

  const Schedule& schedule_;
  const Routes& routes_;
  const Loads& loads_;
  std::vector<double> clock_, before_;  // of each rank; a repetition earlier
  std::vector<double> begin_, end_;     // of each flow's bytes
  std::vector<double> busy_until_;      // of each wire
  std::vector<Meeting> met_;            // on each wire
  long long meeting_ = 0;
};

}  // namespace

Lockstep run_in_lockstep(const Schedule& schedule, const Routes& routes, const Loads& loads,
                         std::size_t wires) {
  return Runner(schedule, routes, loads, wires).run();
}

}  // namespace paradl
