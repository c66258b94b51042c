#include "paradl/report/validation_picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "paradl/core/format.hpp"

namespace paradl {
namespace {

constexpr double side = 360, left = 70, top = 56, between = 90, legend_line = 20;
constexpr double band = 0.1;  // shown around the diagonal

// Okabe and Ito's colours, which are safe for colour blindness; shapes distinguish them in greyscale.
constexpr std::array<std::string_view, 7> colours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                  "#b58900", "#56b4e9", "#7f7f7f"};

constexpr std::string_view style =
    "<style>text{font:12px system-ui,sans-serif;fill:#4a4f57}.head{font-weight:600;font-size:14px}"
    ".axis{stroke:#8a8f98;fill:none}.grid{stroke:#8a8f98;stroke-opacity:.22;fill:none}"
    ".right{stroke:#8a8f98;stroke-dasharray:5 4;fill:none}.band{fill:#8a8f98;fill-opacity:.14}"
    "@media(prefers-color-scheme:dark){text{fill:#c3c8d0}}</style>\n";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += c == '&'   ? std::string("&amp;")
           : c == '<' ? std::string("&lt;")
           : c == '>' ? std::string("&gt;")
           : c == '"' ? std::string("&quot;")
                      : std::string(1, c);
  return out;
}

/// A shape at a place, by the number of its strategy; `said` is its tooltip.
std::string mark(std::size_t kind, double x, double y, const std::string& said) {
  const std::string_view colour = colours[kind % colours.size()];
  constexpr double r = 5;
  std::string shape;
  switch (kind % 5) {
    case 0:
      shape = fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"", x, y, r);
      break;
    case 1:
      shape = fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\"", x - r + 0.5,
                          y - r + 0.5, 2 * r - 1, 2 * r - 1);
      break;
    case 2:
      shape = fmt::format("<path d=\"M{:.1f} {:.1f}l{} {}h{}z\"", x, y - r - 1, r + 1, 2 * r, -2 * (r + 1));
      break;
    case 3:
      shape = fmt::format("<path d=\"M{:.1f} {:.1f}l{} {}l{} {}l{} {}z\"", x, y - r - 1, r + 1, r + 1, -r - 1,
                          r + 1, -r - 1, -r - 1);
      break;
    default:
      shape = fmt::format("<path d=\"M{:.1f} {:.1f}l{} {}h{}z\"", x, y + r + 1, r + 1, -2 * r, -2 * (r + 1));
  }
  return fmt::format("{} fill=\"{}\" fill-opacity=\".8\"><title>{}</title>{}\n", shape, colour, escaped(said),
                     kind % 5 == 0   ? "</circle>"
                     : kind % 5 == 1 ? "</rect>"
                                     : "</path>");
}

std::string words(double x, double y, std::string_view anchor, std::string_view text,
                  std::string_view kind = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor,
                     kind.empty() ? "" : fmt::format(" class=\"{}\"", kind), escaped(text));
}

std::string line(std::string_view kind, double x1, double y1, double x2, double y2) {
  return fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", kind, x1, y1, x2, y2);
}

/// Ticks within bounds, at most about a dozen: 1, 2, 5, 10, ..., or every n-th power of ten.
std::vector<double> round_numbers(double least, double most) {
  const double decades = std::log10(most / least);
  const int stride = std::max(1, int(std::ceil(decades / 10)));
  const int first = int(std::floor(std::log10(least) / stride)) * stride;  // so that 1 is among them
  std::vector<double> out;
  for (int power = first; power <= std::log10(most); power += stride)
    for (const double step : {1.0, 2.0, 5.0})
      if (const double tick = step * std::pow(10, power);
          tick >= least && tick <= most && (step == 1 || decades <= 4))
        out.push_back(tick);
  return out;
}

/// The axis of errors: in per cent, or as factors if some are large.
struct ErrorAxis {
  bool factors = false;
  double reach = 0;  // of the coordinate, in both directions

  static double ratio(const Judged& run) { return std::clamp(run.projected / run.measured, 1e-12, 1e12); }
  explicit ErrorAxis(const std::vector<Judged>& runs) {
    constexpr double large = 3;
    double least = 1, most = 1;
    for (const Judged& run : runs) least = std::min(least, ratio(run)), most = std::max(most, ratio(run));
    factors = most > large;
    const double far = std::max(1 - least, most - 1);
    reach = factors ? 1.1 * std::log10(std::max(most, 1 / least))
                    : std::ceil(std::max(far, 0.2) / step(far)) * step(far);
  }
  static double step(double far) { return far <= 1 ? 0.2 : 0.5; }
  double at(double ratio) const { return factors ? std::log10(ratio) : ratio - 1; }
  /// Coordinates with their labels.
  std::vector<std::pair<double, std::string>> ticks() const {
    std::vector<std::pair<double, std::string>> out;
    if (factors) {
      for (const double factor : round_numbers(std::pow(10, -reach), std::pow(10, reach)))
        out.emplace_back(std::log10(factor), fmt::format("x {:g}", factor));
      return out;
    }
    const double width = step(reach);
    for (int i = -int(std::lround(reach / width)); i <= int(std::lround(reach / width)); ++i)
      out.emplace_back(i * width, i == 0 ? "0 %" : fmt::format("{:+.0f} %", 100 * i * width));
    return out;
  }
};

std::string said_of(const Judged& run) {
  return fmt::format("{} {}, {} GPUs: measured {}, projected {} ({:+.0f} %)", run.model, run.strategy,
                     run.gpus, text(run.measured), text(run.projected), 100 * run.error());
}

std::size_t kind_of(const std::vector<std::string>& strategies, const Judged& run) {
  return std::size_t(std::ranges::find(strategies, run.strategy) - strategies.begin());
}

std::string scatter(const std::vector<Judged>& runs, const std::vector<std::string>& strategies) {
  double least = runs.front().measured.base(), most = least;
  for (const Judged& run : runs) {
    least = std::min({least, run.measured.base(), ErrorAxis::ratio(run) * run.measured.base()});
    most = std::max({most, run.measured.base(), run.projected.base()});
  }
  least /= 1.25, most *= 1.25;
  const auto along = [&](double value) { return side * std::log(value / least) / std::log(most / least); };
  const auto x = [&](double value) { return left + along(value); };
  const auto y = [&](double value) { return top + side - along(value); };
  std::string out = words(left, top - 14, "start", "Projected and measured iteration", "head");
  const double off = along(least * (1 + band));
  out += fmt::format(
      "<clipPath id=\"plot\"><rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{2}\"/></clipPath>\n", left,
      top, side);
  out += fmt::format(
      "<g clip-path=\"url(#plot)\"><path class=\"band\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}V{:.1f}L{:.1f} "
      "{:.1f}z\"/></g>\n",
      left, top + side - off, left + side, top - off, top + off, left, top + side + off);
  out += line("right", left, top + side, left + side, top);
  for (const double tick : round_numbers(least, most)) {
    out +=
        line("grid", x(tick), top, x(tick), top + side) + line("grid", left, y(tick), left + side, y(tick));
    out += words(x(tick), top + side + 18, "middle", fmt::format("{:g}", tick));
    out += words(left - 8, y(tick) + 4, "end", fmt::format("{:g}", tick));
  }
  out += fmt::format("<rect class=\"axis\" x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{2}\"/>\n", left, top,
                     side);
  out += words(left + side / 2, top + side + 40, "middle", "measured, s");
  out += fmt::format(
      "<text x=\"{0:.0f}\" y=\"{1:.0f}\" text-anchor=\"middle\" transform=\"rotate(-90 {0:.0f} "
      "{1:.0f})\">projected, s</text>\n",
      left - 48, top + side / 2);
  for (const Judged& run : runs)
    out += mark(kind_of(strategies, run), x(run.measured.base()), y(run.projected.base()), said_of(run));
  return out;
}

std::string errors(const std::vector<Judged>& runs, const std::vector<std::string>& strategies,
                   double start) {
  double least = runs.front().gpus, most = least;
  for (const Judged& run : runs)
    least = std::min(least, double(run.gpus)), most = std::max(most, double(run.gpus));
  const ErrorAxis axis(runs);
  const double octaves = std::max(1.0, std::log2(most / least));
  const auto x = [&](double gpus) { return start + 16 + (side - 32) * std::log2(gpus / least) / octaves; };
  const auto y = [&](double error) { return top + side / 2 * (1 - error / axis.reach); };
  std::string out = words(start, top - 14, "start",
                          axis.factors ? "Projected / measured, by number of GPUs (x 2: twice as slow)"
                                       : "Error by number of GPUs (+: projected too slow)",
                          "head");
  out += fmt::format("<rect class=\"band\" x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\"/>\n", start,
                     y(axis.at(1 + band)), side, y(axis.at(1 - band)) - y(axis.at(1 + band)));
  for (const auto& [tick, label] : axis.ticks()) {
    out += line(std::abs(tick) < 1e-9 ? "right" : "grid", start, y(tick), start + side, y(tick));
    out += words(start - 8, y(tick) + 4, "end", label);
  }
  double last = -1e9;
  std::vector<int> sizes;
  for (const Judged& run : runs) sizes.push_back(run.gpus);
  std::ranges::sort(sizes);
  for (const int gpus : sizes)
    if (x(gpus) - last > 28) {
      last = x(gpus);
      out += words(last, top + side + 18, "middle", fmt::format("{}", gpus));
    }
  out += fmt::format("<rect class=\"axis\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", start, top,
                     side, side);
  out += words(start + side / 2, top + side + 40, "middle", "GPUs");
  for (const Judged& run : runs) {
    // Strategies are shifted slightly, so that none hides another.
    const double aside = std::min(3.0, 24.0 / double(strategies.size())) *
                         (double(kind_of(strategies, run)) - double(strategies.size() - 1) / 2);
    out +=
        mark(kind_of(strategies, run), x(run.gpus) + aside, y(axis.at(ErrorAxis::ratio(run))), said_of(run));
  }
  return out;
}

}  // namespace

std::string validation_svg(const std::vector<Judged>& runs) {
  std::vector<std::string> strategies;
  for (const Tally& t : by_strategy(runs)) strategies.push_back(t.name);
  const double start = left + side + between, width = start + side + 30;
  std::vector<std::pair<double, int>> places;  // of the legend's entries: x and line
  double x = left;
  int lines = 0;
  for (const std::string& strategy : strategies) {
    const double wide = 40 + 7.0 * double(strategy.size());
    if (x > left && x + wide > width - 150) x = left, ++lines;  // leaves space for the note on the grey band
    places.emplace_back(x, lines);
    x += wide;
  }
  const double height = top + side + 62 + legend_line * (lines + 1);
  const Tally all = tally(runs, "");
  const std::string title = fmt::format("Projected and measured iterations of {} runs", all.n);
  const std::string finding = fmt::format("Mean accuracy {:.1f} %, median {:.1f} %, worst {:.1f} %.",
                                          100 * all.mean, 100 * all.median, 100 * all.worst);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "style=\"max-width:100%;height:auto\" role=\"img\">\n<title>{2}</title>\n<desc>{3}</desc>\n{4}",
      width, height, title, finding, style);
  out += words(left, 22, "start", title + ". " + finding);
  out += scatter(runs, strategies) + errors(runs, strategies, start);
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    const auto& [at, number] = places[i];
    const double y = height - 10 - legend_line * (lines - number);
    out += mark(i, at, y - 4, strategies[i]) + words(at + 12, y, "start", strategies[i]);
  }
  out += words(width - 30, height - 10, "end", "grey: within 10 %");
  return out + "</svg>\n";
}

}  // namespace paradl
