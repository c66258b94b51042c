#include "paradl/machine/machine.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"
#include "tests/support/spec_text.hpp"

namespace paradl {
namespace {
using namespace test;

/// A machine of these levels: one `- {...}` line each, without latency and bandwidth.
Machine of_levels(const std::vector<std::string>& levels) {
  std::string text =
      "name: test\n"
      "device: {name: d, memory: 1 GiB, memory-bandwidth: 1 GB/s, peak: {fp32: 1 Tflop/s}}\n"
      "levels:\n";
  for (const std::string& level : levels)
    text += "  - {" + level + ", latency: 2 us, bandwidth: 12.5 GB/s}\n";
  return machine_of(text);
}

TEST_CASE("the number of GPUs is the product of the sizes") {
  const Machine machine = of_levels({"name: node, size: 4", "name: rack, size: 8", "name: machine, size: 3"});
  CHECK(machine.gpus() == 96);
  CHECK(machine.gpus_per_node() == 4);
  CHECK(machine.levels[0].gpus == 4);
  CHECK(machine.levels[1].gpus == 32);
  CHECK(machine.levels[2].gpus == 96);
  CHECK(machine.levels[0].inside == 1);
  CHECK(machine.levels[1].inside == 4);
  CHECK(machine.levels[2].inside == 32);
}

TEST_CASE("a link is its latency and the inverse of its bandwidth") {
  const Machine machine = of_levels({"name: node, size: 4"});
  CHECK(machine.levels[0].link.alpha.base() == paradl::test::approx(2e-6));
  CHECK(machine.levels[0].link.beta.base() == paradl::test::approx(80e-12));  // 80 ps a byte
}

TEST_CASE("without `ports` every GPU has its own port") {
  const Machine machine = of_levels({"name: node, size: 4", "name: rack, size: 8", "name: machine, size: 3"});
  CHECK(machine.levels[0].ports == 1);   // of one GPU
  CHECK(machine.levels[1].ports == 4);   // of one node
  CHECK(machine.levels[2].ports == 32);  // of one rack
}

TEST_CASE("a level's ports are those of its units, divided by oversubscription") {
  const Machine machine = of_levels({"name: node, size: 4", "name: rack, size: 8, ports: 2",
                                     "name: row, size: 3, oversubscription: 4", "name: machine, size: 5"});
  CHECK(machine.levels[1].ports == 2);   // 2 ports for 4 GPUs
  CHECK(machine.levels[2].ports == 4);   // a quarter of 8 nodes of 2 ports
  CHECK(machine.levels[3].ports == 12);  // 3 racks of 4 ports
}

TEST_CASE("a group spans the innermost level that holds it") {
  const Machine machine = of_levels({"name: node, size: 4", "name: rack, size: 8", "name: machine, size: 3"});
  CHECK(machine.spanned_by(1).name == "node");
  CHECK(machine.spanned_by(4).name == "node");
  CHECK(machine.spanned_by(5).name == "rack");
  CHECK(machine.spanned_by(32).name == "rack");
  CHECK(machine.spanned_by(33).name == "machine");
  CHECK(machine.spanned_by(96).name == "machine");
  CHECK(machine.spanned_by(1000).name == "machine");  // more GPUs than the machine has: the CLI refuses this
}

TEST_CASE("the other values of the file are kept") {
  const Machine machine = build_machine(shipped().system("abci"));
  CHECK(machine.name == "abci");
  CHECK(machine.device.memory == Bytes{16.0 * 1'073'741'824});
  CHECK(machine.host->memory == Bytes{384.0 * 1'073'741'824});
  CHECK(machine.node_storage->capacity == Bytes{1.6e12});
  CHECK_FALSE(machine.shared_storage->read);
}

TEST_CASE("every shipped system has as many GPUs as its operator states") {
  struct Published {
    std::string name;
    double gpus;
  };
  const std::vector<Published> published{
      {"abci", 4352},                              // 1088 nodes of 4
      {"abci-a", 960},                             // 120 nodes of 8
      {"abci-paper", 4352}, {"dgx-a100", 4480},    // 560 nodes of 8, as Selene
      {"dgx-h100", 16384},                         // 2048 nodes of 8
      {"dgx1-v100", 5280},                         // 660 nodes of 8
      {"laptop", 1},        {"perlmutter", 6144},  // 1536 nodes of 4
      {"selene", 4480},     {"summit", 27648},     // 4608 nodes of 6
      {"tsubame3", 2160},                          // 540 nodes of 4
      {"vtrain-a100", 512},                        // 64 nodes of 8
  };
  const std::vector<std::string> names = shipped().names(SpecKind::systems);
  CHECK(names.size() == published.size());
  for (const Published& machine : published) {
    CAPTURE(machine.name);
    REQUIRE(std::ranges::binary_search(names, machine.name));
    const SystemSpec spec = shipped().system(machine.name);
    CHECK(spec.name == machine.name);
    CHECK_FALSE(spec.summary.empty());
    CHECK_FALSE(spec.origin.empty());
    CHECK(spec.device.peak[std::size_t(Precision::fp32)]);
    CHECK(build_machine(spec).gpus() == machine.gpus);
  }
}

TEST_CASE("ABCI: four GPUs of a node share two ports, and a rack has a third of its nodes' ports") {
  const Machine abci = build_machine(shipped().system("abci"));
  REQUIRE(abci.levels.size() == 3);
  CHECK(abci.gpus_per_node() == 4);
  CHECK(abci.levels[0].ports == 1);
  CHECK(abci.levels[1].ports == 2);
  CHECK(abci.levels[1].inside == 4);
  CHECK(abci.levels[2].ports == paradl::test::approx(68.0 / 3));  // a third of 34 nodes of 2
  CHECK(abci.levels[2].inside == 136);
  CHECK(abci.spanned_by(4).name == "node");
  CHECK(abci.spanned_by(64).name == "rack");
  CHECK(abci.spanned_by(136).name == "rack");
  CHECK(abci.spanned_by(1024).name == "machine");
  CHECK(abci.levels[1].link.beta.base() == paradl::test::approx(80e-12));  // EDR: 12.5 GB/s
}

TEST_CASE("both descriptions of ABCI have the same bandwidth out of a rack") {
  const Machine paper = build_machine(shipped().system("abci-paper"));
  REQUIRE(paper.levels.size() == 4);
  CHECK(paper.levels[2].ports == 34);  // 17 nodes of 2 on a leaf switch
  CHECK(paper.levels[3].ports ==
        paradl::test::approx(build_machine(shipped().system("abci")).levels[2].ports));
}

TEST_CASE("a node of Selene has a port for each GPU, one of the vTrain cluster one for two") {
  CHECK(build_machine(shipped().system("selene")).levels[1].ports == 8);
  CHECK(build_machine(shipped().system("vtrain-a100")).levels[1].ports == 4);
}

TEST_CASE("no shipped outer link has more bandwidth or less latency than an inner one") {
  for (const std::string& name : shipped().names(SpecKind::systems)) {
    CAPTURE(name);
    const Machine machine = build_machine(shipped().system(name));
    for (std::size_t i = 1; i < machine.levels.size(); ++i) {
      CHECK(machine.levels[i].link.alpha >= machine.levels[i - 1].link.alpha);
      CHECK(machine.levels[i].link.beta >= machine.levels[i - 1].link.beta);
      CHECK(machine.levels[i].ports <= machine.levels[i].inside);
    }
  }
}

}  // namespace
}  // namespace paradl
