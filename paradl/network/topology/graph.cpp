#include "paradl/network/topology/graph.hpp"

#include <fmt/format.h>

#include "paradl/core/error.hpp"
#include "paradl/network/topology/dice.hpp"
#include "paradl/network/topology/kinds.hpp"

namespace paradl {

Graph::Graph(std::string text, int hosts, int switches, const std::vector<Cable>& cables, bool half_duplex)
    : Topology(std::move(text), hosts, switches, half_duplex), out_(std::size_t(vertices_)) {
  if (vertices_ > most_vertices)
    throw UsageError(
        fmt::format(
            "topology `{}` has {} hosts and switches (at most {} are possible for one without regular "
            "routes)",
            text_, vertices_, most_vertices),
        "use a smaller part of it, or a regular topology: `paradl help topologies`");
  for (const auto& [from, to, link, count, watts] : cables) {
    const int wire = add_cable(from, to, link, count);
    for (const int w : {wire, back(wire)})
      wires_[std::size_t(w)].idle = watts.idle * count, wires_[std::size_t(w)].peak = watts.peak * count;
    out_[std::size_t(from)].push_back(wire);
    out_[std::size_t(to)].push_back(back(wire));
  }

  const auto end_of = [&](int wire, int start) {
    const Wire& w = wires_[std::size_t(wire)];
    return std::size_t(w.from == start ? w.to : w.from);
  };
  next_.assign(std::size_t(hosts_) * std::size_t(vertices_), -1);
  std::vector<int> queue;
  for (int target = 0; target < hosts_; ++target) {
    std::int16_t* next = &next_[std::size_t(target) * std::size_t(vertices_)];
    std::vector<int> distance(std::size_t(vertices_), -1);
    distance[std::size_t(target)] = 0;
    queue = {target};
    for (std::size_t head = 0; head < queue.size(); ++head)
      for (const int wire : out_[std::size_t(queue[head])])
        if (const std::size_t v = end_of(wire, queue[head]); distance[v] < 0) {
          distance[v] = distance[std::size_t(queue[head])] + 1;
          queue.push_back(int(v));
        }
    if (queue.size() < std::size_t(vertices_)) {
      int lost = 0;
      while (distance[std::size_t(lost)] >= 0) ++lost;
      throw UsageError(fmt::format("topology `{}` is not connected: no route from {} {} to host {}", text_,
                                   lost < hosts_ ? "host" : "switch", lost, target),
                       "add the cables that are missing");
    }
    for (std::size_t v = 0; v < out_.size(); ++v)
      for (std::size_t i = 0; i < out_[v].size() && next[v] < 0; ++i)
        if (distance[end_of(out_[v][i], int(v))] < distance[v]) next[v] = std::int16_t(i);
  }
}

void Graph::route(int from, int to, std::vector<int>& wires) const {
  for (int here = from; here != to;) {
    const auto next = next_[std::size_t(to) * std::size_t(vertices_) + std::size_t(here)];
    const int wire = out_[std::size_t(here)][std::size_t(next)];
    wires.push_back(wire);
    const Wire& w = wires_[std::size_t(wire)];
    here = w.from == here ? w.to : w.from;
  }
}

std::unique_ptr<Topology> make_random_dln(const TopologyWord& word, const WireSpec& wires) {
  word.demand({4});
  const int n = word.groups[0][0], degree = word.groups[0][1], extra = word.groups[0][2];
  if (n < 2) word.refuse("needs 2 switches or more");
  if (degree < 2) word.refuse("needs a degree of 2 or more: the ring");
  if (n > Graph::most_vertices / 2)
    word.refuse(fmt::format("has {} switches (at most {} are possible)", n, Graph::most_vertices / 2));
  word.limit(2.0 * n, n * (double(degree) + extra));

  std::vector<Graph::Cable> cables;
  for (int s = 0; s < n; ++s) cables.push_back({s, n + s, wires.link});
  // DLN-x: a ring, and chords over n/2, n/4 ... until the degree is x. A chord over n/2 is the same from both
  // ends.
  for (int s = 0; s < n - (n == 2); ++s) cables.push_back({n + s, n + (s + 1) % n, wires.link});
  for (int k = 1, length = n / 2; k <= degree - 2 && length > 1; ++k, length /= 2)
    for (int s = 0; s < (2 * length == n ? length : n); ++s)
      cables.push_back({n + s, n + (s + length) % n, wires.link});
  // DLN-x-y: y times, all switches are paired at random. Now and then that doubles a cable.
  Dice dice(std::uint64_t(word.groups[0][3]));
  for (int round = 0; round < extra; ++round) {
    const std::vector<int> order = dice.shuffled(n);
    for (std::size_t i = 0; i + 1 < order.size(); i += 2)
      cables.push_back({n + order[i], n + order[i + 1], wires.link});
  }
  return std::make_unique<Graph>(word.text, n, n, cables, wires.half_duplex);
}

}  // namespace paradl
