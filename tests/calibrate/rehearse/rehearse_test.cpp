// Runs strategies on threads with plain loops: the results must be those of one rank alone.
#include <mutex>

#include <doctest/doctest.h>

#include "calibrate/backend/threads.hpp"
#include "calibrate/plain/plain.hpp"
#include "calibrate/rehearse/check.hpp"
#include "paradl/mesh/partition.hpp"
#include "paradl/strategy/table.hpp"
#include "tests/support/spec_text.hpp"

namespace paradl::calibrate {
namespace {
using namespace test;

const char* small_cnn = R"(
name: cnn
input: 4x12x10
dataset: {name: none, samples: 64}
layers:
  - {name: conv1, op: conv, filters: 8, kernel: 3, padding: 1}
  - {name: bn1, op: batch-norm}
  - {name: relu1, op: relu}
  - {name: pool1, op: max-pool, kernel: 3, stride: 2, padding: 1}
  - {name: conv2, op: conv, filters: 12, kernel: 3, padding: 1, bias: false}
  - {name: relu2, op: relu}
  - {name: conv3, op: conv, filters: 8, kernel: 1}
  - {name: add, op: add, from: [conv3, pool1]}
  - {name: relu3, op: relu}
  - {name: conv4, op: conv, filters: 16, kernel: 3, stride: 2, padding: 1}
  - {name: gn, op: group-norm, groups: 4}
  - {name: pool2, op: avg-pool, kernel: 3, stride: 1, padding: 1}
  - {name: flat, op: flatten}
  - {name: fc1, op: fc, filters: 12}
  - {name: tanh, op: tanh}
  - {name: fc2, op: fc, filters: 6}
  - {name: loss, op: loss}
)";

const char* plain_cnn = R"(
name: volume
input: 2x8x6x4
dataset: {name: none, samples: 64}
layers:
  - {name: conv1, op: conv, filters: 4, kernel: 3, padding: same}
  - {name: relu1, op: relu}
  - {name: pool1, op: max-pool, kernel: 2}
  - {name: conv2, op: conv, filters: 8, kernel: 3, dilation: 1, padding: 1}
  - {name: pool2, op: global-pool}
  - {name: fc, op: fc, filters: 4}
  - {name: loss, op: loss}
)";

std::string small_gpt(int tied) {
  return "gpt:layers=2,hidden=16,heads=4,kv-heads=2,seq=6,vocab=20,ffn=24,tied=" + std::to_string(tied);
}

struct Case {
  const char* strategy;
  const char* grid;
  int micro_batches = 1;
  PipelineSchedule schedule = PipelineSchedule::gpipe;
  Reduction reduction = Reduction::allreduce;
};

Mesh mesh_of(const StrategyName& strategy, const std::vector<Parts>& grid) {
  Mesh mesh;
  for (std::size_t a = 0; a < grid.size(); ++a) {
    Parts parts = grid[a];
    const bool cuts_space = strategy.axes[a]->input == Placement::split_space;
    if (cuts_space && parts.cut == std::array{1, 1, 1}) parts.cut[0] = parts.total;
    mesh.axis[std::size_t(mesh.axes++)] = {strategy.axes[a], parts};
  }
  return mesh;
}

Script script_of(const Workload& work, const Mesh& mesh, const Case& c) {
  Script script{
      .work = work,
      .plan = {.mesh = mesh, .batch = 8, .micro_batches = c.micro_batches, .schedule = c.schedule},
      .training = {.optimizer = Optimizer::momentum, .reduction = c.reduction}};
  const Layout layout = place(work, mesh, {.reduction = c.reduction});
  for (const Layout::Gradients& kind : layout.gradients) script.gradient_sets.push_back(kind.summed);
  for (int a = 0; a < mesh.axes; ++a)
    if (layout.role[std::size_t(a)].front() == Role::stage)
      script.first_layer = balanced_partition(std::vector<double>(work.layers.size(), 1.0),
                                              mesh.axis[std::size_t(a)].parts.total);
  return script;
}

/// The largest difference between a rank's part of the results and the same part of a run on one rank.
Difference rehearse(const Workload& work, const Case& c, Fault fault = Fault::none) {
  const StrategyName strategy = read_strategy(c.strategy);
  const Mesh mesh = mesh_of(strategy, read_grid(c.grid, strategy));
  Difference worst;
  std::mutex guard;
  run_threads(int(mesh.gpus()), [&](Communicator& world) {
    const auto device = make_plain_device();
    const auto run = [&](const Script& script, const Communicator& ranks) {
      Worker worker(script, *device, ranks);
      Stopwatch watch(*device);
      worker.iterate(watch);
      worker.iterate(watch);  // the second iteration starts from the weights of the first
      return worker.outcomes();
    };
    Script script = script_of(work, mesh, c);
    script.fault = fault;
    const auto parallel = run(script, world);
    const auto alone = world.split(world.rank(), 0);
    const Case serial{.strategy = "serial", .grid = "1", .micro_batches = c.micro_batches};
    const Difference mine = compare(parallel, run(script_of(work, {}, serial), *alone));
    const std::lock_guard lock(guard);
    if (mine.largest >= worst.largest) worst = mine;
  });
  return worst;
}

void check_all(const Workload& work, const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    CAPTURE(std::string(c.strategy));
    CAPTURE(std::string(c.grid));
    CAPTURE(c.micro_batches);
    const Difference difference = rehearse(work, c);
    CAPTURE(difference.where);
    CHECK(difference.largest < rounding);
  }
}

constexpr auto alternate = PipelineSchedule::one_forward_one_backward;
constexpr auto scatter = Reduction::reduce_scatter;

}  // namespace

TEST_CASE("rehearsal: every strategy of a convolutional network gives the results of one rank") {
  check_all(workload_of(small_cnn), {{"data", "2"},
                                     {"data", "4"},
                                     {"spatial", "2"},
                                     {"spatial", "3"},
                                     {"spatial", "spatial=2x2"},
                                     {"filter", "2"},
                                     {"filter", "4"},
                                     {"filter", "2", 1, {}, scatter},
                                     {"channel", "2"},
                                     {"channel", "4"},
                                     {"channel", "2", 1, {}, scatter},
                                     {"tensor", "2"},
                                     {"tensor", "2", 1, {}, scatter},
                                     {"layer", "2"},
                                     {"layer", "3", 4},
                                     {"layer", "4", 4, alternate},
                                     {"layer", "2", 8, alternate},
                                     {"data+filter", "2x2"},
                                     {"data+channel", "2x2"},
                                     {"data+spatial", "2x2"},
                                     {"data+layer", "2x2", 2},
                                     {"spatial+filter", "2x2"},
                                     {"data+layer+tensor", "2x2x2", 2, alternate}});
}

TEST_CASE("rehearsal: three extents may be cut along any of them") {
  check_all(workload_of(plain_cnn), {{"spatial", "2"},
                                     {"spatial", "spatial=1x2"},
                                     {"spatial", "spatial=1x1x2"},
                                     {"spatial", "spatial=2x2x2"},
                                     {"data+spatial", "2x2"},
                                     {"filter", "2"}});
}

TEST_CASE("rehearsal: every strategy of a transformer gives the results of one rank") {
  const auto [spec, work] = load_model(shipped(), small_gpt(0));
  check_all(work, {{"data", "2"},
                   {"tensor", "2"},
                   {"tensor", "2", 1, {}, scatter},
                   {"filter", "2"},
                   {"channel", "2"},
                   {"spatial", "2"},
                   {"layer", "2", 4, alternate},
                   {"data+tensor", "2x2"},
                   {"data+layer", "2x2", 2},
                   {"data+layer+tensor", "1x2x2", 2}});
}

TEST_CASE(
    "rehearsal: gradients of tied weights are added; tied weights that are cut differently are refused") {
  const auto [spec, work] = load_model(shipped(), small_gpt(1));
  check_all(work, {{"data", "2"}, {"tensor", "2"}});
  CHECK_THROWS_AS(rehearse(work, {"filter", "2"}), UsageError);
  CHECK_THROWS_AS(rehearse(work, {"layer", "2"}), UsageError);
}

TEST_CASE("rehearsal: two axes that cut the same channels are refused") {
  CHECK_THROWS_AS(rehearse(workload_of(small_cnn), {"filter+channel", "2x2"}), UsageError);
}

TEST_CASE("rehearsal: a missing halo and a wrong scale of gradients are found") {
  const Workload work = workload_of(small_cnn);
  CHECK(rehearse(work, {"spatial", "2"}, Fault::halo).largest > 10 * rounding);
  CHECK(rehearse(work, {"data", "2"}, Fault::gradient).largest > 10 * rounding);
}

}  // namespace paradl::calibrate
