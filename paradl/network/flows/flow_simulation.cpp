#include "paradl/network/flows/flow_simulation.hpp"

#include <algorithm>

#include "paradl/network/contention.hpp"

namespace paradl {
namespace {

constexpr std::size_t thousands = 4000;  // from this many flows on, the overhead is worth it

}  // namespace

FlowSimulation::FlowSimulation(const Schedule& schedule, const Topology& topology, Routes routes,
                               Effort effort, double moment)
    : schedule_(schedule),
      routes_(effort == Effort::least ? contended(schedule, topology, std::move(routes)) : std::move(routes)),
      rates_(topology, routes_),
      events_(schedule.flows.size()),
      rank_(static_cast<std::size_t>(schedule.ranks)),
      flow_(schedule.flows.size()),
      effort_(effort),
      moment_(moment) {
  if (effort == Effort::least) latest_ = alike_ = find_alike(schedule, routes_);
}

double FlowSimulation::run(std::size_t first_step, double clock) {
  list_own_flows(first_step);
  for (std::uint32_t r = 0; r < rank_.size(); ++r) {
    rank_[r].clock = clock;
    enter_step(r);
  }
  while (!events_.empty()) {
    const double first = events_.time(), end = first + (rates_.size() > thousands ? moment_ : 0);
    double last = first;
    while (!events_.empty() && (events_.time() < end || together(events_.time(), first))) {
      last = events_.time();
      handle(events_.pop(), last);
    }
    const double now = last < end ? (first + last) / 2 : first;
    share_wires(now);
    if (begun_again_) skip_repetitions(now);
  }
  double last = clock;
  for (const RankState& rank : rank_) last = std::max(last, rank.clock);
  return last;
}

void FlowSimulation::list_own_flows(std::size_t first_step) {
  const auto each_end = [&](auto visit) {
    for (std::size_t s = first_step; s < schedule_.steps.size(); ++s) {
      const Step& step = schedule_.steps[s];
      for (std::size_t f = step.first; step.repeat > 0 && f < step.first + step.count; ++f) {
        const Flow& flow = schedule_.flows[f];
        if (flow.source == flow.target) continue;  // takes no time
        const OwnFlow own{std::uint32_t(f), std::uint32_t(s)};
        visit(rank_[std::size_t(flow.source)], own);
        visit(rank_[std::size_t(flow.target)], own);
      }
    }
  };
  each_end([](RankState& rank, OwnFlow) { ++rank.last; });
  std::size_t total = 0;
  for (RankState& rank : rank_) {
    rank.own = rank.own_end = total;
    total += rank.last;
    rank.last = rank.own;
  }
  own_.resize(total);
  each_end([this](RankState& rank, OwnFlow own) { own_[rank.last++] = own; });
}

void FlowSimulation::enter_step(std::uint32_t r) {
  RankState& rank = rank_[r];
  rank.own = rank.own_end;
  rank.repetition = 0;
  while (rank.own_end < rank.last && own_[rank.own_end].step == own_[rank.own].step) ++rank.own_end;
  post_flows(r);
}

void FlowSimulation::post_flows(std::uint32_t r) {
  RankState& rank = rank_[r];
  rank.pending = std::uint32_t(rank.own_end - rank.own);
  for (std::size_t i = rank.own; i < rank.own_end; ++i) {
    FlowState& flow = flow_[own_[i].flow];
    if (flow.phase == Phase::idle)
      flow.phase = Phase::posted;
    else
      start(own_[i].flow, rank.clock);  // the other end was first
  }
}

void FlowSimulation::start(std::uint32_t f, double time) {
  const Route& route = routes_.route[f];
  const bool alone = route.count == 0;
  double next_event = time + route.latency;
  if (alone) next_event += schedule_.flows[f].bytes.base() * route.beta;
  if (!alike_.empty()) {
    std::uint32_t& latest = latest_[alike_[f]];
    FlowState& other = flow_[latest];
    const bool begins = other.phase == Phase::waiting || other.phase == Phase::alone;
    if (begins && together(events_.time_of(latest), next_event)) {
      flow_[f] = {.phase = Phase::joined, .leader = latest, .next = other.next};
      other.next = f;
      ++other.many;
      return;
    }
    latest = f;
  }
  flow_[f] = {.phase = alone ? Phase::alone : Phase::waiting, .leader = f, .next = f};
  events_.set(f, next_event);
}

void FlowSimulation::handle(std::uint32_t f, double time) {
  FlowState& flow = flow_[f];
  const double bytes = schedule_.flows[f].bytes.base();
  if (flow.phase == Phase::waiting && bytes > 0 && routes_.route[f].beta > 0) {
    flow.phase = Phase::sending;
    flow.left = bytes;
    flow.since = time;
    rates_.enter(f, flow.many);
  } else {
    if (flow.phase == Phase::sending) rates_.leave(f);
    finish(f, time);
  }
}

/// Ends all flows that a flow represents.
void FlowSimulation::finish(std::uint32_t leader, double time) {
  std::uint32_t f = leader;
  do {
    const std::uint32_t next = flow_[f].next;
    finish_one(f, time);
    f = next;
  } while (f != leader);
}

void FlowSimulation::finish_one(std::uint32_t f, double time) {
  flow_[f].phase = Phase::idle;
  for (const std::int32_t end : {schedule_.flows[f].source, schedule_.flows[f].target}) {
    RankState& rank = rank_[std::size_t(end)];
    rank.clock = std::max(rank.clock, time);
    if (--rank.pending == 0) go_on(std::uint32_t(end));
  }
}

void FlowSimulation::go_on(std::uint32_t r) {
  RankState& rank = rank_[r];
  if (++rank.repetition < schedule_.steps[own_[rank.own].step].repeat) {
    post_flows(r);
    if (effort_ == Effort::least) watch(r);
  } else {
    enter_step(r);
  }
}

void FlowSimulation::share_wires(double now) {
  for (const std::uint32_t f : rates_.settle()) {
    FlowState& flow = flow_[f];
    flow.left = std::max(0.0, flow.left - flow.rate * (now - flow.since));
    flow.since = std::max(now, flow.since);
    flow.rate = rates_.rate(f);
    events_.set(f, flow.since + flow.left / flow.rate);
  }
}

void FlowSimulation::watch(std::uint32_t r) {
  const auto [f, s] = own_[rank_[r].own];
  if (f != schedule_.steps[s].first || schedule_.flows[f].source != std::int32_t(r)) return;
  if (s != watched_) recurrence_.restart();
  watched_ = s;
  begun_again_ = true;
}

/// The future of a repeated step depends only on which flows are active, how much of each is left, and how
/// far its ranks are apart. If all of this is the same as some repetitions ago, the step is periodic, and the
/// time of all further periods can be added at once.
void FlowSimulation::skip_repetitions(double now) {
  begun_again_ = false;
  const Step& step = schedule_.steps[watched_];
  if (!alone_under_way(step)) return recurrence_.restart();
  const int repetition = rank_[std::size_t(schedule_.flows[step.first].source)].repetition;
  write_state(step, repetition, now);
  const auto period = recurrence_.observe(repetition, now, state_);
  if (!period) return;

  std::vector<std::int32_t> ranks;
  for (const Flow& flow : schedule_.of(step)) ranks.insert(ranks.end(), {flow.source, flow.target});
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  int ahead = 0;
  for (const std::int32_t r : ranks) ahead = std::max(ahead, rank_[std::size_t(r)].repetition);
  const int times = (step.repeat - 1 - ahead) / period->repetitions;
  const double later = times * period->time;
  for (const std::int32_t r : ranks) {
    rank_[std::size_t(r)].repetition += times * period->repetitions;
    rank_[std::size_t(r)].clock += later;
  }
  for (std::size_t f = step.first; f < step.first + step.count; ++f) flow_[f].since += later;
  events_.postpone(later);
  recurrence_.restart();
}

/// All its ranks are in it, and no flow of another step is active.
bool FlowSimulation::alone_under_way(const Step& step) const {
  std::size_t under_way = 0;
  for (std::size_t f = step.first; f < step.first + step.count; ++f) {
    for (const std::int32_t r : {schedule_.flows[f].source, schedule_.flows[f].target}) {
      const RankState& rank = rank_[std::size_t(r)];
      if (rank.own == rank.own_end || own_[rank.own].step != watched_) return false;
    }
    under_way += flow_[f].phase >= Phase::waiting;
  }
  return under_way == events_.size();
}

/// Of each flow the phase and the part of it that is left, and how far its ranks are ahead.
void FlowSimulation::write_state(const Step& step, int repetition, double now) {
  state_.clear();
  for (std::size_t f = step.first; f < step.first + step.count; ++f) {
    const Flow& message = schedule_.flows[f];
    const FlowState& flow = flow_[f];
    const std::uint32_t leader = flow.phase == Phase::joined ? flow.leader : std::uint32_t(f);
    state_.push_back(2.0 * int(flow_[leader].phase) + part_left(leader, now));
    state_.push_back(rank_[std::size_t(message.source)].repetition - repetition);
    state_.push_back(rank_[std::size_t(message.target)].repetition - repetition);
  }
}

/// Of the phase that it is in, between 0 and 1.
double FlowSimulation::part_left(std::uint32_t f, double now) const {
  const FlowState& flow = flow_[f];
  const Route& route = routes_.route[f];
  const double bytes = schedule_.flows[f].bytes.base();
  const auto until_event = [&] { return events_.time_of(f) - now; };
  if (flow.phase == Phase::waiting) return until_event() / std::max(route.latency, instant);
  if (flow.phase == Phase::alone)
    return until_event() / std::max(route.latency + bytes * route.beta, instant);
  if (flow.phase == Phase::sending) return (flow.left - flow.rate * (now - flow.since)) / bytes;
  return 0;
}

}  // namespace paradl
