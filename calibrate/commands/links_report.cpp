#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "calibrate/commands/links.hpp"
#include "paradl/core/format.hpp"
#include "paradl/report/json.hpp"

namespace paradl::calibrate {
namespace {

/// A row for each range of sizes.
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
          {.values = {name_of(fit.level), std::string(collective_names[std::size_t(fit.operation)]),
                      double(std::ranges::max(fit.ranks)), range.from,
                      std::isfinite(range.below) ? Value{range.below} : Value{}, line.alpha.value,
                      line.alpha.interval(), has_beta ? Value{1 / line.beta.value} : Value{},
                      has_beta ? Value{line.beta.interval() / line.beta.value} : Value{}, line.mean_error,
                      line.worst_error, fmt::format("{:.4f}", line.r2)}});
    }
  return table;
}

nlohmann::ordered_json fit_json(const LinkFit& fit) {
  nlohmann::ordered_json out{{"level", name_of(fit.level)},
                             {"operation", collective_names[std::size_t(fit.operation)]},
                             {"ranks", fit.ranks},
                             {"mean_error", fit.mean_error},
                             {"ranges", nlohmann::ordered_json::array()}};
  for (const RangeFit& range : fit.ranges) {
    const LineFit& line = range.line;
    nlohmann::ordered_json item{{"from_bytes", range.from}};
    if (std::isfinite(range.below)) item["below_bytes"] = range.below;
    item["alpha_s"] = line.alpha.value;
    item["alpha_interval_s"] = line.alpha.interval();
    item["beta_s_per_byte"] = line.beta.value;
    item["beta_interval_s_per_byte"] = line.beta.interval();
    item["mean_error"] = line.mean_error;
    item["worst_error"] = line.worst_error;
    item["r2"] = line.r2;
    item["points"] = line.points;
    item["outliers"] = line.outliers;
    out["ranges"].push_back(std::move(item));
  }
  return out;
}

}  // namespace

Output links_answer(const Session& session, const LinkReport& report) {
  const auto fits = std::make_shared<const std::vector<LinkFit>>(fit_links(report.points));
  const auto text = [&report, fits](const Style& style) {
    const LinkTarget& target = report.target;
    return fmt::format(
        "Wrote {}\n{}\n{}\nalpha and beta are those of one message in the operation's ring; ± are 95 % "
        "confidence "
        "intervals.\n"
        "Use it: paradl project MODEL --on {}\n",
        target.path, links_summary(report.levels), to_text(links_table(*fits), style).text,
        target.path == fmt::format("systems/{}.yaml", target.name) ? target.name : target.path);
  };
  const auto json = [&session, &report, fits] {
    nlohmann::ordered_json out = json_header("paradl.links/1", session.arguments, {});
    out["file"] = report.target.path;
    out["results"] = nlohmann::ordered_json::array();
    for (const LinkFit& fit : *fits) out["results"].push_back(fit_json(fit));
    out["points"] = points_json(report.points);
    return out;
  };
  return {.text = text, .table = [fits](ReadBy) { return links_table(*fits); }, .json = json};
}

std::string links_summary(const std::vector<MeasuredLevel>& levels) {
  std::string out;
  for (const MeasuredLevel& level : levels) {
    if (level.fits.empty()) continue;
    const LineFit line = summary_line(level);
    const double beta = std::max(line.beta.value, 1e-30);
    out += fmt::format(" {:8} alpha = {} +- {}, 1/beta = {} +- {}   (r2 = {:.3f})\n", name_of(level.level),
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
        fmt::format("{} ({})", collective_names[std::size_t(fit.operation)], name_of(fit.level));
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
             "warning: {} did not take longer with larger buffers, so its bandwidth is unknown and is not "
             "written; measure again while the machine is idle, or with a larger --max-size",
             fmt::join(flat, ", ")));
  if (!short_of.empty())
    hint(session, fmt::format("warning: there was time for only a few sizes of {}; use --time 120s, or "
                              "fewer --operations",
                              fmt::join(short_of, ", ")));
}

}  // namespace paradl::calibrate
