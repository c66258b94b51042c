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

TEST_CASE("the innermost axis is on the closest GPUs") {
  const Machine machine = two_level_machine();
  const Mesh mesh = mesh_of("data+filter", "16x4");
  const Path filter = group_path(mesh, axis_bit(1), machine);
  CHECK(filter.hop[0].size == 4);
  CHECK(filter.outermost().level == "all");
  const Path data = group_path(mesh, axis_bit(0), machine);
  CHECK(data.hop[0].size == 1);
  CHECK(data.hop[1].size == 16);
}

TEST_CASE("a path has the GPUs of its group in a node, and the number of such groups") {
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

TEST_CASE("on a half-duplex cable, a GPU that sends and receives at once has half of the bandwidth") {
  Machine machine = two_level_machine();
  machine.half_duplex = true;
  const Path ring = group_path(mesh_of("data+filter", "16x4"), axis_bit(0), machine);
  CHECK(ring.hop[1].phi == 4);
  CHECK(group_path(mesh_of("data", "4"), axis_bit(0), machine).outermost().phi == 2);
  CHECK(neighbour_path(mesh_of("spatial", "4"), 0, 0, machine).outermost().phi == 2);  // halos: both ways
  CHECK(neighbour_path(mesh_of("layer", "4"), 0, -1, machine).outermost().phi == 1);   // one way at a time
}

TEST_CASE("a group over several nodes uses both levels") {
  const Machine machine = two_level_machine();
  const Path path = group_path(mesh_of("data", "64"), axis_bit(0), machine);
  CHECK(path.hop[0].size == 4);
  CHECK(path.hop[1].size == 16);
  CHECK(path.size() == 64);
  // (c0-1)(a0 + m/c0 b0) + (c1-1)(a1 + m/(c0 c1) phi b1), twice for an allreduce; m = 64 MB
  const double expected = 2 * (3 * (10e-6 + 16e6 * 1e-10) + 15 * (40e-6 + 1e6 * 2 * 8e-11));
  CHECK(cost(Collective::allreduce, path)(Bytes{64e6}).base() == paradl::test::approx(expected));
}

TEST_CASE("if groups do not fit into nodes evenly, the worst placed one counts") {
  Machine machine = two_level_machine();
  machine.levels[0].gpus = 6;
  machine.levels[1].inside = 6;
  // four GPUs per group, six per node: the second group has two GPUs on each of two nodes
  const Path path = group_path(mesh_of("data+tensor", "6x4"), axis_bit(1), machine);
  CHECK(path.hop[0].size == 2);
  CHECK(path.hop[1].size == 2);
}

TEST_CASE("neighbours along an axis share a port only with those beside them") {
  const Machine machine = two_level_machine();
  CHECK(neighbour_path(mesh_of("spatial", "16"), 0, 0, machine).outermost().phi == 1);
  CHECK(neighbour_path(mesh_of("layer+tensor", "4x4"), 0, -1, machine).outermost().phi == 2);
}

TEST_CASE("axes that are not adjacent form groups too") {
  const Machine machine = two_level_machine();
  const Mesh mesh = mesh_of("data+filter+spatial", "2x4x4");
  const Path path = group_path(mesh, AxisSet(axis_bit(0) | axis_bit(2)), machine);
  CHECK(path.size() == 8);
  CHECK(path.hop[0].size == 4);
  CHECK(path.hop[1].size == 2);
}

namespace {

/// Racks of 34 nodes, as ABCI has, with a third of their bandwidth between them.
Machine with_racks() {
  Machine machine = two_level_machine();
  machine.levels[1].gpus = 136;
  machine.levels.push_back(
      {.name = "racks", .gpus = 4352, .inside = 136, .link = machine.levels[1].link, .ports = 68.0 / 3});
  return machine;
}

}  // namespace

TEST_CASE("groups fill racks one after the other") {
  const Machine machine = with_racks();
  struct Case {
    const char* gpus;
    double in_rack, racks;
  };
  for (const auto& [gpus, in_rack, racks] : {Case{"128", 32, 0},
                                             {"136", 34, 0},
                                             {"140", 34, 2},
                                             {"256", 34, 2},
                                             {"272", 34, 2},
                                             {"512", 34, 4},
                                             {"544", 34, 4},
                                             {"1024", 34, 8},
                                             {"1088", 34, 8}}) {
    CAPTURE(gpus);
    const Path path = group_path(mesh_of("data", gpus), axis_bit(0), machine);
    CHECK(path.size() == std::stod(gpus));
    CHECK(path.hop[0].size == 4);
    CHECK(path.hop[1].subgroups() == in_rack);
    if (racks > 0) CHECK(path.hop[2].subgroups() == racks);
    // All 136 GPUs of a full rack send at once through 68/3 uplinks.
    CHECK(path.outermost().phi == paradl::test::approx(racks > 0 ? 6 : 2));
  }
}

TEST_CASE("more nodes do not make an exchange faster") {
  const Machine machine = with_racks();
  for (const double bytes : {1e3, 1e6, 1e8}) {
    double before = 0;
    for (int nodes = 1; nodes <= 320; ++nodes) {
      const Mesh mesh = mesh_of("data", std::to_string(4 * nodes));
      const double time =
          cost(Collective::allreduce, group_path(mesh, axis_bit(0), machine))(Bytes{bytes}).base();
      CAPTURE(nodes);
      CHECK(time >= before);
      before = time;
    }
  }
}

TEST_CASE("groups with other GPUs between their members fill racks too") {
  const Machine machine = with_racks();
  const Path data = group_path(mesh_of("data+filter", "128x4"), axis_bit(0), machine);
  CHECK(data.hop[0].size == 1);
  CHECK(data.hop[1].subgroups() == 34);
  CHECK(data.hop[2].subgroups() == 4);
  CHECK(data.size() == 128);
  CHECK(data.outermost().phi == paradl::test::approx(6));
  // Every fourth node: a rack has eight or nine of a group.
  const Path sparse = group_path(mesh_of("data+filter", "32x16"), axis_bit(0), machine);
  CHECK(sparse.hop[1].subgroups() == 8);
  CHECK(sparse.hop[2].subgroups() == 4);
  // 12 nodes per group: some group spans two racks.
  const Path inner = group_path(mesh_of("data+filter", "10x48"), axis_bit(1), machine);
  CHECK(inner.hop[1].subgroups() == 6);
  CHECK(inner.hop[2].subgroups() == 2);
}

TEST_CASE("a last node that is not full is priced like the others") {
  const Machine machine = two_level_machine();
  const Path five = group_path(mesh_of("data", "5"), axis_bit(0), machine);
  const Path eight = group_path(mesh_of("data", "8"), axis_bit(0), machine);
  CHECK(five.size() == 5);
  CHECK(cost(Collective::allreduce, five)(Bytes{1e6}).base() ==
        paradl::test::approx(cost(Collective::allreduce, eight)(Bytes{1e6}).base()));
}

TEST_CASE("adjacent axes of a set act as one axis") {
  Machine machine = two_level_machine();
  machine.levels[0].gpus = machine.levels[1].inside = 6;
  const AxisSet both = AxisSet(axis_bit(0) | axis_bit(1));
  for (const char* grid : {"4x3", "3x4", "2x6"}) {
    const Path path = group_path(mesh_of("data+spatial", grid), both, machine);
    CHECK(path.hop[0].size == 6);
    CHECK(path.hop[1].size == 2);
  }
}

TEST_CASE("each extent of a cut has its own neighbours") {
  const Machine machine = two_level_machine();
  const Mesh mesh = mesh_of("spatial", "4x4");
  CHECK(neighbour_path(mesh, 0, 1, machine).outermost().level == "all");    // columns are inside a node
  CHECK(neighbour_path(mesh, 0, 0, machine).outermost().level == "nodes");  // rows are four GPUs apart
  CHECK(neighbour_path(mesh, 0, 0, machine).outermost().phi == 2);
}
