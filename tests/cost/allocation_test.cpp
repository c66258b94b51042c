// An evaluator prices a grid for the second time without allocating memory, because a search prices millions.
#include <cstdlib>
#include <new>

#include <doctest/doctest.h>

#include "paradl/cost/modelled_times.hpp"
#include "paradl/cost/evaluator.hpp"
#include "paradl/cost/question.hpp"
#include "tests/support/allocations.hpp"
#include "tests/support/spec_text.hpp"

// gcc warns that memory from `new` goes to free(): it does not see that this `new` calls malloc().
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

namespace {

thread_local std::size_t counted = 0;

}  // namespace

// Replaced for the whole test program; they allocate as many bytes as the library's own operators. The
// non-throwing `new` is replaced too, because its memory is freed by the same `delete`.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++counted;
  return std::malloc(size > 0 ? size : 1);
}
void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

std::size_t paradl::test::allocations() { return counted; }

using namespace paradl;
using namespace paradl::test;

namespace {

/// Allocations for every grid of the default strategies on 1 to 64 GPUs when it is priced for the first and
/// the second time, and how many grids were priced.
struct Asked {
  std::size_t first = 0, again = 0, priced = 0;
};

Asked price_twice(const std::string& model, const std::string& system, const Training& training,
                  const Plan& options, bool modelled) {
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
        const double batch = work.batch * p * options.micro_batches;
        const auto price = [&] {
          const std::size_t before = allocations();
          const Projection projection = evaluator.project(options.on(strategy, mesh, batch));
          out.priced += projection.cost.has_value();
          return allocations() - before;
        };
        out.first += price();
        out.again += price();
      }
  return out;
}

}  // namespace

TEST_CASE("a grid that is priced again allocates nothing") {
  Training training;
  Plan options;
  SUBCASE("ideal times") {}
  SUBCASE("gradients that wait for the backward pass") { training.overlap = false; }
  SUBCASE("GPipe") { options.micro_batches = 8; }
  SUBCASE("1F1B") {
    options.micro_batches = 8, options.schedule = PipelineSchedule::one_forward_one_backward;
  }
  SUBCASE("interleaved stages") {
    options.micro_batches = 8, options.schedule = PipelineSchedule::interleaved, options.chunks = 2;
  }
  SUBCASE("ZeRO and recomputation") {
    options.zero = 3, options.recompute = Recompute::full, options.sequence_parallel = true;
  }
  for (const auto& [model, system] : {std::pair{"resnet50", "abci"}, {"gpt2", "selene"}})
    for (const bool modelled : {false, true}) {
      CAPTURE(model);
      CAPTURE(modelled);
      const Asked asked = price_twice(model, system, training, options, modelled);
      CHECK(asked.priced > 10);
      CHECK(asked.first > 0);  // the counter works
      CHECK(asked.again == 0);
    }
}
