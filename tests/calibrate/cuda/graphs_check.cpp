#include <set>

#include <doctest/doctest.h>

#include "calibrate/cuda/conv.hpp"
#include "calibrate/cuda/graph.hpp"
#include "paradl/workload/workload.hpp"
#include "tests/support/source_dir.hpp"

namespace paradl::calibrate::cuda {
namespace {

std::array<std::int64_t, 3> whole(const std::array<double, 3>& values) {
  return {std::int64_t(values[0]), std::int64_t(values[1]), std::int64_t(values[2])};
}

/// Convolutions and attention layers of a model as one GPU runs them, each shape once.
std::set<LocalLayer> cudnn_layers(const std::string& model, std::int64_t samples) {
  const auto [spec, work] = load_model(Catalog({test::source_dir()}), model);
  REQUIRE(spec.layers.size() == work.layers.size());
  std::set<LocalLayer> out;
  for (std::size_t i = 0; i < work.layers.size(); ++i) {
    const Layer& layer = work.layers[i];
    if (layer.op != Op::conv && layer.op != Op::attention) continue;
    LocalLayer local{.op = layer.op,
                     .dims = layer.x.dims,
                     .samples = samples,
                     .x_channels = std::int64_t(layer.x.channels),
                     .y_channels = std::int64_t(layer.y.channels),
                     .x_extent = whole(layer.x.extent),
                     .y_extent = whole(layer.y.extent),
                     .kernel = whole(layer.kernel),
                     .stride = whole(layer.stride),
                     .dilation = whole(layer.dilation),
                     .padding = whole(layer.padding),
                     .groups = std::int64_t(layer.groups)};
    if (layer.op == Op::attention) {
      local.heads = spec.layers[i].heads;
      local.kv_heads = spec.layers[i].kv_heads > 0 ? spec.layers[i].kv_heads : local.heads;
      local.causal = false;
    }
    out.insert(local);
  }
  return out;
}

void check_all(const std::string& model, std::int64_t samples, std::size_t at_least) {
  const std::set<LocalLayer> layers = cudnn_layers(model, samples);
  CHECK(layers.size() >= at_least);
  std::size_t index = 0;
  for (const LocalLayer& layer : layers) {
    CAPTURE(model);
    CAPTURE(index++);
    for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16}) {
      CAPTURE(precision_names[std::size_t(precision)]);
      if (layer.op == Op::attention) {
        if (storage_of(precision) == Storage::fp32) continue;  // in fp32 they are matrix products
        for (const int architecture : {80, 89, 90, 100, 120}) {
          CAPTURE(architecture);
          CHECK(problem_with(GraphKind::attention_forward, layer, precision, architecture) == "");
          CHECK(problem_with(GraphKind::attention_backward, layer, precision, architecture) == "");
        }
        continue;
      }
      const LocalLayer fits = fitted(layer).layer;
      for (const GraphKind kind : {GraphKind::conv_forward, GraphKind::conv_data, GraphKind::conv_weights})
        CHECK(problem_with(kind, fits, precision, 75) == "");
    }
  }
}

TEST_SUITE("graphs") {
  TEST_CASE("cuDNN accepts every graph of ResNet-50") { check_all("resnet50", 32, 20); }
  TEST_CASE("cuDNN accepts every graph of VGG16") { check_all("vgg16", 32, 9); }
  TEST_CASE("cuDNN accepts every graph of CosmoFlow") { check_all("cosmoflow-128", 1, 5); }
  TEST_CASE("cuDNN accepts every graph of BERT") {
    check_all("bert-base", 32, 1);
    check_all("bert-large", 1, 1);
  }
  TEST_CASE("cuDNN accepts grouped convolutions") { check_all("mobilenet-v2", 32, 20); }
  TEST_CASE("cuDNN accepts causal attention with shared keys") {
    LocalLayer layer{
        .op = Op::attention, .dims = 1, .samples = 2, .x_channels = 64 * 12, .y_channels = 64 * 8};
    layer.x_extent = layer.y_extent = {256, 1, 1};
    layer.heads = 8;
    layer.kv_heads = 2;
    layer.causal = true;
    for (const GraphKind kind : {GraphKind::attention_forward, GraphKind::attention_backward})
      CHECK(problem_with(kind, layer, Precision::bf16, 90) == "");
    layer.kv_heads = 3;  // 8 heads of queries cannot share 3
    for (const GraphKind kind : {GraphKind::attention_forward, GraphKind::attention_backward})
      CHECK(problem_with(kind, layer, Precision::bf16, 90) != "");
  }

  TEST_CASE("an impossible graph is refused") {
    LocalLayer layer{.op = Op::conv,
                     .dims = 2,
                     .samples = 2,
                     .x_channels = 8,
                     .y_channels = 8,
                     .x_extent = {8, 8, 1},
                     .y_extent = {6, 6, 1},
                     .kernel = {3, 3, 1}};
    CHECK(problem_with(GraphKind::conv_forward, layer, Precision::fp32, 80) == "");
    layer.y_extent = {60, 6, 1};
    CHECK(problem_with(GraphKind::conv_forward, layer, Precision::fp32, 80) != "");
  }

  TEST_CASE("a layer that is padded on one side gets a padded copy of x, others read x itself") {
    const auto layer = [](std::int64_t x, std::int64_t y, std::int64_t kernel, std::int64_t stride,
                          std::int64_t padding) {
      return LocalLayer{.op = Op::conv,
                        .dims = 1,
                        .x_extent = {x, 1, 1},
                        .y_extent = {y, 1, 1},
                        .kernel = {kernel, 1, 1},
                        .stride = {stride, 1, 1},
                        .padding = {padding, 0, 0}};
    };
    CHECK_FALSE(fitted(layer(224, 112, 7, 2, 3)).copies_x);  // the last row of padding is not reached
    CHECK_FALSE(fitted(layer(9, 7, 3, 1, 0)).copies_x);
    const Fitted even =
        fitted(layer(8, 8, 2, 1, 0));  // `same` with an even window: one row of padding after the last
    CHECK(even.copies_x);
    CHECK(even.layer.x_extent[0] == 9);
    CHECK(even.layer.padding[0] == 0);
    const Fitted more = fitted(layer(12, 7, 3, 1, 0));  // more rows of x than windows reach
    CHECK(more.copies_x);
    CHECK(more.layer.x_extent[0] == 9);
  }
}

}  // namespace
}  // namespace paradl::calibrate::cuda
