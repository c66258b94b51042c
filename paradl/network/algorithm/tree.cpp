// Binomial tree: in step k the ranks at odd multiples of 2^k send all they have to the even ones. A broadcast
// runs in the opposite direction, and a scatter sends each subtree its own part only.
//
//   p  ranks     m  bytes of the buffer     L = ceil(log2 p)  levels
#include <algorithm>
#include <array>

#include "paradl/network/algorithm/levels.hpp"
#include "paradl/network/algorithm/phases.hpp"

namespace paradl {
namespace {

/// One level: between the even and the odd multiples of `distance`.
void level(Schedule& schedule, const Teams& teams, int distance, Arrival arrival) {
  schedule.begin();
  for (int team = 0; team < teams.count; ++team)
    for (int m = 0; m + distance < teams.size; m += 2 * distance)
      schedule.add(arrival == Arrival::add ? teams.flow(team, m + distance, m, 0, teams.pieces, arrival)
                                           : teams.flow(team, m, m + distance, 0, teams.pieces, arrival));
}

/// Member m sends its child the pieces of the child's subtree.
void scatter(Schedule& schedule, const Teams& teams) {
  for (int distance = 1 << ceil_log2(teams.size) >> 1; distance > 0; distance /= 2) {
    schedule.begin();
    for (int m = 0; m + distance < teams.size; m += 2 * distance) {
      const int child = m + distance, subtree = std::min(distance, teams.size - child);
      schedule.add(teams.flow(0, m, child, child, subtree, Arrival::replace));
    }
  }
}

}  // namespace

void tree_reduce(Schedule& schedule, const Teams& teams) {
  for (int distance = 1; distance < teams.size; distance *= 2) level(schedule, teams, distance, Arrival::add);
}

void tree_broadcast(Schedule& schedule, const Teams& teams) {
  for (int distance = 1 << ceil_log2(teams.size) >> 1; distance > 0; distance /= 2)
    level(schedule, teams, distance, Arrival::replace);
}

namespace {

Schedule schedule(const Job& job) {
  const bool scattered = job.operation == Operation::scatter;
  const Teams teams = everyone(job, scattered ? job.ranks : 1);
  Schedule out = empty_schedule(job, teams.pieces);
  if (scattered) scatter(out, teams);
  if (job.operation == Operation::allreduce || job.operation == Operation::reduce) tree_reduce(out, teams);
  if (job.operation == Operation::allreduce || job.operation == Operation::broadcast)
    tree_broadcast(out, teams);
  return out;
}

Curve closed_form(const Job& job, const Ways& ways) {
  const int p = job.ranks;
  Linear sum;
  for (int distance = 1; distance < p; distance *= 2) {
    // The root's child on this level is the root of `distance` ranks, or of the remaining ones.
    const double part =
        job.operation == Operation::scatter ? std::min(distance, p - distance) / double(p) : 1;
    sum = sum + message(across_alone(one_way(ways), distance), part);
  }
  return job.operation == Operation::allreduce ? 2.0 * sum : sum;
}

constexpr std::array served{Operation::allreduce, Operation::broadcast, Operation::reduce,
                            Operation::scatter};

}  // namespace

extern const Algorithm tree_algorithm{.name = "tree",
                                      .summary = "binomial tree: reduce to rank 0, then broadcast",
                                      .formula = "2 ⌈log2 p⌉ (α + m β)",
                                      .operations = served,
                                      .schedule = schedule,
                                      .closed_form = closed_form};

}  // namespace paradl
