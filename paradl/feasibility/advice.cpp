#include "paradl/feasibility/advice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/core/format.hpp"
#include "paradl/cost/sweep.hpp"
#include "paradl/feasibility/alternative.hpp"
#include "paradl/strategy/recomputed.hpp"

namespace paradl {
namespace {

constexpr double worth_saving = 1.0 / 3;  // share of the needed memory
constexpr double least_margin = 0.05;     // of the device, for contexts, libraries and fragmentation

/// Work that every PE repeats: the paper's computation redundancy.
bool is_redundant(Role role, const Layer& layer) {
  return role == Role::whole && layer.macs + layer.weights > 0;
}

using Words = std::vector<std::string>;

/// "a, b, or c"
std::string either(const Words& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const char* joint = i == 0 ? "" : i + 1 < words.size() ? ", " : words.size() > 2 ? ", or " : " or ";
    out += joint + words[i];
  }
  return out;
}

/// Parts of an axis; 1 if the mesh has no such axis.
int parts(const Mesh& mesh, std::string_view strategy) {
  for (int a = 0; a < mesh.axes; ++a)
    if (mesh.axis[std::size_t(a)].strategy->name == strategy) return mesh.axis[std::size_t(a)].parts.total;
  return 1;
}

bool splits(const Mesh& mesh, std::string_view strategy) { return parts(mesh, strategy) > 1; }

struct MemoryPart {
  std::string_view name;
  Bytes size;
  Words remedies;
};

/// Options that reduce activations.
Words less_activation(const Projection& p, const Setting& setting) {
  const Training& training = setting.training;
  const double pipelines = parts(p.mesh, "data");
  const double samples = p.batch / pipelines;  // of one pipeline, all micro-batches
  const bool staged = splits(p.mesh, "layer");
  Words out;
  const bool scores = std::ranges::any_of(setting.work.layers, [](const Layer& l) { return l.scores > 0; });
  const bool blocks = !recomputable_blocks(setting.work).empty();
  if (training.recompute == Recompute::none && (scores || blocks))
    out.emplace_back(scores ? "--recompute selective" : "--recompute full");
  if (training.recompute == Recompute::selective && blocks) out.emplace_back("--recompute full");
  if (can_split_sequence(setting, p.mesh)) out.emplace_back("--sequence-parallel on");
  if (training.micro_batches < samples) {
    // A pipeline that keeps all micro-batches saves nothing with smaller ones.
    const bool keeps_all = staged && training.schedule == PipelineSchedule::gpipe;
    constexpr double most = 1e6;  // of the option
    const double each_its_own = std::min(std::floor(samples), most);
    out.push_back(fmt::format("{}--micro-batches{}{}", training.micro_batches > 1 ? "more " : "",
                              training.micro_batches > 1 ? "" : fmt::format(" {:.0f}", each_its_own),
                              keeps_all ? " with --schedule 1f1b" : ""));
  } else if (staged && training.schedule == PipelineSchedule::gpipe && training.micro_batches > 1) {
    out.emplace_back("--schedule 1f1b");
  }
  if (samples > training.micro_batches) out.emplace_back("a smaller --batch");
  if (item_bytes(training.precision).activation > Bytes{2})
    for (const Precision half : {Precision::bf16, Precision::fp16})
      if (setting.machine.device.peak[std::size_t(half)]) {
        out.push_back(fmt::format("--precision {}", precision_names[std::size_t(half)]));
        break;
      }
  return out;
}

/// Options that reduce weights, gradients and optimizer state.
Words less_weight(const Projection& p, const Setting& setting) {
  Words out;
  const bool replicated = !splits(p.mesh, "layer") && !splits(p.mesh, "tensor") &&
                          !splits(p.mesh, "filter") && !splits(p.mesh, "channel");
  if (splits(p.mesh, "data") && setting.training.zero < 3 && !setting.training.allreduce)
    out.push_back(fmt::format("--zero {}", setting.training.zero + 1));
  if (replicated && p.gpus > 1) out.emplace_back("a strategy that splits the weights (`layer`, `tensor`)");
  if (optimizer_slots(setting.training.optimizer) > 0) out.emplace_back("--optimizer sgd");
  return out;
}

/// What to change if every grid breaks a limit.
Words wider_bounds(std::span<const Projection> projections) {
  const auto breaks = [](LimitRule rule) {
    return [rule](const Projection& p) {
      return std::ranges::any_of(p.limits.all(),
                                 [&](const Limit& limit) { return !limit.holds() && limit.rule == rule; });
    };
  };
  if (std::ranges::all_of(projections, breaks(LimitRule::micro_batches)))
    return {"other --micro-batches", "a --batch that they divide"};
  if (std::ranges::all_of(projections, breaks(LimitRule::interleaving)))
    return {"--micro-batches that the stages divide", "--schedule 1f1b"};
  if (std::ranges::any_of(projections, breaks(LimitRule::samples))) return {"a larger --batch", "fewer GPUs"};
  return {"fewer GPUs", "a hybrid with `data`"};
}

}  // namespace

std::string fitting_hint(std::span<const Projection> projections, const Setting& setting) {
  const Projection* nearest = nullptr;
  for (const Projection& p : projections)
    if (p.cost && (!nearest || p.cost->memory.total() < nearest->cost->memory.total())) nearest = &p;
  if (!nearest) return fmt::format("try {}", either(wider_bounds(projections)));
  const Memory& memory = nearest->cost->memory;
  // Parts that grow with the samples, and parts that grow with the weights.
  std::array parts{
      MemoryPart{"activations", memory.activations + memory.workspace, less_activation(*nearest, setting)},
      MemoryPart{"weights, gradients and optimizer", memory.weights + memory.gradients + memory.optimizer,
                 less_weight(*nearest, setting)}};
  std::ranges::sort(parts, std::greater{}, &MemoryPart::size);
  Words words;
  for (const MemoryPart& part : parts)
    if (part.size > worth_saving * memory.total())
      words.insert(words.end(), part.remedies.begin(), part.remedies.end());
  if (nearest->gpus < setting.machine.gpus()) words.emplace_back("more GPUs");
  if (words.empty()) words.emplace_back("a device with more memory");
  return fmt::format("try {}: {} take {} of {} ({})", either(words), parts[0].name, text(parts[0].size),
                     text(memory.total()), nearest->strategy->text);
}

std::string margin_text(const Projection& projection) {
  if (!projection.feasible()) return {};
  if (projection.out_of_core && projection.out_of_core->plans()) return {};  // it fills the memory on purpose
  for (const Limit& limit : projection.limits.all())
    if (limit.rule == LimitRule::memory && limit.bound - limit.value < least_margin * limit.bound)
      return fmt::format("only {:.1f} % of the memory is free, which may not be enough",
                         100 * (1 - limit.value / limit.bound));
  return {};
}

void rank(std::vector<Projection>& projections) { std::ranges::stable_sort(projections, better); }

std::vector<std::string> whole_layers(const std::vector<std::vector<Role>>& roles, const Mesh& mesh,
                                      const Workload& work) {
  std::vector<std::string> out;
  for (int a = 0; a < mesh.axes; ++a)
    for (std::size_t l = 0; l < work.layers.size(); ++l)
      if (is_redundant(roles[std::size_t(a)][l], work.layers[l]))
        out.push_back(fmt::format("{} ({})", work.layers[l].name, mesh.axis[std::size_t(a)].strategy->name));
  return out;
}

std::string whole_layers_text(const std::vector<std::vector<Role>>& roles, const Mesh& mesh,
                              const Workload& work) {
  constexpr std::size_t few = 5;
  std::string out;
  for (int a = 0; a < mesh.axes; ++a) {
    std::map<Op, std::vector<std::string>> by_op;
    for (std::size_t l = 0; l < work.layers.size(); ++l)
      if (is_redundant(roles[std::size_t(a)][l], work.layers[l]))
        by_op[work.layers[l].op].push_back(work.layers[l].name);
    std::vector<std::string> shown;
    for (const auto& [op, names] : by_op)
      shown.push_back(names.size() <= few ? fmt::format("{}", fmt::join(names, ", "))
                                          : fmt::format("{} {} layers", names.size(), traits(op).name));
    if (shown.empty()) continue;
    out += fmt::format("{}{} ({})", out.empty() ? "" : "; ", fmt::join(shown, ", "),
                       mesh.axis[std::size_t(a)].strategy->name);
  }
  return out;
}

}  // namespace paradl
