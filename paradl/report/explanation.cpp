#include "paradl/report/explanation.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "paradl/core/format.hpp"
#include "paradl/report/json.hpp"
#include "paradl/report/out_of_core_plan.hpp"

namespace paradl {
namespace {

constexpr double longest_bar = 30;

}  // namespace

Table term_table(const Explanation& explanation, const Projection& p) {
  Table table{.columns = {{"term", "term", Holds::text, 9},
                          {"formula", "formula", Holds::text, 5},
                          {"epoch", "value", Holds::seconds, 8},
                          {"share", "share", Holds::share, 7},
                          {"source", "source", Holds::text, 2}}};
  for (const TermLine& line : explanation.terms) {
    const double share = line.epoch / p.epoch();
    Row row;
    row.values = {std::string(term_names[std::size_t(line.term)].title), std::string(line.formula),
                  line.epoch.base(), share, std::string(line.source)};
    table.rows.push_back(row);
  }
  Row total;
  total.values = {std::string("epoch"), std::string(), p.epoch().base(), 1.0, std::string()};
  table.rows.push_back(total);
  return table;
}

Table with_bars(Table table) {
  const auto share = std::ranges::find(table.columns, "share", &Column::id) - table.columns.begin();
  table.columns.insert(table.columns.begin() + share + 1, {"bar", "", Holds::text, 1});
  for (Row& row : table.rows) {
    const bool total = &row == &table.rows.back();
    const double length = longest_bar * std::get<double>(row.values[std::size_t(share)]);
    const Value bar = std::string(total ? 0 : std::size_t(std::lround(length)), '#');
    row.values.insert(row.values.begin() + share + 1, bar);
  }
  return table;
}

Table exchange_table(const Projection& p, const Explanation& explanation) {
  Table table{.columns = {{"exchange", "exchange", Holds::text, 9},
                          {"axis", "axis", Holds::text, 7},
                          {"layer", "layer", Holds::text, 6},
                          {"count", "count", Holds::count, 5},
                          {"p", "p", Holds::count, 4},
                          {"bytes", "m", Holds::message, 5},
                          {"each", "each", Holds::seconds, 4},
                          {"iteration", "per iteration", Holds::seconds, 8},
                          {"phi", "φ", Holds::count, 3},
                          {"level", "level", Holds::text, 3},
                          {"formula", "formula", Holds::text, 2}}};
  constexpr std::size_t shown = 12;
  const Value blank = std::string();
  const std::vector<ExchangeLine>& lines = explanation.exchanges;
  const auto add = [&](std::vector<Value> values) { table.rows.emplace_back().values = std::move(values); };
  const auto parts = [](const ExchangeStep& step) { return step.p > 0 ? Value{step.p} : Value{}; };
  Seconds rest, wires;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const ExchangeLine& e = lines[i];
    const double whole = (e.count * e.each).base();
    wires += e.count * e.each;
    if (i >= shown) {
      rest += e.count * e.each;
    } else if (e.steps.size() == 1) {
      const ExchangeStep& s = e.steps.front();
      add({e.what, e.axis, e.layer, e.count, parts(s), e.bytes.base(), e.each.base(), whole, s.phi,
           std::string(s.level), std::string(e.formula)});
    } else {
      add({e.what, e.axis, e.layer, e.count, blank, e.bytes.base(), e.each.base(), whole, blank, blank,
           std::string("the sum of")});
      for (const ExchangeStep& s : e.steps)
        add({fmt::format("  in {}", s.level), blank, blank, blank, parts(s), s.bytes.base(), s.time.base(),
             blank, s.phi, std::string(s.level), std::string(e.formula)});
    }
  }
  if (lines.size() > shown)
    add({fmt::format("{} more", lines.size() - shown), blank, blank, blank, blank, blank, blank, rest.base(),
         blank, blank, blank});
  // Lines are the time on wires. In a pipeline they are those of all stages and cannot be compared with one.
  const Seconds besides = p.cost->communication() - wires;
  if (explanation.stages == 1 && besides > 1e-6 * wires)
    add({std::string("framework"), blank, blank, blank, blank, blank, blank, besides.base(), blank, blank,
         std::string("packing, copies through the host, waiting")});
  if (lines.empty())
    add({std::string("none"), blank, blank, blank, blank, blank, blank, blank, blank, blank, blank});
  return table;
}

Table layer_table(const Explanation& explanation) {
  Table table{.columns = {{"layer", "layer", Holds::text, 9},
                          {"op", "op", Holds::text, 5},
                          {"role", "role", Holds::text, 6},
                          {"forward", "forward", Holds::seconds, 4},
                          {"backward", "backward", Holds::seconds, 4},
                          {"update", "update", Holds::seconds, 3},
                          {"exchange", "exchange", Holds::seconds, 5},
                          {"halo", "halo", Holds::seconds, 5},
                          {"gradient", "gradient", Holds::message, 2},
                          {"total", "total", Holds::seconds, 8}}};
  std::vector<std::pair<double, Row>> rows;
  for (const LayerLine& layer : explanation.layers) {
    const CellLine& line = explanation.cells[layer.cell];
    std::string roles;
    for (const auto& [axis, role] : layer.roles) roles += fmt::format("{}{}", roles.empty() ? "" : ",", role);
    Row row;
    row.values = {layer.layer->name,
                  std::string(traits(layer.layer->op).name),
                  roles,
                  line.forward.base(),
                  line.backward.base(),
                  line.update.base(),
                  line.exchange.base(),
                  line.halo.base(),
                  line.gradient > Bytes{} ? Value{line.gradient.base()} : Value{},
                  line.total().base()};
    rows.emplace_back(line.total().base(), std::move(row));
  }
  std::ranges::stable_sort(rows, std::greater{}, [](const auto& r) { return r.first; });
  for (auto& [total, row] : rows) table.rows.push_back(std::move(row));
  return without_empty_columns(table, {"layer", "op", "role"});
}

namespace {

using Json = nlohmann::ordered_json;

/// `layer`: of all lines, instead of their own.
Json exchanges_json(const std::vector<ExchangeLine>& lines, const std::string* layer = nullptr) {
  Json out = Json::array();
  for (const ExchangeLine& e : lines) {
    Json steps = Json::array();
    for (const ExchangeStep& s : e.steps) {
      Json step{{"level", s.level}, {"bytes", s.bytes.base()}, {"phi", s.phi}, {"time_s", s.time.base()}};
      if (s.p > 0) step["p"] = s.p;
      if (const Binding& binding = s.binding; !binding.link.empty()) {
        step["link"] = binding.link;
        step["ports"] = binding.ports;
        step["ports_for_phi_1"] = binding.enough;
        if (binding.steps > 0) step["worst_step"] = binding.step, step["step_count"] = binding.steps;
      }
      steps.push_back(std::move(step));
    }
    out.push_back({{"exchange", e.what},
                   {"axis", e.axis},
                   {"layer", layer ? *layer : e.layer},
                   {"count", e.count},
                   {"bytes", e.bytes.base()},
                   {"each_s", e.each.base()},
                   {"phi", e.steps.back().phi},
                   {"fidelity", network_fidelities[std::size_t(e.fidelity)]},
                   {"formula", e.formula},
                   {"steps", std::move(steps)}});
  }
  return out;
}

/// In the order of the network.
Json layers_json(const Explanation& explanation) {
  Json out = Json::array();
  for (const LayerLine& layer : explanation.layers) {
    const CellLine& line = explanation.cells[layer.cell];
    Json roles = Json::object();
    for (const auto& [axis, role] : layer.roles) roles[std::string(axis)] = role;
    out.push_back({{"name", layer.layer->name},
                   {"op", traits(layer.layer->op).name},
                   {"roles", std::move(roles)},
                   {"forward_s", line.forward.base()},
                   {"backward_s", line.backward.base()},
                   {"update_s", line.update.base()},
                   {"exchange_s", line.exchange.base()},
                   {"halo_s", line.halo.base()},
                   {"gradient_bytes", line.gradient.base()},
                   {"total_s", line.total().base()},
                   {"exchanges", exchanges_json(line.exchanges, &layer.layer->name)}});
  }
  return out;
}

}  // namespace

Json explanation_json(const Answer& answer, const std::vector<std::optional<Explanation>>& explanations) {
  Json out = to_json(answer);
  for (std::size_t i = 0; i < answer.results.size(); ++i) {
    if (!explanations[i]) continue;
    const Explanation& explanation = *explanations[i];
    Json& result = out["results"][i];
    Json lines = Json::array();
    for (const TermLine& line : explanation.terms)
      lines.push_back({{"term", term_names[std::size_t(line.term)].json},
                       {"epoch_s", line.epoch.base()},
                       {"formula", line.formula},
                       {"source", line.source}});
    result["explanation"] = lines;
    if (explanation.paper) continue;
    result["exchanges"] = exchanges_json(explanation.exchanges);
    if (explanation.out_of_core)
      result["out_of_core"].update(plan_json(answer.setting->work, *explanation.out_of_core));
    result["whole_layers"] = explanation.whole_layers;
    if (!explanation.layers.empty()) result["layers"] = layers_json(explanation);
  }
  return out;
}

}  // namespace paradl
