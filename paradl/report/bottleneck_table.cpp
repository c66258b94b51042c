#include "paradl/report/bottleneck_table.hpp"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "paradl/core/format.hpp"
#include "paradl/report/json.hpp"
#include "paradl/report/json_object.hpp"

namespace paradl {
namespace {

using Json = nlohmann::ordered_json;

constexpr double least_gain = 0.005;  // of the epoch

std::string_view title(BottleneckKind kind) { return entry(kind).title; }

std::string titles(const std::vector<BottleneckKind>& all) {
  std::string out;
  for (const BottleneckKind one : all) out += fmt::format("{}{}", out.empty() ? "" : ", ", title(one));
  return out;
}

bool worth(const PricedAlternative& remedy, const Bottleneck& b) {
  return entry(b.kind).worth != Worth::time || b.finding.reading->forbids || remedy.gain >= least_gain;
}

bool has_time(BottleneckKind kind) { return entry(kind).has_time; }

bool saves_memory(BottleneckKind kind) {
  return entry(kind).worth == Worth::memory || entry(kind).worth == Worth::free_memory;
}

Json priced_json(const PricedAlternative& p, bool gains = true) {
  Json out = json_object({{"text", p.change.text},
                          {"option", p.change.option},
                          {"hands", owner_names[std::size_t(p.change.owner)]}},
                         4);
  if (gains) out["gain"] = p.gain;
  out["epoch_s"] = p.epoch.base();
  out["memory_bytes"] = p.memory.base();
  return out;
}

Value value_of(const Finding& f, ReadBy reader) {
  if (!f.reading) return {};
  return reader == ReadBy::machines ? Value{f.reading->value}
                                    : Value{value_text(*f.measure, f.reading->value)};
}

Value trigger_of(const Finding& f, ReadBy reader) {
  return reader == ReadBy::machines ? Value{f.trigger} : Value{trigger_text(*f.measure, f.trigger)};
}

Value gain_of(double gain, ReadBy reader) {
  return reader == ReadBy::machines ? Value{gain} : Value{gain_text(gain)};
}

/// "+13 %", or "nothing fits".
Value outcome_text(const std::optional<BestPlan>& outcome, ReadBy reader) {
  if (!outcome) return {};
  return outcome->fits ? gain_of(outcome->gain, reader) : Value{"nothing fits"};
}

Value plan_text(const std::optional<BestPlan>& outcome) {
  if (!outcome || !outcome->fits) return {};
  return fmt::format("{} {}", outcome->strategy, outcome->grid);
}

Value epoch_of(const std::optional<BestPlan>& outcome) {
  return outcome && outcome->fits ? Value{outcome->epoch.base()} : Value{};
}

Json outcome_json(const std::optional<BestPlan>& outcome) {
  if (!outcome) return nullptr;
  Json out{{"option", outcome->option}, {"feasible", outcome->fits}};
  if (!outcome->fits) return out;
  out["strategy"] = outcome->strategy;
  out["grid"] = outcome->grid;  // as text, which elsewhere is an object
  out["axes"] = grid_json(outcome->mesh);
  out["epoch_s"] = outcome->epoch.base();
  out["gain"] = outcome->gain;
  return out;
}

}  // namespace

Table findings_table(const std::vector<Finding>& findings, ReadBy reader) {
  Table table{.columns = {{"name", "limit or bottleneck", Holds::text, 9},
                          {"type", "type", Holds::text, 5},
                          {"measure", "quantity", Holds::text, 2},
                          {"value", "value", Holds::shape, 8},
                          {"trigger", "trigger", Holds::shape, 7},
                          {"share", "share", Holds::share, 6},
                          {"cause", "cause", Holds::text, 4}}};
  if (reader == ReadBy::machines) table.columns.push_back({"fires", "fires", Holds::text, 4});
  const Measure* before = nullptr;
  for (const Finding& f : findings) {
    const bool again = reader == ReadBy::people && before && before->of == f.measure->of;
    before = f.measure;
    Row row;
    row.values = {again ? std::string() : std::string(title(f.measure->of)),
                  again ? std::string() : std::string(nature_names[std::size_t(entry(f.measure->of).nature)]),
                  std::string(f.measure->meaning),
                  value_of(f, reader),
                  trigger_of(f, reader),
                  f.reading && f.reading->share > 0 ? Value{f.reading->share} : Value{},
                  f.reading ? f.reading->cause : std::string()};
    if (reader == ReadBy::machines) row.values.push_back(f.fires ? "yes" : "no");
    if (f.fires) row.mark = "!";
    row.emphasis = f.fires ? Emphasis::none : Emphasis::dim;
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table improvements_table(const std::vector<Improvement>& improvements, ReadBy reader) {
  Table table{.columns = {{"gain", "gain", Holds::shape, 9},
                          {"epoch", "epoch", Holds::seconds, 7},
                          {"change", "change", Holds::text, 8},
                          {"option", "option", Holds::text, 6},
                          {"mends", "helps with", Holds::text, 4}}};
  int rank = 0;
  for (const Improvement& i : improvements) {
    Row row;
    row.mark = fmt::format("{}", ++rank);
    row.values = {gain_of(i.priced.gain, reader), i.priced.epoch.base(), i.priced.change.text,
                  i.priced.change.option, titles(i.against)};
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table sensitivity_table(const std::vector<Swing>& swings, ReadBy reader) {
  Table table{.columns = {{"parameter", "parameter", Holds::text, 9},
                          {"half", "gain of half", Holds::shape, 8},
                          {"half_epoch", "epoch", Holds::seconds, 3},
                          {"half_plan", "best plan", Holds::text, 4},
                          {"twice", "gain of twice", Holds::shape, 8},
                          {"twice_epoch", "epoch", Holds::seconds, 3},
                          {"twice_plan", "best plan", Holds::text, 4},
                          {"swing", "effect", Holds::share, 6},
                          {"path", "--set", Holds::text, 2}}};
  for (const Swing& s : swings) {
    Row row;
    row.values = {s.lever.name,
                  outcome_text(s.half, reader),
                  epoch_of(s.half),
                  plan_text(s.half),
                  outcome_text(s.twice, reader),
                  epoch_of(s.twice),
                  plan_text(s.twice),
                  std::isfinite(s.size) ? Value{s.size} : Value{},
                  s.lever.path};
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string bottleneck_text(const Bottleneck& b, std::size_t most) {
  const Entry& about = entry(b.kind);
  const Reading& reading = *b.finding.reading;
  std::string out =
      fmt::format("{}: {}", about.nature == Nature::limit ? "Limit" : "Bottleneck", about.title);
  // If the value is a share, the message contains it.
  if (b.finding.measure->reads != Reads::share && reading.share > 0)
    out += fmt::format(", {} of the epoch", percent(reading.share));
  out += ": " + reading.message;
  if (!reading.cause.empty() && reading.message.find(reading.cause) == reading.message.npos)
    out += fmt::format(" ({})", reading.cause);
  out += ".\n";
  std::size_t shown = 0;
  for (const PricedAlternative& remedy : b.remedies) {
    if (shown == most || !worth(remedy, b)) continue;
    ++shown;
    out +=
        fmt::format("  {:>12}  {}{} ({})\n",
                    has_time(b.kind) ? "gain " + gain_text(remedy.gain) : text(remedy.epoch) + " per epoch",
                    remedy.change.text, saves_memory(b.kind) ? fmt::format(", {}", text(remedy.memory)) : "",
                    remedy.change.option);
  }
  return out;
}

std::string remedy_text(const Bottleneck& b) {
  if (!b.remedies.empty()) {
    const PricedAlternative& best = b.remedies.front();
    return fmt::format("{} ({}): {}", best.change.text, best.change.option,
                       has_time(b.kind) ? "gain " + gain_text(best.gain) : text(best.epoch) + " per epoch");
  }
  std::string out;
  for (const Alternative& change : b.changes)
    out += fmt::format("{}{}", out.empty() ? "" : ", or ", change.option);
  return out;
}

Json bottleneck_json(const Bottleneck& b) {
  const Reading& reading = *b.finding.reading;
  Json out = json_object({{"kind", entry(b.kind).name},
                          {"type", nature_names[std::size_t(entry(b.kind).nature)]},
                          {"share", reading.share},
                          {"measure", b.finding.measure->key},
                          {"value", reading.value},
                          {"trigger", b.finding.trigger},
                          {"cause", reading.cause},
                          {"message", reading.message},
                          {"remedy", remedy_text(b)}},
                         1);
  Json::array_t remedies;
  remedies.reserve(b.remedies.size());
  for (const PricedAlternative& p : b.remedies) remedies.push_back(priced_json(p, has_time(b.kind)));
  if (!remedies.empty()) out["remedies"] = std::move(remedies);
  return out;
}

Json findings_json(const std::vector<Finding>& findings) {
  Json out = Json::array();
  for (const Finding& f : findings) {
    Json one = json_object({{"kind", entry(f.measure->of).name},
                            {"type", nature_names[std::size_t(entry(f.measure->of).nature)]},
                            {"measure", f.measure->key},
                            {"trigger", f.trigger},
                            {"applies", f.reading.has_value()},
                            {"fires", f.fires}},
                           4);
    if (f.reading) {
      one["value"] = f.reading->value;
      one["share"] = f.reading->share;
      one["cause"] = f.reading->cause;
      one["message"] = f.reading->message;
    }
    out.push_back(std::move(one));
  }
  return out;
}

Json improvements_json(const std::vector<Improvement>& improvements) {
  Json out = Json::array();
  for (const Improvement& i : improvements) {
    Json one = priced_json(i.priced);
    one["mends"] = Json::array();
    for (const BottleneckKind h : i.against) one["mends"].push_back(entry(h).name);
    out.push_back(std::move(one));
  }
  return out;
}

Json sensitivity_json(const std::vector<Swing>& swings) {
  Json out = Json::array();
  for (const Swing& s : swings) {
    Json one{{"parameter", s.lever.name},
             {"path", s.lever.path},
             {"half", outcome_json(s.half)},
             {"twice", outcome_json(s.twice)}};
    if (std::isfinite(s.size)) one["swing"] = s.size;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace paradl
