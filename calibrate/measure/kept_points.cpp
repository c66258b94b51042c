#include "calibrate/measure/kept_points.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "calibrate/files/replace_file.hpp"

namespace paradl::calibrate {
namespace {

using Json = nlohmann::ordered_json;

constexpr double well_known = 0.1;  // noise; what scatters more is measured again

LinkPoint read_point(const Json& item) {
  const auto name = item.at("operation").get<std::string>();
  const auto operation = std::ranges::find(link_operation_names, name);
  if (operation == link_operation_names.end()) throw std::out_of_range(name);
  return {.operation = LinkOperation(operation - link_operation_names.begin()),
          .level = item.at("level"),
          .ranks = item.at("ranks"),
          .bytes = Bytes{item.at("bytes").get<double>()},
          .seconds = Seconds{item.at("time_s").get<double>()},
          .noise = item.at("noise")};
}

}  // namespace

std::vector<LinkPoint> KeptPoints::read() const {
  std::ifstream file(path_);
  if (!file) return {};
  std::vector<LinkPoint> points;
  try {
    const Json kept = Json::parse(file);
    if (kept.at("tool") != tool_) return {};
    for (const Json& item : kept.at("points"))
      if (const LinkPoint point = read_point(item); point.seconds > Seconds{} && point.bytes > Bytes{})
        points.push_back(point);
  } catch (const std::exception&) {  // not what write() writes: measured anew, nothing is lost
    return {};
  }
  return points;
}

void KeptPoints::write(const std::vector<LinkPoint>& points) const {
  std::vector<LinkPoint> known;
  std::ranges::copy_if(points, std::back_inserter(known),
                       [](const LinkPoint& p) { return p.noise <= well_known; });
  replace_file(path_, Json{{"tool", tool_}, {"points", points_json(known)}}.dump(1) + "\n");
}

void KeptPoints::remove() const {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

Json points_json(const std::vector<LinkPoint>& points) {
  Json out = Json::array();
  for (const LinkPoint& p : points)
    out.push_back({{"operation", link_operation_names[std::size_t(p.operation)]},
                   {"level", p.level},
                   {"ranks", p.ranks},
                   {"bytes", p.bytes.base()},
                   {"time_s", p.seconds.base()},
                   {"noise", std::isfinite(p.noise) ? p.noise : 1.0}});
  return out;
}

}  // namespace paradl::calibrate
