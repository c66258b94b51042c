#include "paradl/network/contention.hpp"

#include <algorithm>
#include <bit>

namespace paradl {
namespace {

/// The use of one wire.
struct Use {
  std::int32_t one = -1, other = -1;  // ranks that are an end of all its flows so far
  std::size_t step = ~std::size_t{0};
  bool contended = false;
};

void add(Use& use, const Flow& flow, std::size_t step) {
  if (use.step == ~std::size_t{0}) {
    use = {.one = flow.source, .other = flow.target, .step = step};
    return;
  }
  if (use.one != flow.source && use.one != flow.target) use.one = -1;
  if (use.other != flow.source && use.other != flow.target) use.other = -1;
  use.contended |= use.step == step || (use.one < 0 && use.other < 0);
  use.step = step;
}

template <class Visit>
void each_routed_flow(const Schedule& schedule, const Routes& routes, Visit visit) {
  for (std::size_t s = 0; s < schedule.steps.size(); ++s)
    if (routes.twin[s] == s)
      for (std::size_t f = 0; f < schedule.steps[s].count; ++f) visit(s, schedule.steps[s].first + f);
}

template <class T>
void copy_to_twins(const Schedule& schedule, const Routes& routes, std::vector<T>& of_flows) {
  for (std::size_t s = 0; s < schedule.steps.size(); ++s)
    if (routes.twin[s] != s)
      std::copy_n(of_flows.begin() + std::ptrdiff_t(schedule.steps[routes.twin[s]].first),
                  schedule.steps[s].count, of_flows.begin() + std::ptrdiff_t(schedule.steps[s].first));
}

constexpr std::uint32_t nobody = ~std::uint32_t{0};

std::uint64_t hash(const Flow& flow, std::span<const int> wires) {
  std::uint64_t h = std::bit_cast<std::uint64_t>(flow.bytes.base());
  for (const int w : wires) h = std::rotl((h ^ std::uint64_t(w)) * 0x9e3779b97f4a7c15u, 23);
  return h;
}

}  // namespace

Routes contended(const Schedule& schedule, const Topology& topology, Routes routes) {
  std::vector<Use> use(topology.wires().size());
  each_routed_flow(schedule, routes, [&](std::size_t s, std::size_t f) {
    for (const int w : routes.of(f)) add(use[std::size_t(w)], schedule.flows[f], s);
  });
  std::size_t kept = 0;
  const auto beta = [&](int w) { return topology.wires()[std::size_t(w)].link.beta.base(); };
  each_routed_flow(schedule, routes, [&](std::size_t, std::size_t f) {
    Route& route = routes.route[f];
    double slowest = 0;
    for (const int w : routes.of(f))
      if (use[std::size_t(w)].contended) slowest = std::max(slowest, beta(w));
    const std::size_t first = kept;
    for (std::size_t i = route.first; i < route.first + route.count; ++i) {
      const int w = routes.wires[i];
      const bool limits = slowest > 0 && beta(w) > slowest;
      if (use[std::size_t(w)].contended || limits) routes.wires[kept++] = w;
    }
    route.first = std::uint32_t(first);
    route.count = std::uint32_t(kept - first);
  });
  routes.wires.resize(kept);
  copy_to_twins(schedule, routes, routes.route);
  return routes;
}

std::vector<std::uint32_t> find_alike(const Schedule& schedule, const Routes& routes) {
  const auto alike = [&](std::size_t a, std::size_t b) {
    return schedule.flows[a].bytes == schedule.flows[b].bytes &&
           routes.route[a].latency == routes.route[b].latency &&
           routes.route[a].beta == routes.route[b].beta && std::ranges::equal(routes.of(a), routes.of(b));
  };
  std::vector<std::uint32_t> first(schedule.flows.size());
  std::vector<std::uint32_t> seen;  // by hash; open addressing, because a hash node for each flow is slow
  std::size_t step = ~std::size_t{0};
  each_routed_flow(schedule, routes, [&](std::size_t s, std::size_t f) {
    if (s != step) seen.assign(std::bit_ceil(2 * schedule.steps[s].count), nobody);
    step = s;
    std::size_t at = hash(schedule.flows[f], routes.of(f)) & (seen.size() - 1);
    while (seen[at] != nobody && !alike(f, seen[at])) at = (at + 1) & (seen.size() - 1);
    if (seen[at] == nobody) seen[at] = std::uint32_t(f);
    first[f] = seen[at];
  });
  // Some ranks may be in a step while others are in its twin, so flows of both steps do not count as equal.
  for (std::size_t s = 0; s < schedule.steps.size(); ++s)
    if (const std::size_t twin = routes.twin[s]; twin != s)
      for (std::size_t i = 0; i < schedule.steps[s].count; ++i)
        first[schedule.steps[s].first + i] = std::uint32_t(
            first[schedule.steps[twin].first + i] - schedule.steps[twin].first + schedule.steps[s].first);
  return first;
}

}  // namespace paradl
