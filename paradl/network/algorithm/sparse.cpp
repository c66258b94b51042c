// Sparse allreduce (IPCCC 2019): ranks send (index, value) pairs of what is not zero, and the values alone
// once that is less.
//
//   p  ranks        m  bytes of the dense buffer       d  density on one rank
//   d_n = 1 - (1-d)^n  density of the sum of n ranks, whose supports are independent
//   pair  bytes of an (index, value) pair over those of the value: 2 with 4 bytes each
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "paradl/core/format.hpp"
#include "paradl/network/algorithm/levels.hpp"
#include "paradl/network/algorithm/phases.hpp"

namespace paradl {
namespace {

/// Bytes to send for the sum of n ranks, over those of the dense values.
double share(const Job& job, int n) { return std::min(1.0, job.pair * (1 - std::pow(1 - job.density, n))); }

/// A ring in which each member starts with the sum of `summed` ranks. Steps with equal bytes are merged.
void mixed_reduce_scatter(Schedule& schedule, Teams teams, const Job& job, int summed) {
  const int p = teams.size, width = teams.pieces / p;
  const Bytes dense = teams.bytes;
  for (int s = 0; s < p - 1;) {
    int repeat = 1;
    while (s + repeat < p - 1 && share(job, summed * (s + repeat + 1)) == share(job, summed * (s + 1)))
      ++repeat;
    teams.bytes = share(job, summed * (s + 1)) * dense;
    schedule.begin(repeat, -1, p);
    for (int team = 0; team < teams.count; ++team)
      for (int m = 0; m < p; ++m)
        schedule.add(teams.flow(team, m, (m + 1) % p, (m + 2 * p - 1 - s) % p * width, width, Arrival::add));
    s += repeat;
  }
}

void mixed_allgather(Schedule& schedule, Teams teams, const Job& job) {
  teams.bytes = share(job, job.ranks) * teams.bytes;
  ring_allgather(schedule, teams);
}

/// Both halves of a ring of p members that each start with the sum of `summed` ranks.
Linear mixed_ring(const Job& job, int p, int summed, Link link) {
  Linear sum;
  for (int s = 0; s < p - 1; ++s) sum = sum + message(link, share(job, summed * (s + 1)) / p);
  return sum + (p - 1) * message(link, share(job, job.ranks) / p);
}

/// Finding the top k reads the buffer once.
Linear selection(const Job& job) { return {Seconds{}, job.ranks > 1 ? job.selection : SecondsPerByte{}}; }

Schedule ring_schedule(const Job& job) {
  Schedule out = empty_schedule(job, job.ranks);
  mixed_reduce_scatter(out, everyone(job, job.ranks), job, 1);
  mixed_allgather(out, everyone(job, job.ranks), job);
  return out;
}

Curve ring_closed_form(const Job& job, const Ways& ways) {
  return mixed_ring(job, job.ranks, 1, slowest(ways)) + selection(job);
}

Schedule ring_ring_schedule(const Job& job) {
  const int p = job.ranks, g = job.per_node, M = p / g;
  const Teams node{.count = M, .size = g, .team_stride = g, .pieces = p, .bytes = job.bytes};
  const Teams place{.count = g,
                    .size = M,
                    .team_stride = 1,
                    .member_stride = g,
                    .first_stride = M,
                    .pieces = M,
                    .bytes = job.bytes / g};
  Schedule out = empty_schedule(job, p);
  mixed_reduce_scatter(out, node, job, 1);
  mixed_reduce_scatter(out, place, job, g);
  mixed_allgather(out, place, job);
  mixed_allgather(out, node, job);
  return out;
}

Curve ring_ring_closed_form(const Job& job, const Ways& ways) {
  const int g = job.per_node, M = job.ranks / g;
  const Linear outer = mixed_ring(job, M, g, shared_port(ways));
  return mixed_ring(job, g, 1, inside(ways)) + Linear{outer.fixed, outer.per_byte / g} + selection(job);
}

/// The baseline: ranks send all their pairs to each other one by one, and each the sums of its part to all.
Schedule pairwise_schedule(const Job& job) {
  const int p = job.ranks;
  Teams teams = everyone(job, p);
  teams.bytes = p * job.pair * job.density * job.bytes;  // every message is as long as a rank's pairs
  Schedule out = empty_schedule(job, p);
  for (const Arrival arrival : {Arrival::add, Arrival::replace})
    for (int s = 1; s < p; ++s) {
      out.begin();
      for (int m = 0; m < p; ++m)
        out.add(teams.flow(0, m, (m + s) % p, arrival == Arrival::add ? (m + s) % p : m, 1, arrival));
    }
  return out;
}

Curve pairwise_closed_form(const Job& job, const Ways& ways) {
  const int p = job.ranks;
  return 2.0 * (p - 1) * message(farthest(ways), job.pair * job.density) + selection(job);
}

std::string limit(const Job& job) {
  if (job.density > 0 && job.density <= 1) return "";
  return fmt::format("the density {} is not a share of the values; use a number above 0 and up to 1",
                     job.density);
}

std::string node_limit(const Job& job) {
  if (job.per_node > 0 && job.ranks % job.per_node == 0) return limit(job);
  return fmt::format("{} ranks do not fill nodes of {}; use `sparse-ring`, which takes any number", job.ranks,
                     job.per_node);
}

std::string remark(const Job& job, int) {
  if (!(job.selection > SecondsPerByte{}))
    return "the selection of the top k values is not counted; add --top-k 900GB/s to count it";
  return fmt::format("includes the selection of the top k values: one read of the buffer at {}",
                     text(1.0 / job.selection));
}

constexpr std::array served{Operation::allreduce};

}  // namespace

extern const Algorithm sparse_pairwise_algorithm{
    .name = "sparse-pairwise",
    .summary = "(index, value) pairs from every rank to every other",
    .formula = "2(p-1)(α + 2 d m φ β) + m/σ, σ = rate of selecting the top k",
    .operations = served,
    .limit = limit,
    .schedule = pairwise_schedule,
    .closed_form = pairwise_closed_form,
    .remark = remark,
    .sparse = true,
    .quadratic = true};

extern const Algorithm sparse_ring_algorithm{
    .name = "sparse-ring",
    .summary = "ring of pairs, which sends plain values once these are smaller",
    .formula = "Σ_s (α + min(1, 2 d_s) m/p β) + (p-1)(α + min(1, 2 d_p) m/p β) + m/σ, d_n = 1-(1-d)^n",
    .operations = served,
    .limit = limit,
    .schedule = ring_schedule,
    .closed_form = ring_closed_form,
    .remark = remark,
    .sparse = true,
    .quadratic = true};

extern const Algorithm sparse_ring_ring_algorithm{
    .name = "sparse-ring+ring",
    .summary = "sparse ring in each node, then between nodes one for each place in a node",
    .formula = "ring+ring with min(1, 2 d_n) of each message, n = ranks summed so far, + m/σ",
    .operations = served,
    .limit = node_limit,
    .schedule = ring_ring_schedule,
    .closed_form = ring_ring_closed_form,
    .remark = remark,
    .sparse = true,
    .quadratic = true};

}  // namespace paradl
