// paradl-calibrate fit links: alpha and beta of collectives whose times others published -> systems/.
#include "calibrate/commands/fit_links.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/commands/links.hpp"
#include "calibrate/files/published_links.hpp"
#include "calibrate/files/replace_file.hpp"
#include "paradl/core/format.hpp"
#include "paradl/core/text.hpp"

namespace paradl::calibrate {
namespace {

PublishedLinks read_all(const std::vector<std::string>& from) {
  PublishedLinks out;
  for (const std::string& path : from) {
    const auto table = std::filesystem::is_directory(path) ? std::filesystem::path(path) / "comm_measured.csv"
                                                           : std::filesystem::path(path);
    PublishedLinks more = read_published_links(read_source(table.string()));
    std::ranges::move(more.curves, std::back_inserter(out.curves));
    out.skipped += more.skipped;
  }
  return out;
}

std::vector<PublishedCurve> chosen(std::vector<PublishedCurve> curves, const std::vector<std::string>& only) {
  const auto has = [](const PublishedCurve& curve, const std::string& word) {
    return curve.source.find(word) != word.npos || curve.system.find(word) != word.npos ||
           curve.interconnect.find(word) != word.npos;
  };
  for (const std::string& word : only)
    if (std::ranges::none_of(curves, [&](const PublishedCurve& curve) { return has(curve, word); })) {
      std::vector<std::string> systems;
      for (const PublishedCurve& curve : curves)
        if (std::ranges::find(systems, curve.system) == systems.end()) systems.push_back(curve.system);
      throw UsageError(
          fmt::format("--only {}: no curve has that in its source, system or interconnect", word),
          fmt::format("there are: {}", fmt::join(systems, "; ")));
    }
  std::erase_if(curves, [&](const PublishedCurve& curve) {
    return !only.empty() &&
           std::ranges::none_of(only, [&](const std::string& word) { return has(curve, word); });
  });
  return curves;
}

std::string fit_text(const CurveFit& fit) {
  std::string out = fmt::format("{}\n  {}\n", name_of(fit.curve), quality_of(fit));
  for (const RangeFit& range : fit.ranges) {
    const Estimate& beta = range.line.beta;
    out += fmt::format(
        "  {:>9} ..{:<9} alpha {:>8}  1/beta {:>9}  {:3} points, {:.1f} % off on average\n",
        decimal(Bytes{range.from}), std::isfinite(range.below) ? " " + decimal(Bytes{range.below}) : "",
        text(Seconds{range.line.alpha.value}), beta.value > 0 ? text(Bandwidth{1 / beta.value}) : "none",
        range.line.points, 100 * range.line.mean_error);
  }
  return out;
}

std::string where(const PublishedCurve& curve) {
  return fmt::format("{}, {}, {}", curve.source, curve.system, curve.interconnect);
}

std::string summary(const std::vector<CurveFit>& fits, std::size_t skipped) {
  std::string out;
  if (!fits.empty()) {
    const auto median = [](const CurveFit& fit) { return fit.errors.median; };
    const CurveFit& worst = *std::ranges::max_element(fits, {}, median);
    out = fmt::format("{} curve{}, largest median error {:.1f} % ({}, {}).\n", fits.size(),
                      fits.size() == 1 ? "" : "s", 100 * worst.errors.median, name_of(worst.curve),
                      worst.curve.system);
  }
  if (skipped > 0)
    out += fmt::format("{} row{} skipped, because they are not times of collectives.\n", skipped,
                       skipped == 1 ? "" : "s");
  return out;
}

}  // namespace

int fit_published_links(const Session& session, const LinkFitWords& words) {
  PublishedLinks links = read_all(words.from);
  std::vector<CurveFit> fits;
  std::string out, last, short_of;
  for (const PublishedCurve& curve : chosen(std::move(links.curves), words.only)) {
    const auto fit = fit_curve(curve);
    if (!fit) {
      short_of += fmt::format("Not fitted: {}, {} ({} size{}; a line needs three).\n", where(curve),
                              name_of(curve), curve.sizes(), curve.sizes() == 1 ? "" : "s");
      continue;
    }
    if (where(curve) != last) out += fmt::format("{}{}\n", last.empty() ? "" : "\n", where(curve));
    last = where(curve);
    out += fit_text(*fit);
    fits.push_back(*fit);
  }
  print(fmt::format("{}{}{}{}", out, out.empty() ? "" : "\n", short_of, summary(fits, links.skipped)));
  if (fits.empty()) throw UsageError("no curve can be fitted", "a line needs times of at least three sizes");
  if (words.to.empty()) return answered;

  const LinkTarget target = find_target(session, words.to, "");
  if (!target.existing)
    throw UsageError(
        fmt::format("{} does not exist, and these tables do not describe its device", target.path),
        "write its `device` and `levels` first (`paradl help systems`), then run this again");
  for (const CurveFit& fit : fits)
    if (!predicts(fit))
      print(fmt::format("Not written: {}, {} (median error on left-out sizes {}).\n", where(fit.curve),
                        name_of(fit.curve), percent(fit.left_out.value_or(fit.errors).median)));
  const std::string text = with_published_links(*target.existing, fits);
  if (!words.dry_run) replace_file(target.path, text);
  print(fmt::format("{} {}\n", words.dry_run ? "Would write" : "Wrote", target.path));
  return answered;
}

}  // namespace paradl::calibrate
