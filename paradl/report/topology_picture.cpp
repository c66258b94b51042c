#include "paradl/report/topology_picture.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "paradl/core/error.hpp"
#include "paradl/report/svg.hpp"

namespace paradl {
namespace {

constexpr int most_vertices = 3000;
constexpr double unit = 40;      // of a drawing in pixels
constexpr double radius = 0.27;  // of a host in units

// Visible on light and dark backgrounds, and safe for colour blindness.
constexpr std::string_view style =
    "<style>line,path{stroke:#8a8f98;fill:none}circle{fill:#2f74c0}rect{fill:#d9822b}"
    "text{font:500 9px system-ui,sans-serif;fill:#fff;text-anchor:middle;dominant-baseline:central}"
    ".said{fill:#80858e;text-anchor:start}</style>\n";

double distance(Place a, Place b) { return std::hypot(a.x - b.x, a.y - b.y); }

/// Whether a straight line would run through another vertex.
bool hits_a_vertex(std::size_t a, std::size_t b, const std::vector<Place>& places) {
  const double length = distance(places[a], places[b]);
  const double dx = (places[b].x - places[a].x) / length, dy = (places[b].y - places[a].y) / length;
  for (std::size_t v = 0; v < places.size(); ++v) {
    if (v == a || v == b) continue;
    const double x = places[v].x - places[a].x, y = places[v].y - places[a].y;
    const double along = x * dx + y * dy;
    if (along > 0 && along < length && std::abs(x * dy - y * dx) < radius) return true;
  }
  return false;
}

std::string cable(Place a, Place b, int count, bool bent) {
  const double width = 1 + 0.7 * std::log2(count);
  if (!bent)
    return fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke-width=\"{:.1f}\"/>\n", a.x, a.y,
        b.x, b.y, width);
  // Bent aside in proportion to its length.
  const double aside = 0.22;
  const Place middle{(a.x + b.x) / 2 + (b.y - a.y) * aside, (a.y + b.y) / 2 - (b.x - a.x) * aside};
  return fmt::format("<path d=\"M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}\" stroke-width=\"{:.1f}\"/>\n",
                     a.x, a.y, middle.x, middle.y, b.x, b.y, width);
}

std::map<std::pair<int, int>, int> cables_of(const Topology& topology) {
  std::map<std::pair<int, int>, int> cables;
  for (const Wire& wire : topology.wires())
    if (topology.half_duplex() || wire.from < wire.to) cables[std::minmax(wire.from, wire.to)] += wire.cables;
  return cables;
}

}  // namespace

std::string topology_svg(const Topology& topology) {
  if (topology.vertices() > most_vertices)
    throw UsageError(fmt::format("`{}` has {} hosts and switches; a picture shows at most {}",
                                 topology.text(), topology.vertices(), most_vertices),
                     "draw a smaller topology of the same kind");
  const std::vector<Place> places = topology.places();
  const auto [left, right] = std::ranges::minmax(places, {}, &Place::x);
  const auto [top, bottom] = std::ranges::minmax(places, {}, &Place::y);
  // Margin for cables that are bent around the outermost vertices.
  const double margin = 1 + 0.12 * std::max(right.x - left.x, bottom.y - top.y);
  const double width = std::max((right.x - left.x + 2 * margin) * unit, 420.0);
  const double height = (bottom.y - top.y + 2 * margin) * unit + 30;
  const double letters = std::max(14.0, width / 70);  // readable if a large picture is scaled down
  const auto on_page = [&](int v) {
    const Place place = places[std::size_t(v)];
    return Place{(place.x - (left.x + right.x) / 2) * unit + width / 2, (place.y - top.y + margin) * unit};
  };

  const auto cables = cables_of(topology);
  int count = 0;
  for (const auto& [ends, bundled] : cables) count += bundled;
  const std::string said = fmt::format("{}: hosts {}, switches {}, cables {}", escaped(topology.text()),
                                       topology.hosts(), topology.switches(), count);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" width=\"{:.0f}\" "
      "style=\"max-width:100%;height:auto\" role=\"img\">\n"
      "<title>{}</title>\n{}<text class=\"said\" x=\"12\" y=\"{:.0f}\" "
      "style=\"font-size:{:.0f}px\">{}</text>\n",
      width, height, std::min(width, 1600.0), said, style, height - letters, letters, said);

  for (const auto& [ends, bundled] : cables) {
    const auto& [a, b] = ends;
    const bool bent = hits_a_vertex(std::size_t(a), std::size_t(b), places);
    svg += cable(on_page(a), on_page(b), bundled, bent);
  }
  for (int v = topology.hosts(); v < topology.vertices(); ++v) {
    const Place at = on_page(v);
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"20\" height=\"20\" rx=\"3\"/>\n", at.x - 10,
                       at.y - 10);
  }
  for (int host = 0; host < topology.hosts(); ++host) {
    const Place at = on_page(host);
    svg += fmt::format(
        "<circle cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"{2:.1f}\"/><text x=\"{0:.1f}\" y=\"{1:.1f}\">{3}</text>\n",
        at.x, at.y, radius * unit, host);
  }
  return svg + "</svg>\n";
}

}  // namespace paradl
