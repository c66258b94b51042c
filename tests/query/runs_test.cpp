// Measured runs as queries.
#include "paradl/query/runs.hpp"

#include <doctest/doctest.h>

#include "tests/support/asked.hpp"

namespace paradl::test {
namespace {

MeasuredRuns runs_of(const std::string& lines) {
  return read_measured_runs(
      {"runs.csv", "model,system,strategy,grid,gpus,batch,iteration_s,micro_batches\n" + lines});
}

std::string complaint_of(const std::string& lines, const Query& defaults = {}) {
  const MeasuredRuns runs = runs_of(lines);
  return complaint([&] { ask_runs(shipped(), defaults, runs); });
}

}  // namespace

TEST_CASE("the cells of a run override the defaults") {
  const MeasuredRuns runs = runs_of("resnet50,abci,data+filter,,16,32/gpu,0.2,\n");
  const RunAsked run = ask_runs(shipped(), {.precision = Precision::fp16}, runs).front();
  CHECK(run.framework == "chainermn");  // the framework of the system's own runs
  CHECK(run.about().training.precision == Precision::fp16);
  CHECK_FALSE(run.as_written);
  CHECK(run.oracle.question().gpus == std::vector{16});
  CHECK(run.oracle.question().grid->at(0).total == 4);  // the innermost axis gets a node
  const Query same = query_of(
      "resnet50", "abci", "-s data+filter -p 16 --grid 4x4 -b 32/gpu --framework chainermn --precision fp16");
  CHECK(judge(run).projected == Asked(same).projection.iteration());
}

TEST_CASE("a run has one strategy, not a list of them") {
  for (const char* cell : {"\"data,filter\"", "\",data\""})
    CHECK(complaint_of(std::string("resnet50,abci,") + cell + ",,16,32/gpu,0.2,\n")
              .find("no strategy is called") != std::string::npos);
}

TEST_CASE("runs that differ in strategy, grid and GPUs share what was loaded") {
  const MeasuredRuns runs = runs_of(
      "resnet50,abci,data,,4,32/gpu,0.2,\n"
      "resnet50,abci,filter,,16,32/gpu,0.2,\n"
      "resnet50,abci,filter,,16,64,0.2,\n");
  const auto asked = ask_runs(shipped(), {}, runs);
  REQUIRE(asked.size() == 3);
  CHECK(&asked[0].about() == &asked[1].about());
  CHECK(&asked[1].about() != &asked[2].about());  // layer times depend on the mini-batch
}

TEST_CASE("mistakes of a run are reported at its cells, those of a default are not") {
  CHECK(says(complaint_of("resnet50,abci,data,,4,32/gpu,0.2,0\n"), "--> runs.csv:2:34"));
  CHECK(says(complaint_of("resnet5,abci,data,,4,32/gpu,0.2,\n"), "--> runs.csv:2:1\n"));
  CHECK(says(complaint_of("resnet50,abcj,data,,4,32/gpu,0.2,\n"), "--> runs.csv:2:10\n"));
  const std::string good = "resnet50,abci,data,,4,32/gpu,0.2,\n";
  CHECK(complaint_of(good).empty());
  CHECK(complaint_of(good, {.framework = "dpd"}).starts_with("usage: no framework is called `dpd`"));
  CHECK(complaint_of(good, {.system = "abcj"}).starts_with("usage: no system is called `abcj`"));
  CHECK(complaint_of(good, {.system_changes = {{"device.memroy", "1GiB"}}}).starts_with("usage: --set"));
  // A missing value is reported at the run that needs it.
  CHECK(says(complaint_of("resnet50,abci,data,,1,4,0.2,\n", {.precision = Precision::fp8}),
             "--> runs.csv:2:1\n"));
}

TEST_CASE("terms in the list of networks are checked") {
  const auto read = [](const std::string& set) {
    return complaint([&] {
      check_readings({"networks.yaml",
                      "networks: []\nframework-terms:\n  - {system: s, framework: f, set: " + set + "}\n"});
    });
  };
  CHECK(read("overlap=off").empty());
  CHECK(says(read("overlap"), "networks.yaml:3:36"));
}

TEST_CASE("settings in the list of networks are checked") {
  const auto read = [](const std::string& setting) {
    return complaint([&] {
      check_readings(
          {"networks.yaml", "networks: []\nsettings:\n  - {system: s, up-to-gpus: 8, " + setting + "}\n"});
    });
  };
  CHECK(read("option: recompute, says: full, means: none").empty());
  CHECK(says(read("option: recompote, says: full, means: none"), "no option is called `recompote`"));
  CHECK(says(read("option: recompute, says: full, means: no"), "--recompute no: not known"));
}

}  // namespace paradl::test
