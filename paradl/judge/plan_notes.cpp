#include "paradl/judge/plan_notes.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "paradl/cost/stages.hpp"
#include "paradl/judge/reason.hpp"
#include "paradl/strategy/local.hpp"

namespace paradl {
namespace {

/// Parts into which heads and words are split.
double tensor_parts(const Mesh& mesh) {
  double parts = 1;
  for (int a = 0; a < mesh.axes; ++a)
    if (mesh.axis[std::size_t(a)].strategy->pairs) parts *= mesh.axis[std::size_t(a)].parts.total;
  return parts;
}

}  // namespace

double padded_words(const Workload& work, const FrameworkTerms& framework, const Mesh& mesh) {
  double words = 0;
  for (const Layer& layer : work.layers) words = std::max(words, layer.vocabulary);
  const double padded = words > 0 ? padded_vocabulary(words, tensor_parts(mesh), framework) : 0;
  return padded > words ? padded : 0;
}

double kv_copies(const Workload& work, const Mesh& mesh) {
  double copies = 1;
  for (const Layer& layer : work.layers)
    if (layer.op == Op::attention) copies = std::max(copies, tensor_parts(mesh) / layer.heads);
  return copies;
}

std::string_view hides_behind(std::span<const Projection> projections, const Workload& work) {
  std::string_view behind;
  for (const Projection& p : projections) {
    if (!p.cost || !(p.cost->hidden > Seconds{})) continue;
    bool both = p.plan.zero >= 3;
    for (const Axis& axis : p.plan.mesh.all()) both |= axis.parts.total > 1 && has_ring(axis, work);
    if (both) return "both passes";
    behind = "the backward pass";
  }
  return behind;
}

namespace {

/// If the framework wants equal numbers of blocks in all stages, but they do not divide evenly.
std::string uneven_blocks(const Setting& setting, const Plan& plan) {
  const int stages = stages_of(plan.mesh, setting.work);
  if (stages == 1 || setting.training.stage_cut != StageCut::equal_blocks) return {};
  const int chunks = plan.chunks;
  const int blocks = std::max(0, int(repeated_blocks(setting.work).size()) - 1);
  if (blocks > 0 && blocks % (stages * chunks) == 0) return {};
  const std::string why =
      blocks == 0 ? "the network has no repeated blocks"
      : blocks % chunks != 0
          ? reason(LimitRule::chunk_blocks, chunks, blocks)
          : reason(chunks > 1 ? LimitRule::stage_chunks : LimitRule::stage_blocks, stages, blocks / chunks);
  return fmt::format("stages cannot have equal numbers of blocks ({}); they are balanced by time", why);
}

/// Options without effect because the mesh lacks the axis that they need.
void add_idle(const Plan& plan, const Workload& work, std::vector<std::string>& out) {
  const auto no_axis = [&](auto holds) { return std::ranges::none_of(plan.mesh.all(), holds); };
  if (plan.zero > 0 && no_axis([](const Axis& axis) { return is_split(axis.strategy->input); }))
    out.push_back(fmt::format(
        "--zero {} has no effect: no axis has GPUs with the same weights and different samples", plan.zero));
  if (plan.chunks > 1 && no_axis([&](const Axis& axis) { return is_pipeline(axis, work); }))
    out.emplace_back("--schedule interleaved has no effect: there is no pipeline");
  if (plan.sequence_parallel && no_axis([](const Axis& axis) { return axis.strategy->pairs; }))
    out.emplace_back("--sequence-parallel on has no effect: it needs an axis `tensor`");
}

}  // namespace

std::vector<std::string> plan_notes(const Setting& setting, const Plan& plan) {
  const Mesh& mesh = plan.mesh;
  std::vector<std::string> out;
  add_idle(plan, setting.work, out);
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
      const std::string of = fmt::format("{} {}", p.strategy(), grid_text(p.plan.mesh, true));
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

}  // namespace paradl
