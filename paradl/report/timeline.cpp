#include "paradl/report/timeline.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "paradl/core/error.hpp"
#include "paradl/core/format.hpp"
#include "paradl/report/svg.hpp"

namespace paradl {
namespace {

constexpr std::size_t most_drawn = 20'000, most_traced = 1'000'000;  // passes
constexpr double left = 70, right = 20, top = 40, lane = 30, bar = 24, width = 1200;

// Forward is dark and backward light, so that grey tells them apart; what is sent is striped; idle is what
// lies bare.
constexpr std::string_view style =
    "<style>text{font:500 11px system-ui,sans-serif;fill:#6b7079}"
    ".idle{fill:#8a8f98;fill-opacity:.15}.f{fill:#1f5a9e}.b{fill:#f0b060}"
    ".f2{fill:#3f7fc4}.b2{fill:#f7d3a0}.s{fill:url(#sent)}"
    ".n{font-size:10px;text-anchor:middle;dominant-baseline:central}"
    ".nf{fill:#fff}.nb{fill:#222}line{stroke:#8a8f98}.t{text-anchor:middle}.h{font-size:14px}</style>\n"
    "<defs><pattern id=\"sent\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><rect width=\"4\" height=\"4\" fill=\"#fff\"/>"
    "<rect width=\"2\" height=\"4\" fill=\"#333\"/></pattern></defs>\n";

std::size_t passes_of(const Planner::Timeline& timeline) {
  std::size_t n = 0;
  for (const auto& stage : timeline.passes) n += stage.size();
  return n;
}

void demand(const Planner::Timeline& timeline, std::size_t most, const char* what) {
  if (passes_of(timeline) > most)
    throw UsageError(fmt::format("{} stages do {} passes; {} shows at most {}", timeline.pipeline.stages,
                                 passes_of(timeline), what, most),
                     "ask with fewer --micro-batches: rounds repeat each other");
}

Seconds end_of(const Planner::Timeline& timeline) {
  Seconds end;
  for (const auto& stage : timeline.passes)
    for (const auto& event : stage) end = std::max(end, event.sent);
  return end;
}

/// The micro-batch and, where a stage has several, the chunk: `3`, `3b`.
std::string label(const Pipeline& pipeline, const Pipeline::Pass& pass) {
  std::string out = fmt::format("{}", pass.micro_batch);
  if (pipeline.chunks > 26) return fmt::format("{}.{}", out, pass.chunk);
  if (pipeline.chunks > 1) out += char('a' + pass.chunk);
  return out;
}

/// Shares of the time of all stages together.
struct Shares {
  double work = 0, sent = 0, idle = 0;
};

Shares shares_of(const Planner::Timeline& timeline) {
  Shares out;
  for (const auto& stage : timeline.passes)
    for (const auto& event : stage)
      out.work += (event.end - event.begin).base(), out.sent += (event.sent - event.end).base();
  const double all = end_of(timeline).base() * timeline.pipeline.stages;
  if (all > 0) out = {out.work / all, out.sent / all, 1 - (out.work + out.sent) / all};
  return out;
}

/// 1, 2 or 5 times a power of ten, so that there are about ten of them.
double tick_of(double whole) {
  const double power = std::pow(10, std::floor(std::log10(whole / 10)));
  for (const double step : {1.0, 2.0, 5.0})
    if (whole / (step * power) <= 12) return step * power;
  return 10 * power;
}

std::string box(const char* kind, double x, double y, double wide, double high) {
  return fmt::format("<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\"/>",
                     kind, x, y, wide, high);
}

std::string legend(double y, bool chunks) {
  std::string out;
  double x = left;
  const auto entry = [&](const char* kind, const char* said) {
    out += box(kind, x, y - 10, 18, 12) +
           fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", x + 24, y, said);
    x += 44 + 6.2 * double(std::string_view(said).size());
  };
  entry("f", "forward");
  entry("b", "backward");
  if (chunks) entry("f2", "forward, every other piece"), entry("b2", "backward, every other piece");
  entry("s", "sends");
  entry("idle", "idle");
  return out;
}

}  // namespace

std::string timeline_svg(const Planner::Timeline& timeline, const std::string& name) {
  demand(timeline, most_drawn, "a picture");
  const Seconds end = end_of(timeline);
  const Shares shares = shares_of(timeline);
  const double scale = (width - left - right) / end.base(), bottom = top + lane * timeline.pipeline.stages;
  const std::string found = fmt::format(
      "{} from the first pass to the last; of the time of all stages {:.1f} % is work, {:.1f} % sending, "
      "{:.1f} % "
      "idle",
      text(end), 100 * shares.work, 100 * shares.sent, 100 * shares.idle);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "style=\"max-width:100%;height:auto\" role=\"img\" aria-labelledby=\"title desc\">\n"
      "<title id=\"title\">{2}</title>\n<desc id=\"desc\">{3}. Numbers are micro-batches{4}.</desc>\n{5}"
      "<text class=\"h\" x=\"{6:.0f}\" y=\"16\">{2}</text><text x=\"{6:.0f}\" y=\"32\">{3}</text>\n",
      width, bottom + 56, escaped(name), found,
      timeline.pipeline.chunks > 1 ? ", letters the pieces of the network on a stage" : "", style, left);

  for (std::size_t s = 0; s < timeline.passes.size(); ++s) {
    const double y = top + lane * double(s);
    svg += fmt::format("<text x=\"8\" y=\"{:.1f}\">stage {}</text>\n", y + bar / 2 + 4, s);
    svg += box("idle", left, y, end.base() * scale, bar) + "\n";
    for (const auto& event : timeline.passes[s]) {
      const double x = left + event.begin.base() * scale, wide = (event.end - event.begin).base() * scale;
      const bool other = event.pass.chunk % 2 == 1, back = event.pass.backward;
      const double gap = wide > 2 ? 0.5 : 0;  // neighbours are told apart
      svg += box(back ? (other ? "b2" : "b") : other ? "f2" : "f", x, y, wide - gap, bar);
      if (event.sent > event.end)
        svg += box("s", x + wide, y + bar / 3, (event.sent - event.end).base() * scale, bar / 3);
      const std::string number = label(timeline.pipeline, event.pass);
      if (wide >= 6.5 * double(number.size()) + 2)
        svg += fmt::format("<text class=\"n n{}\" x=\"{:.2f}\" y=\"{:.1f}\">{}</text>", back ? 'b' : 'f',
                           x + wide / 2, y + bar / 2, number);
      svg += "\n";
    }
  }
  const double tick = tick_of(end.base());
  for (int i = 0; i * tick <= end.base() * (1 + 1e-9); ++i)
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.0f}\" y2=\"{2:.0f}\"/><text class=\"t\" x=\"{0:.1f}\" "
        "y=\"{3:.0f}\">{4}</text>\n",
        left + i * tick * scale, bottom, bottom + 4, bottom + 16, i == 0 ? "0" : text(Seconds{i * tick}));
  return svg + legend(bottom + 44, timeline.pipeline.chunks > 1) + "</svg>\n";
}

std::string timeline_json(const Planner::Timeline& timeline, const std::string& name) {
  demand(timeline, most_traced, "a trace");
  using Json = nlohmann::ordered_json;
  Json events = Json::array();
  events.push_back({{"name", "process_name"}, {"ph", "M"}, {"pid", 0}, {"args", {{"name", name}}}});
  for (std::size_t s = 0; s < timeline.passes.size(); ++s)
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", 0},
                      {"tid", s},
                      {"args", {{"name", fmt::format("stage {}", s)}}}});
  for (const auto& stage : timeline.passes)
    for (const auto& event : stage) {
      const auto add = [&](const char* kind, Seconds from, Seconds to) {
        if (!(to > from)) return;
        events.push_back({{"name", fmt::format("{} {}", kind, label(timeline.pipeline, event.pass))},
                          {"cat", kind},
                          {"ph", "X"},
                          {"ts", from.base() * 1e6},
                          {"dur", (to - from).base() * 1e6},
                          {"pid", 0},
                          {"tid", event.stage},
                          {"args", {{"micro_batch", event.pass.micro_batch}, {"chunk", event.pass.chunk}}}});
      };
      add(event.pass.backward ? "backward" : "forward", event.begin, event.end);
      add(event.pass.backward ? "send gradient" : "send", event.end, event.sent);
    }
  const Json out{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  return out.dump(1) + "\n";
}

}  // namespace paradl
