#include "calibrate/measure/kept.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "calibrate/files/replace_file.hpp"
#include "paradl/spec/precision.hpp"

namespace paradl::calibrate {
namespace {

using Json = nlohmann::ordered_json;

template <class Enum, std::size_t N>
Enum read_name(const Json& word, const std::array<std::string_view, N>& names) {
  return find_name<Enum>(names, word.get<std::string>()).value();
}

LinkPoint read_point(const Json& item) {
  return {.operation = read_name<Collective>(item.at("operation"), collective_names),
          .level = read_name<GroupLevel>(item.at("level"), group_level_names),
          .ranks = item.at("ranks"),
          .bytes = Bytes{item.at("bytes").get<double>()},
          .seconds = Seconds{item.at("time_s").get<double>()},
          .noise = item.at("noise")};
}

/// A damaged file costs nothing but time: everything is measured again.
template <class Read>
auto or_nothing(Read read) -> decltype(read()) {
  try {
    return read();
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace

Json Kept::read(const char* key) const {
  std::ifstream file(path_);
  const Json kept = Json::parse(file);
  return kept.at("tool") == tool_ ? kept.at(key) : Json{};
}

std::vector<LinkPoint> Kept::points() const {
  return or_nothing([&] {
    std::vector<LinkPoint> out;
    for (const Json& item : read("points"))
      if (const LinkPoint point = read_point(item); point.seconds > Seconds{} && point.bytes > Bytes{})
        out.push_back(point);
    return out;
  });
}

Samples Kept::samples() const {
  return or_nothing([&] {
    Samples out;
    const Json samples = read("samples");
    for (const auto& [name, times] : samples.items())
      for (const double seconds : times.get<std::vector<double>>())
        if (seconds > 0 && std::isfinite(seconds)) out[name].push_back(seconds);
    return out;
  });
}

void Kept::write(const std::vector<LinkPoint>& points) const {
  constexpr double most_noise = 0.1;
  std::vector<LinkPoint> known;
  std::ranges::copy_if(points, std::back_inserter(known),
                       [](const LinkPoint& p) { return p.noise <= most_noise; });
  replace_file(path_, Json{{"tool", tool_}, {"points", points_json(known)}}.dump(1) + "\n");
}

void Kept::write(const Samples& samples) const {
  replace_file(path_, Json{{"tool", tool_}, {"samples", samples}}.dump(1) + "\n");
}

void Kept::remove() const {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

Json points_json(const std::vector<LinkPoint>& points) {
  Json out = Json::array();
  for (const LinkPoint& p : points)
    out.push_back({{"operation", collective_names[std::size_t(p.operation)]},
                   {"level", name_of(p.level)},
                   {"ranks", p.ranks},
                   {"bytes", p.bytes.base()},
                   {"time_s", p.seconds.base()},
                   {"noise", std::isfinite(p.noise) ? p.noise : 1.0}});
  return out;
}

}  // namespace paradl::calibrate
