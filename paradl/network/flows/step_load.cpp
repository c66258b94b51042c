#include "paradl/network/flows/step_load.hpp"

#include <algorithm>
#include <cmath>

namespace paradl {
namespace {

/// A wire during one step.
struct WireLoad {
  std::size_t step = ~std::size_t{0};  // the step that the rest is about
  std::size_t flow = 0;                // the first on it
  double busy = 0;
};

bool nearly(double a, double b) { return std::abs(a - b) <= 1e-12 * std::max(a, b); }

class Counter {
 public:
  Counter(const Schedule& schedule, const Topology& topology, const Routes& routes,
          std::vector<double>& duration)
      : schedule_(schedule),
        topology_(topology),
        routes_(routes),
        duration_(duration),
        load_(topology.wires().size()) {}

  StepLoad count(std::size_t s) {
    StepLoad out;
    const Step& step = schedule_.steps[s];
    const std::size_t end = step.first + step.count;
    for (std::size_t f = step.first; f < end; ++f) put(f, s, out);
    double alone = 0;
    for (std::size_t f = step.first; f < end; ++f) {
      duration_[f] = 0;
      for (const int w : routes_.of(f)) {
        const double busy = load_[std::size_t(w)].busy;
        duration_[f] = std::max(duration_[f], busy);
        if (out.wire < 0 || busy > out.busy) {
          out.wire = w;
          out.busy = busy;
        }
      }
      alone = std::max(alone, schedule_.flows[f].bytes.base() * routes_.route[f].beta);
    }
    if (alone > 0) out.phi = out.busy / alone;
    if (out.shared && out.even) out.even = ends_together(step);
    return out;
  }

 private:
  void put(std::size_t f, std::size_t s, StepLoad& out) {
    const double bytes = schedule_.flows[f].bytes.base();
    const Route& route = routes_.route[f];
    out.latency = std::max(out.latency, route.latency);
    for (const int w : routes_.of(f)) {
      WireLoad& load = load_[std::size_t(w)];
      if (load.step != s) {
        load = {.step = s, .flow = f, .busy = 0};
      } else {
        out.shared = true;
        out.even = out.even && schedule_.flows[load.flow].bytes.base() == bytes &&
                   together(routes_.route[load.flow].latency, route.latency);
      }
      load.busy += bytes * topology_.wires()[std::size_t(w)].link.beta.base();
    }
  }

  /// Flows that share a wire have the same bytes and latency. Give each the rate bytes / duration. No wire is
  /// overloaded, because none is busy for longer than its flows last. Each flow crosses a full wire; if all
  /// flows on that wire have the same duration, none of them is faster. So the rates are max-min fair.
  bool ends_together(const Step& step) const {
    for (std::size_t f = step.first; f < step.first + step.count; ++f)
      for (const int w : routes_.of(f))
        if (!nearly(duration_[load_[std::size_t(w)].flow], duration_[f])) return false;
    return true;
  }

  const Schedule& schedule_;
  const Topology& topology_;
  const Routes& routes_;
  std::vector<double>& duration_;
  std::vector<WireLoad> load_;
};

}  // namespace

Loads::Loads(const Schedule& schedule, const Topology& topology, const Routes& routes)
    : step(schedule.steps.size()), duration(schedule.flows.size()) {
  Counter counter(schedule, topology, routes, duration);
  for (std::size_t s = 0; s < step.size(); ++s) {
    const std::size_t twin = routes.twin[s];
    step[s] = twin == s ? counter.count(s) : step[twin];
    if (twin != s)
      std::copy_n(duration.begin() + std::ptrdiff_t(schedule.steps[twin].first), schedule.steps[s].count,
                  duration.begin() + std::ptrdiff_t(schedule.steps[s].first));
  }
}

Timing Loads::worst() const {
  Timing out;
  for (std::size_t s = 0; s < step.size(); ++s)
    if (step[s].wire >= 0 && (out.wire < 0 || step[s].phi > out.phi))
      out = {.phi = step[s].phi, .wire = step[s].wire, .step = int(s)};
  return out;
}

}  // namespace paradl
