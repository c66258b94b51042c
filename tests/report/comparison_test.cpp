#include "paradl/report/comparison.hpp"

#include <doctest/doctest.h>

using namespace paradl;

namespace {

using Json = nlohmann::ordered_json;

const Contestant fits{
    "dgx-a100",
    Json::parse(R"({"system": "dgx-a100", "strategy": "data+tensor", "grid": {"data": 16, "tensor": 2}, "gpus": 32,
        "samples_per_s": 600.0, "feasible": true, "parameters": {"layers": "roofline", "links": "specified"}})"),
    true};
const Contestant too_large{
    "abci",
    Json::parse(R"({"system": "abci", "strategy": "layer", "grid": {"layer": 32}, "gpus": 32, "samples_per_s": 75.0,
        "feasible": false, "parameters": {"layers": "roofline", "links": "specified"},
        "limits": [{"rule": "p <= G", "value": 32, "bound": 300, "holds": true},
                   {"rule": "memory <= device", "value": 34359738368, "bound": 17179869184, "holds": false}]})"),
    false};

const std::vector<Comparison> both{{"", {fits, too_large}}};

}  // namespace

TEST_CASE("compare: strategy and grid are above the numbers") {
  const std::string text = to_text(comparison_table(both)).text;
  CHECK(text.find("\n strategy   data+tensor  layer\n") != text.npos);
  CHECK(text.find("\n grid              16x2     32\n") != text.npos);
  CHECK(to_csv(comparison_rows(both)).starts_with("name,strategy,grid,gpus"));
}

TEST_CASE("compare: a plan that does not fit has no ratio") {
  CHECK(verdict(both) == "abci does not fit: needs 32.0 GiB, the device has 16.0 GiB.\n");
  Contestant slower = fits;
  slower.name = "other";
  slower.result["samples_per_s"] = 300.0;
  CHECK(verdict({{"", {fits, slower}}}) == "dgx-a100 is 2.00 times as fast as other.\n");
}

TEST_CASE("compare: the answer names the sources of its times") {
  CHECK(basis(both) == "Layer times: roofline. Links: specified (dgx-a100, abci).\n");
}

namespace {

Contestant saved(const std::string& file, const std::string& strategy, int gpus, double rate,
                 const std::string& model = "resnet50", int batch = 2048) {
  return {file,
          Json{{"model", model},
               {"strategy", strategy},
               {"gpus", gpus},
               {"batch", {{"global", batch}}},
               {"iterations_per_epoch", 1e6 / batch},
               {"samples_per_s", rate}},
          true};
}

}  // namespace

TEST_CASE("compare: all results that saved answers have in common, and what was left out") {
  const auto [all, left_out] = compare_saved(
      {{saved("old", "data", 16, 100), saved("old", "data", 64, 300), saved("old", "filter", 64, 10)},
       {saved("new", "data", 64, 600), saved("new", "data", 16, 100)}});
  REQUIRE(all.size() == 2);
  CHECK(all[0].question == "data on 16 GPUs");
  CHECK(verdict(all) ==
        "data on 16 GPUs: old and new are equally fast.\n"
        "data on 64 GPUs: new is 2.00 times as fast as old.\n");
  CHECK(left_out == std::vector<std::string>{"filter on 64 GPUs (only in old)"});
  CHECK(to_text(comparison_table(all)).text.find("\n data on 64 GPUs\n") != std::string::npos);
  CHECK(to_csv(comparison_rows(all)).find("\nnew: data on 64 GPUs,") != std::string::npos);
}

TEST_CASE("compare: grids distinguish results of one strategy") {
  const auto with_grid = [](Contestant one, int data) {
    one.result["grid"] = {{"data", data}, {"filter", 64 / data}};
    return one;
  };
  const auto results = [&](const std::string& file) {
    return std::vector{with_grid(saved(file, "data+filter", 64, 1), 16),
                       with_grid(saved(file, "data+filter", 64, 2), 32)};
  };
  const auto all = compare_saved({results("old"), results("new")}).comparisons;
  REQUIRE(all.size() == 2);
  CHECK(all[1].question == "data+filter 32x2 on 64 GPUs");
}

TEST_CASE("compare: saved answers to different questions say so") {
  const auto differ = [](const Contestant& a, const Contestant& b) {
    return differences(compare_saved({{a}, {b}}).comparisons);
  };
  const Contestant old = saved("old", "data", 64, 1);
  CHECK(differ(old, saved("new", "data", 64, 2)).empty());
  CHECK(differ(old, saved("new", "data", 64, 2, "vgg16", 1024)) ==
        std::vector<std::string>{"model: resnet50 (old), vgg16 (new)", "mini-batch: 2048 (old), 1024 (new)"});
}

TEST_CASE("compare: parts of the memory sum to the total") {
  Contestant one = fits;
  one.result["memory_bytes"] =
      Json::parse(R"({"total": 28, "weights": 1, "gradients": 2, "optimizer": 3, "activations": 4,
                      "workspace": 5, "buffers": 6, "reserve": 7})");
  const std::string rows = to_csv(comparison_rows({{"", {one, one}}}));
  CHECK(rows.find(
            "memory_bytes,weights_bytes,gradients_bytes,optimizer_bytes,activations_bytes,workspace_bytes,"
            "buffers_bytes,reserve_bytes") != rows.npos);
  CHECK(rows.find("28,1,2,3,4,5,6,7") != rows.npos);
}

TEST_CASE("compare: links of some levels may be specified only") {
  Contestant mixed = fits;
  mixed.result["parameters"]["links"] = "measured";
  mixed.result["parameters"]["links_by_level"] = {{"node", "measured"}, {"rack", "specified"}};
  CHECK(basis({{"", {mixed, too_large}}}) ==
        "Layer times: roofline. Links: measured (node of dgx-a100), specified (rack of dgx-a100, abci).\n");
}

TEST_CASE("compare: saved answers say that files or changed values differ although all names are the same") {
  const auto read = [](const std::string& name, const std::string& sha, const std::string& command) {
    return read_results(
        {name + ".json", R"({"schema": "paradl.projection/1", "command": [)" + command +
                             R"(], "inputs": [{"kind": "system", "name": "abci", "sha256": ")" + sha +
                             R"("}], "results": [
             {"model": "m", "system": "abci", "strategy": "data", "gpus": 4, "feasible": true,
              "time_s": {"epoch": 1.0}, "samples_per_s": 1.0}]})"});
  };
  const auto differ = [](const auto& a, const auto& b) {
    return differences(compare_saved({a, b}).comparisons);
  };
  const auto old = read("old", "aa", R"("advise")");
  CHECK(differ(old, read("new", "aa", R"("project")")).empty());
  CHECK(differ(old, read("new", "bb", R"("advise")")) ==
        std::vector<std::string>{"system abci: files with different contents (old, new)"});
  CHECK(
      differ(old, read("new", "aa", R"("advise", "--set", "device.memory=x2", "--set=host.memory=1GiB")")) ==
      std::vector<std::string>{"--set: none (old), device.memory=x2 host.memory=1GiB (new)"});
}
