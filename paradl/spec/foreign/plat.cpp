#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/core/quantity.hpp"
#include "paradl/spec/foreign/formats.hpp"
#include "paradl/spec/foreign/text.hpp"

namespace paradl::foreign {
namespace {

enum class Entry { memory, speed, bandwidth, latency, gpus, gpus_per_node };

struct Row {
  std::string_view key, unit, example;
  double least, most;
  bool whole = false;
  bool or_zero = false;
};

constexpr double most_gpus = 1 << 24;  // as in a system file

// clang-format off
constexpr std::array rows{
    Row{.key = "MEM_PER_NODE", .unit = "Bytes",  .example = "16e9",   .least = 1,     .most = 1e18},
    Row{.key = "NODE_SPEED",   .unit = "FLOPS",  .example = "7.8E12", .least = 1,     .most = 1e21},
    Row{.key = "BANDWIDTH",    .unit = "Bps",    .example = "12.5E9", .least = 1,     .most = 1e18},
    Row{.key = "LATENCY",      .unit = "second", .example = "500E-9", .least = 1e-15, .most = 1e3, .or_zero = true},
    Row{.key = "MAX_NODE",     .unit = "GPUs",   .example = "4096",   .least = 1,     .most = most_gpus, .whole = true},
    Row{.key = "GPU_PER_NODE", .unit = "GPUs",   .example = "4",      .least = 1,     .most = most_gpus, .whole = true},
};
// clang-format on

/// The values by Entry, and the place of each.
struct Platform {
  std::array<std::optional<Field>, rows.size()> field;
  std::array<double, rows.size()> value{};

  double operator[](Entry entry) const { return value[std::size_t(entry)]; }
  int line(Entry entry) const { return field[std::size_t(entry)]->spot.line; }
};

std::string example_of(const Row& row) { return fmt::format("{}|{}|{}", row.key, row.example, row.unit); }

void read_value(const Row& row, const Line& line, double& value, Problems& problems) {
  const Field &number = line.fields[1], &unit = line.fields[2];
  if (lower(unit.text.substr(0, longest_name)) != lower(row.unit))
    problems.add(unit.spot, fmt::format("the unit of `{}` must be {}", row.key, row.unit),
                 fmt::format("write `{}`", example_of(row)));
  const auto read = read_real(number.text);
  if (!read)
    return problems.add(number.spot, "cannot read this number",
                        fmt::format("write one such as {}", row.example));
  const bool zero = row.or_zero && *read == 0;
  if (!zero && !(*read >= row.least && *read <= row.most))
    return problems.add(number.spot, fmt::format("`{}` is out of range", row.key),
                        fmt::format("write {} to {}", row.least, row.most));
  if (row.whole && *read != std::floor(*read))
    return problems.add(number.spot, fmt::format("`{}` must be a whole number", row.key),
                        fmt::format("write {} or {}", std::floor(*read), std::ceil(*read)));
  value = *read;
}

void read_line(const Line& line, Platform& platform, Problems& problems) {
  const Field& key = line.fields.front();
  const auto row = std::ranges::find(rows, key.text, &Row::key);
  if (row == rows.end()) {
    std::vector<std::string> known;
    for (const Row& each : rows) known.emplace_back(each.key);
    const std::string near = did_you_mean(key.text, known);
    return problems.add(key.spot, "unknown key of a platform",
                        near.empty() ? fmt::format("use {}", fmt::join(known, ", ")) : near);
  }
  const auto place = std::size_t(row - rows.begin());
  if (platform.field[place])
    return problems.add(key.spot, fmt::format("`{}` is given twice", row->key), "keep one of them");
  platform.field[place] = key;
  if (line.fields.size() != 3)
    return problems.add(key.spot, "this line is not a key, a value and a unit",
                        fmt::format("write `{}`", example_of(*row)));
  read_value(*row, line, platform.value[place], problems);
}

Platform read_platform(const SourceText& source) {
  Problems problems(source);
  Platform platform;
  for (const Line& line : read_lines(source.text))
    if (!problems.full()) read_line(line, platform, problems);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!platform.field[i])
      problems.add({1, 1, 1}, fmt::format("this platform has no `{}`", rows[i].key),
                   fmt::format("add a line such as `{}`", example_of(rows[i])));
  if (!problems.any() && platform[Entry::gpus] < platform[Entry::gpus_per_node])
    problems.add(platform.field[std::size_t(Entry::gpus)]->spot, "there are fewer GPUs than in one node",
                 "MAX_NODE counts the GPUs of the whole machine");
  problems.raise();
  return platform;
}

std::vector<std::string> warnings_of(const Platform& platform, double nodes) {
  std::vector<std::string> warnings;
  const double per_node = platform[Entry::gpus_per_node];
  if (nodes * per_node != platform[Entry::gpus])
    warnings.push_back(fmt::format("line {}: {} GPUs do not fill nodes of {}; using {} full nodes",
                                   platform.line(Entry::gpus), platform[Entry::gpus], per_node, nodes));
  constexpr double v100_fp64 = 7.8e12;
  if (platform[Entry::speed] == v100_fp64)
    warnings.push_back(
        fmt::format("line {}: 7.8 Tflop/s is the fp64 peak of a V100, whose fp32 peak is 15.7 Tflop/s; "
                    "using the file's number as the fp32 peak",
                    platform.line(Entry::speed)));
  warnings.emplace_back(
      "the file has no memory bandwidth; using 900 GB/s (V100). For another device edit `memory-bandwidth`");
  return warnings;
}

std::string system_file(const Platform& platform, double nodes, const std::string& name,
                        const std::string& file) {
  const double per_node = platform[Entry::gpus_per_node];
  const std::string link =
      fmt::format("latency: {}, bandwidth: {}", exact_text(Seconds{platform[Entry::latency]}),
                  exact_text(Bandwidth{platform[Entry::bandwidth]}));
  std::string out = fmt::format("# Imported from {} by paradl import.\n", file);
  out += fmt::format("name: {}\n", scalar(name));
  out += fmt::format("summary: {} nodes of {} GPUs, one kind of link\n", nodes, per_node);
  out += fmt::format("source: {}\n", scalar(file + ", a platform of the ParaDL authors' format"));
  out += "device:\n";
  out += "  name: GPU                       # not in the file\n";
  out += fmt::format("  memory: {}\n", exact_text(Bytes{platform[Entry::memory]}));
  out += "  memory-bandwidth: 900 GB/s      # not in the file: value of a V100\n";
  out += fmt::format("  peak: {{fp32: {}}}\n", exact_text(FlopRate{platform[Entry::speed]}));
  out += "levels:                           # the file has one kind of link, so both levels use it\n";
  out += fmt::format("  - {{name: node, size: {}, {}}}\n", per_node, link);
  out += fmt::format("  - {{name: cluster, size: {}, {}}}\n", nodes, link);
  return out;
}

}  // namespace

bool is_platform_key(std::string_view word) { return std::ranges::find(rows, word, &Row::key) != rows.end(); }

Imported import_platform(const SourceText& source, const ImportOptions& options) {
  const Platform platform = read_platform(source);
  const double nodes = std::floor(platform[Entry::gpus] / platform[Entry::gpus_per_node]);
  Imported result{.kind = Imported::Kind::system};
  result.name = result_name(options.name, stem_name(source.file));
  result.yaml = system_file(platform, nodes, result.name, base_name(source.file));
  result.summary =
      fmt::format("Read a platform of {} nodes with {} GPUs each.", nodes, platform[Entry::gpus_per_node]);
  result.warnings = warnings_of(platform, nodes);
  return result;
}

}  // namespace paradl::foreign
