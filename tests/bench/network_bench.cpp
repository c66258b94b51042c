// Flow-level simulation of an allreduce of 100 MiB by 1024 ranks. Reports how many times less CPU time it
// takes than SimGrid 3.32 for the same case. SimGrid runs it in two ways: as an MPI program (SMPI), and as a
// bare schedule by the s4u program of tests/simgrid. The label says where SimGrid's seconds come from:
//
//   table   column cpu_s of simgrid_smpi.csv in the reference data
//   live    measured now, if SimGrid was found; a ring takes half a minute, so rings are measured only if
//           there is no table
//   typed   a constant in this file: taken from that table (SMPI), or measured with that program on a similar
//           machine (s4u)
#include <cstdio>
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
  double smpi, s4u;  // CPU seconds as typed here; 0 if it was not run
};

/// CPU seconds from the table; 0 if there is no table.
double smpi_seconds(const std::string& topology, const std::string& algorithm) {
  for (const auto& row : read_table(PARADL_REFERENCE_DATA "/simgrid_smpi.csv"))
    if (row.at("topology") == topology && row.at("algorithm") == algorithm && row.at("mode") == "clean" &&
        row.at("P") == "1024" && std::stod(row.at("bytes")) == bytes)
      return std::stod(row.at("cpu_s"));
  return 0;
}

/// CPU seconds that the program prints as its last word but one ("... CPU 0.0123 s and 0.456 s"); 0 if there
/// is no program.
double s4u_seconds(const std::string& topology, const std::string& algorithm) {
  const std::string program = PARADL_SIMGRID_PROGRAM;
  if (program.empty()) return 0;
  const std::string word = topology == "xbar" ? "crossbar:1024" : platform_word(topology, ranks);
  std::FILE* pipe =
      popen((program + " '" + word + "' " + algorithm + " consecutive 1024 2>/dev/null").c_str(), "r");
  if (!pipe) return 0;
  std::string line;
  for (int c; (c = std::fgetc(pipe)) != EOF;) line += char(c);
  pclose(pipe);
  const std::size_t at = line.rfind(" and ");
  return at == line.npos ? 0 : std::stod(line.substr(at + 5));
}

void compare(benchmark::State& state, double ours, const std::string& topology, bool is_ring,
             SimgridSeconds typed) {
  const double table = smpi_seconds(topology, is_ring ? "lr" : "rab_rdb");
  const double smpi = table > 0 ? table : typed.smpi;
  const double live = is_ring && smpi > 0 ? 0 : s4u_seconds(topology, is_ring ? "ring" : "hd");
  const double s4u = live > 0 ? live : typed.s4u;
  std::string label;
  state.counters["ours_s"] = ours;
  if (smpi > 0) {
    state.counters["smpi_s"] = smpi;
    state.counters["times_faster_than_smpi"] = smpi / ours;
    label += table > 0 ? "smpi: table " : "smpi: typed ";
  }
  if (s4u > 0) {
    state.counters["s4u_s"] = s4u;
    state.counters["times_faster_than_s4u"] = s4u / ours;
    label += live > 0 ? "s4u: live " : "s4u: typed ";
  }
  state.SetLabel(label + (is_ring ? "(wanted: 10000 times)" : "(wanted: 200 times)"));
}

void simulate(benchmark::State& state, const Schedule& schedule, const char* name, bool is_ring,
              SimgridSeconds typed) {
  const auto topology = platform(name, ranks);
  const std::vector<int> seats = in_order(ranks);
  const std::clock_t before = std::clock();
  for (auto _ : state) benchmark::DoNotOptimize(simulate_flows(schedule, *topology, seats));
  const double ours = double(std::clock() - before) / CLOCKS_PER_SEC / double(state.iterations());
  // The library calls this several times to find the number of repetitions. SimGrid runs only in the last
  // call.
  if (state.iterations() == state.max_iterations && double(state.iterations()) * ours > 0.25)
    compare(state, ours, name, is_ring, typed);
}

void ring(benchmark::State& state, const char* name, SimgridSeconds typed) {
  simulate(state, SimgridSchedule(in_order(ranks), bytes).ring(), name, true, typed);
}
void halving_doubling(benchmark::State& state, const char* name, SimgridSeconds typed) {
  simulate(state, SimgridSchedule(in_order(ranks), bytes).halving_doubling(), name, false, typed);
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
BENCHMARK_CAPTURE(ring, ft2over3, "ft2over3", {0, 0});
BENCHMARK_CAPTURE(ring, ft3over3, "ft3over3", {0, 0});
BENCHMARK_CAPTURE(ring, torus2d, "torus2d", {0, 0});
BENCHMARK_CAPTURE(ring, dragonfly, "dragonfly", {0, 36.6});
BENCHMARK_CAPTURE(halving_doubling, xbar, "xbar", {1.87, 0.353});
BENCHMARK_CAPTURE(halving_doubling, ft2full, "ft2full", {2.21, 0.382});
BENCHMARK_CAPTURE(halving_doubling, torus2d, "torus2d", {1.39, 0.362});
BENCHMARK_CAPTURE(halving_doubling, ft2over3, "ft2over3", {1.94, 0.382});
BENCHMARK_CAPTURE(halving_doubling, ft3over3, "ft3over3", {2.60, 0.590});
BENCHMARK_CAPTURE(halving_doubling, dragonfly, "dragonfly", {2.32, 0.456});
BENCHMARK_CAPTURE(link_load_of_halving_doubling, torus2d, "torus2d");
