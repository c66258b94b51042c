#include "paradl/judge/explanation.hpp"

#include <set>

#include "paradl/judge/advice.hpp"
#include "paradl/judge/plan_notes.hpp"
#include "paradl/paper/row.hpp"

namespace paradl {
namespace {

std::vector<TermLine> engine_terms(const Projection& p) {
  std::vector<TermLine> out;
  const bool pipeline = (*p.cost)[Term::bubble] > Seconds{} || (*p.cost)[Term::stage_transfer] > Seconds{};
  for (std::size_t t = 0; t < terms; ++t)
    if (p.cost->exposed[t] > Seconds{})
      out.push_back(
          {Term(t), p.iterations * p.cost->exposed[t], text(formula_of(Term(t), pipeline)), "engine"});
  return out;
}

/// Every level that some axis uses. φ is not here but with each exchange, because it differs.
std::vector<UsedLink> engine_links(const Setting& setting, const Mesh& mesh) {
  std::vector<UsedLink> out;
  std::set<std::string_view> shown;
  for (int a = 0; a < mesh.axes; ++a) {
    const Path path = group_path(mesh, axis_bit(a), setting.machine);
    for (int k = 0; k < path.hops; ++k) {
      const Hop& hop = path.hop[std::size_t(k)];
      if (hop.size <= 1 || !shown.insert(hop.level).second) continue;
      const Level& level = setting.machine.levels[std::size_t(k)];
      out.push_back({.suffix = "",
                     .level = hop.level,
                     .link = hop.link,
                     .measured = level.measured.empty() ? nullptr : &level});
    }
  }
  return out;
}

/// The links whose letters are in the formulas of the paper's row.
std::vector<UsedLink> paper_links(const Setting& setting, const Projection& p,
                                  const std::vector<TermLine>& terms) {
  const auto has = [&](std::string_view letter) {
    return std::ranges::any_of(
        terms, [&](const TermLine& line) { return line.formula.find(letter) != line.formula.npos; });
  };
  const paper::Links links = paper::links_of(setting, p.plan);
  std::vector<UsedLink> out;
  if (has("α +")) {
    out.push_back({.suffix = "", .level = links.all->name, .link = links.all->link});
    if (has("φ")) out.back().phi = links.phi;
  }
  if (has("α_in")) out.push_back({.suffix = "_in", .level = links.in->name, .link = links.in->link});
  return out;
}

/// Where iterations are rounded up, the last mini-batch is smaller: its samples are not more work (`full` <
/// 1).
CellLine cell_line(const Evaluation& e, std::size_t cell, double full) {
  CellLine out{.gradient = e.passes.cells[cell].gradient, .exchanges = {}};
  for (const Charge& charge : layer_charges(e, cell, e.layout->cells[cell].recomputed ? 2 : 1)) {
    switch (charge.term) {
      case Term::forward:
        out.forward += full * charge.busy;
        break;
      case Term::backward:
      case Term::recompute:
        out.backward += full * charge.busy;
        break;
      case Term::update:
        out.update += charge.busy;
        break;
      case Term::halo_exchange:
        out.halo += charge.exposed;
        break;
      default:
        out.exchange += charge.exposed;
    }
    if (charge.operation) out.exchanges.push_back(exchange_line(charge, e));
  }
  return out;
}

LayerLine layer_line(const Evaluation& e, std::size_t l) {
  LayerLine out{&e.mesh.setting.work.layers[l], {}, std::size_t(e.layout->order[l])};
  for (std::size_t a = 0; a < std::size_t(e.plan.mesh.axes); ++a)
    out.roles.emplace_back(e.plan.mesh.axis[a].strategy->name, role_names[std::size_t(e.layout->role[a][l])]);
  return out;
}

bool computes(const OutOfCoreEvent& event) {
  using enum OutOfCoreEvent::Kind;
  return event.kind == forward || event.kind == recompute || event.kind == backward;
}

}  // namespace

OutOfCoreAccount account_of(const Workload& work, const PricedOutOfCore& priced) {
  OutOfCoreAccount out{.host = priced.host(),
                       .home = priced.plan().home,
                       .time = priced.plan().time,
                       .blocks = {},
                       .events = priced.events(),
                       .others = priced.others()};
  const auto blocks = priced.blocks();
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const std::string& first = work.layers[std::size_t(blocks[b].first)].name;
    const std::string& last = work.layers[std::size_t(blocks[b].end) - 1].name;
    out.blocks.push_back(
        {blocks[b], first == last ? first : first + " to " + last, priced.plan().fate[b], {}});
  }
  Seconds before;  // the end of the last computation
  for (const OutOfCoreEvent& event : out.events) {
    if (!computes(event)) continue;
    out.blocks[std::size_t(event.block)].stall += event.begin - before;
    before = event.end;
  }
  return out;
}

Explanation explain(const Projection& p, const Evaluation& e, bool layers) {
  const Setting& setting = e.mesh.setting;
  Explanation out{.terms = engine_terms(p),
                  .links = engine_links(setting, p.plan.mesh),
                  .stages = e.stages->stages,
                  .exchanges = exchange_lines(e),
                  .cells = {},
                  .layers = {},
                  .whole_layers = whole_layers(e.layout->role, e.plan.mesh, setting.work),
                  .whole_layers_text = whole_layers_text(e.layout->role, e.plan.mesh, setting.work),
                  .notes = plan_notes(setting, p.plan)};
  if (e.out_of_core && e.out_of_core->plan().time.possible)
    out.out_of_core = account_of(setting.work, *e.out_of_core);
  if (!layers) return out;
  const double full = p.samples / p.plan.batch / p.iterations;
  for (std::size_t cell = 0; cell < e.layout->cells.size(); ++cell)
    out.cells.push_back(cell_line(e, cell, full));
  for (std::size_t l = 0; l < e.layout->order.size(); ++l) out.layers.push_back(layer_line(e, l));
  return out;
}

Explanation explain_paper(const Setting& setting, const Projection& p) {
  Explanation out{.paper = true,
                  .terms = {},
                  .links = {},
                  .exchanges = {},
                  .cells = {},
                  .layers = {},
                  .whole_layers = {},
                  .whole_layers_text = {},
                  .notes = plan_notes(setting, p.plan)};
  for (const paper::CostLine& line : paper::explain(setting, p.plan))
    out.terms.push_back({line.term, line.time, line.formula, line.source});
  out.links = paper_links(setting, p, out.terms);
  return out;
}

}  // namespace paradl
