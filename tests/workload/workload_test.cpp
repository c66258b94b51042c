#include "paradl/workload/workload.hpp"

#include <doctest/doctest.h>

#include "tests/support/spec_text.hpp"

namespace paradl {
namespace {
using namespace test;

void check_shape(const Shape& shape, double channels, std::vector<double> extents) {
  CHECK(shape.channels == channels);
  CHECK(shape.dims == int(extents.size()));
  extents.resize(3, 1);
  for (std::size_t d = 0; d < 3; ++d) {
    CAPTURE(d);
    CHECK(shape.extent[d] == extents[d]);
  }
}
void check_unchanged(const Layer& layer) {
  CHECK(layer.y == layer.x);
  CHECK(layer.weights == 0);
  CHECK(layer.macs == 0);
}
double extent(const std::string& input, const std::string& entry) {
  return only_layer(input, entry).y.extent[0];
}

// Convolutions: (X + 2 padding - reach) / stride + 1, rounded down; reach = dilation (kernel - 1) + 1

TEST_CASE("conv over two extents") {
  const Layer layer = only_layer("3x32x32", "op: conv, filters: 16, kernel: 3, stride: 2, padding: 1");
  check_shape(layer.x, 3, {32, 32});
  check_shape(layer.y, 16, {16, 16});  // (32 + 2 - 3) / 2 + 1 = 16.5
  CHECK(layer.x_items == 3072);
  CHECK(layer.weights == 448);   // 16 * 3 * 9 + 16 biases
  CHECK(layer.macs == 110'592);  // 432 * 256 positions
  CHECK(layer.filters() == 16);
  CHECK(layer.channels() == 3);
  CHECK(layer.first());
  CHECK_FALSE(layer.depthwise());
}

TEST_CASE("conv over one extent") {
  const Layer layer = only_layer("8x100", "op: conv, filters: 4, kernel: 5, stride: 3, padding: 2");
  check_shape(layer.y, 4, {34});  // (100 + 4 - 5) / 3 + 1
  CHECK(layer.weights == 164);    // 4 * 8 * 5 + 4
  CHECK(layer.macs == 5440);      // 160 * 34
}

TEST_CASE("conv over three extents") {
  const Layer layer = only_layer("4x8x8x8", "op: conv, filters: 16, kernel: 2");
  check_shape(layer.y, 16, {7, 7, 7});
  CHECK(layer.weights == 528);   // 16 * 4 * 8 + 16
  CHECK(layer.macs == 175'616);  // 512 * 343
}

TEST_CASE("conv without bias has no biases") {
  CHECK(only_layer("3x32x32", "op: conv, filters: 16, kernel: 3, bias: false").weights == 432);
}

TEST_CASE("conv with another size for each extent") {
  const Layer layer =
      only_layer("2x17x20", "op: conv, filters: 2, kernel: 1x7, stride: 1x2, padding: 0x3, bias: false");
  check_shape(layer.y, 2, {17, 10});  // (20 + 6 - 7) / 2 + 1 = 10.5
  CHECK(layer.weights == 28);         // 2 * 2 * 7
  CHECK(layer.kernel[0] == 1);
  CHECK(layer.kernel[1] == 7);
  CHECK(layer.kernel[2] == 1);
}

TEST_CASE("dilation widens the window of a conv") {
  check_shape(only_layer("1x10x10", "op: conv, filters: 1, kernel: 3, dilation: 2").y, 1,
              {6, 6});  // 10 - 5 + 1
  check_shape(only_layer("1x10x10", "op: conv, filters: 1, kernel: 3, dilation: 2, padding: 2").y, 1,
              {10, 10});
}

TEST_CASE("a grouped conv reads a part of the channels") {
  const Layer layer =
      only_layer("8x4x4", "op: conv, filters: 16, kernel: 3, padding: 1, groups: 4, bias: false");
  check_shape(layer.y, 16, {4, 4});
  CHECK(layer.weights == 288);  // 16 * 8/4 * 9
  CHECK(layer.macs == 4608);    // 288 * 16
  CHECK(layer.depthwise());
  // Depthwise: one filter a channel
  CHECK(only_layer("8x4x4", "op: conv, filters: 8, kernel: 3, groups: 8, bias: false").weights == 72);
}

TEST_CASE("`same` padding: ceil(X / stride) positions, with the odd row at the end") {
  const auto same = [](const std::string& input, const std::string& window) {
    return only_layer(input, "op: conv, filters: 1, padding: same, " + window);
  };
  CHECK(same("1x7", "kernel: 3").y.extent[0] == 7);
  CHECK(same("1x7", "kernel: 3").padding[0] == 1);
  CHECK(same("1x7", "kernel: 2").y.extent[0] == 7);
  CHECK(same("1x7", "kernel: 2").padding[0] == 0);  // 1 in total, at the end
  CHECK(same("1x7", "kernel: 4").padding[0] == 1);  // 3 in total, 2 at the end
  CHECK(same("1x7", "kernel: 3, stride: 2").y.extent[0] == 4);
  CHECK(same("1x7", "kernel: 3, stride: 2").padding[0] == 1);  // 3*2 + 3 - 7 = 2 in all
  CHECK(same("1x8", "kernel: 3, stride: 2").y.extent[0] == 4);
  CHECK(same("1x8", "kernel: 3, stride: 2").padding[0] == 0);  // 1 in all
  CHECK(same("1x8", "kernel: 1, stride: 2").y.extent[0] == 4);
  CHECK(same("1x8", "kernel: 1, stride: 2").padding[0] == 0);
  CHECK(same("1x8", "kernel: 3, dilation: 3").y.extent[0] == 8);
  CHECK(same("1x8", "kernel: 3, dilation: 3").padding[0] == 3);
  CHECK(same("1x2", "kernel: 7").y.extent[0] == 2);  // a window wider than its input
}

TEST_CASE("by default the stride of a pool is its size, and its output is rounded down") {
  CHECK(extent("1x8", "op: max-pool, kernel: 2") == 4);
  CHECK(extent("1x7", "op: max-pool, kernel: 2") == 3);
  CHECK(extent("1x7", "op: max-pool, kernel: 2, ceil: true") == 4);
  CHECK(extent("1x112", "op: max-pool, kernel: 3, stride: 2, padding: 1") ==
        56);  // ResNet: 111 / 2 + 1 = 56.5
  CHECK(extent("1x112", "op: max-pool, kernel: 3, stride: 2, ceil: true") ==
        56);  // GoogLeNet: 109 / 2 + 1 = 55.5
  CHECK(extent("1x112", "op: max-pool, kernel: 3, stride: 2") == 55);
  CHECK(extent("1x7", "op: avg-pool, kernel: 2, padding: same") == 4);
  CHECK(extent("1x35", "op: avg-pool, kernel: 3, stride: 1, padding: 1") == 35);
  // (5 + 2 - 2) / 3 + 1 = 2.7, but a third window would start at row 6 - 1 = 5, after the input: PyTorch
  // leaves it out
  CHECK(extent("1x5", "op: max-pool, kernel: 2, stride: 3, padding: 1, ceil: true") == 2);
  const Layer pool = only_layer("6x8x8", "op: avg-pool, kernel: 2");
  check_shape(pool.y, 6, {4, 4});
  CHECK(pool.weights == 0);
  CHECK(pool.macs == 0);
}

// Products of matrices

TEST_CASE("fc is applied at every position") {
  const Layer layer = only_layer("8x10", "op: fc, filters: 4");
  check_shape(layer.y, 4, {10});
  CHECK(layer.weights == 36);  // 8 * 4 + 4
  CHECK(layer.macs == 320);    // 32 * 10
  CHECK(only_layer("8x10", "op: fc, filters: 4, bias: false").weights == 32);
}

TEST_CASE("a tied fc computes, but has no weights of its own beyond its bias") {
  const auto head = [](const std::string& keys) {
    return workload_of(network("1x5",
                               "  - {name: table, op: embedding, vocab: 100, filters: 8}\n"
                               "  - {name: head, op: fc, filters: 100, tied: table" +
                                   keys + "}\n"))
        .layers[1];
  };
  CHECK(head(", bias: false").weights == 0);
  CHECK(head("").weights == 100);
  CHECK(head("").macs == 4000);  // 8 * 100 * 5
}

TEST_CASE("an embedding is a table of rows, a position table is added") {
  const Layer table = only_layer("1x10", "op: embedding, vocab: 100, filters: 8");
  check_shape(table.y, 8, {10});
  CHECK(table.weights == 800);
  CHECK(table.macs == 0);
  const Layer position = only_layer("8x10", "op: position, entries: 12");
  check_shape(position.y, 8, {10});
  CHECK(position.weights == 96);
}

TEST_CASE("attention takes queries, keys and values side by side") {
  // 24 channels = (4 + 2 * 4) heads of 2
  const Layer layer = only_layer("24x10", "op: attention, heads: 4");
  check_shape(layer.y, 8, {10});
  CHECK(layer.scores == 400);  // 4 heads, 10 x 10
  CHECK(layer.macs == 1600);   // 2 products, 100 * 4 * 2
  CHECK(layer.heads == 4);
  CHECK(layer.weights == 0);
}

TEST_CASE("attention with fewer key and value heads computes as much from smaller inputs") {
  // 12 channels = (4 + 2 * 1) heads of 2
  const Layer layer = only_layer("12x10", "op: attention, heads: 4, kv-heads: 1");
  check_shape(layer.y, 8, {10});
  CHECK(layer.macs == 1600);
  CHECK(layer.scores == 400);
  CHECK(layer.heads == 1);  // limits a split without copies
  check_shape(only_layer("16x10", "op: attention, heads: 4, kv-heads: 2").y, 8, {10});  // (4 + 4) heads of 2
}

TEST_CASE("causal attention is counted in full, as in published counts") {
  CHECK(only_layer("24x10", "op: attention, heads: 4, causal: true").macs == 1600);
}

// The other operations

TEST_CASE("norms have two weights a channel, rms-norm one, and none without `affine`") {
  CHECK(only_layer("8x4x4", "op: batch-norm").weights == 16);
  CHECK(only_layer("8x4x4", "op: layer-norm").weights == 16);
  CHECK(only_layer("8x4x4", "op: group-norm, groups: 4").weights == 16);
  CHECK(only_layer("8x4x4", "op: rms-norm").weights == 8);
  for (const std::string op : {"batch-norm", "layer-norm", "group-norm, groups: 4", "rms-norm"}) {
    CAPTURE(op);
    check_unchanged(only_layer("8x4x4", "op: " + op + ", affine: false"));
    check_shape(only_layer("8x4x4", "op: " + op).y, 8, {4, 4});
    CHECK(only_layer("8x4x4", "op: " + op).macs == 0);
  }
}

TEST_CASE("element-wise operations keep the shape") {
  for (const std::string op : {"relu", "gelu", "silu", "tanh", "sigmoid", "dropout", "softmax", "loss"}) {
    CAPTURE(op);
    check_unchanged(only_layer("8x4x4", "op: " + op));
  }
}

TEST_CASE("a gate halves the channels") {
  check_shape(only_layer("8x10", "op: gate").y, 4, {10});
  CHECK(only_layer("8x10", "op: gate").weights == 0);
}

TEST_CASE("views and means") {
  check_shape(only_layer("64x7x7", "op: global-pool").y, 64, {});
  check_shape(only_layer("4x3x3x2", "op: flatten").y, 72, {});
  check_shape(only_layer("8x10", "op: select").y, 8, {});
  // 14 * 14 patches and a class token, as in ViT-B/16
  const Layer tokens = only_layer("8x14x14", "op: tokens, extra: 1");
  check_shape(tokens.y, 8, {197});
  CHECK(tokens.weights == 8);
  check_shape(only_layer("8x14x14", "op: tokens").y, 8, {196});
  CHECK(only_layer("8x14x14", "op: tokens").weights == 0);
}

TEST_CASE("upsampling repeats positions along each extent") {
  check_shape(only_layer("3x8x6", "op: upsample").y, 3, {16, 12});
  check_shape(only_layer("3x8", "op: upsample, scale: 4").y, 3, {32});
  CHECK(only_layer("3x8x6", "op: upsample").weights == 0);
}

TEST_CASE("add and concat read several layers") {
  const Workload work = workload_of(network("4x8x8",
                                            "  - {name: a, op: conv, filters: 6, kernel: 1}\n"
                                            "  - {name: b, op: conv, filters: 6, kernel: 1, from: in}\n"
                                            "  - {name: sum, op: add, from: [a, b]}\n"
                                            "  - {name: both, op: concat, from: [in, sum, a]}\n"));
  check_shape(work.layers[2].y, 6, {8, 8});
  CHECK(work.layers[2].x_items == 768);  // 2 * 6 * 64
  check_shape(work.layers[3].y, 16, {8, 8});
  CHECK(work.layers[3].x_items == 1024);  // (4 + 6 + 6) * 64
  check_shape(work.layers[3].x, 4, {8, 8});
  CHECK(work.layers[1].first());
  CHECK_FALSE(work.layers[2].first());
}

// A whole network

const std::string tiny =
    "name: tiny\n"
    "input: 3x8x8\n"
    "dataset: {name: d, samples: 1000}\n"
    "batch: 10\n"
    "layers:\n"
    "  - {name: conv, op: conv, filters: 4, kernel: 3, padding: 1}\n"
    "  - {name: side, op: fc, filters: 5, auxiliary: true}\n"
    "  - {name: flatten, op: flatten, from: conv}\n"
    "  - {name: fc, op: fc, filters: 10}\n";

TEST_CASE("totals are sums over the layers; an auxiliary one trains, but is not in the published count") {
  const Workload work = workload_of(tiny);
  CHECK(work.name == "tiny");
  CHECK(work.D == 1000);
  CHECK(work.batch == 10);
  // conv 4*3*9 + 4 = 112; side 4*5 + 5 = 25; fc 256*10 + 10 = 2570
  CHECK(work.parameters() == 2707);
  // conv 108 * 64 = 6912; side 20 * 64 = 1280; fc 2560
  CHECK(work.macs() == 9472);
  CHECK(work.train_macs() == 10'752);
  CHECK(work.convolutional);
  CHECK_FALSE(work.tokens);
  CHECK_FALSE(work.has_times());
  check_shape(work.input, 3, {8, 8});
}

TEST_CASE("measured times are kept") {
  CHECK(workload_of(tiny + "time: 3 ms\n").has_times());
  CHECK(workload_of(network("1x4", "  - {name: a, op: relu, time: 1 us}\n")).has_times());
  CHECK_FALSE(workload_of(network("1x4", "  - {name: a, op: relu, time: 0 us}\n")).has_times());
}

TEST_CASE("equal layers share a class, whatever their names") {
  const Workload work =
      workload_of(network("4x8x8",
                          "  - {name: a, op: conv, filters: 4, kernel: 3, padding: 1}\n"
                          "  - {name: b, op: conv, filters: 4, kernel: 3, padding: 1}\n"
                          "  - {name: c, op: conv, filters: 4, kernel: 3, padding: 1}\n"
                          "  - {name: d, op: conv, filters: 4, kernel: 3, padding: 1, bias: false}\n"
                          "  - {name: e, op: conv, filters: 4, kernel: 3, padding: 1, time: 1 ms}\n"
                          "  - {name: f, op: conv, filters: 4, kernel: 5, padding: 2}\n"
                          "  - {name: g, op: max-pool, kernel: 3, stride: 1, padding: 1}\n"));
  CHECK(work.layers[1].shape_class == work.layers[2].shape_class);
  CHECK(work.layers[0].shape_class != work.layers[1].shape_class);  // the first layer has no dx to compute
  for (std::size_t i = 3; i < work.layers.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) CHECK(work.layers[i].shape_class != work.layers[j].shape_class);
}

TEST_CASE("layers that differ in one property do not share a class") {
  // A class has one entry in a profile, so causal and other attention of equal shape need two classes.
  const Workload attention =
      workload_of(network("24x16",
                          "  - {name: qkv, op: fc, filters: 24}\n"
                          "  - {name: a, op: attention, heads: 2}\n"
                          "  - {name: b, op: attention, heads: 2, from: qkv}\n"
                          "  - {name: c, op: attention, heads: 2, causal: true, from: qkv}\n"));
  CHECK(attention.layers[1].shape_class == attention.layers[2].shape_class);
  CHECK(attention.layers[2].shape_class != attention.layers[3].shape_class);
}

TEST_CASE("`split` limits the layers that a strategy may cut; without it all may be cut") {
  const Workload free = workload_of(tiny);
  CHECK(free.may_split(SplitBy::filter, 0));
  CHECK(free.may_split(SplitBy::spatial, 3));
  const Workload work = workload_of(tiny + "split: {filter: [conv], spatial: [fc, flatten], tensor: side}\n");
  CHECK(work.may_split(SplitBy::filter, 0));
  CHECK_FALSE(work.may_split(SplitBy::filter, 1));
  CHECK_FALSE(work.may_split(SplitBy::filter, 3));
  CHECK_FALSE(work.may_split(SplitBy::spatial, 0));
  CHECK(work.may_split(SplitBy::spatial, 1));  // `fc` is an op as well as a name: both fc layers
  CHECK(work.may_split(SplitBy::spatial, 2));
  CHECK(work.may_split(SplitBy::spatial, 3));
  CHECK(work.may_split(SplitBy::tensor, 1));
  CHECK_FALSE(work.may_split(SplitBy::tensor, 3));
  CHECK(work.may_split(SplitBy::channel, 3));
}

// Layers that do not fit together

TEST_CASE("stated channels are checked, as the manual shows") {
  CHECK(complaint_about_model(
            network("3x8x8",
                    "  - {name: conv1_2, op: conv, filters: 128, kernel: 3x3}\n"
                    "  - {name: conv2_1, op: conv, channels: 64, filters: 128, kernel: 3x3}\n")) ==
        "error: layer `conv2_1` expects 64 input channels, but `conv1_2` has 128\n"
        " --> test.yaml:5:41\n"
        "5 |   - {name: conv2_1, op: conv, channels: 64, filters: 128, kernel: 3x3}\n"
        "  |                                         ^^ write 128, or correct `conv1_2`\n");
  CHECK(says(complaint_about_model(network("3x8x8", "  - {name: a, op: fc, filters: 2, channels: 4}\n")),
             "error: layer `a` expects 4 input channels, but the input has 3\n"));
  CHECK(only_layer("3x8x8", "op: fc, filters: 2, channels: 3").weights == 8);
}

TEST_CASE("shapes that do not match are mistakes, each with its reason") {
  const auto refused = [](const std::string& input, const std::string& entry, const std::string& message) {
    CAPTURE(entry);
    const std::string out = complaint_about_model(network(input, "  - {name: a, " + entry + "}\n"));
    CHECK(mistakes(out) == 1);
    CHECK(says(out, "error: " + message + "\n --> test.yaml:4:"));
  };
  refused("3x8x8", "op: conv, filters: 4, kernel: 9",
          "layer `a`: its window of 9 is larger than its input of 8");
  refused("3x8x8", "op: conv, filters: 4, kernel: 3, dilation: 4",
          "layer `a`: its window of 9 is larger than its input of 8");
  refused("3x8x8", "op: max-pool, kernel: 20", "layer `a`: its window of 20 is larger than its input of 8");
  refused("3x8x8", "op: conv, filters: 4, kernel: 3x3x3", "layer `a`: its input has 2 extents (3x8x8)");
  refused("3x8", "op: conv, filters: 4, kernel: 3, stride: 1x2", "layer `a`: its input has 1 extent (3x8)");
  refused("3x8x8", "op: conv, filters: 4, kernel: 3, groups: 2",
          "layer `a`: 2 groups do not divide 3 channels and 4 filters");
  refused("4x8x8", "op: conv, filters: 3, kernel: 3, groups: 2",
          "layer `a`: 2 groups do not divide 4 channels and 3 filters");
  refused("3x8", "op: embedding, vocab: 10, filters: 2",
          "layer `a` needs token ids, but its input has 3 channels");
  refused("6x8", "op: group-norm, groups: 4", "layer `a`: 4 groups do not divide 6 channels");
  refused("3x8", "op: gate", "layer `a` cannot halve 3 channels (an odd number)");
  refused("10x8", "op: attention, heads: 4",
          "layer `a`: 10 channels cannot be 4 heads of queries and 4 of keys and values");
  refused("16x8", "op: attention, heads: 4, kv-heads: 6", "layer `a`: 6 kv-heads do not divide 4 heads");
  refused("20x8", "op: attention, heads: 4, kv-heads: 3", "layer `a`: 3 kv-heads do not divide 4 heads");
}

TEST_CASE("a window over nothing is a mistake") {
  CHECK(says(complaint_about_model(network(
                 "3x8", "  - {name: a, op: flatten}\n  - {name: b, op: conv, filters: 4, kernel: 3}\n")),
             "error: layer `b` needs extents, but its input is flat\n"));
}

TEST_CASE("only tensors of matching shape can be added or concatenated") {
  const auto joined = [](const std::string& op) {
    return complaint_about_model(network("4x8x8",
                                         "  - {name: a, op: max-pool, kernel: 2}\n"
                                         "  - {name: b, op: conv, filters: 6, kernel: 1, from: in}\n"
                                         "  - {name: c, op: " +
                                             op + ", from: [a, b]}\n"));
  };
  CHECK(says(joined("add"), "error: layer `c` cannot add 4x4x4 and 6x8x8\n --> test.yaml:6:"));
  CHECK(says(joined("concat"), "error: layer `c` cannot join 4x4x4 and 6x8x8\n"));
  CHECK(says(joined("relu"), "error: layer `c` takes one input, not 2\n"));
}

TEST_CASE("several layers that do not match are reported together") {
  std::string layers;
  for (int i = 0; i < 20; ++i)
    layers += "  - {name: a" + std::to_string(i) + ", op: conv, filters: 4, kernel: 3, channels: 5}\n";
  CHECK(mistakes(complaint_about_model(network("3x99", layers))) == 10);
}

TEST_CASE("unrealistically large numbers are refused") {
  CHECK(says(complaint_about_model(network("1000000000x8", "  - {name: a, op: fc, filters: 1000000000}\n")),
             "error: layer `a` is implausibly large\n"));
  CHECK(says(complaint_about_model(network("1000x1000000x1000000x1000000", "  - {name: a, op: relu}\n")),
             "error: layer `a` is implausibly large\n"));
  CHECK(says(complaint_about_model(
                 network("1000000000x1000000000x1000000000x1000000000", "  - {name: a, op: flatten}\n")),
             "error: layer `a` is implausibly large\n"));
}

}  // namespace
}  // namespace paradl
