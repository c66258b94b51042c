#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibrate/fit/link_points.hpp"

namespace paradl::calibrate {

/// What was measured of links before a run was interrupted, in a file beside the system's: the next run with
/// the same tools on the same ranks goes on from there.
class KeptPoints {
 public:
  KeptPoints(const std::string& system_path, std::string tool)
      : path_(system_path + ".points"), tool_(std::move(tool)) {}

  const std::string& path() const { return path_; }
  /// Nothing where there is no such file, or one of other tools or ranks.
  std::vector<LinkPoint> read() const;
  /// Those that are well enough known.
  void write(const std::vector<LinkPoint>& points) const;
  void remove() const;

 private:
  std::string path_, tool_;
};

/// As `links --json` lists them.
nlohmann::ordered_json points_json(const std::vector<LinkPoint>& points);

}  // namespace paradl::calibrate
