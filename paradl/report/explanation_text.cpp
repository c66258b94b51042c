// The lines of an explanation other than tables: letters and their values, memory, limits.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/core/format.hpp"
#include "paradl/cost/stages.hpp"
#include "paradl/judge/advice.hpp"
#include "paradl/judge/reason.hpp"
#include "paradl/network/measured_cost.hpp"
#include "paradl/paper/row.hpp"
#include "paradl/report/answer.hpp"
#include "paradl/report/explanation.hpp"

namespace paradl {
namespace {

std::string iterations_text(const Setting& setting, const Projection& p) {
  const bool whole = p.iterations == std::floor(p.iterations);
  return fmt::format("I = {} = {}", setting.training.ceil_iterations ? "⌈D/B⌉" : "D/B",
                     whole ? count(p.iterations) : three_digits(p.iterations));
}

std::string link_text(std::string_view suffix, const Link& link, std::string_view level) {
  return fmt::format(" α{0} = {1}   β{0} = {2} ({3}, level {4})", suffix, text(link.alpha), text(link.beta),
                     text(1.0 / link.beta), level);
}

/// The letters in the formulas of the paper's row.
std::string paper_links(const Setting& setting, const Projection& p) {
  std::string formulas;
  for (const paper::CostLine& line : paper::explain(setting, *p.strategy, p.plan))
    formulas += fmt::format("{}\n", line.formula);
  const auto has = [&](std::string_view letter) { return formulas.find(letter) != formulas.npos; };
  const paper::Links links = paper::links_of(setting, p.plan);
  std::string out;
  if (has("α +")) {
    out += link_text("", links.all->link, links.all->name);
    if (has("φ")) out += fmt::format("   φ = {}", count(links.phi));
    out += "\n";
  }
  if (has("α_in")) out += link_text("_in", links.in->link, links.in->name) + "\n";
  return out;
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

/// Every level that some axis uses. φ is not here but with each exchange, because it differs.
std::string engine_links(const Setting& setting, const Projection& p) {
  std::string out;
  std::set<std::string_view> shown;
  for (int a = 0; a < p.plan.mesh.axes; ++a) {
    const Path path = group_path(p.plan.mesh, axis_bit(a), setting.machine);
    for (int k = 0; k < path.hops; ++k) {
      const Hop& hop = path.hop[std::size_t(k)];
      if (hop.size <= 1 || !shown.insert(hop.level).second) continue;
      const Level& level = setting.machine.levels[std::size_t(k)];
      out += level.measured.empty()
                 ? link_text("", hop.link, hop.level) + "\n"
                 : fmt::format(" α, β as measured for each operation and size (level {}{})\n", hop.level,
                               others_text(level));
    }
  }
  return out;
}

}  // namespace

std::string symbols_text(const Setting& setting, const Projection& p, bool paper) {
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
  return out + (paper ? paper_links(setting, p) : engine_links(setting, p));
}

std::string memory_text(const Setting& setting, const Projection& p, bool paper) {
  const Memory& m = p.cost->memory;
  std::string out =
      fmt::format(" memory  {} of {}: weights {}, gradients {}, optimizer {}, activations {}, workspace {}",
                  text(m.total()), text(setting.machine.device.memory), text(m.weights), text(m.gradients),
                  text(m.optimizer), text(m.activations), text(m.workspace));
  if (m.buffers > Bytes{}) out += fmt::format(", buffers {}", text(m.buffers));
  if (m.reserve > Bytes{}) out += fmt::format(", reserve {}", text(m.reserve));
  for (int a = 0; a < p.plan.mesh.axes; ++a)
    if (const Axis& axis = p.plan.mesh.axis[std::size_t(a)];
        axis.strategy->name == "layer" && axis.parts.total > 1)
      out += fmt::format(" (stage {} of {}, the fullest)", p.cost->worst_stage + 1, axis.parts.total);
  out += "\n";
  if (const std::string margin = margin_text(p); !margin.empty()) out += fmt::format("         {}\n", margin);
  if (paper)
    out += setting.training.gamma
               ? fmt::format("         γ 2δ Σ (b(|x|+|y|) + |w|), γ = {}\n", *setting.training.gamma)
               : "         2δ Σ (b(|x|+|y|) + |w|), without normalisation and activation buffers\n";
  return out;
}

std::string_view hides_behind(std::span<const Projection> projections) {
  std::string_view behind;
  for (const Projection& p : projections) {
    if (!p.cost || !(p.cost->hidden > Seconds{})) continue;
    bool both = p.plan.zero >= 3;
    for (int a = 0; a < p.plan.mesh.axes; ++a) {
      const Axis& axis = p.plan.mesh.axis[std::size_t(a)];
      both |= axis.strategy->name == "context" && axis.parts.total > 1;
    }
    if (both) return "both passes";
    behind = "the backward pass";
  }
  return behind;
}

namespace {

/// If the framework wants equal numbers of blocks in all stages, but they do not divide evenly.
std::string uneven_blocks(const Setting& setting, const Plan& plan) {
  const Mesh& mesh = plan.mesh;
  int stages = 1;
  for (int a = 0; a < mesh.axes; ++a)
    if (mesh.axis[std::size_t(a)].strategy->name == "layer") stages = mesh.axis[std::size_t(a)].parts.total;
  if (stages == 1 || setting.training.stage_cut != StageCut::equal_blocks) return {};
  const int chunks = plan.chunks;
  const int blocks = std::max(0, int(repeated_blocks(setting.work).size()) - 1);
  if (blocks > 0 && blocks % (stages * chunks) == 0) return {};
  const std::string why = blocks == 0 ? "the network has no repeated blocks"
                          : blocks % chunks != 0
                              ? reason(LimitRule::chunk_blocks, chunks, blocks)
                              : reason(chunks > 1 ? LimitRule::stage_chunks : LimitRule::stage_blocks, stages,
                                       blocks / chunks);
  return fmt::format("stages cannot have equal numbers of blocks ({}); they are balanced by time", why);
}

/// Options without effect because the mesh lacks the axis that they need.
void add_idle(const Plan& plan, std::vector<std::string>& out) {
  const Mesh& mesh = plan.mesh;
  const auto any_axis = [&](auto holds) {
    return std::any_of(mesh.axis.begin(), mesh.axis.begin() + mesh.axes,
                       [&](const Axis& axis) { return holds(*axis.strategy); });
  };
  if (plan.zero > 0 && !any_axis([](const Strategy& s) { return is_split(s.input); }))
    out.push_back(
        fmt::format("--zero {} has no effect: no axis has GPUs with the same weights and different samples",
                    plan.zero));
  if (plan.chunks > 1 && !any_axis([](const Strategy& s) { return s.name == "layer"; }))
    out.emplace_back("--schedule interleaved has no effect: there is no pipeline");
  if (plan.sequence_parallel && !any_axis([](const Strategy& s) { return s.pairs; }))
    out.emplace_back("--sequence-parallel on has no effect: it needs an axis `tensor`");
}

}  // namespace

std::vector<std::string> plan_notes(const Setting& setting, const Plan& plan) {
  const Mesh& mesh = plan.mesh;
  std::vector<std::string> out;
  add_idle(plan, out);
  if (std::string uneven = uneven_blocks(setting, plan); !uneven.empty()) out.push_back(std::move(uneven));
  const FrameworkTerms& framework = setting.training.framework;
  if (const double padded = padded_words(setting.work, framework, mesh); padded > 0)
    out.push_back(fmt::format("vocabulary padded to {} words, a multiple of {} for each tensor-parallel GPU",
                              padded, framework.vocabulary_multiple));
  if (const double copies = kv_copies(setting.work, mesh); copies > 1)
    out.push_back(fmt::format(
        "fewer key and value heads than tensor-parallel GPUs: each head is on {} of them", copies));
  return out;
}

std::string plan_notes_text(const Setting& setting, std::span<const Projection> projections) {
  std::vector<std::pair<std::string, std::string>> notes;  // with their projections
  for (const Projection& p : projections) {
    if (!p.cost) continue;
    for (std::string& note : plan_notes(setting, p.plan)) {
      const std::string of = fmt::format("{} {}", p.strategy->text, grid_text(p.plan.mesh, true));
      const auto same = std::ranges::find(notes, note, &std::pair<std::string, std::string>::first);
      if (same == notes.end())
        notes.emplace_back(std::move(note), of);
      else
        same->second += ", " + of;
    }
  }
  std::string out;
  for (const auto& [note, of] : notes) out += fmt::format("{}: {}.\n", of, note);
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
