// The table of roles decides the layout of a network; strategies only fill it.
#include <doctest/doctest.h>

#include "paradl/strategy/table.hpp"
#include "tests/support/pencil.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

Mesh mesh_of(const char* strategy, int parts) {
  Mesh mesh;
  mesh.axis[0] = {find_strategy(strategy), {.total = parts}};
  mesh.axes = 1;
  return mesh;
}

}  // namespace

TEST_CASE("a strategy fills one column of the table") {
  const Workload work = chain(3);
  const RoleTable data = roles_of(work, mesh_of("data", 4), {});
  REQUIRE(data.size() == 1);
  CHECK(data[0].input == Placement::split_sample);
  CHECK(data[0].role == std::vector<Role>(3, Role::data));
  CHECK(roles_of(work, mesh_of("filter", 4), {})[0].role == std::vector<Role>(3, Role::filter));
  CHECK(roles_of(work, mesh_of("filter", 16), {})[0].role == std::vector<Role>(3, Role::whole));  // 8 filters
}

TEST_CASE("each layer may have its own role on an axis, with exchanges where roles change") {
  // Two convolutions, 8x16x16 each: the first splits samples, the second splits filters. In between, all
  // samples are gathered (2048 items each); backward, the addends of dx are summed.
  const Workload work = chain(2);
  const RoleTable roles{{.input = Placement::split_sample, .parts = 4, .role = {Role::data, Role::filter}}};
  const Layout layout = place(work, roles, {});
  REQUIRE(layout.cells.size() == 2);
  const Cell &first = layout.cells[0], &second = layout.cells[1];
  REQUIRE(first.forward.size() == 1);
  CHECK(first.forward.begin()[0].operation == Collective::allgather);
  CHECK(first.forward.begin()[0].items == 8 * 16 * 16);
  REQUIRE(first.backward.size() == 1);
  CHECK(first.backward.begin()[0].operation == Collective::allreduce);
  // Gradients of the first layer's weights are summed; the second layer's weights are split.
  CHECK(first.summed == axis_bit(0));
  CHECK(first.weights == 0);
  CHECK(second.summed == 0);
  CHECK(second.weights == axis_bit(0));
  CHECK(layout.gradients.size() == 1);
}

TEST_CASE("a layout from a table is that from the strategies that filled the table") {
  const Workload work = chain(4);
  for (const char* name : {"data", "spatial", "filter", "channel", "tensor", "layer"}) {
    CAPTURE(name);
    Mesh mesh = mesh_of(name, 2);
    mesh.axis[0].parts.cut = {2, 1, 1};
    const Layout by_mesh = place(work, mesh, {}), by_table = place(work, roles_of(work, mesh, {}), {});
    CHECK(by_mesh.role == by_table.role);
    CHECK(by_mesh.order == by_table.order);
    CHECK(by_mesh.cells.size() == by_table.cells.size());
  }
}
