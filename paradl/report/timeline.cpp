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

// Forward is dark and backward light, so that they differ in greyscale; messages are striped; idle time is
// empty.
constexpr std::string_view style =
    "<style>text{font:500 11px system-ui,sans-serif;fill:#6b7079}"
    ".idle{fill:#8a8f98;fill-opacity:.15}.f{fill:#1f5a9e}.b{fill:#f0b060}"
    ".f2{fill:#3f7fc4}.b2{fill:#f7d3a0}.s{fill:url(#sent)}"
    ".n{font-size:10px;text-anchor:middle;dominant-baseline:central}"
    ".nf{fill:#fff}.nb{fill:#222}line{stroke:#8a8f98}.t{text-anchor:middle}.h{font-size:14px}</style>\n"
    "<defs><pattern id=\"sent\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><rect width=\"4\" height=\"4\" fill=\"#fff\"/>"
    "<rect width=\"2\" height=\"4\" fill=\"#333\"/></pattern></defs>\n";

std::size_t passes_of(const Timeline& timeline) {
  std::size_t n = 0;
  for (const auto& stage : timeline.passes) n += stage.size();
  return n;
}

void demand(const Timeline& timeline, std::size_t most, const char* what) {
  if (passes_of(timeline) > most)
    throw UsageError(fmt::format("{} stages have {} passes; {} shows at most {}", timeline.pipeline.stages,
                                 passes_of(timeline), what, most),
                     "use fewer --micro-batches: the rounds are similar");
}

Seconds end_of(const Timeline& timeline) {
  Seconds end;
  for (const auto& stage : timeline.passes)
    for (const auto& event : stage) end = std::max(end, event.sent);
  return end;
}

/// The micro-batch and, if a stage has several chunks, the chunk: `3`, `3b`.
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

Shares shares_of(const Timeline& timeline) {
  Shares out;
  for (const auto& stage : timeline.passes)
    for (const auto& event : stage)
      out.work += (event.end - event.begin).base(), out.sent += (event.sent - event.end).base();
  const double all = end_of(timeline).base() * timeline.pipeline.stages;
  if (all > 0) out = {out.work / all, out.sent / all, 1 - (out.work + out.sent) / all};
  return out;
}

/// The distance of ticks: 1, 2 or 5 times a power of ten, so that there are about ten ticks.
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

/// The class of each kind of box, and its meaning.
using Legend = std::vector<std::pair<const char*, std::string_view>>;

std::string legend_text(double y, const Legend& entries) {
  std::string out;
  double x = left;
  for (const auto& [kind, said] : entries) {
    out += box(kind, x, y - 10, 18, 12) +
           fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", x + 24, y, said);
    x += 44 + 6.2 * double(said.size());
  }
  return out;
}

/// A picture begins with its title and a summary, and ends with the time axis and the legend.
std::string opening(const std::string& name, const std::string& found, const std::string& numbers,
                    double bottom) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "style=\"max-width:100%;height:auto\" role=\"img\" aria-labelledby=\"title desc\">\n"
      "<title id=\"title\">{2}</title>\n<desc id=\"desc\">{3}. Numbers are {4}.</desc>\n{5}"
      "<text class=\"h\" x=\"{6:.0f}\" y=\"16\">{2}</text><text x=\"{6:.0f}\" y=\"32\">{3}</text>\n",
      width, bottom + 56, escaped(name), found, numbers, style, left);
}

std::string closing(Seconds end, double scale, double bottom, const Legend& entries) {
  std::string svg;
  const double tick = tick_of(end.base());
  for (int i = 0; i * tick <= end.base() * (1 + 1e-9); ++i)
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.0f}\" y2=\"{2:.0f}\"/><text class=\"t\" x=\"{0:.1f}\" "
        "y=\"{3:.0f}\">{4}</text>\n",
        left + i * tick * scale, bottom, bottom + 4, bottom + 16, i == 0 ? "0" : text(Seconds{i * tick}));
  return svg + legend_text(bottom + 44, entries) + "</svg>\n";
}

/// A row's name, and its whole length as idle time.
std::string empty_lane(double y, std::string_view name, double wide) {
  return fmt::format("<text x=\"8\" y=\"{:.1f}\">{}</text>\n", y + bar / 2 + 4, name) +
         box("idle", left, y, wide, bar) + "\n";
}

}  // namespace

std::string timeline_svg(const Timeline& timeline, const std::string& name) {
  demand(timeline, most_drawn, "a picture");
  const Seconds end = end_of(timeline);
  const Shares shares = shares_of(timeline);
  const double scale = (width - left - right) / end.base(), bottom = top + lane * timeline.pipeline.stages;
  const std::string found = fmt::format(
      "{} from the first pass to the last; of the time of all stages, {:.1f} % is computation, {:.1f} % "
      "sending, "
      "{:.1f} % "
      "idle",
      text(end), 100 * shares.work, 100 * shares.sent, 100 * shares.idle);
  const bool pieces = timeline.pipeline.chunks > 1;
  std::string svg = opening(
      name, found,
      std::string("micro-batches") + (pieces ? ", letters are the chunks of the network on a stage" : ""),
      bottom);

  for (std::size_t s = 0; s < timeline.passes.size(); ++s) {
    const double y = top + lane * double(s);
    svg += empty_lane(y, fmt::format("stage {}", s + 1), end.base() * scale);
    for (const auto& event : timeline.passes[s]) {
      const double x = left + event.begin.base() * scale, wide = (event.end - event.begin).base() * scale;
      const bool other = event.pass.chunk % 2 == 1, back = event.pass.backward;
      const double gap = wide > 2 ? 0.5 : 0;  // separates neighbours
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
  Legend entries{{"f", "forward"}, {"b", "backward"}};
  if (pieces)
    entries.insert(entries.end(),
                   {{"f2", "forward, every other chunk"}, {"b2", "backward, every other chunk"}});
  entries.insert(entries.end(), {{"s", "sends"}, {"idle", "idle"}});
  return svg + closing(end, scale, bottom, entries);
}

namespace {

/// One stream of an out-of-core plan, and the look of its boxes.
struct Lane {
  std::string_view name;
  std::vector<std::pair<OutOfCoreEvent::Kind, const char*>> kinds;
};

const std::vector<Lane>& lanes() {
  using enum OutOfCoreEvent::Kind;
  static const std::vector<Lane> all{
      {"compute", {{forward, "f"}, {recompute, "f2"}, {backward, "b"}}},
      {"to host", {{swap_out, "s"}, {store_gradients, "b2"}}},
      {"from host", {{swap_in, "s"}, {load_weights, "f2"}, {store_weights, "f2"}}},
      {"exchange", {{exchange, "b2"}}},
      {"host", {{host_update, "b"}}}};
  return all;
}

const char* look_of(const Lane& where, OutOfCoreEvent::Kind kind) {
  for (const auto& [one, look] : where.kinds)
    if (one == kind) return look;
  return nullptr;
}

std::string_view word_of(OutOfCoreEvent::Kind kind) {
  static constexpr std::array<std::string_view, 10> words{
      "forward",      "recompute",       "backward", "swap out",    "swap in",
      "load weights", "store gradients", "exchange", "host update", "store weights"};
  static_assert(names_every(OutOfCoreEvent::Kind::store_weights, words), "a word for each Kind");
  return words[std::size_t(kind)];
}

Seconds end_of(std::span<const OutOfCoreEvent> events) {
  Seconds end;
  for (const OutOfCoreEvent& event : events) end = std::max(end, event.end);
  return end;
}

}  // namespace

std::string timeline_svg(std::span<const OutOfCoreEvent> events, const std::string& name) {
  const Seconds end = end_of(events);
  const double scale = (width - left - right) / end.base();
  std::string drawn;
  double y = top, computing = 0;
  for (const Lane& lane_of : lanes()) {
    std::string boxes;
    for (const OutOfCoreEvent& event : events) {
      const char* look = look_of(lane_of, event.kind);
      if (!look) continue;
      const double x = left + event.begin.base() * scale, wide = (event.end - event.begin).base() * scale;
      if (&lane_of == &lanes().front()) computing += (event.end - event.begin) / end;
      boxes += box(look, x, y, wide - (wide > 2 ? 0.5 : 0), bar);
      const std::string number = fmt::format("{}", event.block + 1);
      if (wide >= 6.5 * double(number.size()) + 2 && *look != 's')
        boxes += fmt::format("<text class=\"n n{}\" x=\"{:.2f}\" y=\"{:.1f}\">{}</text>", *look, x + wide / 2,
                             y + bar / 2, number);
      boxes += "\n";
    }
    if (boxes.empty()) continue;
    drawn += empty_lane(y, lane_of.name, end.base() * scale) + boxes;
    y += lane;
  }
  const std::string found = fmt::format("{} for one forward and backward pass; {:.1f} % of it is computation",
                                        text(end), 100 * computing);
  return opening(name, found, "blocks", y) + drawn +
         closing(end, scale, y,
                 {{"f", "forward"},
                  {"f2", "recomputed forward; weights"},
                  {"b", "backward; update on the host"},
                  {"b2", "gradients"},
                  {"s", "activations"},
                  {"idle", "idle"}});
}

std::string timeline_json(std::span<const OutOfCoreEvent> events, const std::string& name) {
  using Json = nlohmann::ordered_json;
  Json out = Json::array();
  out.push_back({{"name", "process_name"}, {"ph", "M"}, {"pid", 0}, {"args", {{"name", name}}}});
  for (std::size_t s = 0; s < lanes().size(); ++s) {
    out.push_back({{"name", "thread_name"},
                   {"ph", "M"},
                   {"pid", 0},
                   {"tid", s},
                   {"args", {{"name", lanes()[s].name}}}});
    for (const OutOfCoreEvent& event : events)
      if (look_of(lanes()[s], event.kind))
        out.push_back({{"name", fmt::format("{} {}", word_of(event.kind), event.block + 1)},
                       {"cat", word_of(event.kind)},
                       {"ph", "X"},
                       {"ts", event.begin.base() * 1e6},
                       {"dur", (event.end - event.begin).base() * 1e6},
                       {"pid", 0},
                       {"tid", s},
                       {"args", {{"block", event.block + 1}}}});
  }
  return Json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(out)}}.dump(1) + "\n";
}

std::string timeline_json(const Timeline& timeline, const std::string& name) {
  demand(timeline, most_traced, "a trace");
  using Json = nlohmann::ordered_json;
  Json events = Json::array();
  events.push_back({{"name", "process_name"}, {"ph", "M"}, {"pid", 0}, {"args", {{"name", name}}}});
  for (std::size_t s = 0; s < timeline.passes.size(); ++s)
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", 0},
                      {"tid", s},
                      {"args", {{"name", fmt::format("stage {}", s + 1)}}}});
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
