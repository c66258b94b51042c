// Flow-level simulation of an allreduce of 100 MiB by 1024 ranks, and how many times less CPU time it takes
// than SimGrid 3.32 for the same case: run as MPI program by SMPI (the times of simgrid_smpi.csv), and as
// bare schedule by a small s4u program (measured on the machine that gave the times of simgrid_s4u.csv or a
// like one).
#include <ctime>

#include <benchmark/benchmark.h>

#include "paradl/network/timing.hpp"
#include "tests/support/simgrid.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

constexpr int ranks = 1024;
constexpr double bytes = 100 * 0x1p20;

struct SimgridSeconds {
  double smpi, s4u;  // of CPU time; 0 if it was not run
};

void simulate(benchmark::State& state, const Schedule& schedule, const char* name, SimgridSeconds theirs) {
  const auto topology = platform(name, ranks);
  const std::vector<int> seats = in_order(ranks);
  const std::clock_t before = std::clock();
  for (auto _ : state) benchmark::DoNotOptimize(simulate_flows(schedule, *topology, seats));
  const double ours = double(std::clock() - before) / CLOCKS_PER_SEC / double(state.iterations());
  if (theirs.smpi > 0) state.counters["times_faster_than_smpi"] = theirs.smpi / ours;
  if (theirs.s4u > 0) state.counters["times_faster_than_s4u"] = theirs.s4u / ours;
}

void ring(benchmark::State& state, const char* name, SimgridSeconds theirs) {
  simulate(state, SimgridSchedule(in_order(ranks), bytes).ring(), name, theirs);
}
void halving_doubling(benchmark::State& state, const char* name, SimgridSeconds theirs) {
  simulate(state, SimgridSchedule(in_order(ranks), bytes).halving_doubling(), name, theirs);
}
void link_load_of_halving_doubling(benchmark::State& state, const char* name) {
  const auto topology = platform(name, ranks);
  const Schedule schedule = SimgridSchedule(in_order(ranks), bytes).halving_doubling();
  const std::vector<int> seats = in_order(ranks);
  for (auto _ : state) benchmark::DoNotOptimize(link_load(schedule, *topology, seats));
}

}  // namespace

BENCHMARK_CAPTURE(ring, xbar, "xbar", {35.5, 0});
BENCHMARK_CAPTURE(ring, ft2full, "ft2full", {52.3, 34.7});
BENCHMARK_CAPTURE(ring, dragonfly, "dragonfly", {0, 36.6});
BENCHMARK_CAPTURE(halving_doubling, xbar, "xbar", {1.87, 0.353});
BENCHMARK_CAPTURE(halving_doubling, ft2full, "ft2full", {2.21, 0.382});
BENCHMARK_CAPTURE(halving_doubling, torus2d, "torus2d", {1.39, 0.362});
BENCHMARK_CAPTURE(halving_doubling, ft2over3, "ft2over3", {1.94, 0.382});
BENCHMARK_CAPTURE(halving_doubling, ft3over3, "ft3over3", {2.60, 0.590});
BENCHMARK_CAPTURE(halving_doubling, dragonfly, "dragonfly", {2.32, 0.456});
BENCHMARK_CAPTURE(link_load_of_halving_doubling, torus2d, "torus2d");
