#include "paradl/network/topology.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <span>

#include <fmt/format.h>

#include "paradl/core/error.hpp"
#include "paradl/core/text.hpp"
#include "paradl/network/topology/graph.hpp"
#include "paradl/network/topology/kinds.hpp"
#include "paradl/network/topology/node.hpp"
#include "paradl/network/topology/optical.hpp"

namespace paradl {

int Topology::add_cable(int from, int to, const Link& link, int cables) {
  const int wire = int(wires_.size());
  wires_.push_back({.from = from, .to = to, .link = link, .cables = cables});
  if (!half_duplex_) wires_.push_back({.from = to, .to = from, .link = link, .cables = cables});
  return wire;
}

std::vector<Place> Topology::places() const {
  const auto circle = [](int i, int n, double radius) {
    const double turn = 2 * std::numbers::pi * i / n - std::numbers::pi / 2;
    return Place{radius * std::cos(turn), radius * std::sin(turn)};
  };
  const double radius = 1 + hosts_ / 2.0 / std::numbers::pi;
  std::vector<Place> places;
  for (int host = 0; host < hosts_; ++host) places.push_back(circle(host, hosts_, radius));
  for (int s = 0; s < switches(); ++s)
    places.push_back(circle(s, switches(), switches() == 1 ? 0 : radius * 0.7));
  return places;
}

void TopologyWord::demand(const std::vector<std::size_t>& sizes) const {
  if (groups.size() != sizes.size())
    refuse(fmt::format("has {} part{}, not {}", groups.size(), groups.size() == 1 ? "" : "s", sizes.size()));
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (groups[i].size() != sizes[i])
      refuse(fmt::format("has {} number{} in part {}, not {}", groups[i].size(),
                         groups[i].size() == 1 ? "" : "s", i + 1, sizes[i]));
}

void TopologyWord::refuse(const std::string& reason) const {
  throw UsageError(fmt::format("topology `{}` {}", shortened(text), reason), form);
}

void TopologyWord::limit(double vertices, double cables) const {
  const auto count = [](double number) {
    return number < 1e15 ? fmt::format("{:.0f}", number) : std::string("far too many");
  };
  if (vertices > most_vertices)
    refuse(fmt::format("has {} hosts and switches (at most {:.0f} are possible)", count(vertices),
                       most_vertices));
  if (cables > most_cables)
    refuse(fmt::format("has {} cables (at most {:.0f} are possible)", count(cables), most_cables));
}

namespace {

struct Kind {
  std::string_view name;
  int least;  // of its numbers
  int usual;  // the one number of a word without any; 0: as many as there are ranks, -1: none
  std::unique_ptr<Topology> (*make)(const TopologyWord&, const WireSpec&);
  std::string_view form;
};

constexpr Kind kinds[] = {
    {"crossbar", 1, 0, make_crossbar, "write `crossbar:64`: hosts"},
    {"fattree", 1, -1, make_fat_tree,
     "write `fattree:2;24,3;1,8;1,1`: levels; children; parents; parallel cables, hosts first"},
    {"torus", 1, -1, make_torus, "write `torus:8,8`: the size of each dimension"},
    {"mesh", 1, -1, make_mesh, "write `mesh:8,8`: the size of each dimension"},
    {"dragonfly", 1, -1, make_dragonfly,
     "write `dragonfly:4,1;2,1;4,1;2`: groups,cables; chassis,cables; routers,cables; hosts"},
    {"bigraph", 1, -1, make_bigraph, "write `bigraph:4,8`: hosts of a switch, switches"},
    {"dln", 0, -1, make_dln, "write `dln:4,2`: 2^4 switches of 2^2 hosts"},
    {"dln2d", 0, -1, make_dln, "write `dln2d:2,2,2`: 2^2 by 2^2 switches of 2^2 hosts"},
    {"dln-random", 0, -1, make_random_dln,
     "write `dln-random:64,4,2,1`: switches, degree of the loop, random cables of a switch, seed"},
    {"tsubame3-authors", 1, 64, make_tsubame3, "write `tsubame3-authors:64`: nodes"},
};

const Kind& kind_of(std::string_view text, std::string_view name) {
  std::vector<std::string> known{"graph"};
  for (const Kind& kind : kinds) {
    if (kind.name == name) return kind;
    known.emplace_back(kind.name);
  }
  const std::string near = did_you_mean(name, known);
  throw UsageError(fmt::format("unknown topology `{}`", shortened(std::string(text))),
                   near.empty() ? fmt::format("there are {}", fmt::join(known, ", ")) : near);
}

int whole_number(const TopologyWord& word, std::string_view text, int least) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (text.empty()) word.refuse("lacks a number");
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = end == text.data() + text.size();
  if (whole && error == std::errc::result_out_of_range)
    word.refuse(fmt::format("has a number that is too large: `{}`", shortened(std::string(text))));
  if (!whole || number < least)
    word.refuse(fmt::format("has `{}` where a whole number from {} up should be",
                            shortened(std::string(text)), least));
  return number;
}

std::unique_ptr<Topology> read_plain(std::string_view text, const WireSpec& wires, int hosts) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  if (name == "graph" && colon != text.npos) return read_graph(std::string(text.substr(colon + 1)), wires);
  const Kind& kind = kind_of(text, name);
  TopologyWord word{
      .text = std::string(text), .kind = std::string(name), .groups = {}, .form = std::string(kind.form)};
  if (colon == text.npos) {
    if (kind.usual < 0) word.refuse("lacks its numbers");
    word.groups = {{kind.usual > 0 ? kind.usual : hosts}};
  } else {
    for (const std::string_view group : split(text.substr(colon + 1), ';')) {
      std::vector<int>& numbers = word.groups.emplace_back();
      for (const std::string_view number : split(group, ','))
        numbers.push_back(whole_number(word, number, kind.least));
    }
  }
  return kind.make(word, wires);
}

}  // namespace

double ports_of(const Topology& topology) {
  if (topology.switches() > 0) return 1;
  const auto out = std::ranges::count_if(topology.wires(), [](const Wire& wire) { return wire.from == 0; });
  return double(std::max<std::ptrdiff_t>(1, out));
}

std::unique_ptr<Topology> read_topology(std::string_view text, const WireSpec& wires, int hosts) {
  if (text.starts_with("optical:")) return read_optical(text, wires, hosts);
  // Only a node's kind follows a slash; in `graph:some/file` it belongs to the file.
  const std::size_t slash = text.rfind('/');
  if (slash == text.npos) return read_plain(text, wires, hosts);
  const std::string_view node = text.substr(slash + 1);
  const auto kind = node_kind(node.substr(0, node.find(':')));
  if (!kind && text.starts_with("graph:")) return read_plain(text, wires, hosts);

  TopologyWord word{
      .text = std::string(text),
      .kind = {},
      .groups = {{}},
      .form = "write `/nvlink:4,2`, `/nvswitch:8,8` or `/pcie:4`: GPUs of a node, ports of a node"};
  if (!kind || node.find(':') == node.npos)
    word.refuse(fmt::format("has unknown nodes `{}`", shortened(std::string(node))));
  if (const std::size_t before = text.rfind('/', slash - 1); slash > 0 && before != text.npos) {
    const std::string_view other = text.substr(before + 1, slash - before - 1);
    if (node_kind(other.substr(0, other.find(':'))))
      word.refuse("has nodes within nodes: one `/` is allowed");
  }
  for (const std::string_view number : split(node.substr(node.find(':') + 1), ','))
    word.groups[0].push_back(whole_number(word, number, 1));
  std::vector<int>& numbers = word.groups[0];
  if (numbers.size() == 1) numbers.push_back(1);
  word.demand({2});
  const int gpus = numbers[0], ports = numbers[1];
  constexpr int most_gpus = 256;  // more than any node has, and all its GPUs are connected to each other
  if (gpus > most_gpus)
    word.refuse(fmt::format("has nodes of {} GPUs (at most {} are possible)", gpus, most_gpus));
  if (ports > gpus) word.refuse(fmt::format("has more ports ({}) than GPUs ({}) in a node", ports, gpus));

  // A bare crossbar has as many hosts as the ports of the nodes that hold `hosts` GPUs.
  const double nodes = std::ceil(double(hosts) / gpus);
  return put_nodes(read_plain(text.substr(0, slash), wires, int(std::min(nodes * ports, most_vertices))),
                   word,
                   {.kind = *kind, .gpus = gpus, .ports = ports, .link = wires.inside.value_or(wires.link)});
}

}  // namespace paradl
