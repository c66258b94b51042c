// Compares flows and link loads with tables of times that SimGrid 3.32 simulated with the "clean" flags (no
// window, no cross traffic, no bandwidth factor) on 12.5 GB/s and 500 ns a wire.
//
// Only shuffled places differ, by 0.3 % at most. There SimGrid's lazy update (its default) sometimes lets the
// flows on a wire send more than the wire can carry; with `network/optim:Full` its time for halving-doubling
// on the torus equals ours to nine digits. Rings of shuffled places are chaotic: after a hundred repetitions
// rounding errors become visible, in SimGrid as well (its two modes differ by 0.2 %).
#include <cstdio>

#include <doctest/doctest.h>

#include "paradl/network/timing.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/simgrid.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

struct Worst {
  double error = 0;
  std::string row;
  void look_at(double ours, double theirs, const std::string& name) {
    const double off = std::abs(ours / theirs - 1);
    if (off > error) {
      error = off;
      row = name;
    }
  }
};

/// Builds a schedule from its name, such as `ringshuf_64.txt`.
Schedule schedule_of(const std::string& name, int ranks) {
  const std::string kind = name.substr(0, name.find('_'));
  const bool shuffled = kind.ends_with("shuf");
  SimgridSchedule make(shuffled ? shuffled_by_python(ranks) : in_order(ranks), 100 * 0x1p20);
  if (kind == "ring" || kind == "ringshuf") return make.ring();
  if (kind == "mring4") return make.ring(4);
  if (kind == "shd") return make.shifted_halving_doubling(name[4] - '0', name[6] - '0');
  return make.halving_doubling(kind == "hdfar");
}

Schedule smpi_schedule(const std::string& algorithm, int ranks, double bytes) {
  SimgridSchedule make(in_order(ranks), bytes);
  make.header = 16;  // SMPI adds it to every message
  if (algorithm == "lr") return make.ring();
  if (algorithm == "rdb") return make.recursive_doubling();
  return make.halving_doubling();
}

}  // namespace

TEST_CASE("places are shuffled as in Python") {
  CHECK(shuffled_by_python(8) == std::vector<int>{5, 0, 6, 4, 1, 7, 2, 3});
}

TEST_SUITE("reference") {
  TEST_CASE("schedules take as long as in SimGrid's s4u") {
    Worst flows, load;
    const auto rows = read_table(PARADL_REFERENCE_DATA "/simgrid_s4u.csv");
    CHECK(rows.size() == 69);
    for (const auto& row : rows) {
      const int ranks = std::stoi(row.at("P"));
      const std::string name = row.at("topology") + " " + row.at("schedule");
      CAPTURE(name);
      const double theirs = std::stod(row.at("simgrid_s"));
      const auto topology = platform(row.at("topology"), ranks);
      const Schedule schedule = schedule_of(row.at("schedule"), ranks);
      const double ours = simulate_flows(schedule, *topology, in_order(ranks)).time.base();
      CHECK(ours == paradl::test::approx(theirs).epsilon(0.02));
      flows.look_at(ours, theirs, name);
      // Ranks drift apart with shuffled places, and with parallel rings on a dragonfly.
      const bool regular = name.find("shuf") == name.npos && name.find("dragonfly mring") == name.npos;
      if (!regular) continue;
      const double steps = link_load(schedule, *topology, in_order(ranks)).time.base();
      CHECK(steps == paradl::test::approx(theirs).epsilon(0.10));
      load.look_at(steps, theirs, name);
    }
    std::printf("s4u: flows within %.3f %% (%s), link load within %.2f %% (%s)\n", 100 * flows.error,
                flows.row.c_str(), 100 * load.error, load.row.c_str());
  }

  TEST_CASE("allreduces take as long as in SimGrid's SMPI") {
    Worst flows;
    int compared = 0;
    for (const auto& row : read_table(PARADL_REFERENCE_DATA "/simgrid_smpi.csv")) {
      const std::string& algorithm = row.at("algorithm");
      if (row.at("mode") != "clean" || (algorithm != "lr" && algorithm != "rab_rdb" && algorithm != "rdb"))
        continue;
      const int ranks = std::stoi(row.at("P"));
      const std::string name =
          row.at("topology") + " " + row.at("P") + " " + row.at("bytes") + " " + algorithm;
      CAPTURE(name);
      const double theirs = std::stod(row.at("simulated_s"));
      const auto topology = platform(row.at("topology"), ranks);
      const Schedule schedule = smpi_schedule(algorithm, ranks, std::stod(row.at("bytes")));
      const double ours = simulate_flows(schedule, *topology, in_order(ranks)).time.base();
      CHECK(ours == paradl::test::approx(theirs).epsilon(0.02));
      flows.look_at(ours, theirs, name);
      ++compared;
    }
    CHECK(compared > 400);
    std::printf("SMPI: flows within %.3f %% (%s) on %d rows\n", 100 * flows.error, flows.row.c_str(),
                compared);
  }
}
