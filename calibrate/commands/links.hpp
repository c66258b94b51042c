#pragma once
#include <optional>
#include <string>
#include <vector>

#include "calibrate/commands/bench.hpp"
#include "calibrate/measure/kept.hpp"
#include "calibrate/measure/links.hpp"
#include "paradl/console/session.hpp"
#include "paradl/report/formats.hpp"

namespace paradl::calibrate {

/// The system file that links are written to, by default systems/NAME.yaml.
struct LinkTarget {
  std::string name, path;
  std::optional<SystemSpec> existing;  // the file of this name, here or in the catalogue
};
LinkTarget find_target(const Session& session, const std::string& name, const std::string& path);

/// Measures links on all ranks. It continues from the points of an interrupted run, and keeps its own if it
/// is interrupted.
LinkMeasurement run_links(const Session& session, const Bench& bench, LinkOptions options, const Kept& kept);

/// The text of the target: the existing file with new levels, or a new one with this device.
std::string target_text(const LinkTarget& target, std::vector<MeasuredLevel> levels,
                        const std::optional<DeviceSpec>& device, const Provenance& provenance);

/// Links that were written to a file.
struct LinkReport {
  LinkTarget target;
  std::vector<LinkPoint> points;
  std::vector<MeasuredLevel> levels;
};
/// Refers to the report, which must outlive it.
Output links_answer(const Session& session, const LinkReport& report);

/// One line for each level: " node   alpha = 1.2 us +- 0.1 us, 1/beta = 10 GB/s +- 2 %  (r2 = 0.998)".
std::string links_summary(const std::vector<MeasuredLevel>& levels);

/// Warns on stderr about fits that are unreliable: noisy, with few points, or without a bandwidth.
void warn_of_links(const Session& session, const std::vector<LinkFit>& fits);

}  // namespace paradl::calibrate
