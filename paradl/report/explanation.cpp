#include "paradl/report/explanation.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "paradl/core/format.hpp"
#include "paradl/feasibility/advice.hpp"
#include "paradl/paper/row.hpp"
#include "paradl/report/json.hpp"

namespace paradl {
namespace {

constexpr double longest_bar = 30;

struct ExplainedTerm {
  Term term;
  Seconds epoch;
  std::string formula, source;
};

/// What the engine adds up for each term, in the letters of the paper. `n_l`: the parts that share layer l.
std::string_view engine_formula(Term term, bool pipeline) {
  switch (term) {
    case Term::forward:
      return pipeline ? "I S max_i Σ_gi FW_l B/S/n_l" : "I Σ FW_l B/n_l";
    case Term::backward:
      return pipeline ? "I S max_i Σ_gi BW_l B/S/n_l" : "I Σ BW_l B/n_l";
    case Term::update:
      return pipeline ? "I max_i Σ_gi WU_l/n_w" : "I Σ WU_l/n_w";
    case Term::bubble:
      return "I Σ_{i≠max} (FW_gi + BW_gi)";
    case Term::gradient_exchange:
      return "I [allreduce of W, less what backward hides]";
    case Term::activation_exchange:
      return "I Σ [changes of placement, below]";
    case Term::halo_exchange:
      return "I Σ_{K>1} [α + B h δ φ β] per neighbour";
    case Term::stage_transfer:
      return "I (p+S-2) [α + B/S|y| δ φ β], both ways";
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
  for (const paper::CostLine& line : paper::explain(setting, *p.strategy, p.mesh, p.batch))
    out.push_back({line.term, line.time, std::string(line.formula), std::string(line.source)});
  return out;
}

Table table_of(const std::vector<ExplainedTerm>& lines, const Projection& p) {
  Table table{.columns = {{"term", "term", Holds::text, 9},
                          {"formula", "formula", Holds::text, 5},
                          {"epoch", "value", Holds::seconds, 8},
                          {"share", "share", Holds::share, 7},
                          {"bar", "", Holds::text, 1},
                          {"source", "source", Holds::text, 2}}};
  for (const ExplainedTerm& line : lines) {
    const double share = line.epoch / p.epoch();
    Row row;
    row.values = {std::string(term_names[std::size_t(line.term)].title),
                  line.formula,
                  line.epoch.base(),
                  share,
                  std::string(std::size_t(std::lround(share * longest_bar)), '#'),
                  line.source};
    table.rows.push_back(row);
  }
  Row total;
  total.values = {std::string("epoch"), std::string(), p.epoch().base(), 1.0, std::string(), std::string()};
  table.rows.push_back(total);
  return table;
}

std::string axes_text(AxisSet set, const Mesh& mesh) {
  std::string out;
  for (int a = 0; a < mesh.axes; ++a)
    if (set & axis_bit(a))
      out += fmt::format("{}{}", out.empty() ? "" : "+", mesh.axis[std::size_t(a)].strategy->name);
  return out;
}

double phi_of(const Path& path) { return path.outermost().phi; }

/// One line of the exchange table.
struct ExchangeLine {
  std::string what, axis, layer;
  double count;
  Bytes bytes;
  Seconds each;
  double phi;
  std::string_view formula, level;
};

std::vector<ExchangeLine> exchanges(const Setting& setting, const Projection& p, const Layout& layout,
                                    const StagePlan& plan, const Pricer& pricer) {
  const double S = setting.training.micro_batches;
  const double samples = p.batch / S;
  std::vector<ExchangeLine> out;
  for (std::size_t i = 0; i < layout.cells.size(); ++i) {
    const Cell& cell = layout.cells[i];
    const CellCost& cost = pricer.cells()[i];
    const std::string& name = setting.work.layers[std::size_t(cell.layer)].name;
    const auto add = [&](const ExchangeList& list, const char* tensor) {
      for (const Exchange& e : list) {
        const Path& path = pricer.path(e.axis);
        const auto& [operation, formula] = text_of(e.operation);
        out.push_back({fmt::format("{} {}", operation, tensor), axes_text(axis_bit(e.axis), p.mesh), name,
                       S * cell.count, pricer.bytes_of(e, samples), pricer.time_of(e, samples), phi_of(path),
                       formula, path.outermost().level});
      }
    };
    add(cell.forward, "y");
    add(cell.backward, "dy");
    if (cell.halo_axis >= 0) {
      const Path& path = pricer.path(cell.halo_axis);
      for (const auto& [time, what] :
           {std::pair{cost.forward_halo, "halo of x"}, std::pair{cost.backward_halo, "halo of dy"}})
        if (time > Seconds{})
          out.push_back({what, axes_text(axis_bit(cell.halo_axis), p.mesh), name, S * cell.count, Bytes{},
                         time, pricer.halo_phi(), "α + m φ β per neighbour", path.outermost().level});
    }
  }
  for (const auto& group : pricer.gradient_groups()) {
    Bytes whole;
    for (std::size_t i = 0; i < layout.cells.size(); ++i)
      if (group.has(layout.cells[i])) whole += layout.cells[i].count * pricer.cells()[i].gradient;
    if (!(group.allreduce(whole) > Seconds{})) continue;
    out.push_back({"allreduce dw", axes_text(group.set, p.mesh),
                   pricer.gradient_groups().size() == 1 ? "all weights" : "weights", 1, whole,
                   group.allreduce(whole), phi_of(group.path), text_of(Collective::allreduce).formula,
                   group.path.outermost().level});
  }
  for (const StageKind& kind : plan.kinds) {
    if (kind.sent.empty()) continue;
    const std::size_t next = std::size_t(kind.first) + 1;
    const std::string& border = setting.work.layers[std::size_t(plan.first_layer[next] - 1)].name;
    const auto [bytes, each, phi, level] = pricer.transfer(kind, samples);
    // Forward and backward, once for each micro-batch.
    out.push_back({"stage transfer", "layer", border, 2 * S * kind.count, bytes, each, phi,
                   text_of(Collective::point_to_point).formula, level});
  }
  std::ranges::stable_sort(out, std::greater{},
                           [](const ExchangeLine& e) { return (e.count * e.each).base(); });
  return out;
}

}  // namespace

Table explain_paper(const Setting& setting, const Projection& p) {
  return table_of(paper_terms(setting, p), p);
}
Table explain_engine(const Setting&, const Projection& p) { return table_of(engine_terms(p), p); }

Table exchange_table(const Setting& setting, const Projection& p, const Layout& layout, const StagePlan& plan,
                     const Pricer& pricer) {
  Table table{.columns = {{"exchange", "exchange", Holds::text, 9},
                          {"axis", "axis", Holds::text, 7},
                          {"layer", "of layer", Holds::text, 6},
                          {"count", "times", Holds::count, 5},
                          {"bytes", "bytes", Holds::message, 5},
                          {"each", "each", Holds::seconds, 4},
                          {"iteration", "per iteration", Holds::seconds, 8},
                          {"phi", "φ", Holds::count, 3},
                          {"level", "level", Holds::text, 3},
                          {"formula", "formula", Holds::text, 2}}};
  constexpr std::size_t shown = 12;
  const auto lines = exchanges(setting, p, layout, plan, pricer);
  Seconds rest;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const ExchangeLine& e = lines[i];
    if (i >= shown) {
      rest += e.count * e.each;
      continue;
    }
    Row row;
    row.values = {e.what,
                  e.axis,
                  e.layer,
                  e.count,
                  e.bytes > Bytes{} ? Value{e.bytes.base()} : Value{},
                  e.each.base(),
                  (e.count * e.each).base(),
                  e.phi,
                  std::string(e.level),
                  std::string(e.formula)};
    table.rows.push_back(row);
  }
  if (lines.size() > shown) {
    Row row;
    row.values = {fmt::format("{} more", lines.size() - shown),
                  std::string(),
                  std::string(),
                  {},
                  {},
                  {},
                  rest.base(),
                  {},
                  std::string(),
                  std::string()};
    table.rows.push_back(row);
  }
  if (lines.empty()) {
    Row row;
    row.values = {std::string("none")};
    table.rows.push_back(row);
  }
  return table;
}

Table layer_table(const Setting& setting, const Projection& p, const Layout& layout, const Pricer& pricer) {
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
  const double S = setting.training.micro_batches;
  std::vector<std::pair<double, Row>> rows;
  for (std::size_t l = 0; l < layout.order.size(); ++l) {
    const CellCost& cost = pricer.cells()[std::size_t(layout.order[l])];
    const Seconds total = S * (cost.forward_pass() + cost.backward_pass()) + cost.update;
    std::string role;
    for (int a = 0; a < p.mesh.axes; ++a) {
      static constexpr std::array names{"data", "spatial", "filter", "channel", "keep", "whole", "stage"};
      role += fmt::format("{}{}", a ? "," : "", names[std::size_t(layout.role[std::size_t(a)][l])]);
    }
    Row row;
    row.values = {setting.work.layers[l].name,
                  std::string(traits(setting.work.layers[l].op).name),
                  role,
                  (S * cost.forward).base(),
                  (S * cost.backward).base(),
                  cost.update.base(),
                  (S * (cost.forward_exchange + cost.backward_exchange)).base(),
                  (S * (cost.forward_halo + cost.backward_halo)).base(),
                  cost.gradient.base(),
                  total.base()};
    rows.emplace_back(total.base(), std::move(row));
  }
  std::ranges::stable_sort(rows, std::greater{}, [](const auto& r) { return r.first; });
  for (auto& [total, row] : rows) table.rows.push_back(std::move(row));
  return without_empty_columns(table, {"layer", "op", "role"});
}

std::string symbols_text(const Setting& setting, const Projection& p) {
  LayerTime sum;
  double W = 0;
  for (const LayerTime& t : setting.times.layer) sum.FW += t.FW, sum.BW += t.BW, sum.WU += t.WU;
  W = setting.work.parameters();
  std::string out = fmt::format(
      " D = {} samples   B = {} samples   I = D/B = {} iterations   p = {} PEs ({})\n", count(setting.work.D),
      p.batch, three_digits(p.iterations), p.gpus, grid_text(p.mesh, false));
  const ItemBytes bytes = item_bytes(setting.training.precision);
  out += fmt::format(" Σ FW = {}   Σ BW = {}   Σ WU = {}   W = {}   δ = {}\n", text(sum.FW), text(sum.BW),
                     text(sum.WU), decimal(W * bytes.sent_gradient), decimal(bytes.activation));
  std::set<std::string_view> told;
  for (int a = 0; a < p.mesh.axes; ++a) {
    const Path path = group_path(p.mesh, axis_bit(a), setting.machine);
    for (int k = 0; k < path.hops; ++k) {
      const Hop& hop = path.hop[std::size_t(k)];
      if (hop.size <= 1 || !told.insert(hop.level).second) continue;
      out += fmt::format(" α = {}   β = {} ({}, level {})   φ = {}\n", text(hop.link.alpha),
                         text(hop.link.beta), text(1.0 / hop.link.beta), hop.level, three_digits(hop.phi));
    }
  }
  return out;
}

std::string memory_text(const Setting& setting, const Projection& p, bool paper) {
  const Memory& m = p.cost->memory;
  std::string out =
      fmt::format(" memory  {} of {}: weights {}, gradients {}, optimizer {}, activations {}, workspace {}\n",
                  text(m.total()), text(setting.machine.device.memory), text(m.weights), text(m.gradients),
                  text(m.optimizer), text(m.activations), text(m.workspace));
  if (paper)
    out += setting.training.gamma
               ? fmt::format("         γ 2δ Σ (b(|x|+|y|) + |w|), γ = {}\n", *setting.training.gamma)
               : "         2δ Σ (b(|x|+|y|) + |w|), normalisation and activation buffers left out\n";
  return out;
}

std::string limits_text(const Projection& p, const Workload& work) {
  std::string out;
  for (const Limit& limit : p.limits.all()) {
    if (limit.rule == memory_rule) continue;
    const std::string layer =
        limit.layer >= 0 ? fmt::format(" (layer {})", work.layers[std::size_t(limit.layer)].name) : "";
    out += fmt::format(" limits  {}: {} <= {}{}, {}\n", limit.rule, limit.value, limit.bound, layer,
                       limit.holds() ? "holds" : "broken");
  }
  return out;
}

std::string explanation_json(const Answer& answer, bool paper, Planner& planner) {
  using Json = nlohmann::ordered_json;
  Json out = Json::parse(to_json(answer));
  const Setting& setting = *answer.setting;
  for (std::size_t i = 0; i < answer.results.size(); ++i) {
    const Projection& p = answer.results[i];
    if (!p.cost) continue;
    Json lines = Json::array();
    for (const ExplainedTerm& line : paper ? paper_terms(setting, p) : engine_terms(p))
      lines.push_back({{"term", term_names[std::size_t(line.term)].json},
                       {"epoch_s", line.epoch.base()},
                       {"formula", line.formula},
                       {"source", line.source}});
    out["results"][i]["explanation"] = lines;
    if (paper) continue;
    Projection shown = planner.project(*p.strategy, p.mesh, p.batch);
    shown.mesh = without_ones(p.mesh);
    const Layout& layout = planner.layout(shown.mesh);
    Json list = Json::array();
    for (const ExchangeLine& e :
         exchanges(setting, shown, layout, planner.stages(layout, shown.mesh), planner.pricer()))
      list.push_back({{"exchange", e.what},
                      {"axis", e.axis},
                      {"layer", e.layer},
                      {"count", e.count},
                      {"bytes", e.bytes.base()},
                      {"each_s", e.each.base()},
                      {"phi", e.phi}});
    out["results"][i]["exchanges"] = list;
    out["results"][i]["whole_layers"] = whole_layers(layout.role, shown.mesh, setting.work);
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace paradl
