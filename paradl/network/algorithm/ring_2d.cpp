// Rings on a grid of A x B: an allreduce along the rows, then one of the sums along the columns. Half of the
// buffer goes columns first, and each half goes both ways around, so that all four wires of a torus work.
//
//   m  bytes of the buffer, a quarter on each wire     rank = column + row * A
#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "paradl/network/algorithm/levels.hpp"
#include "paradl/network/algorithm/phases.hpp"
#include "paradl/network/algorithm/shape.hpp"

namespace paradl {
namespace {

struct Grid {
  int A, B;
};

/// The topology's first dimension and the rest; without one, as square as can be.
Grid grid_of(const Job& job) {
  for (const std::string_view kind : {"torus", "mesh"})
    if (const auto sizes = shape_of(job, kind); !sizes.empty() && job.ranks % sizes[0] == 0)
      return {sizes[0], job.ranks / sizes[0]};
  int B = 1;
  for (int n = 2; n * n <= job.ranks; ++n)
    if (job.ranks % n == 0) B = n;
  return {job.ranks / B, B};
}

std::string limit(const Job& job) {
  const auto [A, B] = grid_of(job);
  if (job.ranks == 1 || (A > 1 && B > 1)) return "";
  return fmt::format("{} ranks cannot form a grid of two dimensions; use `ring`, which takes any number",
                     job.ranks);
}

/// One quarter of the buffer: along which dimension it goes, and which way around.
struct Quarter {
  int first;  // piece
  bool along_rows, backward;
};

/// Flows of a quarter in the u-th step of its allreduce: n-1 steps of reduce-scatter, n-1 of allgather.
/// Backward rings number their pieces backwards, so that the pieces of all rings move in the same way.
void add_ring(Schedule& out, const Teams& teams, Grid grid, Quarter quarter, int u) {
  const auto [A, B] = grid;
  const int n = quarter.along_rows ? A : B, stride = quarter.along_rows ? 1 : A;
  if (u >= 2 * (n - 1)) return;
  const bool adds = u < n - 1;
  const int s = adds ? u + 1 : u - (n - 1);  // how far behind its own place a member's piece is
  const int width = std::lcm(A, B) / n;
  for (int rank = 0; rank < A * B; ++rank) {
    const int place = rank / stride % n, line = rank - place * stride;
    const int target = line + (place + (quarter.backward ? n - 1 : 1)) % n * stride;
    const int own = quarter.backward ? n - place : place;
    const int first = quarter.first + (own + 2 * n - s) % n * width;
    out.add(teams.flow(0, rank, target, first, width, adds ? Arrival::add : Arrival::replace));
  }
}

Schedule schedule(const Job& job) {
  const Grid grid = grid_of(job);
  const int quarter = std::lcm(grid.A, grid.B), longest = std::max(grid.A, grid.B);
  const Teams teams = everyone(job, 4 * quarter);
  Schedule out = empty_schedule(job, 4 * quarter);
  if (job.ranks < 2) return out;
  // On a square all rings have the same length, and n-1 steps are one that is repeated.
  const int repeat = grid.A == grid.B ? longest - 1 : 1;
  for (const bool swapped : {false, true})
    for (int u = 0; u < 2 * (longest - 1); u += repeat) {
      out.begin(repeat, -1, repeat > 1 ? longest : 0);
      for (int q = 0; q < 4; ++q)
        add_ring(out, teams, grid, {q * quarter, (q < 2) != swapped, q % 2 == 1}, u);
    }
  return out;
}

Curve closed_form(const Job& job, const Ways& ways) {
  const auto [A, B] = grid_of(job);
  const int shorter = std::min(A, B), longer = std::max(A, B);
  // Each ring of n has a wire of its own for its quarter, if there are enough of them.
  const auto ring = [&](int n) { return std::max(1 / (4.0 * n), 2 / (4.0 * n) / ways.ports); };
  const double together =
      std::max(1 / (4.0 * shorter), (2 / (4.0 * shorter) + 2 / (4.0 * longer)) / ways.ports);
  const Link link = slowest(ways);
  return 2.0 * (2.0 * (shorter - 1) * message(link, together) +
                2.0 * (longer - shorter) * message(link, ring(longer)));
}

constexpr std::array served{Operation::allreduce};

}  // namespace

extern const Algorithm ring_2d_algorithm{
    .name = "ring-2d",
    .summary = "rings along rows and columns of a grid, both directions at once",
    .formula = "4(A-1)(α + m/4A φ β) on a torus of A × A; m/A if all share a port",
    .operations = served,
    .limit = limit,
    .schedule = schedule,
    .closed_form = closed_form};

}  // namespace paradl
