#include "paradl/report/explanation.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "paradl/core/format.hpp"
#include "paradl/judge/advice.hpp"
#include "paradl/judge/exchange_lines.hpp"
#include "paradl/paper/row.hpp"
#include "paradl/report/json.hpp"
#include "paradl/report/out_of_core_plan.hpp"

namespace paradl {
namespace {

constexpr double longest_bar = 30;

struct ExplainedTerm {
  Term term;
  Seconds epoch;
  std::string formula, source;
};

/// The formula of the engine for each term, with the letters of the paper. `n_l`: the parts of layer l.
std::string_view engine_formula(Term term, bool pipeline) {
  switch (term) {
    case Term::forward:
      return pipeline ? "I Σ_gr FW_l B/n_l, r: busiest stage" : "I Σ FW_l B/n_l";
    case Term::backward:
      return pipeline ? "I Σ_gr BW_l B/n_l" : "I Σ BW_l B/n_l";
    case Term::update:
      return pipeline ? "I max_i Σ_gi WU_l/n_w" : "I Σ WU_l/n_w";
    case Term::recompute:
      return pipeline ? "I S Σ_gi FW_l B/S/n_l, l: recomputed layers"
                      : "I Σ FW_l B/n_l, l: recomputed layers";
    case Term::bubble:
      return "I [schedule executed: r waits for others]";
    case Term::gradient_exchange:
      return "I [allreduce of W - overlap with backward]";
    case Term::activation_exchange:
      return "I Σ [changes of placement]";
    case Term::halo_exchange:
      return "I Σ_{K>1} [α + B h δ φ β] per neighbour";
    case Term::stage_transfer:
      return "I [schedule executed: messages of α + B/S|y| δ φ β]";
    case Term::io:
      return "I [read + stage + shuffle - overlap]";
    case Term::swap:
      return "I [plan executed: passes wait for copies and memory]";
    default:
      return "";
  }
}

std::vector<ExplainedTerm> engine_terms(const Projection& p) {
  std::vector<ExplainedTerm> out;
  const bool pipeline = (*p.cost)[Term::bubble] > Seconds{} || (*p.cost)[Term::stage_transfer] > Seconds{};
  for (std::size_t t = 0; t < terms; ++t)
    if (p.cost->exposed[t] > Seconds{})
      out.push_back({Term(t), p.iterations * p.cost->exposed[t],
                     std::string(engine_formula(Term(t), pipeline)), "engine"});
  return out;
}

std::vector<ExplainedTerm> paper_terms(const Setting& setting, const Projection& p) {
  std::vector<ExplainedTerm> out;
  for (const paper::CostLine& line : paper::explain(setting, *p.strategy, p.plan))
    out.push_back({line.term, line.time, std::string(line.formula), std::string(line.source)});
  return out;
}

Table table_of(const std::vector<ExplainedTerm>& lines, const Projection& p) {
  Table table{.columns = {{"term", "term", Holds::text, 9},
                          {"formula", "formula", Holds::text, 5},
                          {"epoch", "value", Holds::seconds, 8},
                          {"share", "share", Holds::share, 7},
                          {"source", "source", Holds::text, 2}}};
  for (const ExplainedTerm& line : lines) {
    const double share = line.epoch / p.epoch();
    Row row;
    row.values = {std::string(term_names[std::size_t(line.term)].title), line.formula, line.epoch.base(),
                  share, line.source};
    table.rows.push_back(row);
  }
  Row total;
  total.values = {std::string("epoch"), std::string(), p.epoch().base(), 1.0, std::string()};
  table.rows.push_back(total);
  return table;
}

}  // namespace

Table explain_paper(const Setting& setting, const Projection& p) {
  return table_of(paper_terms(setting, p), p);
}
Table explain_engine(const Setting&, const Projection& p) { return table_of(engine_terms(p), p); }

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

Table exchange_table(const Projection& p, const Evaluation& evaluation) {
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
  const auto lines = exchange_lines(evaluation);
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
  if (evaluation.stages->stages == 1 && besides > 1e-6 * wires)
    add({std::string("framework"), blank, blank, blank, blank, blank, blank, besides.base(), blank, blank,
         std::string("packing, copies through the host, waiting")});
  if (lines.empty())
    add({std::string("none"), blank, blank, blank, blank, blank, blank, blank, blank, blank, blank});
  return table;
}

namespace {

/// The times of one layer in one iteration.
struct LayerLine {
  Seconds forward, backward, update, exchange, halo;
  Bytes gradient;
  Seconds total() const { return forward + backward + update + exchange + halo; }
};

/// Where iterations are rounded up, the last mini-batch is smaller: its samples are not more work.
LayerLine layer_line(const CellCost& cost, const Plan& plan, const Projection& p) {
  const double S = plan.micro_batches;
  const double full = p.samples / p.plan.batch / p.iterations;
  return {.forward = full * S * cost.forward,
          .backward = full * S * cost.backward,
          .update = cost.updated(plan.zero),
          .exchange = S * (cost.forward_exchange + cost.backward_exchange),
          .halo = S * (cost.forward_halo + cost.backward_halo),
          .gradient = cost.gradient};
}

}  // namespace

Table layer_table(const Projection& p, const Evaluation& e) {
  const Layout& layout = *e.layout;
  const std::vector<Layer>& layers = e.mesh.setting.work.layers;
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
  for (std::size_t l = 0; l < layout.order.size(); ++l) {
    const LayerLine line =
        layer_line(e.passes.cells[std::size_t(layout.order[l])], e.plan, p);
    std::string role;
    for (int a = 0; a < e.plan.mesh.axes; ++a)
      role += fmt::format("{}{}", a ? "," : "", role_names[std::size_t(layout.role[std::size_t(a)][l])]);
    Row row;
    row.values = {layers[l].name,
                  std::string(traits(layers[l].op).name),
                  role,
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

Json exchanges_json(const std::vector<ExchangeLine>& lines) {
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
                   {"layer", e.layer},
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
Json layers_json(const Projection& p, const Evaluation& e) {
  const Layout& layout = *e.layout;
  Json out = Json::array();
  for (std::size_t l = 0; l < layout.order.size(); ++l) {
    const auto id = std::size_t(layout.order[l]);
    const Layer& layer = e.mesh.setting.work.layers[l];
    const LayerLine line = layer_line(e.passes.cells[id], e.plan, p);
    Json roles = Json::object();
    for (int a = 0; a < e.plan.mesh.axes; ++a)
      roles[std::string(e.plan.mesh.axis[std::size_t(a)].strategy->name)] =
          role_names[std::size_t(layout.role[std::size_t(a)][l])];
    out.push_back({{"name", layer.name},
                   {"op", traits(layer.op).name},
                   {"roles", std::move(roles)},
                   {"forward_s", line.forward.base()},
                   {"backward_s", line.backward.base()},
                   {"update_s", line.update.base()},
                   {"exchange_s", line.exchange.base()},
                   {"halo_s", line.halo.base()},
                   {"gradient_bytes", line.gradient.base()},
                   {"total_s", line.total().base()},
                   {"exchanges", exchanges_json(layer_exchanges(e, id, layer.name))}});
  }
  return out;
}

}  // namespace

Json explanation_json(const Answer& answer, bool layers,
                      const std::vector<std::optional<Evaluation>>& evaluations) {
  Json out = to_json(answer);
  const Setting& setting = *answer.setting;
  const bool paper = evaluations.empty();
  for (std::size_t i = 0; i < answer.results.size(); ++i) {
    const Projection& p = answer.results[i];
    if (!p.cost) continue;
    Json& result = out["results"][i];
    Json lines = Json::array();
    for (const ExplainedTerm& line : paper ? paper_terms(setting, p) : engine_terms(p))
      lines.push_back({{"term", term_names[std::size_t(line.term)].json},
                       {"epoch_s", line.epoch.base()},
                       {"formula", line.formula},
                       {"source", line.source}});
    result["explanation"] = lines;
    if (paper) continue;
    const Evaluation& e = *evaluations[i];
    result["exchanges"] = exchanges_json(exchange_lines(e));
    if (e.out_of_core && e.out_of_core->plan().time.possible)
      result["out_of_core"].update(plan_json(setting.work, *e.out_of_core));
    result["whole_layers"] = whole_layers(e.layout->role, e.plan.mesh, setting.work);
    if (layers) result["layers"] = layers_json(p, e);
  }
  return out;
}

}  // namespace paradl
