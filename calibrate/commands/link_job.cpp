#include "calibrate/commands/link_job.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/commands/interrupt.hpp"
#include "calibrate/commands/progress.hpp"
#include "paradl/core/format.hpp"
#include "paradl/core/units.hpp"

namespace paradl::calibrate {
namespace {

/// What rank 0 has, on all ranks: not every node need see its file.
std::vector<LinkPoint> from_first(Communicator& ranks, std::vector<LinkPoint> points) {
  const auto first = [&](double mine) { return ranks.gather(mine).front(); };
  constexpr std::array levels{level_node, level_between, level_all};
  points.resize(std::size_t(first(double(points.size()))));
  for (LinkPoint& p : points) {
    const auto level = std::ranges::find(levels, std::string_view(p.level)) - levels.begin();
    p.operation = LinkOperation(int(first(double(p.operation))));
    p.level = levels[std::min(std::size_t(first(double(level))), levels.size() - 1)];
    p.ranks = int(first(p.ranks));
    p.bytes = Bytes{first(p.bytes.base())};
    p.seconds = Seconds{first(p.seconds.base())};
    p.noise = first(p.noise);
  }
  return points;
}

}  // namespace

LinkTarget find_target(const Session& session, const std::string& name, const std::string& path) {
  std::error_code failed;
  const bool is_path = name.find('/') != name.npos || name.ends_with(".yaml");
  if (!is_path) check_name(name);
  LinkTarget out{.name = is_path ? std::filesystem::path(name).stem().string() : name,
                 .path = !path.empty() ? path
                         : is_path     ? name
                                       : fmt::format("systems/{}.yaml", name)};
  if (std::filesystem::exists(out.path, failed))
    out.existing = read_source(out.path);
  else if (const auto known = session.catalog.names("systems");
           path.empty() && std::ranges::find(known, name) != known.end())
    out.existing = session.catalog.find("systems", name);
  if (out.existing) read_system(*out.existing);  // what cannot be read is told before anything is measured
  return out;
}

LinkMeasurement run_links(const Session& session, const Bench& bench, LinkOptions options,
                          const KeptPoints& kept) {
  Communicator& ranks = bench.between_devices();
  Progress progress(session, bench.speaks());
  options.progress = [&](double share) { progress.show("links", share); };
  if (bench.links) options.allocate = [&](std::size_t items) { return bench.device->allocate(items); };
  options.stop = interrupted;
  options.known = from_first(ranks, bench.speaks() ? kept.read() : std::vector<LinkPoint>{});
  LoadWatch watch;
  watch.look();
  auto out = measure_links(ranks, options);
  watch.look();
  progress.clear();
  if (!bench.speaks()) return out;
  for (const std::string& warning : watch.warnings()) hint(session, "warning: " + warning);
  if (out.interrupted) {
    kept.write(out.points);
    hint(session, fmt::format("interrupted: what was measured is in {}, and the next run goes on from there",
                              kept.path()));
  } else {
    warn_of_links(session, fit_links(out.points));
  }
  return out;
}

std::string target_text(const LinkTarget& target, std::vector<MeasuredLevel> levels,
                        const std::optional<DeviceSpec>& device, const Provenance& provenance) {
  if (target.existing) {
    // One rank a node says nothing about the links within.
    const SystemSpec spec = read_system(*target.existing);
    if (levels.size() < spec.levels.size() && !levels.empty() && levels.front().name == level_between)
      levels.insert(levels.begin(), MeasuredLevel{.name = std::string(level_node), .size = 1, .fits = {}});
    return updated_system(*target.existing, levels, provenance);
  }
  if (!device)
    throw UsageError(fmt::format("there is no {} yet, and logs say nothing about the device", target.path),
                     "write its `device` and `levels` first (`paradl help systems`), then run this again");
  return system_text({.name = target.name, .summary = "", .device = *device, .levels = levels}, provenance);
}

std::string ranks_text(const std::vector<int>& nodes) {
  const auto count = std::size_t(1 + *std::ranges::max_element(nodes));
  return fmt::format("{} rank{} on {} node{}", nodes.size(), nodes.size() == 1 ? "" : "s", count,
                     count == 1 ? "" : "s");
}

Provenance provenance_of(const Bench& bench) {
  return {fmt::format("paradl-calibrate {}, {}, {}", PARADL_VERSION, bench.device->facts().libraries,
                      ranks_text(bench.ranks->nodes())),
          today()};
}

Table links_table(const std::vector<LinkFit>& fits) {
  Table table{.columns = {{"level", "level", Holds::text, 9},
                          {"operation", "operation", Holds::text, 9},
                          {"ranks", "ranks", Holds::count, 5},
                          {"from", "from", Holds::message, 8},
                          {"below", "below", Holds::message, 8},
                          {"alpha", "alpha", Holds::seconds, 9},
                          {"alpha_interval", "±", Holds::seconds, 7},
                          {"bandwidth", "1/beta", Holds::bandwidth, 9},
                          {"beta_interval", "±", Holds::share, 7},
                          {"mean_error", "off", Holds::share, 6},
                          {"worst_error", "at most", Holds::share, 6},
                          {"r2", "r2", Holds::text, 5}}};
  for (const LinkFit& fit : fits)
    for (const RangeFit& range : fit.ranges) {
      const LineFit& line = range.line;
      const bool has_beta = line.beta.value > 0;
      table.rows.push_back(
          {.values = {fit.level, std::string(link_operation_names[std::size_t(fit.operation)]),
                      double(std::ranges::max(fit.ranks)), range.from,
                      std::isfinite(range.below) ? Value{range.below} : Value{}, line.alpha.value,
                      line.alpha.interval(), has_beta ? Value{1 / line.beta.value} : Value{},
                      has_beta ? Value{line.beta.interval() / line.beta.value} : Value{}, line.mean_error,
                      line.worst_error, fmt::format("{:.4f}", line.r2)}});
    }
  return table;
}

std::string links_summary(const std::vector<MeasuredLevel>& levels) {
  std::string out;
  for (const MeasuredLevel& level : levels) {
    if (level.fits.empty()) continue;
    const LineFit line = summary_line(level);
    const double beta = std::max(line.beta.value, 1e-30);
    out += fmt::format(" {:8} alpha = {} +- {}, 1/beta = {} +- {}   (r2 = {:.3f})\n", level.name,
                       text(Seconds{line.alpha.value}), text(Seconds{line.alpha.interval()}),
                       text(Bandwidth{1 / beta}), percent(line.beta.interval() / beta), line.r2);
  }
  return out;
}

void warn_of_links(const Session& session, const std::vector<LinkFit>& fits) {
  constexpr double far_off = 0.2;
  constexpr std::size_t few = 6;
  std::vector<std::string> off, short_of, flat;
  for (const LinkFit& fit : fits) {
    std::size_t points = 0;
    for (const RangeFit& range : fit.ranges) points += range.line.points;
    const std::string name =
        fmt::format("{} ({})", link_operation_names[std::size_t(fit.operation)], fit.level);
    if (points < few) short_of.push_back(name);
    if (points >= few && fit.mean_error > far_off) off.push_back(name);
    if (!rises(fit)) flat.push_back(name);
  }
  if (!off.empty())
    hint(session,
         fmt::format("warning: measured times scatter by more than 20 % around the fit of {}; another "
                     "process may be using the machine",
                     fmt::join(off, ", ")));
  if (!flat.empty())
    hint(session,
         fmt::format(
             "warning: {} did not take longer with larger buffers, so that no bandwidth can be "
             "told; nothing of it is written: measure again on a calm machine, or with a larger --max-size",
             fmt::join(flat, ", ")));
  if (!short_of.empty())
    hint(session, fmt::format("warning: there was time for few sizes of {}. Give it more: --time 120s, or "
                              "fewer --operations",
                              fmt::join(short_of, ", ")));
}

Bytes read_bytes(const std::string& name, const std::string& text) {
  if (const auto size = parse<Bytes>(text); size && *size >= Bytes{8}) return *size;
  throw UsageError(fmt::format("--{} {}: not a size", name, text), fmt::format("write --{} 16MB", name));
}

}  // namespace paradl::calibrate
