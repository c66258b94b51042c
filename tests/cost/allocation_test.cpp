// An evaluator that has seen a grid prices it again without asking for memory: a search prices millions.
#include <cstdlib>
#include <new>

#include <doctest/doctest.h>

#include "paradl/cost/modelled_times.hpp"
#include "paradl/cost/evaluator.hpp"
#include "paradl/cost/sweep.hpp"
#include "tests/support/spec_text.hpp"

// gcc sees that memory of `new` goes to free(), but not that this `new` has it from malloc().
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

namespace {

thread_local std::size_t allocations = 0;  // of this thread

}  // namespace

// Counted for the whole program of tests; what is asked for is what the library's own operators ask for. The
// one that does not throw is among them: what it gives comes back through the same `delete`.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size > 0 ? size : 1);
}
void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

using namespace paradl;
using namespace paradl::test;

namespace {

/// Allocations for every grid of the default strategies on 1 to 64 GPUs when it is priced for the first and
/// the second time, and how many grids were priced.
struct Asked {
  std::size_t first = 0, again = 0, priced = 0;
};

Asked price_twice(const std::string& model, const std::string& system, const Training& training,
                  bool modelled) {
  const Workload work = load_model(shipped(), model).second;
  const Machine machine = build_machine(shipped().system(system));
  LayerTimes times = layer_times(work, machine, training.precision, training.optimizer);
  if (modelled)
    times =
        modelled_times(std::move(times), work,
                       kernel_device(machine.device, training.precision, training.optimizer), "", work.batch);
  const Evaluator evaluator({work, machine, times, training});
  const std::vector<StrategyName> strategies = default_strategies();
  Asked out;
  for (int p = 1; p <= 64; p *= 4)
    for (const StrategyName& strategy : strategies)
      for (const Mesh& mesh : meshes(strategy, p, work.input.dims)) {
        const double batch = work.batch * p * training.micro_batches;
        const auto price = [&] {
          const std::size_t before = allocations;
          const Projection projection = evaluator.project(strategy, mesh, batch);
          out.priced += projection.cost.has_value();
          return allocations - before;
        };
        out.first += price();
        out.again += price();
      }
  return out;
}

}  // namespace

TEST_CASE("a grid that is priced again allocates nothing") {
  Training training;
  SUBCASE("ideal times") {}
  SUBCASE("gradients that wait for the backward pass") { training.overlap = false; }
  SUBCASE("GPipe") { training.micro_batches = 8; }
  SUBCASE("1F1B") {
    training.micro_batches = 8, training.schedule = PipelineSchedule::one_forward_one_backward;
  }
  SUBCASE("interleaved stages") {
    training.micro_batches = 8, training.schedule = PipelineSchedule::interleaved, training.chunks = 2;
  }
  SUBCASE("ZeRO and recomputation") {
    training.zero = 3, training.recompute = Recompute::full, training.sequence_parallel = true;
  }
  for (const auto& [model, system] : {std::pair{"resnet50", "abci"}, {"gpt2", "selene"}})
    for (const bool modelled : {false, true}) {
      CAPTURE(model);
      CAPTURE(modelled);
      const Asked asked = price_twice(model, system, training, modelled);
      CHECK(asked.priced > 10);
      CHECK(asked.first > 0);  // they are counted
      CHECK(asked.again == 0);
    }
}
