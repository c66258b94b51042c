// MULTITREE (ISCA 2021): one spanning tree for each host, grown together step by step, each from its root, so
// that no wire is used twice in a step. Tree r reduces piece r to its root, and broadcasts the sum from
// there.
//
//   P  hosts     T  steps until all trees are grown     m  bytes of the buffer
#include "paradl/network/algorithm/multitree.hpp"

#include <array>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "paradl/core/error.hpp"
#include "paradl/network/algorithm/phases.hpp"
#include "paradl/network/reach.hpp"

namespace paradl {
namespace {

/// Wires out of a vertex, those to hosts first: a child at the own switch is taken before one farther away.
struct Exits {
  struct Exit {
    int wire, to;
  };
  std::vector<Exit> to_hosts, to_switches;
};

/// Hosts by their numbers.
class Hosts {
 public:
  explicit Hosts(int hosts) : words_((std::size_t(hosts) + 63) / 64) {}
  void add(int host) { words_[std::size_t(host) / 64] |= bit(host); }
  bool has(int host) const { return words_[std::size_t(host) / 64] & bit(host); }
  bool within(const Hosts& others) const {
    for (std::size_t i = 0; i < words_.size(); ++i)
      if (words_[i] & ~others.words_[i]) return false;
    return true;
  }
  void clear() { std::ranges::fill(words_, 0); }

 private:
  static std::uint64_t bit(int host) { return std::uint64_t{1} << (host % 64); }
  std::vector<std::uint64_t> words_;
};

class Forest {
 public:
  explicit Forest(const Topology& topology);
  std::vector<Branch> grow();

 private:
  struct Tree {
    Hosts has;
    std::vector<int> members;  // hosts that may still get children, in the order in which they joined
    std::size_t parents = 0;   // how many of them had joined before this step
    std::size_t parent = 0;    // members before this one cannot reach another host in this step
  };
  static constexpr int spent = -1;  // a member that has only members about it

  /// The hosts that a parent could reach when it last found no child. Within a step wires are only taken,
  /// never freed, so a tree that has all these hosts need not search again.
  struct Outlook {
    int step = -1;
    Hosts free, near;      // by wires that were free, and by any
    bool blocked = false;  // by wires between switches that were taken
  };

  bool add_branch(int root, int step);
  int find_child(int parent, const Tree& tree, Outlook& outlook);
  bool passes(int vertex, int parent) const;

  const Topology& topology_;
  std::vector<Exits> exits_;
  std::vector<int> free_;  // cables of each wire, in this step
  std::vector<Tree> trees_;
  std::vector<Outlook> outlooks_;  // by host
  std::vector<Branch> branches_;
  struct Visit {
    int vertex, wire;
    int from;  // index of the visit before; -1: the first
  };
  std::vector<Visit> visits_;
  std::vector<int> seen_;  // number of the search that came by last
  int search_ = 0;
};

Forest::Forest(const Topology& topology) : topology_(topology) {
  const int hosts = topology.hosts();
  exits_.resize(std::size_t(topology.vertices()));
  seen_.resize(exits_.size());
  free_.resize(topology.wires().size());
  const auto add = [&](int from, int to, int wire) {
    Exits& exits = exits_[std::size_t(from)];
    (to < hosts ? exits.to_hosts : exits.to_switches).push_back({wire, to});
  };
  for (int w = 0; w < int(topology.wires().size()); ++w) {
    const Wire& wire = topology.wires()[std::size_t(w)];
    add(wire.from, wire.to, w);
    if (topology.half_duplex()) add(wire.to, wire.from, w);
  }
  for (int root = 0; root < hosts; ++root) {
    trees_.push_back({.has = Hosts(hosts), .members = {root}});
    trees_.back().has.add(root);
    outlooks_.push_back({.free = Hosts(hosts), .near = Hosts(hosts)});
  }
}

/// A message may not go by the switch of other hosts: they would be nearer, and better parents later.
bool Forest::passes(int vertex, int parent) const {
  const Exits& exits = exits_[std::size_t(vertex)];
  if (vertex < topology_.hosts() || exits.to_hosts.empty())
    return vertex == parent || vertex >= topology_.hosts();
  for (const auto& [wire, host] : exits.to_hosts)
    if (host == parent) return true;
  return false;
}

/// The nearest host that the tree lacks, by free wires, which are taken. -1: there is none, and the outlook
/// lists the hosts that were found instead.
int Forest::find_child(int parent, const Tree& tree, Outlook& outlook) {
  visits_ = {{parent, -1, -1}};
  outlook.free.clear();
  outlook.near.clear();
  outlook.blocked = false;
  seen_[std::size_t(parent)] = ++search_;
  for (std::size_t v = 0; v < visits_.size(); ++v) {
    const int vertex = visits_[v].vertex;
    const auto& hosts = exits_[std::size_t(vertex)].to_hosts;
    // At a switch, from the parent's place on: if all began with the first host they would want the same one.
    std::size_t begin = 0;
    while (vertex >= topology_.hosts() && begin < hosts.size() && hosts[begin].to < parent) ++begin;
    for (std::size_t h = 0; h < hosts.size(); ++h) {
      const auto [wire, host] = hosts[(begin + h) % hosts.size()];
      outlook.near.add(host);
      if (free_[std::size_t(wire)] == 0) continue;
      outlook.free.add(host);
      if (tree.has.has(host)) continue;
      --free_[std::size_t(wire)];
      for (int i = int(v); i > 0; i = visits_[std::size_t(i)].from)
        --free_[std::size_t(visits_[std::size_t(i)].wire)];
      return host;
    }
    if (!passes(vertex, parent)) continue;
    for (const auto& [wire, next] : exits_[std::size_t(vertex)].to_switches) {
      if (seen_[std::size_t(next)] == search_) continue;
      if (free_[std::size_t(wire)] == 0) {
        outlook.blocked = true;
        continue;
      }
      seen_[std::size_t(next)] = search_;
      visits_.push_back({next, wire, int(v)});
    }
  }
  return -1;
}

/// One more member for the tree of `root`, if some parent can reach one. A parent that fails once is not
/// tried again in this step; if it would fail even with all wires free, it is never tried again.
bool Forest::add_branch(int root, int step) {
  Tree& tree = trees_[std::size_t(root)];
  for (; tree.parent < tree.parents; ++tree.parent) {
    const int parent = tree.members[tree.parent];
    Outlook& outlook = outlooks_[std::size_t(parent)];
    const bool in_vain = outlook.step == step && outlook.free.within(tree.has);
    const int child = in_vain ? -1 : find_child(parent, tree, outlook);
    outlook.step = child < 0 ? step : -1;
    if (child < 0) {
      if (!outlook.blocked && outlook.near.within(tree.has)) tree.members[tree.parent] = spent;
      continue;
    }
    tree.members.push_back(child);
    tree.has.add(child);
    branches_.push_back({root, parent, child, step});
    return true;
  }
  return false;
}

std::vector<Branch> Forest::grow() {
  const std::size_t hosts = trees_.size();
  for (int step = 0; branches_.size() < hosts * (hosts - 1); ++step) {
    const std::size_t before = branches_.size();
    for (std::size_t w = 0; w < free_.size(); ++w) free_[w] = topology_.wires()[w].cables;
    for (Tree& tree : trees_) {
      std::erase(tree.members, spent);
      tree.parents = tree.members.size();
      tree.parent = 0;
    }
    for (bool grown = true; grown;) {
      grown = false;
      for (std::size_t root = 0; root < hosts; ++root) grown |= add_branch(int(root), step);
    }
    if (branches_.size() == before)
      throw UsageError(fmt::format("not all hosts of `{}` can reach each other", topology_.text()),
                       "add the cables that are missing");
  }
  return std::move(branches_);
}

int steps_of(const std::vector<Branch>& branches) { return branches.empty() ? 0 : branches.back().step + 1; }

/// The rank on each host, because trees grow on hosts.
std::vector<int> ranks_on_hosts(const Job& job) {
  std::vector<int> rank(std::size_t(job.ranks), 0);
  std::iota(rank.begin(), rank.end(), 0);
  for (std::size_t r = 0; r < job.seats.size(); ++r) rank[std::size_t(job.seats[r])] = int(r);
  return rank;
}

Schedule schedule(const Job& job) {
  std::vector<Branch> branches = grow_trees(*job.topology);
  const std::vector<int> rank = ranks_on_hosts(job);
  for (auto& [root, parent, child, step] : branches)
    for (int* host : {&root, &parent, &child}) *host = rank[std::size_t(*host)];
  const int T = steps_of(branches);
  const Teams teams = everyone(job, job.ranks);
  Schedule out = empty_schedule(job, job.ranks);
  std::vector<std::vector<Branch>> steps(std::size_t(T), std::vector<Branch>{});
  for (const Branch& branch : branches) steps[std::size_t(branch.step)].push_back(branch);
  for (const auto& step : std::views::reverse(steps)) {
    out.begin();
    for (const Branch& b : step) out.add(teams.flow(0, b.child, b.parent, b.root, 1, Arrival::add));
  }
  for (const auto& step : steps) {
    out.begin();
    for (const Branch& b : step) out.add(teams.flow(0, b.parent, b.child, b.root, 1, Arrival::replace));
  }
  return out;
}

/// Messages go from parents to children, each on wires of its own: only these wires matter, and none is
/// shared.
Curve closed_form(const Job& job, const Ways&) {
  const auto branches = grow_trees(*job.topology);
  const double T = steps_of(branches);
  Reach reach;
  for (const Branch& b : branches) reach.add(*job.topology, b.parent, b.child);
  return 2.0 * T * message(reach.link(), 1.0 / job.ranks);
}

std::string limit(const Job& job) {
  if (!job.topology || job.topology->is_of_levels())
    return "needs a topology, whose wires its trees follow (this system has only levels); use a system with "
           "`topology: torus:8,8` in its file, such as examples/multitree-training/torus.yaml";
  if (job.topology->hosts() > 512)
    return fmt::format("is limited to 512 hosts, not {} (it builds a tree from each); use `ring`",
                       job.topology->hosts());
  if (job.ranks == job.topology->hosts()) return "";
  return fmt::format("needs all {} hosts of `{}`, not {} of them; use `ring`, which takes any number",
                     job.topology->hosts(), job.topology->text(), job.ranks);
}

/// What it gains over a ring by bandwidth alone, which is more than what its authors publish.
std::string remark(const Job& job, int steps) {
  const int T = steps / 2;
  if (T < 1) return "";
  return fmt::format(
      "{} steps, {} to reduce and {} to broadcast; by bandwidth alone ({}/{}) {:.1f} times as fast "
      "as a ring{}",
      steps, T, T, job.ranks - 1, T, double(job.ranks - 1) / T,
      job.topology->text() == "torus:8,8" ? " (published: 2.3, with packet headers and steps in lockstep)"
                                          : "");
}

constexpr std::array served{Operation::allreduce};

}  // namespace

std::vector<Branch> grow_trees(const Topology& topology) { return Forest(topology).grow(); }

extern const Algorithm multitree_algorithm{
    .name = "multitree",
    .summary = "a spanning tree from each host, built so that each step uses a wire at most once",
    .formula = "2T(α + m/p β), T = steps to grow the trees",
    .operations = served,
    .limit = limit,
    .schedule = schedule,
    .closed_form = closed_form,
    .remark = remark,
    .on_wires = true,
    .quadratic = true};

}  // namespace paradl
