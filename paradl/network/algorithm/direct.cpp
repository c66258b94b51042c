// Messages that need no help of others: from every rank to every other (pairwise), to neighbours, to one
// rank.
#include <algorithm>
#include <array>

#include "paradl/network/algorithm/levels.hpp"
#include "paradl/network/algorithm/phases.hpp"

namespace paradl {
namespace {

/// All to all: in step s every rank sends to the one s places on. Piece i p + j is what i has for j.
Schedule pairwise_schedule(const Job& job) {
  const int p = job.ranks;
  Schedule out = empty_schedule(job, p * p);
  const Teams teams{.size = p, .pieces = p, .bytes = job.bytes};  // of one rank's part
  for (int s = 1; s < p; ++s) {
    out.begin();
    for (int m = 0; m < p; ++m) {
      const int to = (m + s) % p;
      out.add(teams.flow(0, m, to, m * p + to, 1, Arrival::replace));
    }
  }
  return out;
}

Curve pairwise_closed_form(const Job& job, const Ways& ways) {
  const double p = job.ranks;
  return (p - 1) * message(farthest(ways), 1 / p);
}

/// Halo: ranks in a line send a border to the next, then one to the rank before; two ranks do both at once.
/// Pieces 2 i and 2 i + 1 are the borders of rank i towards the rank before and the next.
Schedule halo_schedule(const Job& job) {
  const int p = job.ranks;
  Schedule out = empty_schedule(job, 2 * p);
  const auto border = [&](int from, int to, int piece) {
    out.add({.source = from, .target = to, .first = piece, .width = 1, .bytes = job.bytes});
  };
  if (p > 1) out.begin();
  for (int m = 0; m + 1 < p; ++m) border(m, m + 1, 2 * m + 1);
  if (p > 2) out.begin();
  for (int m = 1; m < p; ++m) border(m, m - 1, 2 * m);
  return out;
}

Schedule direct_schedule(const Job& job) {
  if (job.operation == Operation::halo) return halo_schedule(job);
  Schedule out = empty_schedule(job, 1);
  if (job.ranks < 2) return out;
  out.begin();
  out.add({.source = 0, .target = job.ranks - 1, .first = 0, .width = 1, .bytes = job.bytes});
  return out;
}

/// From the first rank to the last, which is as far as it gets; the ends of two nodes meet in a halo.
Curve direct_closed_form(const Job& job, const Ways& ways) {
  if (job.operation == Operation::halo) return std::min(2, job.ranks - 1) * message(slowest(ways), 1);
  return job.ranks > 1 ? message(slowest(one_way(ways)), 1) : Linear{};
}

constexpr std::array all_to_all{Operation::all_to_all};
constexpr std::array neighbours{Operation::point_to_point, Operation::halo};

}  // namespace

extern const Algorithm pairwise_algorithm{.name = "pairwise",
                                          .summary = "each rank sends to every other, one after the other",
                                          .formula = "(p-1)(α + m/p φ β)",
                                          .operations = all_to_all,
                                          .schedule = pairwise_schedule,
                                          .closed_form = pairwise_closed_form,
                                          .quadratic = true};

extern const Algorithm direct_algorithm{.name = "direct",
                                        .summary = "one message to a rank, or one to each neighbour",
                                        .formula = "α + m β",
                                        .operations = neighbours,
                                        .schedule = direct_schedule,
                                        .closed_form = direct_closed_form};

}  // namespace paradl
