#pragma once
#include <string>
#include <vector>

#include "calibrate/fit/measured_system.hpp"

namespace paradl::calibrate {

/// The source of measured numbers, for comments in files.
struct Provenance {
  std::string tool;  // "paradl-calibrate 0.1.0, Open MPI 4.1.4, 2 ranks on 1 node"
  std::string date;  // "2026-11-16", if it matters
};

/// The date of SOURCE_DATE_EPOCH if that is set, else today's, in UTC.
std::string today();

/// The system file of a measured machine, with the quality of each fit in comments.
std::string system_text(const MeasuredSystem& system, const Provenance& provenance);

/// An existing system file with new latency, bandwidth and `measured` (or `measured` alone) of the levels
/// that have fits. Everything else stays as it is, comments too. UsageError if a level is missing, or if it
/// is written in a way that cannot be changed line by line.
std::string updated_system(const SystemSpec& existing, const std::vector<MeasuredLevel>& levels,
                           const Provenance& provenance);

}  // namespace paradl::calibrate
