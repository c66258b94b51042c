// Recursive doubling: log2 p steps in which partners exchange the whole buffer. Few messages, many bytes.
#include <array>

#include "paradl/network/algorithm/levels.hpp"
#include "paradl/network/algorithm/phases.hpp"

namespace paradl {

void exchange_all(Schedule& schedule, const Teams& teams) {
  const int core = core_of(teams.size), rest = teams.size - core;
  const auto member = [rest](int m) {
    return m < rest ? 2 * m + 1 : m + rest;
  };  // ranks that remain after fold()
  for (int distance = 1; distance < core; distance *= 2) {
    schedule.begin();
    for (int team = 0; team < teams.count; ++team)
      for (int m = 0; m < core; ++m)
        schedule.add(teams.flow(team, member(m), member(m ^ distance), 0, teams.pieces, Arrival::add));
  }
}

namespace {

Schedule schedule(const Job& job) {
  const Teams teams = everyone(job, 1);
  Schedule out = empty_schedule(job, 1);
  fold(out, teams);
  exchange_all(out, teams);
  unfold(out, teams);
  return out;
}

Curve closed_form(const Job& job, const Ways& ways) {
  Linear sum = folding(job.ranks, across(ways, 1));
  for (int distance = 1; distance < core_of(job.ranks); distance *= 2)
    sum = sum + message(across(ways, distance), 1);
  return sum;
}

constexpr std::array served{Operation::allreduce};

}  // namespace

extern const Algorithm doubling_algorithm{
    .name = "doubling",
    .summary = "recursive doubling: partners exchange the whole buffer",
    .formula = "Σ_k (α_k + m φ_k β_k), + 2(α + m β) if p is not a power of two",
    .operations = served,
    .schedule = schedule,
    .closed_form = closed_form};

}  // namespace paradl
