// Shifted halving-doubling (SHD, CCGrid 2021) for distributed loop networks: 2^q switches of 2^p hosts,
// chords of length 1, 2, 4 ... between the switches. Plain halving-doubling sends all hosts of a switch over
// the same chord; here the hosts take the chords in an order that is rotated by their place at the switch.
//
//   P = 2^(q+p)  ranks     m  bytes of the buffer     i, e  at one switch, between switches
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "paradl/network/algorithm/levels.hpp"
#include "paradl/network/algorithm/phases.hpp"
#include "paradl/network/algorithm/shape.hpp"

namespace paradl {
namespace {

struct Loop {
  int q, p;
};

/// Whether the network has chords to choose from.
bool on_loop(const Job& job) { return !shape_of(job, "dln").empty() || !shape_of(job, "dln2d").empty(); }

/// From `dln:q,p` or `dln2d:x,y,z` (whose chords run along rows and columns: q = x + y); else the nodes are
/// taken for switches.
std::optional<Loop> loop_of(const Job& job) {
  std::optional<Loop> loop;
  if (const auto dln = shape_of(job, "dln"); dln.size() == 2)
    loop = {dln[0], dln[1]};
  else if (const auto dln2d = shape_of(job, "dln2d"); dln2d.size() == 3)
    loop = {dln2d[0] + dln2d[1], dln2d[2]};
  else if (is_power_of_two(job.ranks) && is_power_of_two(job.per_node) && job.per_node <= job.ranks)
    loop = {floor_log2(job.ranks / job.per_node), floor_log2(job.per_node)};
  if (loop && job.ranks != 1 << (loop->q + loop->p)) return {};
  return loop;
}

std::string limit(const Job& job) {
  if (loop_of(job)) return "";
  if (on_loop(job))
    return fmt::format("needs all {} hosts of `{}`, not {} of them; use `hd`, which takes any number",
                       job.topology->hosts(), job.topology->text(), job.ranks);
  return fmt::format(
      "needs numbers of ranks and of ranks per node that are powers of two, not {} and {}; use `hd`, which "
      "takes any number",
      job.ranks, job.per_node);
}

/// Inside the switch first; then chord (s + place) mod q in the s-th step between switches.
Order rotated(Loop loop) {
  return [loop](int rank, int step) {
    const auto [q, p] = loop;
    const int place = rank & ((1 << p) - 1);
    return step < p ? step : p + (step - p + place) % q;
  };
}

Schedule schedule(const Job& job) {
  const Order order = rotated(*loop_of(job));
  const Teams teams = everyone(job, job.ranks);
  Schedule out = empty_schedule(job, job.ranks);
  if (job.operation != Operation::allgather) halve(out, teams, order);
  if (job.operation != Operation::reduce_scatter) join(out, teams, order);
  return out;
}

/// On a loop, of the flows that would share a chord, q chords carry a q-th each: phi = ceil(2^p / q).
/// Elsewhere there are no chords to choose from.
Curve closed_form(const Job& job, const Ways& ways) {
  const auto [q, p] = *loop_of(job);
  const Hop& outer = ways.outer;
  const double phi = !on_loop(job) ? outer.phi : q > 0 ? std::max(1.0, std::ceil(outer.phi / q)) : 1;
  const double hosts = 1 << p, switches = 1 << q;
  const Link in = inside(ways), out{outer.link.alpha, phi * outer.link.beta};
  const Linear half{p * in.alpha + q * out.alpha,
                    (1 - 1 / hosts) * in.beta + 1 / hosts * (1 - 1 / switches) * out.beta};
  return (job.operation == Operation::allreduce ? 2.0 : 1.0) * half;
}

/// More hosts at a switch than chords: some share one, and a ring may be quicker.
std::string remark(const Job& job, int) {
  const auto [q, p] = *loop_of(job);
  if (!on_loop(job)) return "made for loop networks; elsewhere it is `hd` with shifted partners";
  if (q < 1 || 1 << p <= q) return "";
  return fmt::format("{} hosts of a switch share {} chords (phi {}): `ring` may be faster if 2^p > q", 1 << p,
                     q, ((1 << p) + q - 1) / q);
}

constexpr std::array served{Operation::allreduce, Operation::reduce_scatter, Operation::allgather};

}  // namespace

extern const Algorithm shd_algorithm{
    .name = "shd",
    .summary = "shifted halving-doubling: hosts of a switch take its chords in turn",
    .formula = "2(p+q)α + 2 m β ((1-2^-p) + 2^-p (1-2^-q) ⌈2^p/q⌉)",
    .operations = served,
    .limit = limit,
    .schedule = schedule,
    .closed_form = closed_form,
    .remark = remark};

}  // namespace paradl
