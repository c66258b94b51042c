// Parameter servers: workers push what they have to the server, which adds it up, and pull the sum. Rank 0 is
// the central server and a worker too; sharded, each rank serves its own p-th of the buffer.
//
//   p  ranks     m  bytes of the buffer     alpha, beta  of the servers' ports
#include <array>

#include "paradl/network/algorithm/levels.hpp"
#include "paradl/network/algorithm/phases.hpp"

namespace paradl {
namespace {

/// All push to rank 0 at once, and pull at once.
Schedule central_schedule(const Job& job) {
  const Teams teams = everyone(job, 1);
  Schedule out = empty_schedule(job, 1);
  if (job.ranks < 2) return out;
  out.begin();
  for (int worker = 1; worker < job.ranks; ++worker) out.add(teams.flow(0, worker, 0, 0, 1, Arrival::add));
  out.begin();
  for (int worker = 1; worker < job.ranks; ++worker)
    out.add(teams.flow(0, 0, worker, 0, 1, Arrival::replace));
  return out;
}

/// Rank s serves piece s. A worker posts its p-1 messages one after the other, each to another server: in
/// step s every rank pushes to the rank s places on, and later every rank serves the rank s places on.
Schedule sharded_schedule(const Job& job) {
  const int p = job.ranks;
  const Teams teams = everyone(job, p);
  Schedule out = empty_schedule(job, p);
  for (const Arrival arrival : {Arrival::add, Arrival::replace})
    for (int s = 1; s < p; ++s) {
      out.begin();
      for (int m = 0; m < p; ++m) {
        const int to = (m + s) % p, piece = arrival == Arrival::add ? to : m;
        out.add(teams.flow(0, m, to, piece, 1, arrival));
      }
    }
  return out;
}

/// All p-1 workers share the server's port. Zero at p = 1: there is no other worker.
Curve central_closed_form(const Job& job, const Ways& ways) {
  const int p = job.ranks;
  return p > 1 ? 2.0 * message(slowest(one_way(ways)), p - 1) : Linear{};
}

Curve sharded_closed_form(const Job& job, const Ways& ways) {
  const double p = job.ranks;
  return 2.0 * (p - 1) * message(farthest(ways), 1 / p);
}

constexpr std::array served{Operation::allreduce};

}  // namespace

extern const Algorithm ps_algorithm{.name = "ps",
                                    .summary = "central parameter server on rank 0: all push, all pull",
                                    .formula = "2(α + (p-1) m β)",
                                    .operations = served,
                                    .schedule = central_schedule,
                                    .closed_form = central_closed_form};

extern const Algorithm ps_sharded_algorithm{.name = "ps-sharded",
                                            .summary = "parameter server spread over all ranks",
                                            .formula = "2(p-1)(α + m/p φ β)",
                                            .operations = served,
                                            .schedule = sharded_schedule,
                                            .closed_form = sharded_closed_form,
                                            .quadratic = true};

}  // namespace paradl
