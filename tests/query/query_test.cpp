// Queries: how text becomes values, and where mistakes are reported.
#include "paradl/query/query.hpp"

#include <doctest/doctest.h>

#include "paradl/console/options.hpp"
#include "tests/support/asked.hpp"

namespace paradl::test {
namespace {

OriginPtr in_file(const std::string& text, Spot spot) {
  const auto file = std::make_shared<const SourceText>(SourceText{"paradl.yaml", text});
  return std::make_shared<const Origin>(Origin{"paradl.yaml", text, file, spot});
}

std::vector<int> counts(const std::string& text) {
  std::vector<int> out;
  for (const GpuCount& count : read_gpu_counts(text)) out.push_back(count.gpus);
  return out;
}

}  // namespace

TEST_CASE("values set by a program count as typed; values from a file or a variable do not") {
  const Given<int> open, typed = 2, filed{2, in_file("zero: 2", {1, 7, 1})};
  CHECK_FALSE(open);
  CHECK_FALSE(open.typed());
  CHECK(open.value_or(7) == 7);
  CHECK(typed.typed());
  CHECK(*typed == 2);
  CHECK_FALSE(filed.typed());
  CHECK(typed == filed);  // the origin is not part of the value
  CHECK_FALSE(typed == open);
}

TEST_CASE("an error is reported at the first value that was not typed") {
  const UsageError wrong("too much", "take less");
  const OriginPtr file = in_file("zero: 7", {1, 7, 1});
  const OriginPtr variable = std::make_shared<const Origin>(Origin{"PARADL_ZERO", "7"});
  CHECK(complaint([&] { blame({}, wrong); }) == "usage: too much\nhelp: take less\n");
  CHECK(complaint([&] {
          blame({nullptr, variable, file}, wrong);
        }) == "usage: PARADL_ZERO=7: too much\nhelp: take less\n");
  CHECK(complaint([&] {
          blame({nullptr, file, variable}, wrong);
        }) == "error: too much\n --> paradl.yaml:1:7\n1 | zero: 7\n  |       ^ take less\n");
  CHECK(blaming({file}, [] { return 3; }) == 3);
  CHECK(complaint([&] { blaming({file}, [&] { throw wrong; }); }) ==
        complaint([&] { blame({file}, wrong); }));
}

TEST_CASE("options, configuration files and queries have the same names") {
  std::vector<std::string> keys = Options::configuration_keys();
  for (const Field& field : fields()) {
    CAPTURE(std::string(field.name));
    CHECK(std::ranges::count(keys, field.name) == 1);
    std::erase(keys, field.name);
  }
  CHECK(keys ==
        std::vector<std::string>{"system", "format", "columns", "sort"});  // `system` is another name of `on`
}

TEST_CASE("a configuration fills a query, and its mistakes are reported at their places") {
  const auto read = [](const std::string& text, const Typed& typed = {}) {
    Options options;
    for (const auto& [key, value] : typed) options.set(key, value);
    options.read_configuration({"paradl.yaml", text});
    return options.query();
  };
  const Query query = read("system: abci\nprecision: fp16\nbatch: 32/gpu\n", {{"precision", "bf16"}});
  CHECK(*query.system == "abci");
  CHECK_FALSE(query.system.typed());
  CHECK(*query.precision == Precision::bf16);
  CHECK(query.precision.typed());
  CHECK(*query.batch == BatchRule{.per = BatchRule::Per::gpu, .value = 32});
  CHECK(complaint([&] { read("system: abci\nprecision: fp15\n"); }) ==
        "error: --precision fp15: not known\n --> paradl.yaml:2:12\n2 | precision: fp15\n"
        "  |            ^^^^ did you mean `fp16`?\n");
  // Two values contradict each other: the typed one counts, so the error is reported in the file.
  Query both = read("zero: 1\n", {{"allreduce", "ring"}});
  both.model = "resnet50";
  both.system = "abci";
  CHECK(says(complaint([&] { load(both, shipped()); }), " --> paradl.yaml:1:7"));
}

TEST_CASE("a grid is read for the strategy, or names the strategy itself") {
  const Query named = query_of("resnet50", "abci", "--grid data=16,filter=4");
  CHECK(named.strategies->front().text == "data+filter");
  CHECK(named.grid->at(1).total == 4);
  CHECK(query_of("resnet50", "abci", "-s data+filter --grid 16x4") == named);
  CHECK(says(complaint([] { query_of("resnet50", "abci", "--grid 16x4"); }), "the strategy is missing"));
  CHECK(says(complaint([] { query_of("resnet50", "abci", "-s data,filter --grid 4"); }),
             "is for one strategy, and -s names 2"));
  // The same grids as values.
  Query values{.model = "resnet50", .system = "abci"};
  values.strategies = std::vector{read_strategy("data+filter")};
  values.grid = std::vector<Parts>{{.total = 16}, {.total = 4}};
  CHECK(values == named);
  CHECK(ask(values, shipped()).question().gpus == std::vector{64});
  values.grid = std::vector<Parts>{{.total = 16}};
  CHECK_THROWS_AS(ask(values, shipped()), UsageError);
}

TEST_CASE("numbers of GPUs: lists, ranges, nodes") {
  CHECK(counts("64") == std::vector{64});
  CHECK(counts("16,64,16") == std::vector{16, 64, 16});
  CHECK(counts("16..128") == std::vector{16, 32, 64, 128});
  CHECK(counts("4..64:x4") == std::vector{4, 16, 64});
  CHECK(counts("4..10:+3") == std::vector{4, 7, 10});
  CHECK(counts("16x4") == std::vector{64});
  for (const char* wrong : {"", ",4", "4,,8", "0", "-1", "4x", "x4", "8..4", "1..2:x1", "4..8:3", "many"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(read_gpu_counts(wrong), UsageError);
  }
  const Machine machine = load({.model = "resnet50", .system = "abci"}, shipped()).machine;  // nodes of 4
  CHECK(gpus_of(read_gpu_counts("16,64,16,4x4"), machine) == std::vector{16, 64});
  CHECK(complaint([&] {
          gpus_of({{64, 8}}, machine);
        }) ==
        "usage: abci has 4 GPUs per node, not 8\n"
        "help: write 8x4, or change the node: --set levels.node.size=8\n");
  CHECK(says(complaint([&] { gpus_of({1'000'000}, machine); }), "use -p 4352 or fewer"));
}

TEST_CASE("two axes that split the extents of a sample are refused") {
  CHECK(complaint([] { read_strategy("data+spatial+context"); }) ==
        "usage: `spatial` and `context` both split the extents of a sample\nhelp: use one of them\n");
  CHECK_THROWS_AS(read_strategy("context+spatial/ooc"), UsageError);
}

TEST_CASE("--set changes the file that its path names") {
  Query query;
  add_change(query, read_change("device.memory=32GiB"));
  add_change(query, read_change("framework.halos=gpu"));
  CHECK(query.system_changes == std::vector<Override>{{"device.memory", "32GiB"}});
  CHECK(query.framework_changes == std::vector<Override>{{"halos", "gpu"}});
  for (const char* wrong : {"device.memory", "=3", "device.memory="})
    CHECK_THROWS_AS(read_change(wrong), UsageError);
  CHECK(says(complaint([&] { add_change(query, read_change("framework=megatron")); }),
             "write --framework megatron"));
}

}  // namespace paradl::test
