// Published collective times (comm_measured.csv): every curve is fitted by ranges of its size.
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include <doctest/doctest.h>

#include "calibrate/link_points.hpp"

namespace paradl::calibrate {
namespace {

std::optional<LinkOperation> operation_of(const std::string& word) {
  if (word == "all_reduce") return LinkOperation::allreduce;
  if (word == "all_gather") return LinkOperation::allgather;
  if (word == "reduce_scatter") return LinkOperation::reduce_scatter;
  if (word == "all_to_all") return LinkOperation::all_to_all;
  if (word == "send_recv") return LinkOperation::point_to_point;
  return {};
}

/// By source, system, link, operation, note, GPUs and nodes.
std::map<std::string, std::vector<Observation>> curves() {
  std::map<std::string, std::vector<Observation>> out;
  std::ifstream file(PARADL_REFERENCE_DATA "/comm_measured.csv");
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    if (line.find('"') != line.npos) continue;  // parameters of another model, not times
    std::vector<std::string> cells;
    std::stringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    const auto operation = cells.size() > 9 ? operation_of(cells[4]) : std::nullopt;
    if (!operation || cells[6].empty() || cells[9].empty()) continue;
    const int ranks = std::stoi(cells[6]);
    // all_gather is told by what one rank gives.
    const double whole = std::stod(cells[8]) * (*operation == LinkOperation::allgather ? ranks : 1);
    std::string key;
    for (int c = 0; c < 8; ++c) key += cells[std::size_t(c)] + "|";
    out[key].push_back(
        observation({*operation, "", ranks, Bytes{whole}, Seconds{std::stod(cells[9]) * 1e-6}}));
  }
  return out;
}

double median_error(const std::vector<RangeFit>& fit, const std::vector<Observation>& points) {
  std::vector<double> errors;
  for (const Observation& at : points)
    for (const RangeFit& range : fit)
      if (at.size < range.below) {
        errors.push_back(std::abs(range.line(at) / at.seconds - 1));
        break;
      }
  return median(errors);
}

}  // namespace

TEST_SUITE_BEGIN("reference");

TEST_CASE("every published curve of a collective is fitted within a median of 8 %") {
  int fitted = 0;
  for (const auto& [name, points] : curves()) {
    if (points.size() < 4) continue;  // a line has two numbers
    ++fitted;
    INFO(name);
    CHECK(median_error(fit_ranges(points), points) <= 0.08);
  }
  CHECK(fitted >= 20);
}

TEST_SUITE_END();

}  // namespace paradl::calibrate
