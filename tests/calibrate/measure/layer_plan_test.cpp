// Which shapes are measured: with --split and without it, and how long that will take.
#include "calibrate/measure/layer_plan.hpp"

#include <doctest/doctest.h>

#include "tests/support/layers.hpp"
#include "tests/support/spec_text.hpp"

namespace paradl::calibrate {
namespace {
using namespace test;

Workload small_net() {
  return workload_of(network("4x16x16",
                             "  - {name: conv1, op: conv, filters: 8, kernel: 3, padding: 1}\n"
                             "  - {name: relu1, op: relu}\n"
                             "  - {name: conv2, op: conv, filters: 8, kernel: 3, padding: 1}\n"
                             "  - {name: relu2, op: relu}\n"));
}
const BatchRule eight{.per = BatchRule::Per::whole, .value = 8};

std::vector<std::string> texts(const std::vector<Mesh>& meshes) {
  std::vector<std::string> out;
  for (const Mesh& mesh : meshes) out.push_back(split_text(mesh));
  return out;
}
std::string refusal(const std::string& word) {
  return complaint([&] { read_split(word, small_net(), eight); });
}

TEST_CASE("a split is a strategy and its sizes") {
  using List = std::vector<std::string>;
  CHECK(texts(read_split("filter=2,4", small_net(), eight)) == List{"filter=2", "filter=4"});
  CHECK(texts(read_split("spatial=2x2", small_net(), eight)) == List{"spatial=2x2"});
  CHECK(texts(read_split("data+filter=2x4", small_net(), eight)) == List{"data=2,filter=4"});
  CHECK(read_split("spatial=2", small_net(), eight).size() == 2);  // rows or columns
}

TEST_CASE("an impossible split is refused by name") {
  CHECK(says(refusal("filter"), "--split filter: no sizes are given"));
  CHECK(says(refusal("filter="), "no sizes are given"));
  CHECK(says(refusal("flter=2"), "did you mean `filter`?"));
  CHECK(says(refusal("serial=2"), "`serial` splits nothing"));
  CHECK(says(refusal("filter=16"), "cannot split into 16 parts: layer "));
  CHECK(says(refusal("data=16"), "cannot split 8 samples into 16 parts"));
  CHECK(refusal("filter=two") != "");
  CHECK(refusal("data+filter=2") != "");
}

TEST_CASE("without --split: whole layers, and each strategy in two parts if its limit allows that") {
  const auto all = texts(default_splits(small_net(), eight));
  for (const char* wanted : {"data=2", "spatial=2", "filter=2"})
    CHECK(std::ranges::find(all, wanted) != all.end());
  const BatchRule one{.per = BatchRule::Per::whole, .value = 1};
  const auto of_one = texts(default_splits(small_net(), one));
  CHECK(std::ranges::find(of_one, "data=2") == of_one.end());
}

TEST_CASE("equal shapes are measured once, under the name of the first layer that has them") {
  const auto whole = plan_shapes(small_net(), {}, {}, eight);
  REQUIRE(whole.size() == 3);  // conv1, relu1 (as relu2), conv2
  CHECK(whole[0].name == "conv1");
  CHECK(whole[1].name == "relu1");
  CHECK(whole[2].name == "conv2");
  CHECK(whole[0].layer.samples == 8);
  CHECK(whole[0].whole());

  const auto cut = plan_shapes(small_net(), read_split("data=2", small_net(), eight), {}, eight);
  REQUIRE(cut.size() == 6);
  CHECK(cut[3].layer.samples == 4);
  CHECK(split_text(cut[3].mesh) == "data=2");
}

TEST_CASE("with a mini-batch per GPU, data parallelism has no shapes of its own") {
  const BatchRule each{.per = BatchRule::Per::gpu, .value = 8};
  CHECK(plan_shapes(small_net(), read_split("data=2", small_net(), each), {}, each).size() == 3);
  const auto filters = plan_shapes(small_net(), read_split("filter=2", small_net(), each), {}, each);
  CHECK(filters.back().layer.samples == 16);
}

TEST_CASE("the estimated time of a round is arithmetic and traffic at the device's rates") {
  // 2 x 1000 x 1000 multiply-adds, three passes of 2 flop: 12 Mflop. Traffic: 4 (3 (2000 + 2000) + 5e6)
  // bytes.
  LocalLayer product = fc(2, 1000, 1000, {}, false);
  product.weights = 1'000'000;
  const double arithmetic = guessed_turn(product, {.flop = 20e6, .bytes = 1e18}).base();
  CHECK(arithmetic == doctest::Approx(1.0).epsilon(0.001));  // at 0.6 of 20 Mflop/s
  const double traffic = guessed_turn(product, {.flop = 1e18, .bytes = 20'048'000 / 0.6}).base();
  CHECK(traffic == doctest::Approx(1.0).epsilon(0.001));
}

TEST_CASE("times to wait are printed in words") {
  CHECK(about(Seconds{0.2}) == "about 1 s");
  CHECK(about(Seconds{42}) == "about 42 s");
  CHECK(about(Seconds{119}) == "about 2 min");
  CHECK(about(Seconds{7200}) == "about 2.0 h");
}

}  // namespace
}  // namespace paradl::calibrate
