#include "paradl/spec/foreign.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include <doctest/doctest.h>

#include "paradl/spec/foreign/window.hpp"
#include "paradl/spec/model_spec.hpp"
#include "paradl/spec/system_spec.hpp"
#include "paradl/workload/workload.hpp"

using namespace paradl;

namespace {

const std::string head = "Dataset|Pencil\nInput|1000x3x8x8\nModel|Tiny\n";

Imported import_text(const std::string& text, const ImportOptions& options = {}) {
  return import_file({"folder/tiny.net", text}, options);
}

ModelSpec model_of(const Imported& imported) {
  return read_model({"imported.yaml", imported.yaml}, [](const std::string&) { return SourceText{}; });
}

Workload load(const Imported& imported) { return build_workload(model_of(imported)); }

const Layer& layer(const Workload& work, const std::string& name) {
  const auto found = std::ranges::find(work.layers, name, &Layer::name);
  REQUIRE(found != work.layers.end());
  return *found;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

/// The first problem that the import of this text reports; empty if there is none.
Problem complaint(const std::string& text, const ImportOptions& options = {}) {
  try {
    import_text(text, options);
  } catch (const SpecError& error) {
    CHECK_FALSE(render(error).empty());
    return error.problems().front();
  }
  return {};
}

bool within_one_ulp(double a, double b) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return a == b || std::nextafter(a, infinity) == b || std::nextafter(a, -infinity) == b;
}

}  // namespace

TEST_CASE("an imported network has the shapes and weights of its file") {
  const Imported imported = import_text(head +
                                        "# a comment\n"
                                        "CONV_1|3x8x8|3x4x3x3|4x8x8\r\n"
                                        "BNORM|4x8x8|4x4x0x0|4x8x8 |0\r\n"
                                        "RELU|4x8x8|4x4x0x0|4x8x8\r\n"
                                        "MPOOL| 4x8x8|0x0x2x2|4x4x4\r\n"
                                        "#|0\r\n"
                                        "RELU|4x4x4|4x4x0x0|4x4x4\r\n"
                                        "FC6|4x4x4|4x10x4x4|10x1x1\r\n"
                                        "DROPOUT|10x1x1|10x10x0x0|10x1x1\n");
  CHECK(imported.kind == Imported::Kind::model);
  CHECK(imported.name == "tiny");
  // 3 * 4 * 9 weights of the convolution and 4 * 10 * 16 of FC6; the files give BNORM none.
  CHECK(imported.summary == "Read 7 layers (2 with weights, 748 parameters).");
  CHECK(imported.warnings.empty());
  CHECK(imported.yaml.starts_with("# Imported from tiny.net by paradl import."));

  const Workload work = load(imported);
  CHECK(work.D == 1000);
  CHECK(work.parameters() == 748);
  CHECK(layer(work, "conv_1").weights == 108);
  CHECK(layer(work, "conv_1").y == Shape{.channels = 4, .extent = {8, 8, 1}, .dims = 2});
  CHECK(layer(work, "bnorm").weights == 0);
  CHECK(layer(work, "relu_1").y.items() == 256);
  CHECK(layer(work, "mpool").y == Shape{.channels = 4, .extent = {4, 4, 1}, .dims = 2});
  CHECK(layer(work, "relu_2").y.items() == 64);
  CHECK(layer(work, "flatten").y == Shape{.channels = 64});
  CHECK(layer(work, "fc6").weights == 640);
  CHECK(layer(work, "dropout").y == Shape{.channels = 10});
}

TEST_CASE("names are lower case and unique") {
  // The file itself uses `relu_1`. In a `split` list, `conv` would mean all convolutions.
  const Workload work = load(import_text(head + "CONV|3x8x8|3x3x1x1|3x8x8\nRELU|3x8x8|0x0x0x0|3x8x8\n"
                                                "RELU_1|3x8x8|0x0x0x0|3x8x8\nRELU|3x8x8|0x0x0x0|3x8x8\n"
                                                "CONV_2a.1|3x8x8|3x3x1x1|3x8x8\n"));
  std::vector<std::string> names;
  for (const Layer& each : work.layers) names.push_back(each.name);
  CHECK(names == std::vector<std::string>{"conv_1", "relu_2", "relu_1", "relu_3", "conv_2a_1"});
}

TEST_CASE("strides and paddings are derived from the shapes") {
  const auto line = [](const std::string& kind, int X, int K, int Y) {
    const auto text = [](int n) { return std::to_string(n); };
    const std::string w = (kind == "CONV" ? "1x1x" : "0x0x") + text(K);
    return import_text("Dataset|d\nInput|1x1x" + text(X) + "\nModel|m\n" + kind + "|1x" + text(X) + "|" + w +
                       "|1x" + text(Y) + "\n")
        .yaml;
  };
  CHECK(has(line("CONV", 226, 7, 113), "kernel: 7, stride: 2, padding: 3, bias"));
  CHECK(has(line("CONV", 226, 11, 54), "kernel: 11, stride: 4, bias"));
  CHECK(has(line("CONV", 126, 3, 62), "kernel: 3, stride: 2, bias"));
  CHECK(has(line("CONV", 510, 3, 508), "kernel: 3, bias"));
  CHECK(has(line("CONV", 27, 5, 27), "kernel: 5, padding: 2, bias"));
  CHECK(has(line("CONV", 56, 1, 28), "kernel: 1, stride: 2, bias"));
  CHECK(has(line("CONV", 8, 2, 8), "kernel: 2, padding: same, bias"));
  CHECK(has(line("MPOOL", 113, 3, 56), "kernel: 3, stride: 2}"));
  CHECK(has(line("MPOOL", 113, 2, 57), "kernel: 2, ceil: true}"));
  CHECK(has(line("MPOOL", 54, 3, 27), "kernel: 3, stride: 2, ceil: true}"));
  CHECK(has(line("APOOL", 5, 2, 2), "kernel: 2}"));
  CHECK(has(line("APOOL", 7, 7, 1), "kernel: 7}"));
}

TEST_CASE("for any stride and padding of a framework, a window with the same output shape is found") {
  using foreign::find_window;
  for (std::int64_t X = 1; X <= 40; ++X)
    for (std::int64_t K = 1; K <= 7; ++K)
      for (std::int64_t stride = 1; stride <= 5; ++stride)
        for (std::int64_t padding = 0; padding <= K / 2; ++padding) {
          const std::int64_t room = X + 2 * padding - K;
          if (room < 0) continue;
          CAPTURE(X);
          CAPTURE(K);
          CAPTURE(stride);
          CAPTURE(padding);
          const std::int64_t down = room / stride + 1, same = (X + stride - 1) / stride;
          const std::int64_t raised = (room + stride - 1) / stride + 1;
          const std::int64_t up = (raised - 1) * stride >= X + padding ? raised - 1 : raised;
          CHECK(find_window({X}, {K}, {down}, foreign::WindowOf::convolution));
          CHECK(find_window({X}, {K}, {down}, foreign::WindowOf::pooling));
          CHECK(find_window({X}, {K}, {up}, foreign::WindowOf::pooling));
          CHECK(find_window({X}, {K}, {same}, foreign::WindowOf::convolution));
        }
}

TEST_CASE("extents may differ from each other") {
  const Workload work =
      load(import_text("Dataset|d\nInput|9x2x16x9x4\nModel|m\nCONV_1|2x16x9x4|2x5x3x3x1|5x8x9x2\n"
                       "MPOOL|5x8x9x2|0x0x2x3x1|5x4x3x2\n"));
  CHECK(work.layers[0].y == Shape{.channels = 5, .extent = {8, 9, 2}, .dims = 3});
  CHECK(work.layers[0].weights == 2 * 5 * 9);
  CHECK(work.layers[1].y == Shape{.channels = 5, .extent = {4, 3, 2}, .dims = 3});
}

TEST_CASE("an ADD reads the input of its block") {
  const std::string conv = "|3x8x8|3x3x3x3|3x8x8\n", keep = "|3x8x8|3x3x0x0|3x8x8\n";
  const std::string block =
      "CONV" + conv + "BNORM" + keep + "RELU" + keep + "CONV" + conv + "BNORM" + keep + "ADD" + keep;

  SUBCASE("the RELU after the previous ADD, or after the stem") {
    const Imported imported =
        import_text(head + "CONV" + conv + "RELU" + keep + block + "RELU" + keep + block);
    CHECK(has(imported.yaml, "name: add_1, op: add, from: [bnorm_2, relu_1]"));
    CHECK(has(imported.yaml, "name: add_2, op: add, from: [bnorm_4, relu_3]"));
    CHECK(imported.warnings.empty());
    CHECK(load(imported).parameters() == 5 * 81);
  }
  SUBCASE("the ADD itself where no RELU follows it") {
    const Imported imported = import_text(head + "RELU" + keep + block + block);
    CHECK(has(imported.yaml, "name: add_2, op: add, from: [bnorm_4, add_1]"));
  }
  SUBCASE("the layer before, twice, if the input of the block has another shape") {
    const Imported imported = import_text(head +
                                          "MPOOL|3x8x8|0x0x2x2|3x4x4\nCONV_1|3x4x4|3x6x1x1|6x4x4\n"
                                          "ADD|6x4x4|6x6x0x0|6x4x4\n");
    CHECK(has(imported.yaml, "from: [conv_1, conv_1]"));
    REQUIRE(imported.warnings.size() == 1);
    CHECK(has(imported.warnings[0], "line 6"));
    CHECK(layer(load(imported), "add").y.items() == 96);
  }
  SUBCASE("the network's input, if there is no layer before it") {
    CHECK(load(import_text(head + "ADD" + keep)).layers[0].y.items() == 192);
  }
}

TEST_CASE("a fully connected layer reads its whole input, or one position at a time") {
  const auto first = [](const std::string& line) { return load(import_text(head + line)); };
  SUBCASE("the whole input") {
    const Workload work = first("FC|3x8x8|3x5x8x8|5x1x1\nFC_2|5x1x1|5x2x1x1|2x1x1\n");
    REQUIRE(work.layers.size() == 3);
    CHECK(work.layers[1].weights == 3 * 5 * 64);
    CHECK(work.layers[2].weights == 10);
  }
  SUBCASE("the whole input, counted as channels") {
    const Workload work = first("FC|192x1x1|192x5x1x1|5x1x1\n");
    REQUIRE(work.layers.size() == 2);
    CHECK(work.layers[1].weights == 192 * 5);
  }
  SUBCASE("each position") {
    const Workload work = first("FC|3x8x8|3x5x1x1|5x8x8\n");
    REQUIRE(work.layers.size() == 1);
    CHECK(work.layers[0].weights == 15);
    CHECK(work.layers[0].y.items() == 5 * 64);
  }
}

TEST_CASE("the fifth column is a time; if only the first layer has one, it is that of the whole network") {
  const auto two = [](const std::string& a, const std::string& b) {
    return import_text(head + "RELU|3x8x8|0x0x0x0|3x8x8" + a + "\nRELU|3x8x8|0x0x0x0|3x8x8" + b + "\n");
  };
  SUBCASE("of the whole network") {
    const Imported imported = two("|0.003119502", "|0");
    CHECK(has(imported.yaml, "\ntime: 3.119502 ms"));
    CHECK(within_one_ulp(load(imported).time.base(), 0.003119502));
  }
  SUBCASE("of each layer") {
    const Workload work = load(two("|0.003", "|2e-6"));
    CHECK(work.time == Seconds{});
    CHECK(within_one_ulp(work.layers[0].time->base(), 0.003));
    CHECK(within_one_ulp(work.layers[1].time->base(), 2e-6));
  }
  SUBCASE("of one layer that is not the first") {
    const Workload work = load(two("", "|1.5"));
    CHECK(work.time == Seconds{});
    CHECK_FALSE(work.layers[0].time);  // not measured is not zero
    CHECK(work.layers[1].time == Seconds{1.5});
  }
  SUBCASE("none") { CHECK_FALSE(load(two("|0", "|")).has_times()); }
  SUBCASE("with all its digits") {
    for (const std::string digits :
         {"0.1234567890123456", "1e-12", "7.0000000000000001e-7", "999999.99999999988",
          "0.00099999999999999991", "8.6736173798840355e-10"}) {
      CAPTURE(digits);
      CHECK(within_one_ulp(load(two("|" + digits, "")).time.base(), std::stod(digits)));
    }
  }
}

TEST_CASE("if x contradicts the layer before, that layer counts and a warning is printed") {
  const Imported imported = import_text(head + "CONV_2|3x8x8|3x4x3x3|4x8x8\nRELU|4x81x8|4x4x0x0|4x8x8\n");
  REQUIRE(imported.warnings.size() == 1);
  CHECK(imported.warnings[0] ==
        "line 5: the input of RELU is 4x81x8, but the output of CONV_2 is 4x8x8; using the latter");
  CHECK(load(imported).layers[1].x.items() == 256);

  SUBCASE("of many warnings only some are printed") {
    std::string text = head;
    for (int i = 0; i < 30; ++i) text += "RELU|3x9x9|0x0x0x0|3x8x8\n";
    CHECK(import_text(text).warnings.size() == 11);
  }
}

TEST_CASE("a list of cut layers decides which layers a strategy splits") {
  const std::string net = head +
                          "CONV_1|3x8x8|3x3x1x1|3x8x8\nMPOOL|3x8x8|0x0x2x2|3x4x4\n"
                          "CONV_2|3x4x4|3x3x1x1|3x4x4\nMPOOL|3x4x4|0x0x2x2|3x2x2\n";
  const auto split = [&](const std::string& strategy, const std::string& marks) {
    return model_of(import_text(net, {.splits = {{strategy, {"cut.lc", marks}}}, .name = ""})).split;
  };
  using Words = std::vector<std::string>;
  CHECK(model_of(import_text(net)).split.at("filter").words == Words{"conv"});
  CHECK(model_of(import_text(net)).split.at("channel").words == Words{"conv"});

  CHECK(split("filter", "CONV_1|0\nMPOOL|0\nCONV_2|1\nMPOOL|0").at("filter").words == Words{"conv_2"});
  CHECK(split("filter", "CONV_1|0\nMPOOL|0\nCONV_2|1\nMPOOL|0").at("channel").words == Words{"conv"});
  CHECK(split("spatial", "0 CONV_1 |1\r\n1 MPOOL |1\r\n2 CONV_2 |1\r\n3 MPOOL |0").at("spatial").words ==
        Words{"conv", "mpool_1"});
  CHECK(split("spatial", "CONV_1|0\nMPOOL|1\nCONV_2|0\nMPOOL|1").at("spatial").words == Words{"max-pool"});

  SUBCASE("its layers must be in the network") {
    const auto mistake = [&](const std::string& marks) {
      return complaint(net, {.splits = {{"filter", {"cut.lc", marks}}}, .name = ""});
    };
    CHECK(mistake("CONV_1|1\nRELU|0\nCONV_2|1\nMPOOL|0").message ==
          "`RELU` does not match the network, which has `MPOOL` here");
    CHECK(mistake("CONV_1|1\nRELU|0\nCONV_2|1\nMPOOL|0").where.line == 2);
    CHECK(mistake("CONV_1|1\nMPOOL|0\nCONV_2|1").message == "3 layers are listed, but the network has 4");
    CHECK(mistake("CONV_1|1\nMPOOL|0\nCONV_2|1\nMPOOL|0\nFC|0").where.line == 5);
    CHECK(mistake("0 CONV_1|1\n2 MPOOL|0").message == "this is layer 1, not 2");
    CHECK(mistake("CONV_1|2\nMPOOL|0").message == "a flag must be 0 or 1");
    CHECK(mistake("CONV_1|0\nMPOOL|0").message == "no layer is marked 1, so nothing would be split");
    CHECK(mistake("").message == "no layer is marked 1, so nothing would be split");
  }
  SUBCASE("only some strategies cut layers, and each has one list") {
    CHECK_THROWS_AS(split("filtre", "CONV_1|1"), UsageError);
    CHECK_THROWS_AS(split("data", "CONV_1|1"), UsageError);
    const SourceText marks{"cut.lc", "CONV_1|1\nMPOOL|0\nCONV_2|1\nMPOOL|0"};
    CHECK_THROWS_AS(import_text(net, {.splits = {{"filter", marks}, {"filter", marks}}, .name = ""}),
                    UsageError);
    CHECK_THROWS_AS(import_file(marks, {.splits = {{"filter", marks}}, .name = ""}), UsageError);
  }
}

TEST_CASE("a list of cut layers without a network becomes a `split`") {
  const Imported imported = import_file({"a/spatial_tiny.lc", "CONV1|1\nRELU|0\nCONV2|0\n"});
  CHECK(imported.kind == Imported::Kind::split);
  CHECK(has(imported.yaml, "split: {spatial: [conv1]}\n"));
  CHECK(has(imported.summary, "paradl import NET --split spatial=spatial_tiny.lc"));
  CHECK(imported.warnings.empty());
  // A file name without a strategy leaves the strategy open.
  CHECK(import_file({"tiny.lc", "CONV1|1\n"}).warnings.size() == 1);
}

TEST_CASE("a platform becomes a system of two levels that share one link") {
  const std::string plat =
      "MEM_PER_NODE|16e9|Bytes\r\nNODE_SPEED|7.8E12|FLOPS\r\nBANDWIDTH|12.5E9|Bps\r\nLATENCY|500E-9|second "
      "\r\n"
      "MAX_NODE|4096|GPUs\r\nGPU_PER_NODE|4|GPUs";
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = plat;
    return text.replace(text.find(from), from.size(), to);
  };

  const Imported imported = import_file({"x/ABCI.plat", plat});
  CHECK(imported.kind == Imported::Kind::system);
  CHECK(imported.name == "abci");
  CHECK(imported.warnings.size() == 2);  // the fp64 peak, and the missing memory bandwidth
  const SystemSpec system = read_system({"abci.yaml", imported.yaml});
  CHECK(system.name == "abci");
  CHECK(system.device.memory == Bytes{16e9});
  CHECK(system.device.peak[std::size_t(Precision::fp32)] == FlopRate{7.8e12});
  REQUIRE(system.levels.size() == 2);
  CHECK(system.levels[0].size == 4);
  CHECK(system.levels[1].size == 1024);
  for (const LevelSpec& level : system.levels) {
    CHECK(level.bandwidth == Bandwidth{12.5e9});
    CHECK(within_one_ulp(level.latency.base(), 500e-9));
  }

  SUBCASE("nodes that are not full are left out") {
    const Imported odd = import_text(changed("4096", "10"));
    CHECK(read_system({"odd.yaml", odd.yaml}).levels[1].size == 2);
    CHECK(has(odd.warnings[0], "line 5"));
  }
  SUBCASE("a latency may be zero") {
    CHECK(read_system({"zero.yaml", import_text(changed("500E-9", "0")).yaml}).levels[0].latency ==
          Seconds{});
  }
  SUBCASE("impossible values are refused") {
    CHECK(complaint(changed("LATENCY|500E-9|second", "")).message == "this platform has no `LATENCY`");
    CHECK(complaint(changed("LATENCY", "LATENCI")).help == "did you mean `LATENCY`?");
    CHECK(complaint(changed("500E-9", "nan")).message == "cannot read this number");
    CHECK(complaint(changed("12.5E9", "0")).message == "`BANDWIDTH` is out of range");
    CHECK(complaint(changed("12.5E9", "-1")).message == "`BANDWIDTH` is out of range");
    CHECK(complaint(changed("Bps", "GBps")).message == "the unit of `BANDWIDTH` must be Bps");
    CHECK(complaint(changed("4096", "3")).message == "there are fewer GPUs than in one node");
    CHECK(complaint(changed("4096", "4096.5")).message == "`MAX_NODE` must be a whole number");
    CHECK(complaint(changed("|GPUs", "")).message == "this line is not a key, a value and a unit");
    CHECK(complaint(plat + "\nLATENCY|1|second").message == "`LATENCY` is given twice");
  }
}

TEST_CASE("the file type is detected from its content, and an unknown one is refused") {
  CHECK(import_file({"a.plat", head + "RELU|3x8x8|0x0x0x0|3x8x8"}).kind == Imported::Kind::model);
  for (const std::string text :
       {"", "\n\n", "name: resnet50\n", "{\"a\": 1}", "a|b|c\n", "# only a comment\n"}) {
    CAPTURE(text);
    const Problem problem = complaint(text);
    CHECK(problem.message == "paradl cannot import this file (its type is unknown)");
    CHECK(has(problem.help, ".net"));
    CHECK(problem.where.line == 1);
  }
  CHECK(complaint(std::string(100, '\0')).where.line == 1);
}

TEST_CASE("mistakes in a network are shown at their place") {
  const auto mistake = [](const std::string& line) { return complaint(head + line); };
  const Problem window = mistake("CONV_1|3x8x8|3x4x3x3|4x5x9");
  CHECK(window.message == "no stride and padding give 5x9 from 8x8 with a window of 3x3");
  CHECK(window.where.line == 4);
  CHECK(window.where.column == 22);
  CHECK(window.where.width == 5);

  CHECK(mistake("RELU|3x8x8|3x3x0x0|3x8x9").message == "the output of RELU is 3x8x9, but its input is 3x8x8");
  CHECK(mistake("RELU|3x8x8|3x3x1x1|3x8x8").message == "RELU has no window");
  CHECK(mistake("MPOOL|3x8x8|0x0x2x2|4x4x4").message ==
        "the output of MPOOL is 4x4x4, but its input is 3x8x8");
  CHECK(mistake("MPOOL|3x8x8|0x0x0x2|3x8x4").message == "MPOOL has an empty window");
  CHECK(mistake("CONV|3x8x8|2x4x3x3|4x8x8").message ==
        "CONV has 2 channels and 4 filters, but its input is 3x8x8 and its output 4x8x8");
  CHECK(mistake("FC|3x8x8|3x4x7x7|4x1x1").message ==
        "FC has a window of 7x7, but its input is 3x8x8 and its output 4x1x1");
  CHECK(mistake("FC|3x8x8|3x4x8x8|4x1x1\nCONV|4x1x1|4x4x1x1|4x1x1").message ==
        "CONV has a window, but follows a fully connected layer");
  CHECK(mistake("CNV_1|3x8x8|3x4x3x3|4x8x8").help == "did you mean `CONV`?");
  CHECK(mistake("LSTM|3x8x8|3x4x3x3|4x8x8").message == "unknown kind of layer `LSTM`");
  CHECK(mistake("RELU|3x8x8|3x8x8").message == "this line is not a layer");
  CHECK(mistake("RELU|3x8|3x3x0x0|3x8x8").message == "this shape has 2 sizes, not 3");
  CHECK(mistake("RELU|3xx8|3x3x0x0|3x8x8").message == "cannot read this shape");
  CHECK(mistake("RELU|3x0x8|3x3x0x0|3x8x8").message == "0 is out of range");
  CHECK(mistake("RELU|3x8x8|3x3x0x0|3x8x99999999999").message == "99999999999 is out of range");
  CHECK(mistake("RELU|3x8x8|3x3x0x0|3x8x8|-1").message == "this time is out of range");
  CHECK(mistake("RELU|3x8x8|3x3x0x0|3x8x8|nan").message == "cannot read this time");
  CHECK(mistake("CONV|3x8x8|3x1000000000x9999x9999|1000000000x8x8").message == "CONV is implausibly large");
  CHECK(mistake("RELU\x1b[1m|3x8x8|3x3x0x0|3x8x8").message == "cannot read this layer's name");
  CHECK(mistake("Model|Twice").message == "`Model` is given twice");
  CHECK(mistake("").message == "this network has no layers");
  CHECK(complaint("Dataset|d\nInput|1000x3x8x8\nRELU|3x8x8|0x0x0x0|3x8x8").message ==
        "this network has no `Model`");
  CHECK(complaint("Dataset|d\nModel|m\nInput|8x8\n").message ==
        "an input must be samples x channels x extents");

  SUBCASE("all of them at once, up to ten") {
    std::string text = head;
    for (int i = 0; i < 30; ++i) text += "RELU|3x8x8|3x3x0x0|3x8x9\n";
    try {
      import_text(text);
      FAIL("wrong shapes were accepted");
    } catch (const SpecError& error) {
      CHECK(error.problems().size() == 10);
    }
  }
}

TEST_CASE("the result has the name given by the user") {
  const std::string net = head + "RELU|3x8x8|0x0x0x0|3x8x8\n";
  CHECK(model_of(import_text(net, {.splits = {}, .name = "my-net_2"})).name == "my-net_2");
  CHECK_THROWS_AS(import_text(net, {.splits = {}, .name = "my net: 2"}), UsageError);
}

TEST_CASE("unusual names survive the conversion to YAML") {
  const auto load_named = [](const std::string& dataset, const std::string& model) {
    return model_of(import_text("Dataset|" + dataset + "\nInput|5x3x8x8\nModel|" + model +
                                "\nRELU|3x8x8|0x0x0x0|3x8x8\n"));
  };
  for (const std::string word : {"null", "a: b", "{x}", "a \"b\" \\c", "# no", "1e5", "- x", "'q'", "~"}) {
    CAPTURE(word);
    const ModelSpec model = load_named(word, "m");
    CHECK(model.dataset == word);
    CHECK_FALSE(load_named("d", word).name.empty());
  }
}

TEST_CASE("a list of cut layers is never truncated silently") {
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += "CONV|1\n";
  CHECK(has(complaint(text).message, "more than 25000 layers"));
}

TEST_CASE("large files are imported in reasonable time") {
  const std::string layer_line = "RELU|3x8x8|3x3x0x0|3x8x8|0\n";
  std::string layers = head, names = head;
  while (layers.size() < 1'000'000) layers += layer_line;
  for (int i = 0; i < 9000; ++i) names += layer_line + "RELU_" + std::to_string(i) + layer_line.substr(4);
  CHECK(has(complaint(layers).message, "more than"));
  CHECK(import_text(names).warnings.empty());
  for (const std::string part : {"|", "x", "1x", "\n", "a|1\n", "0", "#", " ", "LATENCY|"}) {
    std::string text;
    while (text.size() < 1'000'000) text += part;
    CHECK(complaint(text).where.line > 0);
    CHECK(complaint(head + "RELU|" + text).where.line > 0);
  }
}

TEST_SUITE("reference") {
  std::string authors(const std::string& file) {
    return std::string(PARADL_REFERENCE_DATA) + "/authors/" + file;
  }

  /// The file's layer lines as fields, read in the simplest way.
  std::vector<std::vector<std::string>> layer_lines(const std::string& text) {
    std::vector<std::vector<std::string>> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      std::erase_if(line, [](char c) { return c == ' ' || c == '\r'; });
      std::vector<std::string> fields;
      std::istringstream rest(line);
      for (std::string field; std::getline(rest, field, '|');) fields.push_back(field);
      if (!line.starts_with("#") && fields.size() >= 4) lines.push_back(fields);
    }
    return lines;
  }

  std::vector<double> sizes(const std::string& shape) {
    std::vector<double> out;
    std::istringstream in(shape);
    for (std::string size; std::getline(in, size, 'x');) out.push_back(std::stod(size));
    return out;
  }

  double product(const std::vector<double>& numbers) {
    double all = 1;
    for (const double number : numbers) all *= number;
    return all;
  }

  void check_shape(const Shape& shape, const std::string& written) {
    const std::vector<double> wanted = sizes(written);
    if (shape.dims == 0) {  // after a `flatten`
      CHECK(shape.channels == product(wanted));
      return;
    }
    REQUIRE(shape.dims + 1 == int(wanted.size()));
    CHECK(shape.channels == wanted[0]);
    for (std::size_t d = 1; d < wanted.size(); ++d) CHECK(shape.extent[d - 1] == wanted[d]);
  }

  TEST_CASE("every network of the authors is imported with all shapes and weights as written") {
    struct Known {
      std::string file;
      std::size_t layers, warnings;
      double weights, samples, seconds;
    };
    const std::vector<Known> networks{
        {"ALEXNET_ImageNet.net", 20, 0, 62'367'776, 1'280'000, 0},
        {"ALEXNET_ImageNet_profall.net_sc", 20, 0, 62'367'776, 1'280'000, 0.000610938},
        {"COSMOFLOW.net", 25, 0, 2'128'064, 1584, 2.108143184},
        {"COSMOFLOW.net_256", 25, 1, 2'128'064, 1584, 0.263517898},
        {"RESNET50_ImageNet_profall.net_sc", 166, 1, 22'734'016, 1'280'000, 0.003119502},
        {"VGG_ImageNet_profall.net_sc", 38, 0, 169'801'408, 1'280'000, 0.008245589},
    };
    for (const Known& known : networks) {
      CAPTURE(known.file);
      const SourceText source = read_source(authors(known.file));
      const Imported imported = import_file(source);
      CHECK(imported.kind == Imported::Kind::model);
      CHECK(imported.warnings.size() == known.warnings);
      const Workload work = load(imported);
      CHECK(work.parameters() == known.weights);
      CHECK(work.D == known.samples);
      CHECK(within_one_ulp(work.time.base(), known.seconds));

      const auto lines = layer_lines(source.text);
      CHECK(lines.size() == known.layers);
      std::size_t next = 0;
      for (const Layer& each : work.layers) {
        if (each.op == Op::flatten) continue;
        REQUIRE(next < lines.size());
        const auto& fields = lines[next++];
        CAPTURE(each.name);
        // The only shape in all files that contradicts its neighbour.
        check_shape(each.x, fields[1] == "32x2128x128x128" ? "32x128x128x128" : fields[1]);
        check_shape(each.y, fields[3]);
        const bool weighs = each.op == Op::conv || each.op == Op::fc;
        CHECK(each.weights == (weighs ? product(sizes(fields[2])) : 0));
      }
      CHECK(next == lines.size());
    }
  }

  TEST_CASE("the authors' ResNet-50 has twelve shortcuts and omits four projections") {
    const Imported imported = import_file(read_source(authors("RESNET50_ImageNet_profall.net_sc")));
    CHECK(imported.summary == "Read 166 layers (50 with weights, 22.7 M parameters).");
    CHECK(has(imported.yaml, "time: 3.119502 ms"));
    int shortcuts = 0, doubled = 0;
    for (const Layer& each : load(imported).layers) {
      if (each.op != Op::add) continue;
      REQUIRE(each.inputs.size() == 2);
      ++(each.inputs[0] == each.inputs[1] ? doubled : shortcuts);
    }
    CHECK(shortcuts == 12);
    CHECK(doubled == 4);
  }

  TEST_CASE("the shape that contradicts its neighbour is named with its line") {
    const Imported imported = import_file(read_source(authors("COSMOFLOW.net_256")));
    REQUIRE(imported.warnings.size() == 1);
    CHECK(imported.warnings[0] ==
          "line 8: the input of RELU is 32x2128x128x128, but the output of CONV_2 is 32x128x128x128; using "
          "the latter");
  }

  TEST_CASE("every list of cut layers fits its network") {
    struct Pair {
      std::string net, strategy, marks;
      std::vector<std::string> words;
    };
    const std::vector<Pair> pairs{
        {"RESNET50_ImageNet_profall.net_sc", "filter", "filter_resnet.lc", {"conv"}},
        {"RESNET50_ImageNet_profall.net_sc", "channel", "channel_resnet.lc", {"conv"}},
        {"RESNET50_ImageNet_profall.net_sc", "spatial", "spatial_resnet.lc", {"conv"}},
        {"VGG_ImageNet_profall.net_sc", "filter", "filter_vgg.lc", {"conv"}},
        {"VGG_ImageNet_profall.net_sc", "spatial", "spatial_vgg.lc", {"conv", "max-pool"}},
        {"ALEXNET_ImageNet_profall.net_sc", "filter", "filter_alexnet.lc", {"conv"}},
        {"ALEXNET_ImageNet_profall.net_sc", "spatial", "spatial_alexnet.lc", {"conv", "mpool_1", "mpool_2"}},
        {"COSMOFLOW.net", "spatial", "spatial_cosmolow.lc", {"conv_1", "conv_2"}},
    };
    for (const Pair& pair : pairs) {
      CAPTURE(pair.marks);
      const SourceText marks = read_source(authors(pair.marks));
      const Imported imported =
          import_file(read_source(authors(pair.net)), {.splits = {{pair.strategy, marks}}, .name = ""});
      CHECK(model_of(imported).split.at(pair.strategy).words == pair.words);
      const Imported alone = import_file(marks);
      CHECK(alone.kind == Imported::Kind::split);
      CHECK(alone.warnings.empty());
      CHECK(has(alone.yaml, "split: {" + pair.strategy + ": ["));
    }
  }

  TEST_CASE("the authors' platform is 1024 nodes of 4 GPUs") {
    const SystemSpec system = read_system({"abci.yaml", import_file(read_source(authors("ABCI.plat"))).yaml});
    CHECK(system.levels[0].size * system.levels[1].size == 4096);
  }
}
