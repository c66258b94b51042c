// Compares the oracle with the ParaDL report on input (Fig. 8, and "I/O takes four times as long as
// computation and communication" for CosmoFlow). One number of systems/frameworks/chainermn.yaml was taken
// from Fig. 8: the reading rate of one process, from ResNet-50 under data on 4 to 16 GPUs. All else here is a
// prediction.
#include <filesystem>
#include <map>

#include <doctest/doctest.h>

#include "paradl/core/text.hpp"
#include "tests/support/asked.hpp"
#include "tests/support/source_dir.hpp"

namespace paradl::test {
namespace {

Projection projected(const std::string& model, const Typed& typed, const std::string& system = "abci") {
  return ask(query_of(model, system, typed), shipped()).sweep().front();
}

Typed chainer(const std::string& grid, const std::string& batch, const std::string& from) {
  return {{"grid", grid}, {"batch", batch}, {"framework", "chainermn"}, {"input", from}};
}

}  // namespace

TEST_CASE("CosmoFlow read by leaders on ABCI: input takes several times as long as all else") {
  for (const char* nodes : {"2", "4", "8", "16"}) {
    CAPTURE(nodes);
    const Projection p =
        projected("cosmoflow-512", chainer("data=" + std::string(nodes) + ",spatial=4", "1/node", "shared"));
    REQUIRE(p.cost);
    REQUIRE(p.input);
    const Seconds io = (*p.cost)[Term::io], rest = p.iteration() - io;
    CAPTURE(io / rest);
    CHECK(io / rest > 3);  // published: 4
    CHECK(io / rest < 5);
    CHECK(p.input->staging < p.input->reading);  // reading dominates
  }
}

TEST_CASE("CosmoFlow's data set is too large for two nodes of ABCI, but not for four") {
  // 1584 samples of 2 GiB are 3.4 TB, a node has 1.6 TB.
  Typed asked = chainer("data=2,spatial=4", "1/node", "node");
  CHECK_FALSE(projected("cosmoflow-512", asked).feasible());
  asked.emplace_back("shuffle", "local");
  CHECK_FALSE(projected("cosmoflow-512", asked).feasible());  // 1.7 TB
  asked.emplace_back("grid", "data=4,spatial=4");
  CHECK(projected("cosmoflow-512", asked).feasible());
}

TEST_SUITE("reference") {
  TEST_CASE("staging times of Fig. 8 are reproduced for strategies that were not fitted") {
    const SourceText file = read_source(PARADL_REFERENCE_DATA "/abci_breakdowns.csv");
    std::map<std::string, std::pair<double, int>> ratio;  // by strategy: sum and count
    for (const std::string_view line : split(file.text, '\n')) {
      if (line.find("Fig.8") == line.npos) continue;
      const auto cells = split(line, ',');
      REQUIRE(cells.size() >= 8);
      const std::string model(cells[1]), strategy(cells[2]);
      const int gpus = std::stoi(std::string(cells[3]));
      if (gpus > 256) continue;  // slowed by other jobs
      std::string batch(cells[4]);
      if (batch.ends_with("/GPU")) batch.replace(batch.size() - 3, 3, "gpu");
      const bool hybrid = strategy.find('+') != strategy.npos;
      const std::string grid = hybrid ? std::to_string(gpus / 4) + "x4" : std::to_string(gpus);
      Typed asked = chainer(grid, batch, "node");
      asked.emplace_back("strategy", strategy);
      const Projection p = projected(model, asked);
      REQUIRE(p.input);
      auto& [sum, n] = ratio[model + " " + strategy];
      sum += p.input->total().base() / std::stod(std::string(cells[6])), ++n;
    }
    REQUIRE(ratio.size() == 5);
    for (const auto& [name, of] : ratio) {
      const double mean = of.first / of.second;
      CAPTURE(name);
      CAPTURE(mean);
      CHECK(mean > 0.8);
      CHECK(mean < 1.4);
    }
  }

  TEST_CASE("epochs of CosmoFlow with their input come near those of Fig. 7") {
    // On 2, 4 and 8 nodes: beyond, the labels of the axis are unclear. On 8 the model is a fourth
    // too fast: its gather grows with the nodes in the report's runs, and not here.
    const SourceText file = read_source(PARADL_REFERENCE_DATA "/abci_breakdowns.csv");
    int runs = 0;
    for (const std::string_view line : split(file.text, '\n')) {
      const auto cells = split(line, ',');
      if (cells.size() < 8 || cells[0] != "report Fig.7" || cells[2] != "data+spatial") continue;
      const int gpus = std::stoi(std::string(cells[3]));
      if (gpus > 32) continue;
      const Projection p = projected(
          "cosmoflow-512", chainer("data=" + std::to_string(gpus / 4) + ",spatial=4", "1/node", "shared"));
      const double ratio = p.epoch().base() / std::stod(std::string(cells[6]));
      CAPTURE(gpus);
      CAPTURE(ratio);
      CHECK(ratio > 0.7);
      CHECK(ratio < 1.1);
      ++runs;
    }
    CHECK(runs == 3);
  }
}

}  // namespace paradl::test
