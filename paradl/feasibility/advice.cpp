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

constexpr double worth_saving = 1.0 / 3;  // of the memory that is needed
constexpr double least_margin = 0.05;     // of the device: contexts, libraries and fragments need some

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

/// What makes activations smaller.
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
    // A pipeline that keeps all micro-batches gains nothing from smaller ones.
    const bool keeps_all = staged && training.schedule == PipelineSchedule::gpipe;
    constexpr double most = 1e6;  // that can be typed
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

/// What makes weights, gradients and optimizer states smaller.
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

/// What to change when no grid has a meaning at all.
Words wider_bounds(std::span<const Projection> projections) {
  const auto breaks = [](std::string_view rule) {
    return [rule](const Projection& p) {
      return std::ranges::any_of(p.limits.all(),
                                 [&](const Limit& limit) { return !limit.holds() && limit.rule == rule; });
    };
  };
  if (std::ranges::all_of(projections, breaks(micro_batch_rule)))
    return {"other --micro-batches", "a --batch that they divide"};
  if (std::ranges::all_of(projections, breaks(interleaving_rule)))
    return {"--micro-batches that the stages divide", "--schedule 1f1b"};
  if (std::ranges::any_of(projections, breaks("p <= B"))) return {"a larger --batch", "fewer GPUs"};
  return {"fewer GPUs", "a hybrid with `data`"};
}

}  // namespace

std::string fitting_hint(std::span<const Projection> projections, const Setting& setting) {
  const Projection* nearest = nullptr;
  for (const Projection& p : projections)
    if (p.cost && (!nearest || p.cost->memory.total() < nearest->cost->memory.total())) nearest = &p;
  if (!nearest) return fmt::format("try {}", either(wider_bounds(projections)));
  const Memory& memory = nearest->cost->memory;
  // What grows with the samples, and what grows with the weights.
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
  if (projection.out_of_core && projection.out_of_core->plans()) return {};  // it takes what room there is
  for (const Limit& limit : projection.limits.all())
    if (limit.rule == memory_rule && limit.bound - limit.value < least_margin * limit.bound)
      return fmt::format("only {:.1f} % of the memory is left, which may not be enough",
                         100 * (1 - limit.value / limit.bound));
  return {};
}

void rank(std::vector<Projection>& projections) { std::ranges::stable_sort(projections, better); }

namespace {

/// "3 does not divide 16; nearest: 2 or 4".
std::string indivisible(double value, double bound) {
  if (bound != std::floor(bound))
    return fmt::format(
        "{0} does not divide {1:g}, which is no whole number; choose a --batch that makes it {2}{3}", value,
        bound, bound > value ? fmt::format("{} or ", value * std::floor(bound / value)) : "",
        value * std::ceil(bound / value));
  double below = value, above = value;
  while (below > 1 && std::fmod(bound, below) != 0) --below;
  while (above < bound && std::fmod(bound, above) != 0) ++above;
  std::string near = fmt::format("{}", std::min(below, bound));
  if (std::fmod(bound, above) == 0 && above > below) near += fmt::format(" or {}", above);
  return fmt::format("{} does not divide {}; nearest: {}", value, bound, near);
}

}  // namespace

std::string reason(std::string_view rule, double value, double bound, std::string_view layer) {
  if (rule == memory_rule)
    return fmt::format("needs {}, the device has {}", text(Bytes{value}), text(Bytes{bound}));
  if (rule == storage_rule)
    return fmt::format("a node would keep {} of the data set, its storage has {}", decimal(Bytes{value}),
                       decimal(Bytes{bound}));
  if (rule == host_rule)
    return fmt::format("needs at least {} of host memory, a node has {}", enough(Bytes{value}),
                       text(Bytes{bound}));
  if (rule == host_update_rule)
    return "weights would have to leave the device, and how fast its host updates them is unknown: the "
           "system file "
           "has no host memory-bandwidth (add host: {memory-bandwidth: 256 GB/s})";
  if (rule == allreduce_rule && bound <= 1)
    return fmt::format("the allreduce that was asked for cannot serve {} ranks, nor fewer", value);
  if (rule == allreduce_rule)
    return fmt::format(
        "the allreduce that was asked for cannot serve {} ranks; below them, {} is the most it can", value,
        bound);
  if (rule == interleaving_rule)
    return fmt::format(
        "interleaved stages take turns by whole rounds: {} micro-batch{} {} no multiple of {} "
        "stages; {}",
        bound, bound == 1 ? "" : "es", bound == 1 ? "is" : "are", value,
        bound < value ? fmt::format("the nearest is {}", value)
                      : fmt::format("the nearest are {} and {}", bound - std::fmod(bound, value),
                                    bound - std::fmod(bound, value) + value));
  if (rule.find(" divide") != rule.npos)
    return fmt::format("{}: {}{}", rule, indivisible(value, bound),
                       layer.empty() ? "" : fmt::format(" (layer {})", layer));
  return fmt::format("{} = {} breaks {} = {}{}", rule.substr(0, rule.find(" <=")), value, rule, bound,
                     layer.empty() ? "" : fmt::format(" (layer {})", layer));
}

namespace {

/// "6 or 12": parts among which the heads of attention come out even and which `fits`, around a number.
template <class Fits>
std::string nearest_parts(double value, const Layer& attention, Fits fits) {
  const auto good = [&](double p) {
    return std::fmod(attention.query_heads, p) == 0 &&
           (std::fmod(attention.heads, p) == 0 || std::fmod(p, attention.heads) == 0) && fits(p);
  };
  double below = value, above = value;
  while (!good(below)) --below;
  while (above < attention.query_heads && !good(above)) ++above;
  return fmt::format("{}{}", below, good(above) ? fmt::format(" or {}", above) : "");
}

/// "8 parts and 6 heads of keys and values do not come out even; nearest: 6 or 12 (layer attention)".
std::string uneven_heads(const Limit& limit, const Layer& attention) {
  return fmt::format(
      "{}: {} parts and {} heads of keys and values do not come out even; nearest: {} (layer {})", limit.rule,
      limit.value, limit.bound, nearest_parts(limit.value, attention, [](double) { return true; }),
      attention.name);
}

/// "4 does not divide 2; nearest: 2 (layer attention)".
std::string uneven_sequence(const Limit& limit, const Layer& attention) {
  const auto fits = [&](double p) { return std::fmod(limit.bound, p) == 0; };
  return fmt::format("{}: {} does not divide {}; nearest: {} (layer {})", limit.rule, limit.value,
                     limit.bound, nearest_parts(limit.value, attention, fits), attention.name);
}

}  // namespace

std::string reason(const Limit& limit, const Workload& work) {
  if (limit.rule == kv_heads_rule) return uneven_heads(limit, work.layers[std::size_t(limit.layer)]);
  if (limit.rule == sequence_rule || limit.rule == context_sequence_rule)
    return uneven_sequence(limit, work.layers[std::size_t(limit.layer)]);
  const std::string_view layer =
      limit.layer >= 0 ? work.layers[std::size_t(limit.layer)].name : std::string_view{};
  return reason(limit.rule, limit.value, limit.bound, layer);
}

namespace {

template <class Tell>
std::string broken(const Projection& projection, Tell tell) {
  std::string out;
  for (const Limit& limit : projection.limits.all())
    if (!limit.holds())
      out += (out.empty() ? "" : "; ") +
             (limit.rule == allreduce_rule && !projection.refused.empty() ? projection.refused : tell(limit));
  return out;
}

}  // namespace

std::string reasons(const Projection& projection, const Workload& work) {
  return broken(projection, [&](const Limit& limit) { return reason(limit, work); });
}

std::string footnote(const Projection& projection, const Workload& work) {
  return broken(projection, [&](const Limit& limit) {
    return limit.rule == memory_rule
               ? fmt::format("needs more than the device's {}", text(Bytes{limit.bound}))
               : reason(limit, work);
  });
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
    std::vector<std::string> told;
    for (const auto& [op, names] : by_op)
      told.push_back(names.size() <= few ? fmt::format("{}", fmt::join(names, ", "))
                                         : fmt::format("{} {} layers", names.size(), traits(op).name));
    if (told.empty()) continue;
    out += fmt::format("{}{} ({})", out.empty() ? "" : "; ", fmt::join(told, ", "),
                       mesh.axis[std::size_t(a)].strategy->name);
  }
  return out;
}

}  // namespace paradl
