#include "calibrate/files/published_links.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/spec/csv.hpp"

namespace paradl::calibrate {
namespace {

constexpr std::array<std::string_view, 8> columns{"source", "system", "interconnect", "collective",
                                                  "gpus",   "nodes",  "bytes",        "time_us"};

std::optional<Collective> operation_of(std::string_view word) {
  if (word == "all_reduce") return Collective::allreduce;
  if (word == "all_gather") return Collective::allgather;
  if (word == "reduce_scatter") return Collective::reduce_scatter;
  if (word == "all_to_all") return Collective::all_to_all;
  if (word == "send_recv") return Collective::point_to_point;
  return {};
}

/// The cells of a row by column; problems are reported with the line.
class Row {
 public:
  Row(const std::vector<std::string>& header, const CsvLine& line, Problems& problems)
      : header_(header), line_(line), problems_(problems) {}

  std::string text(std::string_view column) const {
    const auto at = std::size_t(std::ranges::find(header_, column) - header_.begin());
    return at < line_.cells.size() ? line_.cells[at].text : "";
  }
  double positive(std::string_view column) const {
    const std::string word = text(column);
    double value = 0;
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (failed == std::errc{} && end == word.data() + word.size() && std::isfinite(value) && value > 0)
      return value;
    problems_.add({.line = line_.number, .column = 1},
                  fmt::format("`{}` is not a number for `{}`", word, column), "write a number above zero");
    return 1;
  }
  int count(std::string_view column, int least) const {
    const double value = positive(column);
    if (value == std::floor(value) && value >= least && value <= 1 << 24) return int(value);
    problems_.add({.line = line_.number, .column = 1},
                  fmt::format("`{}` must be a whole number of at least {}", column, least),
                  fmt::format("write {} or more, up to {}", least, 1 << 24));
    return least;
  }

 private:
  const std::vector<std::string>& header_;
  const CsvLine& line_;
  Problems& problems_;
};

void check_header(const std::vector<std::string>& header, Problems& problems) {
  if (header.empty()) problems.add({.line = 1, .column = 1}, "the table is empty");
  problems.raise();
  std::vector<std::string_view> missing;
  for (const std::string_view column : columns)
    if (std::ranges::find(header, column) == header.end()) missing.push_back(column);
  if (!missing.empty())
    problems.add({.line = 1, .column = 1},
                 fmt::format("no column{} {}", missing.size() > 1 ? "s" : "", fmt::join(missing, ", ")),
                 fmt::format("the first line names the columns: {}", fmt::join(columns, ",")));
  problems.raise();
}

std::vector<Observation> every_second_size(const std::vector<Observation>& points, std::size_t which) {
  std::set<double> sizes;
  for (const Observation& o : points) sizes.insert(o.size);
  std::vector<Observation> out;
  for (const Observation& o : points)
    if (std::size_t(std::distance(sizes.begin(), sizes.find(o.size))) % 2 == which) out.push_back(o);
  return out;
}

KernelErrors errors_on(const std::vector<Observation>& points, const auto& fitted) {
  std::vector<double> predicted, measured;
  for (const Observation& o : points) predicted.push_back(fitted(o)), measured.push_back(o.seconds);
  return errors_of(predicted, measured);
}

/// A whole percentage, or one digit below ten.
std::string percentage(double share) { return fmt::format("{:.{}f} %", 100 * share, share < 0.0995 ? 1 : 0); }

void check_group(const PublishedCurve& curve, const SystemSpec& spec) {
  const MeasuredGroup& group = curve.group;
  const std::string name = fmt::format("{}: {}", curve.system, name_of(curve));
  if (group.nodes == 0)
    throw UsageError(fmt::format("{}: the table does not state the number of nodes", name),
                     "fill in `nodes`, or leave the curve out with --only");
  if (group.gpus % group.nodes != 0)
    throw UsageError(fmt::format("{}: the GPUs cannot be divided equally among the nodes", name),
                     "leave the curve out with --only");
  if (group.per_node() > spec.levels.front().size)
    throw UsageError(fmt::format("{}: a node of {} has {} GPUs", name, spec.name, spec.levels.front().size),
                     "choose curves of nodes of that size with --only");
  if (group.nodes > 1 && spec.levels.size() < 2)
    throw UsageError(fmt::format("{}: {} has one level only", name, spec.name),
                     "add the level between nodes to the file, or choose curves with --only");
}

/// The curve of one row, with its point, and a key that is equal for all rows of the curve.
std::pair<std::string, PublishedCurve> curve_of(const Row& row, Collective operation) {
  PublishedCurve curve{.source = row.text("source"),
                       .system = row.text("system"),
                       .interconnect = row.text("interconnect"),
                       .operation = operation,
                       .group = {.gpus = row.count("gpus", 2), .nodes = 0},
                       .points = {}};
  if (!row.text("nodes").empty()) curve.group.nodes = row.count("nodes", 1);
  const double share = row.positive("bytes");
  const double whole = operation == Collective::allgather ? share * curve.group.gpus : share;
  curve.points.push_back(observation({.operation = operation,
                                      .ranks = curve.group.gpus,
                                      .bytes = Bytes{whole},
                                      .seconds = Seconds{1e-6 * row.positive("time_us")}}));
  return {fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", curve.source, curve.system, curve.interconnect,
                      row.text("algo_note"), row.text("collective"), curve.group.gpus, curve.group.nodes),
          std::move(curve)};
}

}  // namespace

std::size_t PublishedCurve::sizes() const {
  std::set<double> sizes;
  for (const Observation& o : points) sizes.insert(o.size);
  return sizes.size();
}

std::string name_of(const PublishedCurve& curve) {
  const MeasuredGroup& group = curve.group;
  return fmt::format("{} on {} GPUs{}", collective_names[std::size_t(curve.operation)], group.gpus,
                     group.nodes == 0   ? ""
                     : group.nodes == 1 ? " of one node"
                                        : fmt::format(" of {} nodes", group.nodes));
}

PublishedLinks read_published_links(const SourceText& table) {
  Problems problems(table);
  PublishedLinks out;
  std::vector<std::string> header, keys;  // of the curves
  const CsvFile file = read_csv(table.text, problems);
  for (const CsvCell& cell : file.header.cells) header.push_back(cell.text);
  check_header(header, problems);
  for (const CsvLine& line : file.lines) {
    if (line.cells.size() < header.size()) {
      problems.add({.line = line.number, .column = 1},
                   fmt::format("{} fields, but {} columns", line.cells.size(), header.size()));
      continue;
    }
    const Row row(header, line, problems);
    const auto operation = operation_of(row.text("collective"));
    if (!operation || row.text("bytes").empty() || row.text("time_us").empty()) {
      ++out.skipped;
      continue;
    }
    auto [key, curve] = curve_of(row, *operation);
    const auto known = std::size_t(std::ranges::find(keys, key) - keys.begin());
    if (known < keys.size()) {
      out.curves[known].points.push_back(curve.points.front());
    } else {
      keys.push_back(key);
      out.curves.push_back(std::move(curve));
    }
    if (problems.full()) break;
  }
  if (out.curves.empty() && !problems.any())
    problems.add({.line = 1, .column = 1}, "the table has no times of collectives",
                 "`collective` is all_reduce, all_gather, reduce_scatter, all_to_all or send_recv");
  problems.raise();
  return out;
}

std::optional<CurveFit> fit_curve(const PublishedCurve& curve, const RangeOptions& options) {
  const std::size_t sizes = curve.sizes();
  if (sizes < options.least_sizes) return {};
  CurveFit out{.curve = curve, .ranges = fit_ranges(curve.points, options), .errors = {}, .left_out = {}};
  out.errors = errors_on(curve.points, [&](const Observation& o) { return fitted_seconds(out.ranges, o); });
  if (sizes >= 2 * options.least_sizes) {
    const std::array halves{every_second_size(curve.points, 0), every_second_size(curve.points, 1)};
    const std::array fits{fit_ranges(halves[0], options), fit_ranges(halves[1], options)};
    std::vector<double> predicted, measured;
    for (const std::size_t half : {0u, 1u})
      for (const Observation& o : halves[half])
        predicted.push_back(fitted_seconds(fits[1 - half], o)), measured.push_back(o.seconds);
    out.left_out = errors_of(predicted, measured);
  }
  return out;
}

std::string quality_of(const CurveFit& fit) {
  std::string out = fmt::format("{} sizes, median {}, nine in ten within {}", fit.curve.sizes(),
                                percentage(fit.errors.median), percentage(fit.errors.ninetieth));
  if (fit.left_out)
    out += fmt::format("; on sizes left out {} and {}", percentage(fit.left_out->median),
                       percentage(fit.left_out->ninetieth));
  return out;
}

bool predicts(const CurveFit& fit) { return fit.left_out.value_or(fit.errors).median <= 0.2; }

std::string with_published_links(const SystemSpec& system, const std::vector<CurveFit>& fits) {
  std::vector<MeasuredLevel> levels{{.level = GroupLevel::node, .fits = {}, .keeps_specified = true},
                                    {.level = GroupLevel::cluster, .fits = {}, .keeps_specified = true}};
  for (const CurveFit& fit : fits) {
    if (!predicts(fit)) continue;
    const PublishedCurve& curve = fit.curve;
    check_group(curve, system);
    auto& own = levels[curve.group.nodes > 1 ? 1 : 0].fits;
    for (const LinkFit& other : own)
      if (other.operation == curve.operation && other.group == curve.group)
        throw UsageError(fmt::format("two curves have the same group, {}: {}; {}", name_of(curve),
                                     other.origin, fmt::format("{}, {}", curve.source, curve.system)),
                         "choose one with --only");
    own.push_back({.operation = curve.operation,
                   .level = levels[curve.group.nodes > 1 ? 1 : 0].level,
                   .ranks = {curve.group.gpus},
                   .ranges = fit.ranges,
                   .mean_error = 0,
                   .group = curve.group,
                   .origin = fmt::format("{}, {}", curve.source, curve.system),
                   .quality = quality_of(fit)});
  }
  return updated_system(system, levels, {.tool = "paradl-calibrate fit links", .date = ""});
}

}  // namespace paradl::calibrate
