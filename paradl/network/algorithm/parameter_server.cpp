// Parameter servers: workers push what they have to the server, which adds it up, and pull the sum. Rank 0 is
// the central server and a worker too; sharded, each rank serves its own p-th of the buffer.
//
//   p  ranks     m  bytes of the buffer     alpha, beta  of the servers' ports
#include <array>

#include "paradl/network/algorithm/levels.hpp"
#include "paradl/network/algorithm/phases.hpp"

namespace paradl {
namespace {

/// Server s of `servers` holds piece s; everyone else pushes and pulls it.
Schedule push_and_pull(const Job& job, int servers) {
  const Teams teams = everyone(job, servers);
  Schedule out = empty_schedule(job, servers);
  if (job.ranks < 2) return out;
  for (const Arrival arrival : {Arrival::add, Arrival::replace}) {
    out.begin();
    for (int worker = 0; worker < job.ranks; ++worker)
      for (int server = 0; server < servers; ++server)
        if (worker != server)
          out.add(arrival == Arrival::add ? teams.flow(0, worker, server, server, 1, arrival)
                                          : teams.flow(0, server, worker, server, 1, arrival));
  }
  return out;
}

Schedule central_schedule(const Job& job) { return push_and_pull(job, 1); }
Schedule sharded_schedule(const Job& job) { return push_and_pull(job, job.ranks); }

/// All p-1 workers meet at the server's port. Zero at p = 1: there is nobody to push.
Curve central_closed_form(const Job& job, const Ways& ways) {
  const int p = job.ranks;
  return p > 1 ? 2.0 * message(slowest(one_way(ways)), p - 1) : Linear{};
}

/// The overhead of posting p-1 messages is no part of a link, and is not counted.
Curve sharded_closed_form(const Job& job, const Ways& ways) {
  const double p = job.ranks;
  return p > 1 ? 2.0 * message(farthest(ways), (p - 1) / p) : Linear{};
}

constexpr std::array served{Operation::allreduce};

}  // namespace

extern const Algorithm ps_algorithm{"ps",
                                    "central parameter server on rank 0: all push, all pull",
                                    "2(α + (p-1) m β)",
                                    served,
                                    nullptr,
                                    central_schedule,
                                    central_closed_form};

extern const Algorithm ps_sharded_algorithm{"ps-sharded",
                                            "parameter server spread over all ranks",
                                            "2(α + (p-1)/p m φ β)",
                                            served,
                                            nullptr,
                                            sharded_schedule,
                                            sharded_closed_form};

}  // namespace paradl
