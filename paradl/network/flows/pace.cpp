// A ring in which only a few flows share wires: these set the pace, and all others only pass delays on.
//
// Let T be the time of a flow that shares no wire: its latency and its bytes. After k repetitions,
//
//   clock(rank, k) = max of end(flow, k) over its flows,   end(flow, k) = max of clock(its ranks, k-1) + T,
//
// in whatever order this is computed. So events are needed only for flows that share wires, and of the other
// flows only the ends that such a flow waits for. The next event of the shared flows is safe to handle:
// everything that is not known yet follows from a later event.
//
// Why the pace stays the same until one of them has done its last repetition: let the ends of all shared
// flows grow by the same L every `period` repetitions, and let no T be longer than L / period. The delays
// that other flows pass on then grow by at most L, so they never start to delay another flow. And no end can
// be later than
//
//   max(clock + K T, end(shared flow, j) + (K - j) T)   of the longest T and any j.
//
// If that is the last end of a shared flow, the schedule ends with it.
#include "paradl/network/flows/pace.hpp"

#include <algorithm>
#include <cmath>

#include "paradl/network/flows/event_queue.hpp"
#include "paradl/network/flows/max_min.hpp"
#include "paradl/network/flows/relays.hpp"

namespace paradl {
namespace {

constexpr std::size_t stride = 64, last_look = 1024;  // repetitions after which a pace is looked for
constexpr std::size_t farthest = 256;                 // repetitions; their clocks have to be kept
constexpr std::size_t few = 8;                        // at most one in this many flows may share wires

struct Pace {
  std::size_t period;  // repetitions
  double time;         // s, of a period
};

/// The flows that share wires, event by event. They are numbered again, from 0.
class Meeting {
 public:
  Meeting(const Schedule& schedule, const Topology& topology, const Routes& ways, const Step& step,
          std::vector<std::size_t> places, std::size_t repeat, Relays& relays)
      : flows_(schedule.of(step)),
        ways_(ways),
        place_(std::move(places)),
        repeat_(repeat),
        relays_(relays),
        rates_(topology, ways),
        events_(place_.size()),
        flow_(place_.size()) {
    for (std::uint32_t i = 0; i < place_.size(); ++i) blocked_.push_back(i);
  }

  /// Runs until all flows have ended that many times. False if some get too far ahead of others.
  bool run(std::size_t repetitions) {
    start_those_ready();
    while (!events_.empty() && done() < repetitions) {
      if (relays_.ahead() > farthest) return false;
      const double now = events_.time();
      while (!events_.empty() && together(events_.time(), now)) {
        const double time = events_.time();
        handle(events_.pop(), time);
      }
      share_wires(now);
      if (!has_ended_) continue;
      has_ended_ = false;
      relays_.complete(done());
      start_those_ready();
    }
    return true;
  }

  /// Skips whole periods, as many as fit before the first flow begins its last repetition: other flows may be
  /// behind, and end later. Returns their number.
  std::size_t skip(std::size_t period) {
    std::size_t most = 0;
    for (const std::size_t place : place_) most = std::max(most, relays_.ends(place).size());
    const std::size_t periods = most < repeat_ ? (repeat_ - most - 1) / period : 0;
    repeat_ -= periods * period;
    return periods;
  }

  /// Repetitions that all flows have finished.
  std::size_t done() const {
    std::size_t least = repeat_;
    for (const std::size_t place : place_) least = std::min(least, relays_.ends(place).size());
    return least;
  }

 private:
  struct FlowState {
    bool sending = false;
    double left = 0;   // B at `since`
    double since = 0;  // s
    double rate = 0;   // B/s from then on
  };

  void start_those_ready() {
    std::erase_if(blocked_, [this](std::uint32_t i) {
      const double start = relays_.ready(place_[i], relays_.ends(place_[i]).size());
      if (start != Relays::unknown) events_.set(i, start + ways_.route[i].latency);
      return start != Relays::unknown;
    });
  }

  void handle(std::uint32_t i, double time) {
    FlowState& flow = flow_[i];
    const double bytes = flows_[place_[i]].bytes.base();
    if (!flow.sending && bytes > 0 && ways_.route[i].beta > 0) {
      flow = {.sending = true, .left = bytes, .since = time, .rate = 0};
      return rates_.enter(i);
    }
    if (flow.sending) rates_.leave(i);
    flow.sending = false;
    relays_.add_end(place_[i], time);
    has_ended_ = true;
    if (relays_.ends(place_[i]).size() < repeat_) blocked_.push_back(i);
  }

  void share_wires(double now) {
    for (const std::uint32_t i : rates_.settle()) {
      FlowState& flow = flow_[i];
      flow.left = std::max(0.0, flow.left - flow.rate * (now - flow.since));
      flow.since = std::max(now, flow.since);
      flow.rate = rates_.rate(i);
      events_.set(i, flow.since + flow.left / flow.rate);
    }
  }

  std::span<const Flow> flows_;
  const Routes& ways_;
  std::vector<std::size_t> place_;  // of each one among the flows of the step
  std::size_t repeat_;
  Relays& relays_;
  MaxMin rates_;
  EventQueue events_;
  std::vector<FlowState> flow_;
  bool has_ended_ = false;              // since those that are ready were started
  std::vector<std::uint32_t> blocked_;  // those that wait for another flow to end
};

/// The flows of a step that share a wire, by their place in it.
std::vector<std::size_t> those_that_meet(const Topology& topology, const Routes& routes, const Step& step) {
  std::vector<std::uint32_t> flows(topology.wires().size());
  for (std::size_t f = step.first; f < step.first + step.count; ++f)
    for (const int w : routes.of(f)) ++flows[std::size_t(w)];
  std::vector<std::size_t> out;
  for (std::size_t f = step.first; f < step.first + step.count; ++f)
    if (std::ranges::any_of(routes.of(f), [&](int w) { return flows[std::size_t(w)] > 1; }))
      out.push_back(f - step.first);
  return out;
}

Routes routes_of(const Routes& routes, const Step& step, const std::vector<std::size_t>& places) {
  Routes out;
  for (const std::size_t place : places) {
    const auto wires = routes.of(step.first + place);
    Route& route = out.route.emplace_back(routes.route[step.first + place]);
    route.first = std::uint32_t(out.wires.size());
    out.wires.insert(out.wires.end(), wires.begin(), wires.end());
  }
  return out;
}

/// That all have kept for the last quarter of what is done, and for four periods at least.
std::optional<Pace> find_pace(const Relays& relays, const std::vector<std::size_t>& places,
                              std::size_t done) {
  const std::size_t since = done - done / 4;
  for (std::size_t period = 1; period <= done / 16; ++period) {
    const auto gain = [&](std::size_t place, std::size_t end) {
      return relays.ends(place)[end - 1] - relays.ends(place)[end - 1 - period];
    };
    const double time = gain(places[0], done);
    const auto keeps_it = [&](std::size_t place) {
      for (std::size_t end = relays.ends(place).size(); end > since + period; --end)
        if (std::abs(gain(place, end) - time) > 1e-10 * time) return false;
      return true;
    };
    if (std::ranges::all_of(places, keeps_it) && double(period) * relays.longest_time() <= time * (1 + 1e-12))
      return Pace{period, time};
  }
  return std::nullopt;
}

/// The last end of all flows, if it is that of a flow that shares wires.
std::optional<double> last_end(const Relays& relays, const std::vector<std::size_t>& places,
                               std::size_t repeat, double clock) {
  const double T = relays.longest_time();
  double last = clock, bound = clock + double(repeat) * T;
  for (const std::size_t place : places) {
    const std::vector<double>& ends = relays.ends(place);
    for (std::size_t j = 1; j <= repeat; ++j) bound = std::max(bound, ends[j - 1] + double(repeat - j) * T);
    last = std::max(last, ends.back());
  }
  if (bound > last * (1 + 1e-12)) return std::nullopt;
  return last;
}

}  // namespace

std::optional<double> run_at_pace(const Schedule& schedule, const Topology& topology, const Routes& routes,
                                  std::size_t first_step, double clock) {
  const Step& step = schedule.steps[first_step];
  std::size_t repeat = 0;
  for (std::size_t s = first_step; s < schedule.steps.size(); ++s) {
    if (routes.twin[s] != routes.twin[first_step]) return std::nullopt;
    repeat += std::size_t(schedule.steps[s].repeat);
  }
  const std::vector<std::size_t> places = those_that_meet(topology, routes, step);
  if (places.empty() || places.size() > step.count / few) return std::nullopt;

  Relays relays(schedule, routes, step, clock);
  for (const std::size_t place : places) relays.expect(place);
  const Routes ways = routes_of(routes, step, places);
  Meeting meeting(schedule, topology, ways, step, places, repeat, relays);
  double skipped = 0;
  for (std::size_t look = 2 * stride; skipped == 0 && look < repeat; look += stride) {
    if (look > last_look) return std::nullopt;
    if (!meeting.run(look)) return std::nullopt;
    const auto pace = find_pace(relays, places, meeting.done());
    if (pace) skipped = pace->time * double(meeting.skip(pace->period));
  }
  if (!meeting.run(repeat)) return std::nullopt;
  const auto last = last_end(relays, places, meeting.done(), clock);
  return last ? std::optional(*last + skipped) : std::nullopt;
}

}  // namespace paradl
