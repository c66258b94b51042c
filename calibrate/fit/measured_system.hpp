#pragma once
#include <string>
#include <vector>

#include "calibrate/fit/link_points.hpp"
#include "paradl/spec/system_spec.hpp"

namespace paradl::calibrate {

/// The measurements of one level of links.
struct MeasuredLevel {
  GroupLevel level = GroupLevel::node;  // `all` is not one of a system file
  int size = 1;                         // units of the level below
  std::vector<LinkFit> fits;
  bool keeps_specified = false;  // an update of a file leaves its latency and bandwidth as they are
};

/// Measured levels, innermost first; `nodes` is the node of each rank. The level within nodes is left out if
/// every node has one rank, unless there is only one node.
std::vector<MeasuredLevel> measured_levels(const std::vector<LinkPoint>& points,
                                           const std::vector<int>& nodes);
/// The same from logs, which state only the number of ranks of each point. Groups that span nodes with
/// several ranks on each belong to neither level.
std::vector<MeasuredLevel> measured_levels(const std::vector<LinkPoint>& points);

/// Latency and bandwidth of a level: the line of the largest point-to-point messages, or else of the first
/// operation that was measured.
LineFit summary_line(const MeasuredLevel& level);

/// A measured machine.
struct MeasuredSystem {
  std::string name, summary;
  DeviceSpec device;
  std::vector<MeasuredLevel> levels;  // innermost first
};

/// Fits as values of a system file, within the limits that a file allows. System files and rehearsals both
/// get their numbers here.
MeasuredLinkSpec link_spec(const LinkFit& fit, const RangeFit& range);
/// A level without measurements (one rank has no links) gets placeholders.
LevelSpec level_spec(const MeasuredLevel& level);
SystemSpec system_spec(const MeasuredSystem& system);

}  // namespace paradl::calibrate
