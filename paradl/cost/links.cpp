#include "paradl/cost/links.hpp"

#include <cmath>
#include <numeric>

#include "paradl/mesh/routed.hpp"
#include "paradl/network/algorithm/nccl.hpp"
#include "paradl/network/measured_cost.hpp"

namespace paradl {
namespace {

constexpr double most_followed = 1 << 17;  // GPUs: larger machines are not routed as a tree of levels

/// A mesh, a set of its axes and an extent as numbers.
std::array<int, 4 * most_axes + 3> key_of(const Mesh& mesh, AxisSet set, int dim) {
  std::array<int, 4 * most_axes + 3> key{};
  std::size_t at = 0;
  key[at++] = mesh.axes, key[at++] = set, key[at++] = dim;
  for (int a = 0; a < mesh.axes; ++a) {
    const Parts& parts = mesh.axis[std::size_t(a)].parts;
    key[at++] = parts.total;
    for (const int n : parts.cut) key[at++] = n;
  }
  return key;
}

/// Run lengths, innermost first, of axes outside and inside `set`; zero-terminated. Equal encodings mean
/// equal group placement.
std::array<int, most_axes + 2> spread_of(const Mesh& mesh, AxisSet set) {
  std::array<int, most_axes + 2> out{};
  std::size_t at = 0;
  bool in = false;
  out[0] = 1;
  for (int a = mesh.axes - 1; a >= 0; --a) {
    if (bool(set & axis_bit(a)) != in) {
      in = !in;
      out[++at] = 1;
    }
    out[at] *= mesh.axis[std::size_t(a)].parts.total;
  }
  return out;
}

/// Bytes that one GPU copies to and from its host for each byte of a collective's buffer.
double copied(Collective operation, double p) {
  switch (operation) {
    case Collective::allgather:       // sends its share, receives the whole
    case Collective::reduce_scatter:  // sends the whole, receives its share
      return 1 + 1 / p;
    case Collective::allreduce:
    case Collective::all_to_all:
    case Collective::point_to_point:
      return 2;
  }
  return 0;
}

}  // namespace

int network_hop(const Setting& setting) {
  return setting.topology && setting.machine.levels.size() == 1 ? 0 : 1;
}

bool takes_trees(const Training& training) { return !training.framework.flat_rings; }

Job job_of(const Path& path, const Setting& setting, const Allreduce& allreduce) {
  const bool nodes = network_hop(setting) == 1;
  const int ranks = int(path.size());
  // Algorithms on two levels need the same number of ranks in each node. If the last node is less full, use a
  // smaller number that divides all ranks.
  Job job{.operation = Operation::allreduce,
          .ranks = ranks,
          .per_node = nodes ? std::gcd(ranks, int(path.hop[0].size)) : 1};
  job.topology = setting.topology.get();
  job.density = allreduce.density;
  job.selection = 1.0 / setting.machine.device.memory_bandwidth;  // the top k are found in one read
  return job;
}

bool can_sum(const Path& path, const Setting& setting, const Allreduce& allreduce) {
  return !allreduce.algorithm || path.size() <= 1 ||
         refusal(*allreduce.algorithm, job_of(path, setting, allreduce)).empty();
}

Links::Links(const Setting& setting) : setting_(setting), measured_(has_measured_links(setting.machine)) {}

const Topology* Links::wires() const {
  if (setting_.topology) return setting_.topology.get();
  std::call_once(levels_made_, [this] {
    if (setting_.machine.gpus() <= most_followed) levels_ = levels_topology(setting_.machine);
  });
  return levels_.get();
}

Path Links::group(const Mesh& mesh, AxisSet set) const {
  if (!setting_.topology)
    return setting_.training.framework.flat_rings ? flat_path(mesh, set, setting_.machine)
                                                  : group_path(mesh, set, setting_.machine);
  return routed_.get(key_of(mesh, set, -2), [&] {
    return route_groups(group_path(mesh, set, setting_.machine), mesh, set, *setting_.topology,
                        network_hop(setting_));
  });
}

Path Links::neighbours(const Mesh& mesh, int axis, int dim) const {
  if (!setting_.topology) return neighbour_path(mesh, axis, dim, setting_.machine);
  return routed_.get(key_of(mesh, axis_bit(axis), dim), [&] {
    return route_neighbours(neighbour_path(mesh, axis, dim, setting_.machine), mesh, axis, dim,
                            *setting_.topology, network_hop(setting_));
  });
}

MessageCost Links::cost_of(Collective operation, const Path& path) const {
  const bool trees = operation == Collective::allreduce && takes_trees(setting_.training);
  MessageCost out{.specified = cost(operation, path)};
  if (measured_)
    out.measured = &measured_cost(operation, path, trees);
  else if (trees)
    out.trees = tree_allreduce(path);
  return out;
}

const MeasuredCost& Links::measured_cost(Collective operation, const Path& path, bool trees) const {
  std::array<double, 19> key{double(operation), path.in_node, path.sisters};
  for (std::size_t k = 0; k < std::size_t(path.hops); ++k) {
    key[3 + 2 * k] = path.hop[k].size;
    key[4 + 2 * k] = path.hop[k].phi;
  }
  return measured_costs_.get(key, [&] { return MeasuredCost(operation, path, setting_.machine, trees); });
}

MessageCost Links::axis_cost(Collective operation, bool by_space, const Path& path) const {
  const Training& training = setting_.training;
  if (by_space && training.framework.halos == Transport::host) {
    Path staged = path;
    for (int k = 0; k < staged.hops; ++k) {
      Hop& hop = staged.hop[std::size_t(k)];
      hop.link = staged_message(setting_.machine, hop.link);
      hop.phi = 1;  // the measured rate is that of all GPUs of a node at once
    }
    return {cost(operation, staged)};
  }
  MessageCost out = cost_of(operation, path);
  if (training.transport == Transport::host && path.size() > 1)
    out.copies = copied(operation, path.size()) * staged_copy(setting_.machine);
  return out;
}

SecondsPerByte Links::stage_pace(const Mesh& mesh, int axis) const {
  constexpr Bytes large{1e8};
  const Path path = neighbours(mesh, axis, -1);
  if (!measured_) return cost(Collective::point_to_point, path).per_byte;
  const MessageCost message = axis_cost(Collective::point_to_point, false, path);
  return (message(2 * large) - message(large)) / large;
}

const AskedSum* Links::asked_sum(const Allreduce& allreduce, const Mesh& mesh, AxisSet set,
                                 const Path& path) const {
  if (!allreduce.algorithm || path.size() <= 1) return nullptr;
  const SumKey key{allreduce.algorithm, allreduce.density, spread_of(mesh, set)};
  return &asked_.get(key, [&] { return find_sum(allreduce, mesh, set, path); });
}

/// Routes all messages if there are not too many. Otherwise uses the closed form with two levels: inside
/// nodes, and everything between nodes.
AskedSum Links::find_sum(const Allreduce& allreduce, const Mesh& mesh, AxisSet set, const Path& path) const {
  const Algorithm& algorithm = *allreduce.algorithm;
  const Job job = job_of(path, setting_, allreduce);
  if (const Topology* topology = wires())
    if (auto routed = route_exchange(algorithm, job, mesh, set, *topology)) return {*std::move(routed)};
  Ways ways{.inner = path.hop[0], .outer = path.outermost()};
  if (network_hop(setting_) == 0) ways.inner = {.size = 1};
  ways.inner.size = job.per_node;
  ways.outer.size = path.size() / ways.inner.size;
  if (setting_.topology) ways.ports = ports_of(*setting_.topology);
  AskedSum sum{
      {.time = algorithm.closed_form(job, ways), .phi = path.outermost().phi, .wire = path.outermost().wire},
      NetworkFidelity::closed_form};
  if (algorithm.tabulated) sum.tabulated.emplace(job, ways);
  return sum;
}

std::string AskedSum::chosen(Bytes m) const {
  if (!tabulated) return "";
  auto [job, ways] = *tabulated;
  job.bytes = m;
  return text_of(nccl_choice(job, ways));
}

}  // namespace paradl
