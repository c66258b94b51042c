// Halving-doubling (Rabenseifner): log2 p steps in which partners trade halves, quarters, eighths ... of the
// buffer, then the same steps backwards. The order of partners does not matter without contention; with it,
// far partners should get the small messages.
//
//   p  ranks     m  bytes of the buffer     alpha, beta  of the link to the partner, phi included
#include <array>

#include <fmt/format.h>

#include "paradl/network/algorithm/levels.hpp"
#include "paradl/network/algorithm/phases.hpp"

namespace paradl {
namespace {

/// After folding, the members that go on: the odd ones of the folded pairs, and all that had no need to fold.
int unfolded(int core_member, int size) {
  const int rest = size - core_of(size);
  return core_member < rest ? 2 * core_member + 1 : core_member + rest;
}

bool upper(int member, int bit) { return member >> bit & 1; }

/// The first piece of what a member still works on before `step`: its half of its half of ...
int first_piece(int member, int step, int pieces, const Order& bit) {
  int first = 0;
  for (int k = 0; k < step; ++k)
    if (upper(member, bit(member, k))) first += pieces >> (k + 1);
  return first;
}

/// One step: every member sends one half of its range, the partner's (which adds it) or its own.
void trade(Schedule& schedule, const Teams& teams, const Order& bit, int step, Arrival arrival) {
  const int width = teams.pieces >> (step + 1);
  schedule.begin();
  for (int team = 0; team < teams.count; ++team)
    for (int m = 0; m < core_of(teams.size); ++m) {
      const int b = bit(m, step), partner = m ^ (1 << b);
      const bool upper_half = upper(arrival == Arrival::add ? partner : m, b);
      const int first = first_piece(m, step, teams.pieces, bit) + (upper_half ? width : 0);
      schedule.add(
          teams.flow(team, unfolded(m, teams.size), unfolded(partner, teams.size), first, width, arrival));
    }
}

/// All surplus members at once, towards their neighbour or back.
void fold_pairs(Schedule& schedule, const Teams& teams, Arrival arrival) {
  const int rest = teams.size - core_of(teams.size);
  if (rest == 0) return;
  schedule.begin();
  for (int team = 0; team < teams.count; ++team)
    for (int m = 0; m < rest; ++m) {
      const int surplus = 2 * m, kept = 2 * m + 1;
      schedule.add(arrival == Arrival::add ? teams.flow(team, surplus, kept, 0, teams.pieces, arrival)
                                           : teams.flow(team, kept, surplus, 0, teams.pieces, arrival));
    }
}

}  // namespace

void fold(Schedule& schedule, const Teams& teams) { fold_pairs(schedule, teams, Arrival::add); }
void unfold(Schedule& schedule, const Teams& teams) { fold_pairs(schedule, teams, Arrival::replace); }

void halve(Schedule& schedule, const Teams& teams, const Order& bit) {
  for (int k = 0; k < floor_log2(teams.size); ++k) trade(schedule, teams, bit, k, Arrival::add);
}

void join(Schedule& schedule, const Teams& teams, const Order& bit) {
  for (int k = floor_log2(teams.size) - 1; k >= 0; --k) trade(schedule, teams, bit, k, Arrival::replace);
}

Linear folding(int p, Link link) { return is_power_of_two(p) ? Linear{} : 2.0 * message(link, 1); }

namespace {

int near_first(const Job&, int step) { return step; }
int far_first(const Job& job, int step) { return floor_log2(job.ranks) - 1 - step; }

template <auto bit>
Schedule schedule(const Job& job) {
  const Order order = [&job](int, int step) { return bit(job, step); };
  const Teams teams = everyone(job, core_of(job.ranks));
  Schedule out = empty_schedule(job, teams.pieces);
  fold(out, teams);
  if (job.operation != Operation::allgather) halve(out, teams, order);
  if (job.operation != Operation::reduce_scatter) join(out, teams, order);
  unfold(out, teams);
  return out;
}

template <auto bit>
Curve closed_form(const Job& job, const Ways& ways) {
  Linear halving;
  for (int k = 0; k < floor_log2(job.ranks); ++k)
    halving = halving + message(across(ways, 1 << bit(job, k)), 1.0 / (2 << k));
  if (job.operation != Operation::allreduce) return halving;
  return 2.0 * halving + folding(job.ranks, across(ways, 1));
}

std::string limit(const Job& job) {
  if (job.operation == Operation::allreduce || is_power_of_two(job.ranks)) return "";
  return fmt::format("needs a power of two of ranks for {}, not {}; use `ring`, which takes any number",
                     text_of(job.operation), job.ranks);
}

constexpr std::array served{Operation::allreduce, Operation::reduce_scatter, Operation::allgather};

}  // namespace

extern const Algorithm hd_algorithm{
    .name = "hd",
    .summary = "halving-doubling, near partners first",
    .formula = "2 Σ_k (α_k + m/2^(k+1) φ_k β_k), + 2(α + m β) if p is not a power of two",
    .operations = served,
    .limit = limit,
    .schedule = schedule<near_first>,
    .closed_form = closed_form<near_first>};

extern const Algorithm hd_far_algorithm{
    .name = "hd-far",
    .summary = "halving-doubling, far partners first",
    .formula = "2 Σ_k (α_k + m/2^(k+1) φ_k β_k), + 2(α + m β) if p is not a power of two",
    .operations = served,
    .limit = limit,
    .schedule = schedule<far_first>,
    .closed_form = closed_form<far_first>};

}  // namespace paradl
