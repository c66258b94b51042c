// paradl strategies: lists the strategies, and shows the limits and the paper's formulas of one.
#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "paradl/cli/listing.hpp"
#include "paradl/cost/question.hpp"
#include "paradl/paper/row.hpp"
#include "paradl/strategy/table.hpp"

namespace paradl {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* serial_summary = "one GPU does everything";
constexpr const char* limit_title = "at most as many parts as";

/// The text of a limit; it completes the sentence of `limit_title`.
struct Counted {
  LimitRule rule;
  std::string_view what;
};
constexpr std::array counted{
    Counted{LimitRule::samples, "samples in the mini-batch"},
    Counted{LimitRule::rows, "positions of the smallest layer, along each extent"},
    Counted{LimitRule::positions, "positions of the smallest layer, along each extent"},
    Counted{LimitRule::layers, "layers"},
    Counted{LimitRule::filters, "output channels of the narrowest layer"},
    Counted{LimitRule::channels, "input channels of the narrowest layer except the first"},
    Counted{LimitRule::heads, "attention heads of a transformer (parts must divide them)"},
    Counted{LimitRule::sequence, "positions of a sequence (parts must divide them)"},
    Counted{LimitRule::experts, "experts (parts must divide them)"},
};

/// A rule without a text here is printed as it is.
std::string_view in_words(LimitRule rule) {
  const auto found = std::ranges::find(counted, rule, &Counted::rule);
  return found == counted.end() ? row_of(rule).name : found->what;
}

template <class T>
void add_once(std::vector<T>& list, T item) {
  if (std::ranges::find(list, item) == list.end()) list.push_back(item);
}

/// A network of two equal layers, from which a strategy's limit and the paper's formulas can be read: these
/// do not depend on the numbers.
Workload probe(Op first, Op second, int extents) {
  const Shape shape{.channels = 8, .extent = {8, extents > 1 ? 8.0 : 1.0, 1}, .dims = extents};
  Workload work{.name = "probe", .layers = {}, .input = shape, .D = 16, .convolutional = first == Op::conv};
  for (const Op op : {first, second})
    work.layers.push_back({.name = "probe",
                           .op = op,
                           .x = shape,
                           .y = shape,
                           .x_items = shape.items(),
                           .weights = 1,
                           .macs = 1,
                           .heads = 8,
                           .query_heads = 8,
                           .experts = op == Op::fc ? 8.0 : 0.0,
                           .kv_length = 8,
                           .kernel = {3, 3, 1},
                           .inputs = {int(work.layers.size()) - 1}});
  return work;
}

/// The limits of one axis: for images, and for sequences if they differ.
std::vector<LimitRule> rules_of(const Strategy& strategy) {
  std::vector<LimitRule> rules;
  for (const Workload& work : {probe(Op::conv, Op::conv, 2), probe(Op::fc, Op::attention, 1)})
    if (strategy.usual || !work.convolutional)
      add_once(rules, strategy.limit(work, {.total = 2, .cut = {2, 1, 1}}, 2).rule);
  return rules;
}

/// The facts about a strategy of one axis.
struct Simple {
  std::string name, summary, limit;
  std::vector<std::string_view> rules;
};

Simple describe(const Strategy& axis) {
  std::vector<std::string_view> rules, limits;
  for (const LimitRule rule : rules_of(axis)) {
    rules.push_back(row_of(rule).name);
    add_once(limits, in_words(rule));
  }
  return {.name = std::string(axis.name),
          .summary = std::string(axis.summary),
          .limit = fmt::format("{}", fmt::join(limits, "; ")),
          .rules = std::move(rules)};
}

Json to_json(const Simple& simple) {
  return {{"name", simple.name}, {"summary", simple.summary}, {"rules", simple.rules}};
}

bool in_paper(std::string_view name) { return paper::find_row(name) != nullptr; }

std::vector<std::string> default_names() {
  std::vector<std::string> names;
  for (const StrategyName& strategy : default_strategies()) names.push_back(strategy.text);
  return names;
}

std::string hybrids_text() {
  std::vector<std::string_view> hybrids = paper::row_names();
  std::erase_if(hybrids, [](std::string_view name) { return name.find('+') == name.npos; });
  return fmt::format(
      "Hybrids combine them with `+`, outermost first, each once: data+filter, data+layer+tensor. The last "
      "axis is on neighbouring GPUs.\n"
      "/ooc at the end is for networks that exceed the memory of the device (out of core): data/ooc, "
      "data+layer/ooc.\n"
      "The paper also has closed forms for {} (--fidelity paper). More: paradl help strategies\n",
      fmt::join(hybrids, ", "));
}

Listing list_strategies(const Session&) {
  std::vector<Simple> all{
      {.name = std::string(serial_name), .summary = serial_summary, .limit = "one", .rules = {"p = 1"}}};
  for (const Strategy* axis : strategies()) all.push_back(describe(*axis));

  Table table{.columns = {{"name", "name", Holds::text, 9},
                          {"summary", "what it does", Holds::text, 8},
                          {"limit", limit_title, Holds::text, 5},
                          {"paper", "in the paper", Holds::text, 3}}};
  Json json{{"schema", "paradl.strategies/1"}, {"strategies", Json::array()}};
  for (const Simple& simple : all) {
    const bool closed_form = in_paper(simple.name);
    table.rows.push_back({.values = {simple.name, simple.summary, simple.limit, closed_form ? "yes" : "no"}});
    json["strategies"].push_back(to_json(simple));
    json["strategies"].back()["closed_form"] = closed_form;
  }
  json["closed_forms"] = paper::row_names();
  json["default"] = default_names();
  return {.sections = {{"", std::move(table)}}, .after = hybrids_text(), .json = json};
}

/// The terms of the paper's row; none if there is no such row. They are computed for an arbitrary question,
/// whose numbers are not shown.
paper::CostLines paper_lines(const StrategyName& strategy) {
  if (!in_paper(strategy.text)) return {};
  const Workload work = probe(Op::conv, Op::conv, 2);
  Machine machine;
  const Link link{Seconds{1}, SecondsPerByte{1}};
  machine.levels.push_back({.name = "node", .gpus = 2, .link = link});  // one group per node
  machine.levels.push_back({.name = "rack", .gpus = 64, .inside = 2, .link = link});
  const LayerTimes times{.layer = {work.layers.size(), {Seconds{1}, Seconds{1}, Seconds{1}}}, .source = {}};
  const Setting setting{work, machine, times, {}};
  const Mesh mesh = meshes(strategy, 1 << strategy.axes.size(), 2).front();
  // A pipeline is one only with micro-batches.
  return paper::explain(setting, {.mesh = mesh, .batch = 8, .micro_batches = 2});
}

Table formula_table(const paper::CostLines& lines) {
  Table table{.columns = {{"term", "term", Holds::text, 9},
                          {"formula", "formula per epoch", Holds::text, 8},
                          {"source", "source", Holds::text, 2}}};
  for (const paper::CostLine& line : lines)
    table.rows.push_back({.values = {std::string(term_names[std::size_t(line.term)].title),
                                     std::string(line.formula), std::string(line.source)}});
  return table;
}

Table axis_table(const StrategyName& strategy) {
  Table table{.columns = {{"axis", "axis", Holds::text, 9},
                          {"summary", "what it does", Holds::text, 8},
                          {"limit", limit_title, Holds::text, 5}}};
  for (const Strategy* axis : strategy.axes) {
    const Simple simple = describe(*axis);
    table.rows.push_back({.values = {simple.name, simple.summary, simple.limit}});
  }
  return table;
}

std::string summary_of(const StrategyName& strategy) {
  const char* const beyond =
      strategy.out_of_core ? "; blocks that do not fit are swapped to the host or recomputed" : "";
  if (strategy.axes.empty()) return serial_summary + std::string(beyond);
  if (strategy.axes.size() == 1) return std::string(strategy.axes.front()->summary) + beyond;
  return fmt::format("{} axes, outermost first{}", strategy.axes.size(), beyond);
}

bool is_default(const StrategyName& strategy) {
  const auto names = default_names();
  return std::ranges::find(names, strategy.text) != names.end();
}

/// Whether it is a default strategy, and an example command.
std::string advice_text(const StrategyName& strategy) {
  return fmt::format("{}{}\nTry: paradl explain {} resnet50 --on abci -p {}\n",
                     in_paper(strategy.text) ? "Letters are explained by `paradl help strategies`.\n" : "",
                     is_default(strategy) ? "Included by default (without -s)."
                                          : fmt::format("Not included by default; use -s {}", strategy.text),
                     strategy.text, strategy.axes.empty() ? 1 : 64);
}

Json strategy_json(const StrategyName& strategy, const paper::CostLines& lines) {
  Json axes = Json::array(), terms = Json::array();
  for (const Strategy* axis : strategy.axes) axes.push_back(to_json(describe(*axis)));
  for (const paper::CostLine& line : lines)
    terms.push_back({{"term", term_names[std::size_t(line.term)].title},
                     {"formula", line.formula},
                     {"source", line.source}});
  return {{"schema", "paradl.strategy/1"}, {"name", strategy.text},
          {"axes", std::move(axes)},       {"closed_form", in_paper(strategy.text)},
          {"terms", std::move(terms)},     {"default", is_default(strategy)}};
}

Listing show_strategy(const Session&, const std::string& name) {
  const StrategyName strategy = read_strategy(name);
  const paper::CostLines lines = paper_lines(strategy);
  const char* const fidelity = in_paper(strategy.text)
                                   ? "Closed forms of the paper, used by --fidelity paper:\n"
                                   : "The paper has no closed form for it; only the engine projects it "
                                     "(--fidelity detailed, the default).\n";
  return {.sections = {{title_line(strategy.text, summary_of(strategy)), axis_table(strategy)},
                       {fidelity, formula_table(lines)}},
          .after = advice_text(strategy),
          .json = strategy_json(strategy, lines)};
}

}  // namespace

void define_strategies(const Arguments& root, Session& session, Action& action) {
  define_listing(root, session, action,
                 {.word = "strategies",
                  .one = "strategy",
                  .summary = "the strategies: list, or show NAME",
                  .name_help = "data, data+filter ...",
                  .examples = R"(Examples:
  paradl strategies
  paradl strategies show spatial
  paradl strategies show data+filter --json)",
                  .list = list_strategies,
                  .show = show_strategy,
                  .names = [](const Session&) { return default_names(); }});
}

}  // namespace paradl
