#pragma once
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibrate/fit/link_points.hpp"

namespace paradl::calibrate {

/// Seconds, by what was measured: "2 flows of 64 kB".
using Samples = std::map<std::string, std::vector<double>>;

/// A file that keeps the measurements of an interrupted run: points of links, or samples of contention. The
/// next run with the same tool, libraries and ranks continues from it; other runs ignore the file.
class Kept {
 public:
  Kept(std::string path, std::string tool) : path_(std::move(path)), tool_(std::move(tool)) {}

  const std::string& path() const { return path_; }
  /// Empty if the file does not exist, cannot be read, or is of another tool.
  std::vector<LinkPoint> points() const;
  Samples samples() const;
  /// Only points with little noise; the next run measures the others again.
  void write(const std::vector<LinkPoint>& points) const;
  void write(const Samples& samples) const;
  void remove() const;

 private:
  nlohmann::ordered_json read(const char* key) const;

  std::string path_, tool_;
};

/// As `links --json` lists them.
nlohmann::ordered_json points_json(const std::vector<LinkPoint>& points);

}  // namespace paradl::calibrate
