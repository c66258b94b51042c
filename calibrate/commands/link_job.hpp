#pragma once
#include <optional>
#include <string>
#include <vector>

#include "calibrate/commands/bench.hpp"
#include "calibrate/files/system_file.hpp"
#include "calibrate/measure/kept_points.hpp"
#include "calibrate/measure/links.hpp"
#include "paradl/console/session.hpp"

namespace paradl::calibrate {

/// Where links are written: systems/NAME.yaml, and the file that is there already.
struct LinkTarget {
  std::string name, path;
  std::optional<SourceText> existing;  // of this name, here or in the catalogue
};
LinkTarget find_target(const Session& session, const std::string& name, const std::string& path);

/// Measures links on all ranks, with a line of progress; goes on from what an interrupted run kept, and keeps
/// what it has if it is interrupted itself.
LinkMeasurement run_links(const Session& session, const Bench& bench, LinkOptions options,
                          const KeptPoints& kept);

/// The text of the target: its own with the levels changed, or a new one with this device.
std::string target_text(const LinkTarget& target, std::vector<MeasuredLevel> levels,
                        const std::optional<DeviceSpec>& device, const Provenance& provenance);

/// Ours: the program, the libraries, the ranks and their nodes.
Provenance provenance_of(const Bench& bench);

/// "2 ranks on 1 node".
std::string ranks_text(const std::vector<int>& nodes);

/// A row for each range of sizes.
Table links_table(const std::vector<LinkFit>& fits);
/// What is said of each level in a line: " node   α = 1.2 us ± 0.1 us, 1/β = 10 GB/s ± 2 %  (r² = 0.998)".
std::string links_summary(const std::vector<MeasuredLevel>& levels);

/// Says on stderr which fits cannot be relied on: points that no line goes through, or too few of them.
void warn_of_links(const Session& session, const std::vector<LinkFit>& fits);

/// `256MB` for option `name`. UsageError otherwise.
Bytes read_bytes(const std::string& name, const std::string& text);

}  // namespace paradl::calibrate
