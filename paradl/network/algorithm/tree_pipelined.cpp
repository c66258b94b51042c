// Pipelined binomial trees. One tree would make its root send every segment log2 p times; here each segment
// has a tree of its own, a rotation of the others (Johnsson and Ho's edge-disjoint spanning binomial trees),
// so that in every step each rank sends and receives at most one segment, and n + S - 1 steps are enough for
// S of them.
//
//   p = 2^n  ranks (others fold)     S  segments     m  bytes of the buffer
#include <algorithm>
#include <array>
#include <ranges>
#include <vector>

#include "paradl/network/algorithm/levels.hpp"
#include "paradl/network/algorithm/phases.hpp"

namespace paradl {
namespace {

struct Hand {
  int from, to, segment;
};
using Round = std::vector<Hand>;

/// The segment that `rank` takes in round t, in which partners differ in bit t mod n; negative: none yet.
/// Segment b leaves the root in round b, spreads among the ranks whose bit (b mod n) is set in the rounds
/// after, and reaches the others in round b + n.
int taken(int rank, int t, int n) {
  const int bit = t % n;
  if (!(rank >> bit & 1)) return t - n;
  int next = 1;  // the next set bit, around: the tree in which the rank hangs by `bit`
  while (!(rank >> ((bit + next) % n) & 1)) ++next;
  return t - (n - next);
}

/// Rounds of a broadcast from rank 0. Slots of segments that do not exist carry the last one, which is what
/// saves the last round.
std::vector<Round> broadcast_rounds(int n, int S) {
  const int p = 1 << n;
  std::vector<std::vector<char>> has(std::size_t(p), std::vector<char>(std::size_t(S), false));
  has[0].assign(std::size_t(S), true);
  std::vector<Round> rounds(n > 0 ? std::size_t(n + S - 1) : 0);
  for (int t = 0; t < int(rounds.size()); ++t) {
    Round& round = rounds[std::size_t(t)];
    for (int rank = 1; rank < p; ++rank) {
      const int segment = std::min(taken(rank, t, n), S - 1);
      if (segment < 0 || has[std::size_t(rank)][std::size_t(segment)]) continue;
      round.push_back({rank ^ (1 << t % n), rank, segment});
    }
    for (const Hand& hand : round) has[std::size_t(hand.to)][std::size_t(hand.segment)] = true;
  }
  return rounds;
}

/// The last ranks, beyond the largest power of two, only send before and receive after; rank 0 stays the
/// root.
void aside(Schedule& schedule, const Teams& teams, Arrival arrival) {
  const int core = core_of(teams.size);
  if (core == teams.size) return;
  schedule.begin();
  for (int m = core; m < teams.size; ++m)
    schedule.add(arrival == Arrival::add ? teams.flow(0, m, m - core, 0, teams.pieces, arrival)
                                         : teams.flow(0, m - core, m, 0, teams.pieces, arrival));
}

int rounds_of(const Job& job) { return floor_log2(job.ranks); }

Schedule schedule(const Job& job) {
  const int n = rounds_of(job), S = segments_of(job, n);
  const Teams teams = everyone(job, S);
  const auto rounds = broadcast_rounds(n, S);
  Schedule out = empty_schedule(job, S);
  if (job.operation != Operation::broadcast) {
    aside(out, teams, Arrival::add);
    for (const Round& round : std::views::reverse(rounds)) {
      out.begin();
      for (const auto& [from, to, segment] : round)
        out.add(teams.flow(0, to, from, segment, 1, Arrival::add));
    }
  }
  if (job.operation != Operation::reduce) {
    for (const Round& round : rounds) {
      out.begin();
      for (const auto& [from, to, segment] : round)
        out.add(teams.flow(0, from, to, segment, 1, Arrival::replace));
    }
    aside(out, teams, Arrival::replace);
  }
  return out;
}

/// Rounds go through the bits of the ranks in turn, near partners and far ones: the mean paces a long
/// pipeline.
Link mean_way(int n, const Ways& ways) {
  Link sum;
  for (int bit = 0; bit < n; ++bit) {
    const Link way = across(ways, 1 << bit);
    sum = {sum.alpha + way.alpha / n, sum.beta + way.beta / n};
  }
  return sum;
}

Curve closed_form(const Job& job, const Ways& ways) {
  const int n = rounds_of(job);
  const double runs = job.operation == Operation::allreduce ? 2 : 1;
  const Curve pipelined = pipeline(job, n, runs, mean_way(n, ways));
  const Linear surplus = runs / 2 * folding(job.ranks, farthest(ways));
  Curve curve;
  for (const Curve::Choice& choice : pipelined.choices()) curve.add({choice.time + surplus});
  return curve;
}

constexpr std::array served{Operation::allreduce, Operation::broadcast, Operation::reduce};

}  // namespace

extern const Algorithm tree_pipelined_algorithm{
    .name = "tree-pipelined",
    .summary = "binomial trees in S segments: reduce to rank 0, then broadcast",
    .formula = "2(log2 p + S - 1)(α + m/S φ β), + 2(α + m β) if p is not a power of two",
    .operations = served,
    .schedule = schedule,
    .closed_form = closed_form,
    .pipelined = served,
    .rounds = rounds_of};

}  // namespace paradl
