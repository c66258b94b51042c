#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "paradl/network/routes.hpp"

namespace paradl {

/// The end times of flows that share no wire, as far as they follow from those of the other flows.
class Relays {
 public:
  static constexpr double unknown = -1;

  Relays(const Schedule& schedule, const Routes& routes, const Step& step, double clock)
      : flows_(schedule.of(step)),
        rows_{std::vector<double>(std::size_t(schedule.ranks), clock)},
        first_(std::size_t(schedule.ranks) + 1),
        time_(step.count),
        ends_(step.count) {
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      const Route& route = routes.route[step.first + i];
      time_[i] = route.latency + flows_[i].bytes.base() * route.beta;
      each_end(i, [&](std::int32_t rank) { ++first_[std::size_t(rank) + 1]; });
    }
    for (std::size_t r = 1; r < first_.size(); ++r) first_[r] += first_[r - 1];
    own_.resize(first_.back());
    std::vector<std::uint32_t> at(first_.begin(), first_.end() - 1);
    for (std::size_t i = 0; i < flows_.size(); ++i)
      each_end(i, [&](std::int32_t rank) { own_[at[std::size_t(rank)]++] = std::uint32_t(i); });
  }

  /// A flow that shares wires: its end times are set from outside, one for each repetition.
  void expect(std::size_t flow) { time_[flow] = unknown; }
  void add_end(std::size_t flow, double end) { ends_[flow].push_back(end); }
  const std::vector<double>& ends(std::size_t flow) const { return ends_[flow]; }

  double longest_time() const { return time_.empty() ? 0 : *std::ranges::max_element(time_); }

  /// When both ranks of a flow have finished `done` repetitions.
  double ready(std::size_t flow, std::size_t done) {
    while (rows_.size() <= done - complete_) rows_.emplace_back(ranks(), unknown);
    return both_done(flow, done);
  }

  /// Repetitions by which one rank is ahead of another, as far as is known.
  std::size_t ahead() const { return rows_.size(); }

  /// The end times of so many repetitions are set. All clocks follow from them, and older ones are dropped.
  void complete(std::size_t done) {
    for (; complete_ < done; ++complete_, rows_.pop_front()) {
      if (rows_.size() == 1) rows_.emplace_back(ranks());
      advance(rows_[0], rows_[1]);
    }
  }

 private:
  std::size_t ranks() const { return first_.size() - 1; }

  /// All clocks by one repetition.
  void advance(const std::vector<double>& before, std::vector<double>& after) const {
    after = before;
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      const auto source = std::size_t(flows_[i].source), target = std::size_t(flows_[i].target);
      const double start = std::max(before[source], before[target]);
      const double end = time_[i] == unknown ? ends_[i][complete_] : start + time_[i];
      after[source] = std::max(after[source], end);
      after[target] = std::max(after[target], end);
    }
  }

  template <class Visit>
  void each_end(std::size_t flow, Visit visit) const {
    if (flows_[flow].source == flows_[flow].target) return;  // takes no time
    visit(flows_[flow].source);
    visit(flows_[flow].target);
  }

  double both_done(std::size_t flow, std::size_t done) {
    const double one = clock(std::size_t(flows_[flow].source), done);
    if (one == unknown) return unknown;
    const double other = clock(std::size_t(flows_[flow].target), done);
    return other == unknown ? unknown : std::max(one, other);
  }

  double clock(std::size_t rank, std::size_t done) {
    double& known = rows_[done - complete_][rank];
    if (known != unknown) return known;
    double last = 0;
    for (std::size_t i = first_[rank]; i < first_[rank + 1]; ++i) {
      const double end = end_of(own_[i], done);
      if (end == unknown) return unknown;
      last = std::max(last, end);
    }
    return known = last;
  }

  double end_of(std::size_t flow, std::size_t repetition) {
    if (time_[flow] == unknown)
      return ends_[flow].size() < repetition ? unknown : ends_[flow][repetition - 1];
    const double start = both_done(flow, repetition - 1);
    return start == unknown ? unknown : start + time_[flow];
  }

  std::span<const Flow> flows_;
  std::size_t complete_ = 0;                // repetitions
  std::deque<std::vector<double>> rows_;    // clocks of all ranks after those; after one more; ...
  std::vector<std::uint32_t> first_, own_;  // flows of rank r: from first_[r] on in own_
  std::vector<double> time_;                // s, of each flow that shares no wire
  std::vector<std::vector<double>> ends_;   // of each flow that shares wires
};

}  // namespace paradl
