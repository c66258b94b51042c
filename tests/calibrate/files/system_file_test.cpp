#include "calibrate/files/system_file.hpp"

#include <algorithm>
#include <limits>

#include <doctest/doctest.h>
#include <stdlib.h>

#include "paradl/core/units.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/spec_text.hpp"

namespace paradl::calibrate {
namespace {
using namespace test;

LineFit line(double alpha, double beta) {
  return {.alpha = {alpha, 0.01 * alpha},
          .beta = {beta, 0.005 * beta},
          .r2 = 0.998,
          .mean_error = 0.013,
          .worst_error = 0.04,
          .points = 12};
}

/// Two ranges of allreduce, one of point-to-point.
MeasuredLevel level(GroupLevel which, double scale) {
  return {.level = which,
          .size = 2,
          .fits = {{.operation = Collective::allreduce,
                    .level = which,
                    .ranks = {2},
                    .ranges = {{.from = 8, .below = 65536, .line = line(1.234567891e-6 * scale, 1 / 3.1e9)},
                               {.from = 65536, .line = line(9e-6 * scale, 1 / 5.6123e9)}},
                    .mean_error = 0.013},
                   {.operation = Collective::point_to_point,
                    .level = which,
                    .ranks = {2},
                    .ranges = {{.from = 8, .line = line(3e-6 * scale, 1 / 6.1e9)}},
                    .mean_error = 0.02}}};
}

const Provenance provenance{.tool = "paradl-calibrate 0.1.0, Open MPI 4.1.4, 2 ranks on 1 node",
                            .date = "2026-11-16"};

void check_level(const LevelSpec& read, double scale) {
  CHECK(read.latency.base() == approx(3e-6 * scale).epsilon(1e-5));
  CHECK(read.bandwidth.base() == approx(6.1e9).epsilon(1e-5));
  REQUIRE(read.measured.size() == 3);
  CHECK(read.measured[0].operation == Collective::allreduce);
  CHECK(read.measured[0].from == Bytes{8});
  CHECK(read.measured[0].below == Bytes{65536});
  CHECK(read.measured[0].latency.base() == approx(1.234567891e-6 * scale).epsilon(1e-5));
  CHECK(read.measured[1].bandwidth.base() == approx(5.6123e9).epsilon(1e-5));
  CHECK(read.measured[1].below.base() == std::numeric_limits<double>::infinity());
  CHECK(read.measured[2].operation == Collective::point_to_point);
}

TEST_CASE("system file: values are read as they were written") {
  MeasuredSystem system;
  system.name = "lab";
  system.summary = "two \"fast\" nodes: ours";
  system.levels = {level(GroupLevel::node, 1), level(GroupLevel::cluster, 10)};
  system.device = {
      .name = "AMD EPYC 7R13", .memory = Bytes{8e9}, .memory_bandwidth = Bandwidth{20e9}, .peak = {}};
  system.device.peak[0] = FlopRate{98.7e9};
  const std::string text = system_text(system, provenance);
  const SystemSpec spec = system_of(text);
  CHECK(spec.name == "lab");
  CHECK(spec.summary == system.summary);
  CHECK(spec.device.name == "AMD EPYC 7R13");
  CHECK(spec.device.memory.base() == approx(8e9));
  CHECK(spec.device.peak[0]->base() == approx(98.7e9));
  REQUIRE(spec.levels.size() == 2);
  CHECK(spec.levels[0].size == 2);
  check_level(spec.levels[0], 1);
  check_level(spec.levels[1], 10);
  CHECK(says(text, "# by paradl-calibrate 0.1.0, Open MPI 4.1.4, 2 ranks on 1 node, 2026-11-16"));
  CHECK(says(text, "# allreduce on 2 ranks: 24 points, 1.3 % off on average\n"));
  CHECK(says(text, "# +- 0.024 us, +- 0.98 %; 1.3 % off on average, 4 % at most, r2 0.998\n"));
}

void check_same(const Machine& a, const Machine& b) {
  constexpr double digits = 1e-5;  // a file has six
  CHECK(a.name == b.name);
  CHECK(a.device.name == b.device.name);
  CHECK(a.device.memory.base() == approx(b.device.memory.base()).epsilon(digits));
  CHECK(a.device.memory_bandwidth.base() == approx(b.device.memory_bandwidth.base()).epsilon(digits));
  CHECK(a.device.peak[0]->base() == approx(b.device.peak[0]->base()).epsilon(digits));
  CHECK(a.topology == b.topology);
  CHECK(a.half_duplex == b.half_duplex);
  REQUIRE(a.levels.size() == b.levels.size());
  const auto same_link = [&](const Link& x, const Link& y) {
    CHECK(x.alpha.base() == approx(y.alpha.base()).epsilon(digits));
    CHECK(x.beta.base() == approx(y.beta.base()).epsilon(digits));
  };
  for (std::size_t i = 0; i < a.levels.size(); ++i) {
    const Level &x = a.levels[i], &y = b.levels[i];
    CHECK(x.name == y.name);
    CHECK(x.gpus == y.gpus);
    CHECK(x.inside == y.inside);
    CHECK(x.ports == y.ports);
    same_link(x.link, y.link);
    REQUIRE(x.measured.size() == y.measured.size());
    for (std::size_t k = 0; k < x.measured.size(); ++k) {
      CHECK(x.measured[k].operation == y.measured[k].operation);
      CHECK(x.measured[k].group == y.measured[k].group);
      CHECK(x.measured[k].from == y.measured[k].from);
      CHECK(x.measured[k].below == y.measured[k].below);
      same_link(x.measured[k].link, y.measured[k].link);
    }
  }
}

TEST_CASE("system file: a rehearsal uses the machine that the file describes") {
  MeasuredSystem system{.name = "lab", .summary = "", .device = {}, .levels = {}};
  system.device = {
      .name = "d", .memory = Bytes{8.12345678e9}, .memory_bandwidth = Bandwidth{20.7654321e9}, .peak = {}};
  system.device.peak[0] = FlopRate{98.7654321e9};
  MeasuredLevel extreme = level(GroupLevel::cluster, 10);
  extreme.fits[0].ranges[0].line = line(1e-17, 0);  // latency and bytes too fast for a file
  extreme.fits[1].ranges[0].line = line(2e-6, 1);   // bytes too slow
  const MeasuredLevel unmeasured{.level = GroupLevel::node, .size = 1, .fits = {}};
  for (const auto& levels : {std::vector{level(GroupLevel::node, 1), extreme}, std::vector{unmeasured}}) {
    system.levels = levels;
    check_same(build_machine(system_spec(system)), machine_of(system_text(system, provenance)));
  }
}

const std::string existing =
    "# lab.yaml: our machine\n"
    "name: lab  # as on the door\n"
    "device: {name: d, memory: 16 GiB, memory-bandwidth: 900 GB/s, peak: {fp32: 15.7 Tflop/s}}\n"
    "levels:   # from the inside out\n"
    "  # the inner one\n"
    "  - name: node\n"
    "    size: 4     # GPUs\n"
    "    latency: 9 us   # guessed\n"
    "    bandwidth: 50 GB/s\n"
    "    watts: {idle: 8, peak: 9}\n"
    "\n"
    "  # the outer one\n"
    "  - {name: rack, size: 8, latency: 40 us, bandwidth: 100 Gb/s, ports: 2}  # two cards\n"
    "\n"
    "# and the host\n"
    "host: {memory: 384 GiB, bandwidth: 16 GB/s}\n";

TEST_CASE("system file: an update changes only links, and comments stay") {
  const std::string text = updated_system(
      system_of(existing), {level(GroupLevel::node, 1), level(GroupLevel::cluster, 10)}, provenance);
  const SystemSpec spec = system_of(text);
  CHECK(spec.levels[0].name == "node");
  CHECK(spec.levels[0].size == 4);
  CHECK(spec.levels[0].watts->peak == 9);
  CHECK(spec.levels[1].name == "rack");
  CHECK(spec.levels[1].ports == 2);
  CHECK(spec.host->memory == Bytes{384.0 * 1'073'741'824});
  check_level(spec.levels[0], 1);
  check_level(spec.levels[1], 10);
  for (const std::string kept :
       {"# lab.yaml: our machine\nname: lab  # as on the door\n", "# from the inside out\n",
        "  # the inner one\n  - name: node\n    size: 4     # GPUs\n", "# two cards\n",
        "\n  # the outer one\n", "\n# and the host\nhost: {memory: 384 GiB"}) {
    CAPTURE(kept);
    CHECK(says(text, kept));
  }
  CHECK_FALSE(says(text, "guessed"));

  // A second update replaces all of the first.
  const std::string again = updated_system(
      system_of(text), {level(GroupLevel::node, 2), level(GroupLevel::cluster, 20)}, provenance);
  check_level(system_of(again).levels[0], 2);
  check_level(system_of(again).levels[1], 20);
  CHECK(std::count(again.begin(), again.end(), '\n') == std::count(text.begin(), text.end(), '\n'));
  CHECK(says(again, "# two cards\n"));
  CHECK(updated_system(system_of(text), {level(GroupLevel::node, 1), level(GroupLevel::cluster, 10)},
                       provenance) == text);
}

TEST_CASE("system file: only the levels that were measured change") {
  const std::string text = updated_system(system_of(existing), {level(GroupLevel::node, 1)}, provenance);
  CHECK(
      says(text, "  - {name: rack, size: 8, latency: 40 us, bandwidth: 100 Gb/s, ports: 2}  # two cards\n"));
  check_level(system_of(text).levels[0], 1);
}

TEST_CASE("system file: a file that cannot be changed without loss is refused") {
  const std::string flow =
      "name: lab\n"
      "device: {name: d, memory: 16 GiB, memory-bandwidth: 900 GB/s, peak: {fp32: 15.7 Tflop/s}}\n"
      "levels: [{name: node, size: 4, latency: 9 us, bandwidth: 50 GB/s}]\n";
  CHECK(says(complaint([&] { updated_system(system_of(flow), {level(GroupLevel::node, 1)}, provenance); }),
             "usage: cannot change level `node` of test.yaml without losing other parts of it\n"));
  // Levels are found by their names
  const std::string one =
      "name: lab\n"
      "device: {name: d, memory: 16 GiB, memory-bandwidth: 900 GB/s, peak: {fp32: 15.7 Tflop/s}}\n"
      "levels:\n"
      "  - {name: node, size: 4, latency: 9 us, bandwidth: 50 GB/s}\n";
  CHECK(says(complaint([&] { updated_system(system_of(one), {level(GroupLevel::cluster, 1)}, provenance); }),
             "usage: test.yaml has no level `cluster`, but it was measured\n"));
  const std::string three = one +
                            "  - {name: cluster, size: 8, latency: 9 us, bandwidth: 5 GB/s}\n"
                            "  - {name: world, size: 2, latency: 9 us, bandwidth: 1 GB/s}\n";
  const SystemSpec named =
      system_of(updated_system(system_of(three), {level(GroupLevel::cluster, 10)}, provenance));
  CHECK(named.levels[0].latency == Seconds{9e-6});
  check_level(named.levels[1], 10);
  CHECK(named.levels[2].latency == Seconds{9e-6});
  const std::string dashes =  // indented as far as their key
      "name: lab\n"
      "device: {name: d, memory: 16 GiB, memory-bandwidth: 900 GB/s, peak: {fp32: 15.7 Tflop/s}}\n"
      "levels:\n"
      "- name: node\n"
      "  size: 4\n"
      "  bandwidth: 50 GB/s\n"
      "  latency: 9 us\n"
      "duplex: half\n";
  const SystemSpec spec =
      system_of(updated_system(system_of(dashes), {level(GroupLevel::node, 1)}, provenance));
  check_level(spec.levels[0], 1);
  CHECK(spec.half_duplex);
}

TEST_CASE("system file: a link with zero time per byte, or zero latency, can be written") {
  MeasuredLevel flat = level(GroupLevel::node, 1);
  flat.fits[0].ranges[0].line = line(2e-6, 0);
  flat.fits[0].ranges[1].line = line(0, 1e-9);
  const SystemSpec spec = system_of(updated_system(system_of(existing), {flat}, provenance));
  CHECK(spec.levels[0].measured[0].bandwidth == plausible<Bandwidth>().most * Bandwidth{1});
  CHECK(spec.levels[0].measured[1].latency == Seconds{});
}

TEST_CASE("system file: the date can be given") {
  setenv("SOURCE_DATE_EPOCH", "86400", 1);
  CHECK(today() == "1970-01-02");
  unsetenv("SOURCE_DATE_EPOCH");
  CHECK(today() > "2024");
}

}  // namespace
}  // namespace paradl::calibrate
