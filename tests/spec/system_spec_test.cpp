#include "paradl/spec/system_spec.hpp"

#include <fstream>
#include <iterator>
#include <limits>

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"
#include "tests/support/spec_text.hpp"

namespace paradl {
namespace {
using namespace test;

const std::string small =
    "name: small\n"
    "device:\n"
    "  name: V100\n"
    "  memory: 16 GiB\n"
    "  memory-bandwidth: 900 GB/s\n"
    "  peak: {fp32: 15.7 Tflop/s, fp16: 125 Tflop/s}\n"
    "levels:\n"
    "  - {name: node, size: 4, latency: 9 us, bandwidth: 50 GB/s}\n"
    "  - {name: machine, size: 8, latency: 40 us, bandwidth: 100 Gb/s, ports: 2}\n";

/// A text with one piece replaced by another.
std::string replaced(std::string text, const std::string& old_text, const std::string& new_text) {
  const std::size_t at = text.find(old_text);
  REQUIRE(at != text.npos);
  return text.replace(at, old_text.size(), new_text);
}

/// `small` with one piece of text replaced by another.
std::string with(const std::string& old_text, const std::string& new_text) {
  return replaced(small, old_text, new_text);
}

TEST_CASE("a system is read as it is written") {
  const SystemSpec spec = system_of(small +
                                    "summary: eight nodes\n"
                                    "source: invented\n"
                                    "host: {memory: 384 GiB, bandwidth: 16 GB/s, shared-by: 2, "
                                    "memory-bandwidth: 256 GB/s}\n"
                                    "storage:\n"
                                    "  node: {capacity: 1.6 TB, read: 3 GB/s}\n"
                                    "  shared: {capacity: 22 PB}\n");
  CHECK(spec.name == "small");
  CHECK(spec.summary == "eight nodes");
  CHECK(spec.origin == "invented");
  CHECK(spec.device.name == "V100");
  CHECK(spec.device.memory == Bytes{16.0 * 1'073'741'824});
  CHECK(spec.device.memory_bandwidth == Bandwidth{900e9});
  CHECK(spec.device.peak[std::size_t(Precision::fp32)] == FlopRate{15.7e12});
  CHECK(spec.device.peak[std::size_t(Precision::fp16)] == FlopRate{125e12});
  CHECK_FALSE(spec.device.peak[std::size_t(Precision::bf16)]);
  REQUIRE(spec.levels.size() == 2);
  CHECK(spec.levels[0].name == "node");
  CHECK(spec.levels[0].size == 4);
  CHECK(spec.levels[0].latency.base() == paradl::test::approx(9e-6));
  CHECK(spec.levels[0].bandwidth == Bandwidth{50e9});
  CHECK_FALSE(spec.levels[0].ports);
  CHECK(spec.levels[0].oversubscription == 1);
  CHECK(spec.levels[1].ports == 2);
  CHECK(spec.host->memory == Bytes{384.0 * 1'073'741'824});
  CHECK(spec.host->bandwidth == Bandwidth{16e9});
  CHECK(spec.host->shared_by == 2);
  CHECK(spec.host->memory_bandwidth == Bandwidth{256e9});
  CHECK(spec.node_storage->read == Bandwidth{3e9});
  CHECK(spec.shared_storage->capacity == Bytes{22e15});
  CHECK_FALSE(spec.shared_storage->read);
  CHECK(spec.source.file == "test.yaml");
}

/// `small` with a list of measured links on its first level.
std::string measured(const std::string& entries) {
  return with(
      "  - {name: node, size: 4, latency: 9 us, bandwidth: 50 GB/s}\n",
      "  - name: node\n    size: 4\n    latency: 9 us\n    bandwidth: 50 GB/s\n    measured:\n" + entries);
}

/// The last level of `small`, and the same level with a measured allreduce on a group.
const std::string outer_level =
    "  - {name: machine, size: 8, latency: 40 us, bandwidth: 100 Gb/s, ports: 2}\n";
std::string outer_with(const std::string& group) {
  return "  - name: machine\n    size: 8\n    latency: 40 us\n    bandwidth: 100 Gb/s\n    ports: 2\n"
         "    measured: [{operation: allreduce, " +
         group + ", from: 0 B, latency: 1 us, bandwidth: 3 GB/s}]\n";
}

TEST_CASE("measured links are read range by range") {
  const SystemSpec spec = system_of(measured(
      "      - {operation: allreduce, from: 8 B, below: 64 kB, latency: 1.2 us, bandwidth: 3.1 GB/s}\n"
      "      - {operation: allreduce, from: 64 kB, latency: 9 us, bandwidth: 5.6 GB/s}\n"
      "      - {operation: all-to-all, from: 0 B, latency: 0 us, bandwidth: 2 GB/s}\n"));
  const auto& links = spec.levels[0].measured;
  REQUIRE(links.size() == 3);
  CHECK(spec.levels[1].measured.empty());
  CHECK(links[0].operation == Collective::allreduce);
  CHECK(links[0].from == Bytes{8});
  CHECK(links[0].below == Bytes{64e3});
  CHECK(links[0].latency.base() == approx(1.2e-6));
  CHECK(links[0].bandwidth.base() == approx(3.1e9));
  CHECK(links[1].below.base() == std::numeric_limits<double>::infinity());
  CHECK(links[2].operation == Collective::all_to_all);
  CHECK(links[2].latency == Seconds{});

  const Machine machine = build_machine(spec);
  REQUIRE(machine.levels[0].measured.size() == 3);
  CHECK(machine.levels[0].measured[1].from == Bytes{64e3});
  CHECK(machine.levels[0].measured[1].link.alpha.base() == approx(9e-6));
  CHECK(machine.levels[0].measured[1].link.beta.base() == approx(1 / 5.6e9));
}

TEST_CASE("mistakes in measured links are reported at their place") {
  const std::string good =
      "      - {operation: allreduce, from: 8 B, below: 64 kB, latency: 1 us, bandwidth: 3 GB/s}\n";
  CHECK(complaint_about_system(measured(good)).empty());
  const auto second = [&](const std::string& entry) {
    return complaint_about_system(measured(good + "      - {" + entry + "}\n"));
  };
  CHECK(says(second("operation: allreduce, from: 32 kB, latency: 1 us, bandwidth: 3 GB/s"),
             "error: two ranges of allreduce overlap\n"));
  CHECK(second("operation: allgather, from: 32 kB, latency: 1 us, bandwidth: 3 GB/s").empty());
  CHECK(second("operation: allreduce, from: 1 MB, latency: 1 us, bandwidth: 3 GB/s").empty());  // a gap
  CHECK(says(second("operation: allreduce, from: 1 MB, below: 1 MB, latency: 1 us, bandwidth: 3 GB/s"),
             "error: `below` must be more than `from`\n"));
  const std::string unknown = second("operation: all-reduce, from: 1 MB, latency: 1 us, bandwidth: 3 GB/s");
  CHECK(mistakes(unknown) == 1);
  CHECK(says(unknown, "error: no operation is called `all-reduce`\n"));
  CHECK(says(unknown, "write allreduce, allgather, reduce-scatter, all-to-all, point-to-point"));
  CHECK(says(second("operation: allreduce, from: 1 MB, bandwidth: 3 GB/s"),
             "a measured link has no `latency`"));
  CHECK(says(second("operation: allreduce, from: 1 MB, latency: 1 us, bandwidth: 0 GB/s"),
             "error: `bandwidth` must be more than zero\n"));
  CHECK(says(complaint_about_system(measured("      allreduce\n")), "error: `measured` must be a list\n"));
}

TEST_CASE("the power of devices, and the price of a GPU") {
  const SystemSpec spec = system_of(with("peak: {fp32", "watts: {idle: 40, peak: 300}\n  peak: {fp32") +
                                    "host: {watts: {peak: 500}}\nprice: 2.5 USD/h\n");
  CHECK(spec.device.watts->idle == 40);
  CHECK(spec.device.watts->peak == 300);
  CHECK_FALSE(spec.host->watts->idle);  // idle power is not given
  CHECK(spec.host->watts->peak == 500);
  CHECK(spec.price->per_hour == 2.5);
  CHECK(spec.price->currency == "USD");
  const SystemSpec without = system_of(small);
  CHECK_FALSE(without.device.watts);
  CHECK_FALSE(without.price);
  CHECK(says(complaint_about_system(small + "price: 2.5\n"),
             "write the price of a GPU for an hour, such as `2.5 USD/h`"));
  CHECK(says(complaint_about_system(with("peak: {fp32", "watts: {idle: 400, peak: 300}\n  peak: {fp32")),
             "`peak` is less than `idle`"));
  CHECK(mistakes(complaint_about_system(with("peak: {fp32", "watts: {idle: 40}\n  peak: {fp32"))) == 1);
}

TEST_CASE("measured links may name their group: GPUs of a node, GPUs and nodes beyond it") {
  const SystemSpec spec = system_of(replaced(
      measured("      - {operation: allreduce, gpus: 4, from: 0 B, latency: 1 us, bandwidth: 3 GB/s}\n"
               "      - {operation: allreduce, gpus: 2, from: 0 B, latency: 2 us, bandwidth: 3 GB/s}\n"
               "      - {operation: allreduce, from: 0 B, latency: 3 us, bandwidth: 3 GB/s}\n"),
      outer_level, outer_with("gpus: 16, nodes: 4")));
  REQUIRE(spec.levels[0].measured.size() == 3);
  CHECK(spec.levels[0].measured[0].group == MeasuredGroup{4, 1});
  CHECK(spec.levels[0].measured[2].group == MeasuredGroup{});
  REQUIRE(spec.levels[1].measured.size() == 1);
  CHECK(spec.levels[1].measured[0].group == MeasuredGroup{16, 4});
  CHECK(build_machine(spec).levels[1].measured[0].group.per_node() == 4);
}

TEST_CASE("mistakes in the group of a measured link are reported at their place") {
  const auto inner = [&](const std::string& group, const std::string& operation = "allreduce") {
    return complaint_about_system(measured("      - {operation: " + operation + ", " + group +
                                           ", from: 0 B, latency: 1 us, bandwidth: 3 GB/s}\n"));
  };
  CHECK(inner("gpus: 4").empty());
  CHECK(inner("gpus: 4, nodes: 4").empty());  // nodes of one GPU
  CHECK(says(inner("gpus: 0"), "error: `gpus` must be from 2 to "));
  CHECK(says(inner("gpus: 8"), "error: a link was measured on 8 GPUs, but its level has 4\n"));
  CHECK(says(inner("gpus: 2.5"), "error: `gpus` must be a whole number\n"));
  CHECK(says(inner("nodes: 2"), "a measured link has no `gpus`"));
  CHECK(says(inner("gpus: 4, nodes: 2"), "error: groups of the innermost level are within one node\n"));
  CHECK(says(inner("gpus: 4", "point-to-point"), "error: point-to-point is between two GPUs\n"));

  const auto outer = [&](const std::string& group) {
    return complaint_about_system(with(outer_level, outer_with(group)));
  };
  CHECK(outer("gpus: 16, nodes: 4").empty());
  CHECK(says(outer("gpus: 16"), "a measured link has no `nodes`"));
  CHECK(says(outer("gpus: 4, nodes: 1"), "error: `nodes` must be from 2 to "));
  CHECK(says(outer("gpus: 16, nodes: 3"), "error: 16 GPUs cannot be divided evenly among 3 nodes\n"));
  CHECK(says(outer("gpus: 16, nodes: 2"), "error: 8 GPUs per node are too many (a node has 4)\n"));

  const std::string twice =
      "      - {operation: allreduce, gpus: 4, from: 0 B, latency: 1 us, bandwidth: 3 GB/s}\n";
  CHECK(says(complaint_about_system(measured(twice + twice)),
             "error: two ranges of allreduce on 4 GPUs overlap\n"));
}

TEST_CASE("a host may have any of its keys") {
  const SystemSpec spec = system_of(std::string(small) + "host: {bandwidth: 16 GB/s}\n");
  CHECK(spec.host->shared_by == 1);
  CHECK_FALSE(spec.host->memory);
  CHECK_FALSE(spec.host->memory_bandwidth);
  CHECK(says(complaint_about_system(std::string(small) + "host: {shared-by: 0}\n"), "`shared-by`"));
}

TEST_CASE("host and storage may be left out") {
  const SystemSpec spec = system_of(small);
  CHECK_FALSE(spec.host);
  CHECK_FALSE(spec.node_storage);
  CHECK_FALSE(spec.shared_storage);
  CHECK(spec.summary.empty());
}

TEST_CASE("the example of the manual is a system") {
  std::ifstream in(source_dir() + "/paradl/help/systems.md");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  const std::string fence = "```yaml\n";
  const std::size_t start = page.find(fence) + fence.size();
  const SystemSpec spec = system_of(page.substr(start, page.find("```", start) - start));
  CHECK(spec.name == "example");
  CHECK(spec.levels.size() == 2);
}

TEST_CASE("a value without a unit is shown at its place") {
  CHECK(complaint_about_system(with("9 us", "9")) ==
        "error: cannot read `latency`\n"
        " --> test.yaml:8:36\n"
        "8 |   - {name: node, size: 4, latency: 9, bandwidth: 50 GB/s}\n"
        "  |                                    ^ write a time, such as `500 ns`\n");
}

TEST_CASE("a misspelt key is one mistake: the intended key is not reported as missing") {
  const std::string out = complaint_about_system(with("bandwidth: 50", "bandwith: 50"));
  CHECK(mistakes(out) == 1);
  CHECK(says(out,
             "8 |   - {name: node, size: 4, latency: 9 us, bandwith: 50 GB/s}\n"
             "  |                                          ^^^^^^^^ did you mean `bandwidth`?\n"));
}

TEST_CASE("all mistakes of a file are reported at once, in order") {
  const std::string out = complaint_about_system(
      "name: [a]\n"
      "device: {name: d, memory: 16, memory-bandwidth: fast, peak: {fp33: 1 Tflop/s}}\n"
      "levels:\n"
      "  - {name: node, size: 0, latency: -1 us, bandwidth: 0 GB/s, ports: none}\n"
      "hosts: {}\n");
  CHECK(mistakes(out) == 10);  // and no more than ten
  CHECK(says(out, "error: `name` must be a single value\n"));
  CHECK(says(out, "error: cannot read `memory`\n"));
  CHECK(says(out, "error: cannot read `memory-bandwidth`\n"));
  CHECK(says(out, "error: `peak` names no precision\n"));
  CHECK(says(out, "did you mean `fp32`?\n"));
  CHECK(says(out, "error: `size` must be from 1 to 16777216\n"));
  CHECK(says(out, "error: cannot read `latency`\n"));
  CHECK(says(out, "error: `bandwidth` must be more than zero\n"));
  CHECK(says(out, "error: cannot read `ports`\n"));
  CHECK(says(out, "did you mean `host`?\n"));
}

TEST_CASE("a latency may be zero, a size may not") {
  CHECK(system_of(with("9 us", "0 us")).levels[0].latency == Seconds{});
  CHECK_FALSE(complaint_about_system(with("16 GiB", "0 GiB")).empty());
  CHECK_FALSE(complaint_about_system(with("50 GB/s", "0 GB/s")).empty());
  CHECK_FALSE(complaint_about_system(with("15.7 Tflop/s", "0 Tflop/s")).empty());
}

TEST_CASE("sizes of levels are whole numbers, and their product has a limit") {
  CHECK(says(complaint_about_system(with("size: 4", "size: 4.5")), "error: `size` must be a whole number\n"));
  CHECK(mistakes(complaint_about_system(with("size: 4", "size: four"))) == 1);
  CHECK(mistakes(complaint_about_system(with("size: 4", "size: 1e9"))) == 1);
  CHECK(complaint_about_system(with("size: 4", "size: 2097152")).empty());  // 2^21 * 8 = 2^24
  CHECK(says(complaint_about_system(with("size: 4", "size: 2097153")),
             "error: the sizes multiply to more than 16 M GPUs\n"));
}

TEST_CASE("levels are a list of one to eight, each with a name of its own") {
  const auto levels = [](int count, const std::string& name) {
    std::string list = "levels:\n";
    for (int i = 0; i < count; ++i)
      list += "  - {name: " + name + (name == "same" ? "" : std::to_string(i)) +
              ", size: 2, latency: 1 us, bandwidth: 1 GB/s}\n";
    return small.substr(0, small.find("levels:")) + list;
  };
  CHECK(complaint_about_system(levels(1, "level")).empty());
  CHECK(complaint_about_system(levels(8, "level")).empty());
  CHECK(says(complaint_about_system(levels(9, "level")),
             "`levels` must be a list of one to eight levels, innermost first"));
  CHECK(says(complaint_about_system(levels(2, "same")),
             "error: two levels are called `same`\n --> test.yaml:9:12\n"));
  const std::string nothing = small.substr(0, small.find("levels:"));
  CHECK(says(complaint_about_system(nothing), "error: a system file has no `levels`\n"));
  for (const std::string value : {"[]", "{}", "4", "", "{name: node}"}) {
    CAPTURE(value);
    CHECK(says(complaint_about_system(nothing + "levels: " + value + "\n"),
               "`levels` must be a list of one to eight levels"));
  }
}

TEST_CASE("missing names of levels are not reported as equal names") {
  const std::string nothing = small.substr(0, small.find("levels:"));
  const std::string out = complaint_about_system(nothing +
                                                 "levels:\n"
                                                 "  - {size: 2, latency: 1 us, bandwidth: 1 GB/s}\n"
                                                 "  - {size: 2, latency: 1 us, bandwidth: 1 GB/s}\n");
  CHECK(says(out, "error: a level has no `name`\n"));
  CHECK_FALSE(says(out, "two levels"));
}

TEST_CASE("ports and oversubscription are positive numbers") {
  CHECK(system_of(with("ports: 2", "ports: 0.5")).levels[1].ports == 0.5);  // one port for two nodes
  CHECK(system_of(with("ports: 2", "oversubscription: 3")).levels[1].oversubscription == 3);
  CHECK_FALSE(complaint_about_system(with("ports: 2", "ports: 0")).empty());
  CHECK_FALSE(complaint_about_system(with("ports: 2", "ports: -2")).empty());
  CHECK(says(complaint_about_system(with("ports: 2", "oversubscription: 0.5")),
             "error: `oversubscription` must be from 1 to 1000000\n"));
}

TEST_CASE("a level has either ports or oversubscription") {
  // `ports` is the number of ports of a unit; oversubscription divides the default number. With both, one of
  // them would be ignored.
  CHECK_FALSE(complaint_about_system(with("ports: 2", "ports: 2, oversubscription: 3")).empty());
}

TEST_CASE("a device must have a peak rate") {
  CHECK(says(complaint_about_system(with("  peak: {fp32: 15.7 Tflop/s, fp16: 125 Tflop/s}\n", "")),
             "error: `device` has no `peak`\n"));
  CHECK(says(complaint_about_system(with("{fp32: 15.7 Tflop/s, fp16: 125 Tflop/s}", "{}")),
             "error: `peak` names no precision\n"));
  CHECK(says(complaint_about_system(with("{fp32: 15.7 Tflop/s, fp16: 125 Tflop/s}", "15.7 Tflop/s")),
             "error: `peak` must be a mapping\n"));
}

TEST_CASE("an empty file is not a system") {
  for (const std::string text : {"", "\n", "# a comment\n"}) {
    CAPTURE(text);
    CHECK(says(complaint_about_system(text), "error: a system file must be a mapping\n"));
  }
}

TEST_CASE("--set replaces a value of the file") {
  CHECK(system_of(small, {{"device.memory", "32GiB"}}).device.memory == Bytes{32.0 * 1'073'741'824});
  CHECK(system_of(small, {{"device.peak.fp32", "10 Tflop/s"}}).device.peak[0] == FlopRate{10e12});
  CHECK(system_of(small, {{"name", "other"}}).name == "other");
  const SystemSpec two =
      system_of(small, {{"levels.node.size", "8"}, {"levels.machine.bandwidth", "25 GB/s"}});
  CHECK(two.levels[0].size == 8);
  CHECK(two.levels[1].bandwidth == Bandwidth{25e9});
  CHECK(system_of(small, {{"device.memory", "1 GiB"}, {"device.memory", "2 GiB"}}).device.memory ==
        Bytes{2.0 * 1'073'741'824});
}

TEST_CASE("--set adds a key that the file left out") {
  CHECK(system_of(small, {{"device.peak.bf16", "125 Tflop/s"}}).device.peak[std::size_t(Precision::bf16)] ==
        FlopRate{125e12});
  CHECK(system_of(small, {{"levels.node.ports", "2"}}).levels[0].ports == 2);
  CHECK(system_of(small, {{"summary", "changed"}}).summary == "changed");
}

TEST_CASE("--set creates the mapping around a key, and accepts a whole mapping") {
  CHECK(system_of(small, {{"congestion.factor", "1.4"}}).congestion->typical == 1.4);
  const SystemSpec two = system_of(small, {{"congestion.factor", "1.4"}, {"congestion.high", "3"}});
  CHECK(two.congestion->high == 3);
  const SystemSpec whole = system_of(small, {{"congestion", "{factor: 1.4, low: 1.2}"}});
  CHECK(whole.congestion->typical == 1.4);
  CHECK(whole.congestion->low == 1.2);
  // a cable with only one number has constant power
  CHECK(system_of(small, {{"levels.node.watts.idle", "8"}}).levels[0].watts->peak == 8);
  CHECK(system_of(small, {{"levels.node.watts", "{idle: 8, peak: 10}"}}).levels[0].watts->peak == 10);

  CHECK(complaint_about_system(small, {{"congestion", "{factor: 1.4"}}) ==
        "usage: --set congestion={factor: 1.4: cannot read the mapping\n"
        "help: write one such as 'congestion={factor: 1.4, high: 3}'\n");
  CHECK(complaint_about_system(small, {{"congestion.high", "3"}})
            .starts_with("usage: --set congestion.high=3: `congestion` has no `factor`"));
  CHECK(complaint_about_system(small, {{"congestoin.factor", "3"}}) ==
        "usage: --set congestoin.factor=3: unknown key `congestoin`\n"
        "help: did you mean `congestion`?\n");
}

TEST_CASE("--set can multiply a value of the file, and the measured values of a link with it") {
  CHECK(system_of(small, {{"device.memory", Factor{2}}}).device.memory ==
        2.0 * system_of(small).device.memory);
  CHECK(system_of(small, {{"levels.node.size", Factor{0.5}}}).levels[0].size ==
        system_of(small).levels[0].size / 2);
  const std::string measured = with(
      "latency: 9 us",
      "latency: 9 us, measured: [{operation: allreduce, from: 0 B, latency: 10 us, bandwidth: 40 GB/s}]");
  const SystemSpec twice =
      system_of(measured, {{"levels.node.bandwidth", Factor{2}}, {"levels.node.latency", Factor{0.5}}});
  REQUIRE(twice.levels[0].measured.size() == 1);
  CHECK(twice.levels[0].bandwidth == 2.0 * system_of(small).levels[0].bandwidth);
  CHECK(twice.levels[0].measured[0].bandwidth == Bandwidth{80e9});
  CHECK(twice.levels[0].measured[0].latency == Seconds{5e-6});
  CHECK(system_of(measured, {{"levels.node.bandwidth", "60 GB/s"}}).levels[0].measured.empty());

  CHECK(complaint([] { read_override("device.memory", "x"); }) ==
        "usage: --set device.memory=x: not a factor\n"
        "help: write x2 for twice the file's value, x0.5 for half\n");
  CHECK(complaint([] {
          read_override("device.memory", "x-2");
        }).starts_with("usage: --set device.memory=x-2: not a factor"));
  CHECK(complaint_about_system(small, {{"levels.node.ports", Factor{2}}}) ==
        "usage: --set levels.node.ports=x2: the file has no number to multiply\n"
        "help: write the value instead of a factor\n");
}

TEST_CASE("a wrong path in --set is a usage error") {
  CHECK(complaint_about_system(small, {{"levels.nodes.size", "4"}}) ==
        "usage: --set levels.nodes.size: the system file has no `nodes`\n"
        "help: write a path such as device.memory or levels.node.bandwidth\n");
  CHECK(complaint_about_system(small, {{"device.memory.size", "4"}}) ==
        "usage: --set device.memory.size: this is not a single value\n"
        "help: write a path such as device.memory or levels.node.bandwidth\n");
  CHECK(complaint_about_system(small, {{"device.memry", "1 GiB"}}) ==
        "usage: --set device.memry=1 GiB: unknown key `memry`\n"
        "help: did you mean `memory`?\n");
  for (const std::string path :
       {"", ".", "device.", "device..memory", "levels.0.size", "levels.size", "a.b.c", "levels"}) {
    CAPTURE(path);
    CHECK(complaint_about_system(small, {{path, "4"}}).starts_with("usage: --set"));
  }
}

TEST_CASE("a wrong value in --set is a usage error, not a mistake in the file") {
  const std::string out = complaint_about_system(small, {{"device.memory", "banana"}});
  CHECK(out.starts_with("usage: --set"));
  CHECK(says(out, "cannot read `memory`"));
  CHECK(says(out, "write a size, such as `16 GiB`"));
  CHECK(complaint_about_system(small, {{"levels.node.size", "4.5"}}).starts_with("usage: --set"));
  CHECK(complaint_about_system(small, {{"levels.node.ports", "none"}}).starts_with("usage: --set"));
}

TEST_CASE("a map in place of the list of levels is a usage error") {
  const std::string out = complaint_about_system(small, {{"levels", "{a: 1}"}});
  CHECK(out.starts_with("usage: --set"));
  CHECK(says(out, "`levels` must be a list"));
}

TEST_CASE("a mistake in the file is reported even if --set is right") {
  const std::string out = complaint_about_system(with("50 GB/s", "50"), {{"device.memory", "32 GiB"}});
  CHECK(says(out, " --> test.yaml:8:"));
  CHECK(mistakes(out) == 1);
}

TEST_CASE("a mistake in the file is reported before one in --set") {
  CHECK(mistakes(complaint_about_system(with("{name: node, ", "{"), {{"levels.node.size", "4"}})) == 1);
}

TEST_CASE("the number of multiprocessors is a positive whole number") {
  CHECK(says(complaint_about_system(with("  peak:", "  multiprocessors: 80.5\n  peak:")),
             "`multiprocessors` must be a whole number"));
}

}  // namespace
}  // namespace paradl
