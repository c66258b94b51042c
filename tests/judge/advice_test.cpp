#include "paradl/judge/advice.hpp"

#include <doctest/doctest.h>

#include "tests/support/pencil.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The only answer is a projection that needs more than the device has.
std::string hint(Bench& bench, const char* strategy, const char* grid, double batch) {
  bench.machine.device.memory = Bytes{1};
  bench.evaluator = std::make_unique<Evaluator>(bench.setting());
  const std::vector<Projection> none_fits{bench.engine(strategy, grid, batch)};
  return fitting_hint(none_fits, bench.setting());
}

}  // namespace

TEST_CASE("advice: hints depend on what fills the memory") {
  Bench bench(chain(2), flat_machine());
  CHECK(
      contains(hint(bench, "data", "4", 32),
               "try --micro-batches 8, a smaller --batch, --precision bf16, or more GPUs: activations take"));
  CHECK(contains(hint(bench, "layer", "2", 32), "try --micro-batches 32 --schedule 1f1b, "));

  Bench set(chain(2), flat_machine(4), {.precision = Precision::bf16},
            {.micro_batches = 8, .schedule = PipelineSchedule::one_forward_one_backward});
  const std::string reported = hint(set, "data", "4", 32);  // one sample per micro-batch, all GPUs in use
  for (const char* done : {"--micro-batches", "--schedule", "--precision", "--batch", "more GPUs"})
    CHECK_FALSE(contains(reported, done));

  Bench alone(chain(2), flat_machine(1));
  CHECK_FALSE(contains(hint(alone, "serial", "1", 32), "GPUs"));
}

TEST_CASE("advice: if limits are broken, the hint is about them") {
  Bench thirds(chain(4), flat_machine(), {}, {.micro_batches = 3});
  CHECK(hint(thirds, "data", "4", 32) == "try other --micro-batches or a --batch that they divide");
  Bench rounds(chain(4), flat_machine(), {},
               {.micro_batches = 3, .schedule = PipelineSchedule::interleaved, .chunks = 2});
  CHECK(hint(rounds, "layer", "2", 12) == "try --micro-batches that the stages divide or --schedule 1f1b");
  Bench few(chain(4), flat_machine());
  CHECK(hint(few, "data", "4", 2) == "try a larger --batch or fewer GPUs");
  CHECK(hint(few, "layer", "8", 8) == "try fewer GPUs or a hybrid with `data`");
}

TEST_CASE("advice: if weights are large, the hint is another split or a smaller optimizer") {
  // One product of 4096 x 4096: 16.8 M weights, 4096 items a sample.
  Bench bench(work_of("  - {name: fc, op: fc, filters: 4096}\n", "4096x1x1"), flat_machine());
  CHECK(contains(
      hint(bench, "data", "4", 4),
      "try --zero 3, a strategy that splits the weights (`layer`, `tensor`), --optimizer sgd, or more GPUs: "
      "weights, gradients and optimizer take"));
}

TEST_CASE("advice: a small margin is reported") {
  Bench bench(chain(2), flat_machine());
  const Bytes need = bench.engine("data", "4", 32).cost->memory.total();
  const auto reported = [&](double room) {
    bench.machine.device.memory = room * need;
    bench.evaluator = std::make_unique<Evaluator>(bench.setting());
    return margin_text(bench.engine("data", "4", 32));
  };
  CHECK(reported(1.25).empty());
  CHECK(reported(1.01) == "only 1.0 % of the memory is free, which may not be enough");
  CHECK(reported(0.9).empty());  // does not fit at all
}
