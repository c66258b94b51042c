// Compares contention counted on levels with contention found by routing every flow of every group.
#include "paradl/mesh/routed.hpp"

#include <doctest/doctest.h>

#include "paradl/network/timing.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/pencil.hpp"
#include "tests/support/spec_text.hpp"

namespace paradl::test {
namespace {

Mesh mesh_of(const std::string& strategy, const std::string& grid) {
  return Bench::mesh(read_strategy(strategy), grid);
}

TEST_CASE("on a tree of levels, counting and routing give the same contention") {
  // ABCI: nodes of four GPUs with two ports. In all of these every group has whole nodes or one GPU a node.
  const Machine abci = build_machine(shipped().system("abci"));
  const auto tree = levels_topology(abci);
  struct Case {
    const char *strategy, *grid;
    int axis;
    double phi;  // between nodes
  };
  const std::vector<Case> cases{
      {"data", "64", 0, 2},           // four rings leave each node through two ports
      {"data+filter", "16x4", 0, 2},  // the talk's example: four exchanges of gradients at once
      {"data+filter", "32x2", 0, 2},  // pairs of neighbours: still four flows, two ports
      {"data+filter", "8x8", 0, 2},  {"data+layer", "8x4", 0, 2}, {"filter", "16", 0, 2},
  };
  for (const auto& [strategy, grid, axis, phi] : cases) {
    CAPTURE(strategy);
    CAPTURE(grid);
    const Mesh mesh = mesh_of(strategy, grid);
    const Path counted = group_path(mesh, axis_bit(axis), abci);
    const Path routed = route_groups(counted, mesh, axis_bit(axis), *tree);
    CHECK(counted.outermost().phi == phi);
    CHECK(routed.outermost().phi == paradl::test::approx(phi));
    CHECK(routed.outermost().link.alpha.base() ==
          paradl::test::approx(counted.outermost().link.alpha.base()));
    CHECK(routed.outermost().link.beta.base() == paradl::test::approx(counted.outermost().link.beta.base()));
  }
}

TEST_CASE("with four ports a node nothing is shared, counted or routed") {
  const Machine wide = build_machine(shipped().system("abci", {{"levels.rack.ports", "4"}}));
  const Mesh mesh = mesh_of("data+filter", "16x4");
  const Path counted = group_path(mesh, axis_bit(0), wide);
  CHECK(counted.outermost().phi == 1);
  CHECK(route_groups(counted, mesh, axis_bit(0), *levels_topology(wide)).outermost().phi ==
        paradl::test::approx(1));
}

TEST_CASE("neighbours of a cut: counting and routing give the same contention") {
  const Machine abci = build_machine(shipped().system("abci"));
  const auto tree = levels_topology(abci);
  const Mesh mesh = mesh_of("spatial", "8");  // two nodes: one pair of neighbours crosses
  const Path counted = neighbour_path(mesh, 0, 0, abci);
  const Path routed = route_neighbours(counted, mesh, 0, 0, *tree);
  CHECK(counted.outermost().phi == paradl::test::approx(routed.outermost().phi));
}

TEST_CASE("on a torus neighbours are near and others are not") {
  using namespace literals;
  Machine machine = flat_machine(64);
  machine.topology = "torus:8,8";
  const auto torus = topology_of(machine);
  REQUIRE(torus);
  // 8 groups of 8 in a row each: every wire carries one flow, one hop away.
  const Mesh rows = mesh_of("data+filter", "8x8");
  Path path;
  path.hops = 1;
  path.hop[0] = {8, machine.levels[0].link, 1, "all"};
  const Path inner = route_groups(path, rows, axis_bit(1), *torus, 0);
  CHECK(inner.outermost().phi == paradl::test::approx(1));
  CHECK(inner.outermost().link.alpha.base() == paradl::test::approx(10e-6));
  // Columns too: one hop in the other direction.
  CHECK(route_groups(path, rows, axis_bit(0), *torus, 0).outermost().phi == paradl::test::approx(1));
  // 16 groups of 4 GPUs that are four apart: every ring uses the wires of other rings.
  path.hop[0].size = 16;
  CHECK(route_groups(path, mesh_of("data+filter", "16x4"), axis_bit(0), *torus, 0).outermost().phi > 1);
}

}  // namespace
}  // namespace paradl::test
