// The table of roles decides the layout of a network; strategies only fill it.
#include <algorithm>

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

namespace {

/// Samples for the first half of the network, space for the rest; a relu keeps what it gets.
constexpr Strategy mixed{.name = "mixed",
                         .summary = "samples, then space",
                         .input = Placement::split_sample,
                         .role =
                             [](const Workload& work, std::size_t i, const Parts&, Placement) {
                               if (work.layers[i].op == Op::relu) return Role::keep;
                               return 2 * i < work.layers.size() ? Role::data : Role::spatial;
                             },
                         .limit =
                             [](const Workload&, const Parts& parts, double) {
                               return Limit{.rule = LimitRule::samples,
                                            .value = double(parts.total),
                                            .bound = double(parts.total)};
                             }};

/// The charge of this kind; there must be one.
Charge the(ChargeKind kind, const Ledger& ledger) {
  const auto found = std::ranges::find(ledger, kind, &Charge::kind);
  REQUIRE(found != ledger.end());
  return *found;
}

}  // namespace

TEST_CASE(
    "an axis may split samples for some layers and space for others, and each is charged for what it does") {
  std::string layers;
  for (const char* half : {"a", "b"})
    layers += fmt::format(
        "  - {{name: conv-{0}, op: conv, filters: 8, kernel: 3, padding: 1, bias: false}}\n"
        "  - {{name: relu-{0}, op: relu}}\n",
        half);
  const Bench bench(work_of(layers), flat_machine(), without_overlap());
  const auto plan_of = [](const Strategy* strategy) {
    Plan plan{.batch = 8};
    plan.mesh.axis[0] = {strategy, {.total = 2, .cut = {2, 1, 1}}};
    plan.mesh.axes = 1;
    return plan;
  };
  const Plan plan = plan_of(&mixed);
  const Evaluation e = bench.evaluator->evaluate(plan);
  REQUIRE(e.layout->cells.size() == 4);  // the second relu has half the rows of all samples
  CHECK(e.layout->space == axis_bit(0));
  for (int i = 0; i < 4; ++i) {
    CAPTURE(i);
    const Cut cut =
        cut_of(*e.layout, e.layout->cells[std::size_t(e.layout->order[std::size_t(i)])], plan.mesh);
    CHECK(cut.samples == (i < 2 ? 2 : 1));
    CHECK(cut.space == std::array{i < 2 ? 1 : 2, 1, 1});
  }
  // A row of 8 samples: 8 channels and 16 columns, 4 bytes each, over a link of 10 us and 10 GB/s.
  const Ledger ledger = ledger_of(e), spatial = bench.evaluator->ledger(plan_of(find_strategy("spatial")));
  const Charge halo = the(ChargeKind::halo, ledger);
  CHECK(halo.bytes.base() == doctest::Approx(8 * 8 * 16 * 4));
  CHECK(halo.each.base() == doctest::Approx(10e-6 + 8 * 8 * 16 * 4 / 10e9));
  CHECK(halo.each == the(ChargeKind::halo, spatial).each);
  CHECK(the(ChargeKind::output, ledger).operation == Collective::all_to_all);
  // The same arithmetic as if all layers split samples.
  const Cost by_samples = bench.evaluator->cost(plan_of(find_strategy("data")));
  CHECK(e.cost[Term::forward].base() == doctest::Approx(by_samples[Term::forward].base()));
}

TEST_CASE("what an axis does follows from its roles") {
  const Workload images = chain(3);
  const Workload words = work_of(
      "  - {name: qkv, op: fc, filters: 24}\n  - {name: attention, op: attention, heads: 2}\n", "8x16");
  const auto axis = [](std::string_view name) { return Axis{find_strategy(name), {.total = 2}}; };
  for (const Strategy* s : strategies()) {
    CAPTURE(s->name);
    const bool layer = s->name == "layer",
               channels = s->name == "filter" || s->name == "channel" || s->name == "tensor";
    CHECK(is_pipeline(axis(s->name), images) == layer);
    CHECK(splits_channels(axis(s->name), images) == channels);
    CHECK(splits_network(axis(s->name)) == (layer || channels));
    CHECK(has_ring(axis(s->name), words) == (s->name == "context"));
  }
  CHECK_FALSE(has_ring(axis("context"), images));
  CHECK(stages_of(mesh_of("layer", 3), images) == 3);
  CHECK(stages_of(mesh_of("data", 3), images) == 1);
}

TEST_CASE("a hybrid is named by its axes") {
  CHECK(hybrid({}).text == "serial");
  CHECK(hybrid({find_strategy("data"), find_strategy("layer")}) == read_strategy("data+layer"));
}
