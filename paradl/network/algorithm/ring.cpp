// Rings: every rank sends to its neighbour only, and each message is a p-th of the buffer.
//
//   p  ranks     m  bytes of the buffer     alpha, beta  start-up and seconds per byte of the slowest
//   neighbours
#include <algorithm>
#include <array>

#include "paradl/network/algorithm/levels.hpp"
#include "paradl/network/algorithm/phases.hpp"

namespace paradl {

void ring_reduce_scatter(Schedule& schedule, const Teams& teams) {
  const int p = teams.size, width = teams.pieces / p;
  if (p < 2) return;
  schedule.begin(p - 1, -1, p);
  for (int team = 0; team < teams.count; ++team)
    for (int m = 0; m < p; ++m)
      schedule.add(teams.flow(team, m, (m + 1) % p, (m + p - 1) % p * width, width, Arrival::add));
}

void ring_allgather(Schedule& schedule, const Teams& teams) {
  const int p = teams.size, width = teams.pieces / p;
  if (p < 2) return;
  schedule.begin(p - 1, -1, p);
  for (int team = 0; team < teams.count; ++team)
    for (int m = 0; m < p; ++m)
      schedule.add(teams.flow(team, m, (m + 1) % p, m * width, width, Arrival::replace));
}

Linear ring_half(int p, Link link) { return (p - 1) * message(link, 1.0 / p); }

namespace {

/// Of a broadcast: ranks that the first segment has to reach, one after the other.
int rounds_of(const Job& job) { return job.ranks - 1; }

/// Rank after rank: each passes a segment on while it takes the next. p-2 steps until the last rank gets its
/// first segment, and one for each.
void chain(Schedule& schedule, const Job& job) {
  const int p = job.ranks, S = schedule.pieces;
  const Teams teams = everyone(job, S);
  for (int t = 0; t < p - 2 + S; ++t) {
    schedule.begin();
    for (int m = std::max(0, t - S + 1); m <= std::min(t, p - 2); ++m)
      schedule.add(teams.flow(0, m, m + 1, t - m, 1, Arrival::replace));
  }
}

Schedule schedule(const Job& job) {
  if (job.operation == Operation::broadcast) {
    Schedule out = empty_schedule(job, segments_of(job, rounds_of(job)));
    if (job.ranks > 1) chain(out, job);
    return out;
  }
  Schedule out = empty_schedule(job, job.ranks);
  const Teams teams = everyone(job, job.ranks);
  if (job.operation != Operation::allgather) ring_reduce_scatter(out, teams);
  if (job.operation != Operation::reduce_scatter) ring_allgather(out, teams);
  return out;
}

Curve closed_form(const Job& job, const Ways& ways) {
  const int p = job.ranks;
  if (job.operation == Operation::broadcast) return pipeline(job, rounds_of(job), 1, slowest(ways));
  const double halves = job.operation == Operation::allreduce ? 2 : 1;
  return halves * ring_half(p, slowest(ways));
}

/// Two rings in opposite directions, each with half of the buffer. In the second one pieces are numbered
/// backwards, so that both move by the same shift.
Schedule bidirectional_schedule(const Job& job) {
  const int p = job.ranks;
  Schedule out = empty_schedule(job, 2 * p);
  if (p < 2) return out;
  const Teams teams = everyone(job, 2 * p);
  for (const Arrival arrival : {Arrival::add, Arrival::replace}) {
    out.begin(p - 1, -1, p);
    for (int m = 0; m < p; ++m) {
      const int behind = arrival == Arrival::add ? p - 1 : 0;
      out.add(teams.flow(0, m, (m + 1) % p, (m + behind) % p, 1, arrival));
      out.add(teams.flow(0, m, (m + p - 1) % p, p + (p - m + behind) % p, 1, arrival));
    }
  }
  return out;
}

/// Half the time if a rank has a wire for each direction; nothing is gained if both share one port.
Curve bidirectional_closed_form(const Job& job, const Ways& ways) {
  const double p = job.ranks, at_once = std::min(2.0, ways.ports);
  return 2.0 * (p - 1) * message(slowest(ways), 1 / p / at_once);
}

constexpr std::array served{Operation::allreduce, Operation::reduce_scatter, Operation::allgather,
                            Operation::broadcast};
constexpr std::array broadcast{Operation::broadcast};
constexpr std::array allreduce{Operation::allreduce};

}  // namespace

extern const Algorithm ring_algorithm{.name = "ring",
                                      .summary = "reduce-scatter, then allgather, around a ring",
                                      .formula = "2(p-1)(α + m/p φ β)",
                                      .operations = served,
                                      .schedule = schedule,
                                      .closed_form = closed_form,
                                      .pipelined = broadcast,
                                      .rounds = rounds_of,
                                      .fitted = true};

extern const Algorithm ring_bidirectional_algorithm{
    .name = "ring-bidirectional",
    .summary = "two rings in opposite directions, half of the buffer each",
    .formula = "2(p-1)(α + m/2p φ β), m/p if both directions share a port",
    .operations = allreduce,
    .schedule = bidirectional_schedule,
    .closed_form = bidirectional_closed_form};

}  // namespace paradl
