#pragma once
#include <string>
#include <vector>

#include "calibrate/fit/link_points.hpp"
#include "paradl/spec/system_spec.hpp"

namespace paradl::calibrate {

/// What was found out about one level of links.
struct MeasuredLevel {
  std::string name;
  int size = 1;                  // units of the level below
  std::vector<LinkFit> fits;     // of this level
  bool keeps_specified = false;  // latency and bandwidth of a file stay as they are
};

/// What was measured, by level, innermost first; `nodes` says where each rank sat. A level within nodes is
/// left out where each has one rank, unless there is but one.
std::vector<MeasuredLevel> measured_levels(const std::vector<LinkPoint>& points,
                                           const std::vector<int>& nodes);
/// The same from logs, which name the ranks of each point only. Groups that span nodes with several ranks on
/// each belong to no level.
std::vector<MeasuredLevel> measured_levels(const std::vector<LinkPoint>& points);

/// Where numbers come from, for the comments beside them.
struct Provenance {
  std::string tool;  // "paradl-calibrate 0.1.0, Open MPI 4.1.4, 2 ranks on 1 node"
  std::string date;  // "2026-11-16", if it matters
};

/// The date of SOURCE_DATE_EPOCH if that is set, else today's, in UTC.
std::string today();

/// Latency and bandwidth of a level: those of the largest messages from point to point (or of the first
/// operation that was measured).
LineFit summary_line(const MeasuredLevel& level);

/// A whole system file of a machine that was measured.
struct MeasuredSystem {
  std::string name, summary;
  DeviceSpec device;
  std::vector<MeasuredLevel> levels;  // innermost first
};
/// A level of which nothing was measured (one rank has no links) gets a placeholder, and a comment that says
/// so.
std::string system_text(const MeasuredSystem& system, const Provenance& provenance);

/// An existing system file with the latency, bandwidth and `measured` of its levels replaced, innermost
/// first (or `measured` alone); levels without fits and all else stay as they are, comments too. UsageError
/// if it has fewer levels or writes them in a way that cannot be changed line by line.
std::string updated_system(const SourceText& existing, const std::vector<MeasuredLevel>& levels,
                           const Provenance& provenance);

/// Writes beside the file, then puts it in its place: nobody ever reads half of it. EnvironmentError if that
/// cannot be done.
void replace_file(const std::string& path, const std::string& text);

/// Makes the folder that a file is to be in, if there is none.
void make_folder_of(const std::string& path);

}  // namespace paradl::calibrate
