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
    if (limit.rule == memory_rule && limit.bound - limit.value < least_margin * limit.bound)
      return fmt::format("only {:.1f} % of the memory is free, which may not be enough",
                         100 * (1 - limit.value / limit.bound));
  return {};
}

void rank(std::vector<Projection>& projections) { std::ranges::stable_sort(projections, better); }

namespace {

/// "1 row", "7 rows".
std::string counted(double number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

/// How a broken limit reads: {0} is the value, {1} the bound with its unit, {2} the layer.
struct TooMany {
  std::string_view rule, unit, sentence;
};
constexpr std::string_view split_layer = "cannot split into {0} parts: {2} has {1}";
constexpr std::array too_many{
    TooMany{"p <= B", "sample", "cannot split {1} into {0} parts"},
    TooMany{"p <= G", "layer", "cannot divide {1} into {0} stages"},
    TooMany{"p V <= G", "layer", "cannot divide {1} into {0} chunks"},
    TooMany{"micro-batches <= samples", "sample", "cannot split {1} into {0} micro-batches"},
    TooMany{"p <= min F", "filter", split_layer},
    TooMany{"parts <= min F", "filter", split_layer},
    TooMany{"p <= min C", "input channel", split_layer},
    TooMany{"parts <= min C", "input channel", split_layer},
    TooMany{"p <= min L", "position", split_layer},
    TooMany{"rows <= min H", "row", "cannot cut into {0} rows: {2} is {1} high"},
    TooMany{"columns <= min W", "column", "cannot cut into {0} columns: {2} is {1} wide"},
    TooMany{"planes <= min D", "plane", "cannot cut into {0} planes: {2} is {1} deep"},
    TooMany{"p <= sequences", "",
            "`context` needs attention over a sequence, which this network does not have"},
    TooMany{"p <= experts", "", "`expert` needs layers with experts, which this network does not have"}};

/// How a number that must divide another one reads: {} is the number.
struct MustDivide {
  std::string_view rule, subject, unit, of = "";
};
constexpr std::array must_divide{
    MustDivide{"p divides heads", "tensor={}", "head"},
    MustDivide{"p divides experts", "expert={}", "expert"},
    MustDivide{"p divides sequence", "context={}", "position"},
    MustDivide{micro_batch_rule, "--micro-batches {}", "sample", " of a replica"},
    MustDivide{"stages divide blocks", "{} stages", "block"},
    MustDivide{"stages divide blocks/chunks", "{} stages", "block", " of a chunk"},
    MustDivide{"chunks divide blocks", "{} chunks", "block"}};

std::string in_layer(std::string_view layer) {
  return layer.empty() ? "" : fmt::format(" (layer {})", layer);
}

/// "nearest: 4 or 6", "the largest possible is 32".
std::string nearest_divisors(double value, double bound) {
  double below = value, above = value;
  while (below > 1 && std::fmod(bound, below) != 0) --below;
  while (above < bound && std::fmod(bound, above) != 0) ++above;
  if (value > bound) return fmt::format("the largest possible is {}", bound);
  const bool both = std::fmod(bound, above) == 0 && above > below;
  return fmt::format("nearest: {}{}", below, both ? fmt::format(" or {}", above) : "");
}

/// "tensor=5 must divide the 12 heads; nearest: 4 or 6 (layer attention)".
std::string indivisible(const MustDivide& rule, double value, double bound, std::string_view layer) {
  const std::string subject = fmt::format(fmt::runtime(rule.subject), value);
  if (bound == std::floor(bound))
    return fmt::format("{} must divide the {}{}; {}{}", subject, counted(bound, rule.unit), rule.of,
                       nearest_divisors(value, bound), in_layer(layer));
  return fmt::format(
      "{} must divide the {:g} {}s{}, which is not a whole number; choose a --batch that makes it {}{}",
      subject, bound, rule.unit, rule.of,
      bound > value ? fmt::format("{} or ", value * std::floor(bound / value)) : "",
      value * std::ceil(bound / value));
}

}  // namespace

std::string reason(std::string_view rule, double value, double bound, std::string_view layer) {
  if (rule == memory_rule)
    return fmt::format("needs {}, the device has {}", text(Bytes{value}), text(Bytes{bound}));
  if (rule == storage_rule)
    return fmt::format("a node would have to store {} of the data set, its storage has {}",
                       decimal(Bytes{value}), decimal(Bytes{bound}));
  if (rule == host_rule)
    return fmt::format("needs at least {} of host memory, a node has {}", enough(Bytes{value}),
                       text(Bytes{bound}));
  if (rule == host_update_rule)
    return "the weights do not fit the device, and the update rate of its host is unknown: the system file "
           "has no host memory-bandwidth (add host: {memory-bandwidth: 256 GB/s})";
  if (rule == allreduce_rule && bound <= 1)
    return fmt::format("the chosen allreduce cannot run on {} ranks, nor on fewer", value);
  if (rule == allreduce_rule)
    return fmt::format("the chosen allreduce cannot run on {} ranks; the largest possible number below is {}",
                       value, bound);
  if (rule == interleaving_rule)
    return fmt::format("--micro-batches {} must be a multiple of the {} (interleaved schedule); nearest: {}",
                       bound, counted(value, "stage"),
                       bound < value ? fmt::format("{}", value)
                                     : fmt::format("{} or {}", bound - std::fmod(bound, value),
                                                   bound - std::fmod(bound, value) + value));
  if (const auto found = std::ranges::find(must_divide, rule, &MustDivide::rule); found != must_divide.end())
    return indivisible(*found, value, bound, layer);
  if (const auto found = std::ranges::find(too_many, rule, &TooMany::rule); found != too_many.end())
    return fmt::format(fmt::runtime(found->sentence), value, counted(bound, found->unit),
                       layer.empty() ? "a layer" : fmt::format("layer {}", layer));
  return fmt::format("{} does not hold: {} and {}{}", rule, value, bound, in_layer(layer));
}

namespace {

/// "nearest: 6 or 12": numbers near `value` that divide the heads of attention and that `fits`.
template <class Fits>
std::string nearest_parts(double value, const Layer& attention, Fits fits) {
  const auto good = [&](double p) {
    return std::fmod(attention.query_heads, p) == 0 &&
           (std::fmod(attention.heads, p) == 0 || std::fmod(p, attention.heads) == 0) && fits(p);
  };
  double below = value, above = value;
  while (!good(below)) --below;
  while (above < attention.query_heads && !good(above)) ++above;
  return fmt::format("nearest: {}{}", below, good(above) ? fmt::format(" or {}", above) : "");
}

/// "tensor=8 must divide the 6 key and value heads, or be a multiple of them; nearest: 6 or 12 (layer ...)".
std::string uneven_heads(const Limit& limit, const Layer& attention) {
  return fmt::format("tensor={} must divide the {}, or be a multiple of them; {}{}", limit.value,
                     counted(limit.bound, "key and value head"),
                     nearest_parts(limit.value, attention, [](double) { return true; }),
                     in_layer(attention.name));
}

/// "tensor=4 must divide the 2 positions of a sequence ...; nearest: 2 (layer ...)".
std::string uneven_sequence(const Limit& limit, const Layer& attention) {
  const auto fits = [&](double p) { return std::fmod(limit.bound, p) == 0; };
  return fmt::format("tensor={} must divide the {} of a sequence{} for --sequence-parallel; {}{}",
                     limit.value, counted(limit.bound, "position"),
                     limit.rule == context_sequence_rule ? " on each part of `context`" : "",
                     nearest_parts(limit.value, attention, fits), in_layer(attention.name));
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

template <class Reason>
std::string broken(const Projection& projection, Reason reason_of) {
  std::string out;
  for (const Limit& limit : projection.limits.all())
    if (!limit.holds())
      out += (out.empty() ? "" : "; ") + (limit.rule == allreduce_rule && !projection.refused.empty()
                                              ? projection.refused
                                              : reason_of(limit));
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
