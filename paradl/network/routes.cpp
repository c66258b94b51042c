#include "paradl/network/routes.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <unordered_map>

namespace paradl {
namespace {

bool same_message(const Flow& a, const Flow& b) {
  return a.source == b.source && a.target == b.target && a.bytes == b.bytes;
}

std::uint64_t hash(std::span<const Flow> flows) {
  std::uint64_t h = flows.size();
  const auto mix = [&h](std::uint64_t value) { h = std::rotl(h ^ value, 23) * 0x9e3779b97f4a7c15u; };
  for (const Flow& flow : flows) {
    mix(std::uint64_t(std::uint32_t(flow.source)) << 32 | std::uint32_t(flow.target));
    mix(std::bit_cast<std::uint64_t>(flow.bytes.base()));
  }
  return h;
}

std::vector<std::size_t> find_twins(const Schedule& schedule) {
  std::vector<std::size_t> twin(schedule.steps.size());
  std::unordered_map<std::uint64_t, std::size_t> seen;
  for (std::size_t s = 0; s < twin.size(); ++s) {
    const auto mine = schedule.of(schedule.steps[s]);
    const std::size_t other = seen.try_emplace(hash(mine), s).first->second;
    twin[s] = std::ranges::equal(mine, schedule.of(schedule.steps[other]), same_message) ? other : s;
  }
  return twin;
}

}  // namespace

Routes::Routes(const Schedule& schedule, const Topology& topology, std::span<const int> seats)
    : route(schedule.flows.size()), twin(find_twins(schedule)) {
  assert(seats.size() >= static_cast<std::size_t>(schedule.ranks));
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    const Step& step = schedule.steps[s];
    if (twin[s] != s) {
      std::copy_n(route.begin() + std::ptrdiff_t(schedule.steps[twin[s]].first), step.count,
                  route.begin() + std::ptrdiff_t(step.first));
      continue;
    }
    for (std::size_t f = step.first; f < step.first + step.count; ++f) {
      const Flow& flow = schedule.flows[f];
      const std::size_t first = wires.size();
      if (flow.source != flow.target)  // what a rank sends to itself stays where it is
        topology.route(seats[std::size_t(flow.source)], seats[std::size_t(flow.target)], flow.bytes, wires);
      Route& way = route[f];
      way.first = std::uint32_t(first);
      way.count = std::uint32_t(wires.size() - first);
      for (std::size_t w = first; w < wires.size(); ++w) {
        const Link& link = topology.wires()[std::size_t(wires[w])].link;
        way.latency += link.alpha.base();
        way.beta = std::max(way.beta, link.beta.base());
      }
    }
  }
}

}  // namespace paradl
