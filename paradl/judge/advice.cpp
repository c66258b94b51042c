#include "paradl/judge/advice.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/core/format.hpp"
#include "paradl/judge/changes.hpp"

namespace paradl {
namespace {

constexpr double worth_saving = 1.0 / 3;  // share of the needed memory
constexpr double least_margin = 0.05;     // of the device, for contexts, libraries and fragmentation

/// Work that every GPU repeats: the paper's computation redundancy.
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

struct MemoryPart {
  MemoryOf of;
  std::string_view name;
  Bytes size;
};

/// Options that save memory of one kind: the strongest value of each, since weaker ones were not enough.
void add_options(Words& out, MemoryOf of, const Evidence& e) {
  for (const MemoryOption& option : memory_options)
    if (const Alternatives values = alternatives(option, e); option.of == of && !values.empty())
      out.push_back(values.back().option);
}

/// What else reduces activations, but changes the result of training.
void add_less_activation(Words& out, const Evidence& e) {
  const Training& training = e.setting.training;
  const double samples = e.projection.plan.batch / sample_parts(e.mesh);  // of one pipeline
  if (samples > e.projection.plan.micro_batches) out.emplace_back("a smaller --batch");
  if (item_bytes(training.precision).activation <= Bytes{2}) return;
  for (const Precision half : {Precision::bf16, Precision::fp16})
    if (e.setting.machine.device.peak[std::size_t(half)]) {
      out.push_back(fmt::format("--precision {}", precision_names[std::size_t(half)]));
      return;
    }
}

/// The same for weights, gradients and optimizer state.
void add_less_weight(Words& out, const Evidence& e) {
  if (std::ranges::none_of(e.mesh.all(), splits_network) && e.projection.gpus > 1)
    out.emplace_back("a strategy that splits the weights (`layer`, `tensor`)");
  for (const Alternative& one : alternatives(ChangeKind::plain_sgd, e)) out.push_back(one.option);
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
  std::array parts{MemoryPart{MemoryOf::activations, "activations", memory.activations + memory.workspace},
                   MemoryPart{MemoryOf::weights, "weights, gradients and optimizer",
                              memory.weights + memory.gradients + memory.optimizer}};
  std::ranges::sort(parts, std::greater{}, &MemoryPart::size);
  Words words;
  const Evidence e = evidence_of(*nearest, setting);
  for (const MemoryPart& part : parts) {
    if (part.size <= worth_saving * memory.total()) continue;
    add_options(words, part.of, e);
    part.of == MemoryOf::activations ? add_less_activation(words, e) : add_less_weight(words, e);
  }
  if (nearest->gpus < setting.machine.gpus()) words.emplace_back("more GPUs");
  if (words.empty()) words.emplace_back("a device with more memory");
  return fmt::format("try {}: {} take {} of {} ({})", either(words), parts[0].name, text(parts[0].size),
                     text(memory.total()), nearest->strategy());
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
