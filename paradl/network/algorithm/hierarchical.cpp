// Hierarchical allreduce (CCPE 2021): sums inside the nodes first, so that less has to leave them.
//
//   g  ranks a node     M = p/g  nodes     i, e  inside a node, between nodes     phi_e  flows that share a
//   port
#include <array>

#include <fmt/format.h>

#include "paradl/network/algorithm/levels.hpp"
#include "paradl/network/algorithm/phases.hpp"

namespace paradl {
namespace {

int nodes_of(const Job& job) { return job.ranks / job.per_node; }

/// The ranks of each node, on the whole buffer.
Teams of_node(const Job& job, int pieces) {
  const int g = job.per_node;
  return {.count = nodes_of(job), .size = g, .team_stride = g, .pieces = pieces, .bytes = job.bytes};
}

/// The ranks with the same place in their nodes, on the share that belongs to the place.
Teams of_place(const Job& job, int pieces) {
  const int g = job.per_node;
  return {.count = g,
          .size = nodes_of(job),
          .team_stride = 1,
          .member_stride = g,
          .first_stride = pieces / g,
          .pieces = pieces / g,
          .bytes = job.bytes / g};
}

std::string limit(const Job& job) {
  const int g = job.per_node;
  if (g > 0 && job.ranks % g == 0) return "";
  return fmt::format("{} ranks do not fill nodes of {}; use `ring`, which takes any number", job.ranks, g);
}

/// One leader per node: it gets the sum of its node, joins the ring of leaders, and broadcasts the result.
Schedule leader_schedule(const Job& job) {
  const int M = nodes_of(job);
  Schedule out = empty_schedule(job, M);
  const Teams node = of_node(job, M);
  const Teams leaders{.size = M, .member_stride = job.per_node, .pieces = M, .bytes = job.bytes};
  tree_reduce(out, node);
  ring_reduce_scatter(out, leaders);
  ring_allgather(out, leaders);
  tree_broadcast(out, node);
  return out;
}

Curve leader_closed_form(const Job& job, const Ways& ways) {
  const Linear tree = ceil_log2(job.per_node) * message(inside(ways), 1);
  return 2.0 * tree + 2.0 * ring_half(nodes_of(job), own_port(ways));
}

int near_first(int, int step) { return step; }

/// All ranks lead: rank j of a node owns share j after the ring inside, and joins a ring with rank j of every
/// other node.
Schedule ring_ring_schedule(const Job& job) {
  Schedule out = empty_schedule(job, job.ranks);
  const Teams node = of_node(job, job.ranks), place = of_place(job, job.ranks);
  if (job.operation != Operation::allgather) {
    ring_reduce_scatter(out, node);
    ring_reduce_scatter(out, place);
  }
  if (job.operation != Operation::reduce_scatter) {
    ring_allgather(out, place);
    ring_allgather(out, node);
  }
  return out;
}

Linear ring_inside(const Job& job, const Ways& ways) { return ring_half(job.per_node, inside(ways)); }

/// The cost of a phase between nodes, which carries 1/g of the buffer.
Linear on_share(Linear cost, double g) { return {cost.fixed, cost.per_byte / g}; }

Curve ring_ring_closed_form(const Job& job, const Ways& ways) {
  const Linear half =
      ring_inside(job, ways) + on_share(ring_half(nodes_of(job), shared_port(ways)), job.per_node);
  return (job.operation == Operation::allreduce ? 2.0 : 1.0) * half;
}

Schedule ring_hd_schedule(const Job& job) {
  const int pieces = job.per_node * core_of(nodes_of(job));
  Schedule out = empty_schedule(job, pieces);
  const Teams node = of_node(job, pieces), place = of_place(job, pieces);
  ring_reduce_scatter(out, node);
  fold(out, place);
  halve(out, place, near_first);
  join(out, place, near_first);
  unfold(out, place);
  ring_allgather(out, node);
  return out;
}

Curve ring_hd_closed_form(const Job& job, const Ways& ways) {
  const int M = nodes_of(job), core = core_of(M);
  const Link out = shared_port(ways);
  const Linear hd{2.0 * floor_log2(M) * out.alpha, 2.0 * (core - 1) / core * out.beta};
  return 2.0 * ring_inside(job, ways) + on_share(hd + folding(M, out), job.per_node);
}

Schedule ring_doubling_schedule(const Job& job) {
  const int pieces = job.per_node;
  Schedule out = empty_schedule(job, pieces);
  const Teams node = of_node(job, pieces), place = of_place(job, pieces);
  ring_reduce_scatter(out, node);
  fold(out, place);
  exchange_all(out, place);
  unfold(out, place);
  ring_allgather(out, node);
  return out;
}

Curve ring_doubling_closed_form(const Job& job, const Ways& ways) {
  const int M = nodes_of(job);
  const Linear doubling = floor_log2(M) * message(shared_port(ways), 1);
  return 2.0 * ring_inside(job, ways) + on_share(doubling + folding(M, shared_port(ways)), job.per_node);
}

constexpr std::array allreduce{Operation::allreduce};
constexpr std::array halves{Operation::allreduce, Operation::reduce_scatter, Operation::allgather};

}  // namespace

extern const Algorithm leader_algorithm{.name = "leader",
                                        .summary = "tree to one leader per node, ring of leaders, tree back",
                                        .formula = "2⌈log2 g⌉(α_i + m β_i) + 2(M-1)(α_e + m/M β_e)",
                                        .operations = allreduce,
                                        .limit = limit,
                                        .schedule = leader_schedule,
                                        .closed_form = leader_closed_form};

extern const Algorithm ring_ring_algorithm{
    .name = "ring+ring",
    .summary = "ring in each node, then between nodes one ring for each place in a node",
    .formula = "2(g-1)(α_i + m/g β_i) + 2(M-1)(α_e + m/gM φ_e β_e)",
    .operations = halves,
    .limit = limit,
    .schedule = ring_ring_schedule,
    .closed_form = ring_ring_closed_form};

extern const Algorithm ring_hd_algorithm{
    .name = "ring+hd",
    .summary = "ring in each node, halving-doubling between the nodes",
    .formula = "2(g-1)(α_i + m/g β_i) + 2 log2 M α_e + 2(M-1)/M m/g φ_e β_e",
    .operations = allreduce,
    .limit = limit,
    .schedule = ring_hd_schedule,
    .closed_form = ring_hd_closed_form};

extern const Algorithm ring_doubling_algorithm{
    .name = "ring+doubling",
    .summary = "ring in each node, recursive doubling between the nodes",
    .formula = "2(g-1)(α_i + m/g β_i) + log2 M (α_e + m/g φ_e β_e)",
    .operations = allreduce,
    .limit = limit,
    .schedule = ring_doubling_schedule,
    .closed_form = ring_doubling_closed_form};

}  // namespace paradl
