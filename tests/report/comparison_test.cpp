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

}  // namespace

TEST_CASE("compare: strategy and grid are above the numbers") {
  const std::string text = to_text(comparison_table({fits, too_large})).text;
  CHECK(text.find("\n strategy   data+tensor  layer\n") != text.npos);
  CHECK(text.find("\n grid              16x2     32\n") != text.npos);
  CHECK(to_csv(comparison_rows({fits, too_large})).starts_with("name,strategy,grid,gpus"));
}

TEST_CASE("compare: nothing is faster than what does not fit") {
  CHECK(verdict({fits, too_large}) == "abci does not fit: needs 32.0 GiB, the device has 16.0 GiB.\n");
  Contestant slower = fits;
  slower.name = "other";
  slower.result["samples_per_s"] = 300.0;
  CHECK(verdict({fits, slower}) == "dgx-a100 is 2.00 times as fast as other.\n");
}

TEST_CASE("compare: the answer says what it rests on") {
  CHECK(basis({fits, too_large}) == "Layer times: roofline. Links: specified (dgx-a100, abci).\n");
}

TEST_CASE("compare: parts of the memory add up to all of it") {
  Contestant one = fits;
  one.result["memory_bytes"] =
      Json::parse(R"({"total": 28, "weights": 1, "gradients": 2, "optimizer": 3, "activations": 4,
                      "workspace": 5, "buffers": 6, "reserve": 7})");
  const std::string rows = to_csv(comparison_rows({one, one}));
  CHECK(rows.find(
            "memory_bytes,weights_bytes,gradients_bytes,optimizer_bytes,activations_bytes,workspace_bytes,"
            "buffers_bytes,reserve_bytes") != rows.npos);
  CHECK(rows.find("28,1,2,3,4,5,6,7") != rows.npos);
}
