#include <doctest/doctest.h>

#include "tests/support/approx.hpp"
#include "tests/support/pencil.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

Mesh mesh_of(const std::string& strategy, const std::string& grid) {
  return Bench::mesh(read_strategy(strategy), grid);
}

}  // namespace

TEST_CASE("the innermost axis sits on the closest GPUs") {
  const Machine machine = two_level_machine();
  const Mesh mesh = mesh_of("data+filter", "16x4");
  const Path filter = group_path(mesh, axis_bit(1), machine);
  CHECK(filter.hop[0].size == 4);
  CHECK(filter.outermost().level == "all");
  const Path data = group_path(mesh, axis_bit(0), machine);
  CHECK(data.hop[0].size == 1);
  CHECK(data.hop[1].size == 16);
}

TEST_CASE("a path knows how many of its group sit in a node, and how many such groups do") {
  const Machine machine = two_level_machine();
  const Path data = group_path(mesh_of("data+filter", "32x2"), axis_bit(0), machine);
  CHECK(data.in_node == 2);
  CHECK(data.sisters == 2);
  const Path all = group_path(mesh_of("data", "64"), axis_bit(0), machine);
  CHECK(all.in_node == 4);
  CHECK(all.sisters == 1);
  CHECK(flat_path(mesh_of("data", "64"), axis_bit(0), machine).in_node == 4);
  CHECK(group_path(mesh_of("data", "2"), axis_bit(0), machine).sisters == 1);
}

TEST_CASE("four groups that leave a node through two ports share each: phi = 2") {
  const Machine machine = two_level_machine();
  CHECK(group_path(mesh_of("data+filter", "16x4"), axis_bit(0), machine).hop[1].phi == 2);
  CHECK(group_path(mesh_of("data", "64"), axis_bit(0), machine).hop[1].phi == 2);
  CHECK(group_path(mesh_of("data", "4"), axis_bit(0), machine).outermost().phi == 1);
}

TEST_CASE("where both directions of a cable share its bandwidth, who sends and receives has half of it") {
  Machine machine = two_level_machine();
  machine.half_duplex = true;
  const Path ring = group_path(mesh_of("data+filter", "16x4"), axis_bit(0), machine);
  CHECK(ring.hop[1].phi == 4);
  CHECK(group_path(mesh_of("data", "4"), axis_bit(0), machine).outermost().phi == 2);
  CHECK(neighbour_path(mesh_of("spatial", "4"), 0, 0, machine).outermost().phi == 2);  // halos: both ways
  CHECK(neighbour_path(mesh_of("layer", "4"), 0, -1, machine).outermost().phi == 1);   // one way at a time
}

TEST_CASE("a group over several nodes climbs both levels") {
  const Machine machine = two_level_machine();
  const Path path = group_path(mesh_of("data", "64"), axis_bit(0), machine);
  CHECK(path.hop[0].size == 4);
  CHECK(path.hop[1].size == 16);
  CHECK(path.size() == 64);
  // (c0-1)(a0 + m/c0 b0) + (c1-1)(a1 + m/(c0 c1) phi b1), twice for an allreduce; m = 64 MB
  const double expected = 2 * (3 * (10e-6 + 16e6 * 1e-10) + 15 * (40e-6 + 1e6 * 2 * 8e-11));
  CHECK(cost(Collective::allreduce, path)(Bytes{64e6}).base() == paradl::test::approx(expected));
}

TEST_CASE("groups that nodes do not hold whole are cut by the worst placed one") {
  Machine machine = two_level_machine();
  machine.levels[0].gpus = 6;
  machine.levels[1].inside = 6;
  // four GPUs a group, six a node: the second group lies two and two
  const Path path = group_path(mesh_of("data+tensor", "6x4"), axis_bit(1), machine);
  CHECK(path.hop[0].size == 2);
  CHECK(path.hop[1].size == 2);
}

TEST_CASE("neighbours along an axis share a port only with those beside them") {
  const Machine machine = two_level_machine();
  CHECK(neighbour_path(mesh_of("spatial", "16"), 0, 0, machine).outermost().phi == 1);
  CHECK(neighbour_path(mesh_of("layer+tensor", "4x4"), 0, -1, machine).outermost().phi == 2);
}

TEST_CASE("axes that are not neighbours form groups, too") {
  const Machine machine = two_level_machine();
  const Mesh mesh = mesh_of("data+filter+spatial", "2x4x4");
  const Path path = group_path(mesh, AxisSet(axis_bit(0) | axis_bit(2)), machine);
  CHECK(path.size() == 8);
  CHECK(path.hop[0].size == 4);
  CHECK(path.hop[1].size == 2);
}

TEST_CASE("of subgroups that are neighbours in a unit only the last sends out of it") {
  Machine machine = two_level_machine();
  machine.levels[1].gpus = 136;  // 34 nodes a rack, as ABCI has
  machine.levels.push_back(
      {.name = "racks", .gpus = 4352, .inside = 136, .link = machine.levels[1].link, .ports = 68.0 / 3});
  // 256 GPUs: 17 subgroups of 8 in a rack pass on to each other; the node's two ports still carry four flows
  const Path path = group_path(mesh_of("data", "256"), axis_bit(0), machine);
  CHECK(path.size() == 256);
  CHECK(path.outermost().phi == 2);
  // five GPUs on nodes of four: one ring, one flow leaves a node
  CHECK(group_path(mesh_of("data", "5"), axis_bit(0), machine).outermost().phi == 1);
}

TEST_CASE("neighbouring axes of a set are one line") {
  Machine machine = two_level_machine();
  machine.levels[0].gpus = machine.levels[1].inside = 6;
  const AxisSet both = AxisSet(axis_bit(0) | axis_bit(1));
  for (const char* grid : {"4x3", "3x4", "2x6"}) {
    const Path path = group_path(mesh_of("data+spatial", grid), both, machine);
    CHECK(path.hop[0].size == 6);
    CHECK(path.hop[1].size == 2);
  }
}

TEST_CASE("each extent of a cut has neighbours of its own") {
  const Machine machine = two_level_machine();
  const Mesh mesh = mesh_of("spatial", "4x4");
  CHECK(neighbour_path(mesh, 0, 1, machine).outermost().level == "all");    // columns lie inside a node
  CHECK(neighbour_path(mesh, 0, 0, machine).outermost().level == "nodes");  // rows are four GPUs apart
  CHECK(neighbour_path(mesh, 0, 0, machine).outermost().phi == 2);
}
