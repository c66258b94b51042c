// The lines of an explanation other than tables: letters and their values, memory, limits.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/core/format.hpp"
#include "paradl/judge/advice.hpp"
#include "paradl/judge/reason.hpp"
#include "paradl/network/measured_cost.hpp"
#include "paradl/report/answer.hpp"
#include "paradl/report/explanation.hpp"

namespace paradl {
namespace {

std::string iterations_text(const Setting& setting, const Projection& p) {
  const bool whole = p.iterations == std::floor(p.iterations);
  return fmt::format("I = {} = {}", setting.training.ceil_iterations ? "⌈D/B⌉" : "D/B",
                     whole ? count(p.iterations) : three_digits(p.iterations));
}

/// What replaces operations that were not measured on a level: "; allgather, reduce-scatter as allreduce".
std::string others_text(const Level& level) {
  std::map<std::string_view, std::vector<std::string_view>> others;  // by what replaces them
  for (std::size_t k = 0; k < collective_names.size(); ++k) {
    const auto taken = taken_from(level, Collective(k));
    if (taken == Collective(k)) continue;
    others[taken ? collective_names[std::size_t(*taken)] : "specified"].push_back(collective_names[k]);
  }
  std::string out;
  for (const auto& [taken, names] : others) out += fmt::format("; {} as {}", fmt::join(names, ", "), taken);
  return out;
}

std::string link_text(const UsedLink& used) {
  if (used.measured)
    return fmt::format(" α, β as measured for each operation and size (level {}{})\n", used.level,
                       others_text(*used.measured));
  const auto& [alpha, beta] = used.link;
  return fmt::format(" α{0} = {1}   β{0} = {2} ({3}, level {4}){5}\n", used.suffix, text(alpha), text(beta),
                     text(1.0 / beta), used.level,
                     used.phi ? fmt::format("   φ = {}", count(*used.phi)) : "");
}

}  // namespace

std::string symbols_text(const Setting& setting, const Projection& p, const Explanation& explanation) {
  const bool paper = explanation.paper;
  LayerTime sum;
  for (const LayerTime& t : setting.times.layer) sum.FW += t.FW, sum.BW += t.BW, sum.WU += t.WU;
  const bool hybrid = p.plan.mesh.axes > 1;
  std::string groups;
  if (paper && hybrid)
    groups = fmt::format("   p1 = {}   p2 = {}", p.plan.mesh.axis[0].parts.total,
                         p.plan.mesh.axis[1].parts.total);
  std::string out = fmt::format(" D = {} samples   B = {} samples   {} iterations   p = {} GPU{} ({}){}\n",
                                count(setting.work.D), p.plan.batch, iterations_text(setting, p), p.gpus,
                                p.gpus == 1 ? "" : "s", grid_text(p.plan.mesh, false), groups);
  const ItemBytes bytes = item_bytes(setting.training.precision);
  const std::string update =
      paper && !setting.times.update_known ? "" : fmt::format("   Σ WU = {}", text(sum.WU));
  out += fmt::format(" Σ FW = {}   Σ BW = {}{}   W = {}   δ = {}\n", text(sum.FW), text(sum.BW), update,
                     decimal(setting.work.parameters() * bytes.sent_gradient), decimal(bytes.activation));
  for (const UsedLink& used : explanation.links) out += link_text(used);
  return out;
}

std::string memory_text(const Setting& setting, const Projection& p, bool paper) {
  const Memory& m = p.cost->memory;
  std::string out =
      fmt::format(" memory  {} of {}: weights {}, gradients {}, optimizer {}, activations {}, workspace {}",
                  text(m.total()), text(setting.machine.device.memory), text(m.weights), text(m.gradients),
                  text(m.optimizer), text(m.activations), text(m.workspace));
  if (m.buffers > Bytes{}) out += fmt::format(", buffers {}", text(m.buffers));
  if (m.reserve > Bytes{}) out += fmt::format(", reserve {}", text(m.reserve));
  if (const int stages = stages_of(p.plan.mesh, setting.work); stages > 1)
    out += fmt::format(" (stage {} of {}, the fullest)", p.cost->worst_stage + 1, stages);
  out += "\n";
  if (const std::string margin = margin_text(p); !margin.empty()) out += fmt::format("         {}\n", margin);
  if (paper)
    out += setting.training.gamma
               ? fmt::format("         γ 2δ Σ (b(|x|+|y|) + |w|), γ = {}\n", *setting.training.gamma)
               : "         2δ Σ (b(|x|+|y|) + |w|), without normalisation and activation buffers\n";
  return out;
}

std::string band_text(const Projection& p) {
  const auto& [low, typical, high] = *p.congested;
  return fmt::format("{} to {} per epoch, typically {}", text(p.iterations * low), text(p.iterations * high),
                     text(p.iterations * typical));
}

Table limits_table(const Projection& p, const Workload& work) {
  Table table{.columns = {{"limit", "limit", Holds::text, 9},
                          {"value", "value", Holds::count, 6},
                          {"bound", "bound", Holds::count, 6},
                          {"layer", "layer", Holds::text, 5},
                          {"holds", "holds", Holds::text, 8},
                          {"reason", "does not fit", Holds::text, 7}}};
  for (const Limit& limit : p.limits.all()) {
    const bool refused = limit.rule == LimitRule::allreduce && !p.refused.empty();
    table.rows.push_back(
        {.values = {std::string(limit.name()), limit.value, limit.bound,
                    limit.layer >= 0 ? Value{work.layers[std::size_t(limit.layer)].name} : Value{},
                    limit.holds() ? "yes" : "no",
                    limit.holds() ? Value{} : Value{refused ? p.refused : reason(limit, work)}}});
  }
  return without_empty_columns(table);
}

std::string limits_text(const Projection& p, const Workload& work) {
  std::string out;
  for (const Limit& limit : p.limits.all()) {
    if (limit.relation() == Relation::fits) continue;  // memory_line() and input lines show these
    const std::string layer =
        limit.layer >= 0 ? fmt::format(" (layer {})", work.layers[std::size_t(limit.layer)].name) : "";
    const char* relation = limit.relation() == Relation::divides               ? "into"
                           : limit.relation() == Relation::divides_or_multiple ? "and"
                                                                               : "<=";
    out += fmt::format(" limits  {}: {} {} {}{}, {}\n", limit.name(), limit.value, relation, limit.bound,
                       layer, limit.holds() ? "holds" : "broken");
  }
  return out;
}

}  // namespace paradl
