// The table of limits and bottlenecks: what each means, the values that detect it, and their triggers.
#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "paradl/core/format.hpp"
#include "paradl/feasibility/evidence.hpp"
#include "paradl/paper/row.hpp"

namespace paradl {
namespace {

using K = BottleneckKind;

// clang-format off
constexpr std::array<Entry, bottleneck_kinds> entries{{
    {"gradient_exchange", "gradient exchange", Nature::limit,
     "GPUs with the same weights sum their gradients in every iteration"},
    {"layer_collectives", "layer-wise collectives", Nature::limit,
     "activations and their gradients are gathered or summed between layers, and each layer waits for them"},
    {"point_to_point", "point-to-point messages", Nature::bottleneck,
     "halos and stage transfers go through host memory (no GPUDirect)"},
    {"congestion", "network congestion", Nature::bottleneck,
     "exchanges cross an oversubscribed part of the network, or share it with other jobs"},
    {"self_contention", "self-contention", Nature::bottleneck,
     "flows of the job itself share a link"},
    {"input_output", "input/output", Nature::bottleneck,
     "reading and staging samples takes longer than the iteration, or a node cannot store them"},
    {"memory_redundancy", "memory redundancy", Nature::bottleneck,
     "GPUs hold copies of the same data, or one layer alone exceeds the memory of a device"},
    {"fragmentation", "memory fragmentation", Nature::bottleneck,
     "so little memory is free that allocator fragmentation may cause an out-of-memory error"},
    {"weight_update", "weight update", Nature::limit,
     "every replica updates all its weights"},
    {"workload_balance", "workload balance", Nature::limit,
     "pipeline stages wait for the slowest one, and for the first and the last micro-batch"},
    {"computation_redundancy", "computation redundancy", Nature::bottleneck,
     "layers that are not split run whole on every GPU, or split layers take longer than their share"},
    {"number_of_pes", "number of PEs", Nature::limit,
     "there are more GPUs than samples, channels, extents or layers to split"},
    {"batch_norm_quality", "batch-norm quality", Nature::limit,
     "batch-norm statistics over too few samples harm training"},
    {"gpu_occupancy", "GPU occupancy", Nature::bottleneck,
     "kernels are inefficient with so few (or so many) samples per GPU"},
}};
static_assert(!entries.back().name.empty(), "one for each BottleneckKind");

// From the ParaDL report: update 10 to 15 % of computation, congestion from 512 GPUs on, statistics of 2 to 4 samples.
// The other triggers are our choice.
constexpr std::array table{
    Measure{K::gradient_exchange, "gradient-exchange", "exposed gradient exchange / iteration",
            Reads::share, Sense::above, 0.2, 0, 1, false, read_gradient_exchange},
    Measure{K::layer_collectives, "layer-collectives", "exposed activation exchange / iteration",
            Reads::share, Sense::above, 0.2, 0, 1, false, read_layer_collectives},
    Measure{K::point_to_point, "point-to-point",
            "point-to-point time divided by its time with direct GPU-to-GPU transfer",
            Reads::ratio, Sense::at_least, 2, 1, 1e6, true, read_point_to_point},
    Measure{K::congestion, "congestion-taper", "oversubscription: ports below a network level / ports into it",
            Reads::ratio, Sense::above, 1, 1, 1e6, true, read_taper},
    Measure{K::congestion, "congestion-gpus", "number of GPUs that communicate across nodes",
            Reads::count, Sense::at_least, 512, 1, 1e9, true, read_many_gpus},
    Measure{K::self_contention, "self-contention", "flows of the job that share a link (φ)",
            Reads::ratio, Sense::above, 1, 1, 1e6, true, read_self_contention},
    Measure{K::input_output, "input-output", "exposed input/output / iteration",
            Reads::share, Sense::above, 0.05, 0, 1, false, read_input_output},
    Measure{K::input_output, "node-storage", "part of the data set that a node keeps / its storage",
            Reads::share, Sense::above, 1, 0, 1e6, false, read_node_storage},
    Measure{K::memory_redundancy, "memory-redundancy", "data that other GPUs also hold / memory of the device",
            Reads::share, Sense::above, 0.25, 0, 1, false, read_replicas},
    Measure{K::memory_redundancy, "largest-layer", "memory of the largest layer / memory of the device",
            Reads::share, Sense::above, 1, 0, 1e6, false, read_largest_layer},
    Measure{K::fragmentation, "fragmentation", "memory in use / memory of the device",
            Reads::share, Sense::above, 0.85, 0, 1, false, read_fragmentation},
    Measure{K::weight_update, "weight-update", "weight update / computation",
            Reads::share, Sense::above, 0.1, 0, 1, false, read_update},
    Measure{K::workload_balance, "stage-imbalance", "time of the slowest stage / mean of all stages",
            Reads::ratio, Sense::above, 1.1, 1, 1e6, true, read_imbalance},
    Measure{K::workload_balance, "bubble", "pipeline bubble / iteration",
            Reads::share, Sense::above, 0.2, 0, 1, false, read_bubble},
    Measure{K::computation_redundancy, "whole-layers", "layers that run whole on every GPU / forward and backward",
            Reads::share, Sense::above, 0.2, 0, 1, true, read_whole_layers},
    Measure{K::computation_redundancy, "split-overhead", "time of split layers / their share of the whole layers' time",
            Reads::ratio, Sense::above, 1.5, 1, 1e6, true, read_split_overhead},
    Measure{K::number_of_pes, "number-of-pes", "parts of an axis / samples, channels, extents or layers to split",
            Reads::ratio, Sense::above, 1, 0, 1e6, false, read_bounds},
    Measure{K::batch_norm_quality, "batch-norm-samples", "samples in the statistics of one batch norm",
            Reads::count, Sense::at_most, 4, 0, 1e6, false, read_batch_norm},
    Measure{K::gpu_occupancy, "gpu-occupancy",
            "compute time per sample, relative to the best batch size that fits",
            Reads::ratio, Sense::above, 1.25, 1, 1e6, true, read_occupancy},
};
// clang-format on

bool beyond(Sense sense, double value, double trigger) {
  constexpr double rounding = 1e-9;
  switch (sense) {
    case Sense::above:
      return value > trigger * (1 + rounding);
    case Sense::at_least:
      return value >= trigger * (1 - rounding);
    case Sense::at_most:
      return value <= trigger * (1 + rounding);
  }
  return false;
}

/// How far a value is beyond its trigger; a broken limit comes before everything else.
std::pair<bool, double> excess(const Finding& f) {
  const double value = f.reading->value;
  const double high = f.measure->sense == Sense::at_most ? f.trigger : value;
  const double low = f.measure->sense == Sense::at_most ? value : f.trigger;
  return {f.reading->forbids, low > 0 ? high / low : 1e300};
}

}  // namespace

const Entry& entry(BottleneckKind kind) { return entries[std::size_t(kind)]; }
std::span<const Measure> measures() { return table; }

const Measure* find_measure(std::string_view key) {
  const auto found = std::ranges::find(table, key, &Measure::key);
  return found == table.end() ? nullptr : &*found;
}

std::string value_text(const Measure& measure, double value) {
  switch (measure.reads) {
    case Reads::share:
      return percent(value);
    case Reads::ratio:
      return three_digits(value);
    case Reads::count:
      return count(value);
  }
  return {};
}

std::string trigger_text(const Measure& measure, double trigger) {
  constexpr std::array<std::string_view, 3> signs{">", ">=", "<="};
  static_assert(names_every(Sense::at_most, signs), "a sign for each Sense");
  return fmt::format(
      "{} {}", signs[std::size_t(measure.sense)],
      measure.reads == Reads::ratio ? fmt::format("{:g}", trigger) : value_text(measure, trigger));
}

Triggers::Triggers() {
  for (const Measure& measure : table) value.push_back(measure.trigger);
}

Examiner::Examiner(const Setting& setting, const Evaluator* evaluator, Triggers triggers, const SystemSpec* system,
                   MachineWith machine_with, const Question* asked)
    : setting_(setting),
      evaluator_(evaluator),
      triggers_(std::move(triggers)),
      system_(system),
      machine_with_(std::move(machine_with)),
      asked_(asked) {}

std::vector<Alternative> Examiner::typed(std::vector<Alternative> changes, const Projection& p) const {
  if (!asked_) return changes;
  const std::string same = same_plan(*asked_, *p.strategy, p.mesh, setting_.work.input.dims);
  for (Alternative& change : changes)
    if (!change.mesh) change.option += same;  // a change of the mesh names its own plan
  return changes;
}

std::vector<Finding> Examiner::judge(const Evidence& e) const {
  std::vector<Finding> out;
  for (std::size_t i = 0; i < table.size(); ++i) {
    Finding found{&table[i], triggers_.value[i], table[i].read(e)};
    if (const auto& reading = found.reading)
      found.fires = beyond(found.measure->sense, reading->value, found.trigger) &&
                    (!found.measure->costs_time || reading->share >= triggers_.least_share);
    out.push_back(std::move(found));
  }
  return out;
}

std::vector<Finding> Examiner::findings(const Projection& projection) const { return judge(evidence(projection)); }

namespace {

/// Whether the paper's closed forms do not support a change.
bool beyond_paper(const Alternative& change, Training training) {
  if (change.strategy && !paper::find_row(change.strategy->text)) return true;
  if (change.training) change.training(training);
  return training.zero > 0 || training.sequence_parallel || training.recompute != Recompute::none ||
         training.allreduce || training.chunks > 1 || training.input.from != InputFrom::none;
}

}  // namespace

std::vector<Bottleneck> Examiner::bottlenecks(const Projection& projection) const {
  const Evidence e = evidence(projection);
  const auto changes = [&](BottleneckKind kind) {
    std::vector<Alternative> list = remedies(kind, e, system_);
    if (!evaluator_)
      std::erase_if(list, [&](const Alternative& c) { return beyond_paper(c, setting_.training); });
    return list;
  };
  std::vector<Bottleneck> out;
  for (Finding& found : judge(e)) {
    if (!found.fires) continue;
    const BottleneckKind kind = found.measure->of;
    const auto same = std::ranges::find(out, kind, &Bottleneck::kind);
    if (same == out.end())
      out.push_back({kind, std::move(found), changes(kind), {}});
    else if (excess(found) > excess(same->finding))
      same->finding = std::move(found);
  }
  const auto share = [](const Bottleneck& b) { return b.finding.reading ? b.finding.reading->share : 0; };
  std::ranges::stable_sort(out, std::greater{}, share);
  return out;
}

namespace {

/// Of several algorithms, or of several grids, only the best one is listed.
std::string_view family(const Alternative& change) {
  for (const std::string_view option : {"--allreduce", "-s", "--micro-batches"})
    if (change.option.starts_with(option)) return option;
  return change.option;
}

/// Whether a change improves a plan that fits: it saves time; or it saves memory, which for redundant copies
/// must not cost time. For broken limits and poor statistics every change counts.
bool helps(BottleneckKind kind, const PricedAlternative& priced, const Projection& now) {
  constexpr double least_gain = 0.005;  // of the epoch, or of the memory
  if (kind == BottleneckKind::number_of_pes || kind == BottleneckKind::batch_norm_quality) return true;
  if (priced.gain >= least_gain) return true;
  if (priced.memory > (1 - least_gain) * now.cost->memory.total()) return false;
  return kind == BottleneckKind::fragmentation ||
         (kind == BottleneckKind::memory_redundancy && priced.gain > -least_gain);
}

}  // namespace

void Examiner::price(Bottleneck& b, const Projection& projection) const {
  if (!evaluator_) return;  // closed forms know nothing of most changes
  b.remedies.clear();
  for (PricedAlternative& priced :
       paradl::price(typed(b.changes, projection), setting_, machine_with_, projection)) {
    const auto same = [&](const PricedAlternative& other) {
      return family(other.change) == family(priced.change);
    };
    if (projection.feasible() && !helps(b.kind, priced, projection)) continue;
    if (std::ranges::none_of(b.remedies, same)) b.remedies.push_back(std::move(priced));
  }
  if (b.remedies.empty()) b.changes.clear();  // none of them helps
}

std::vector<Improvement> Examiner::improvements(const Projection& projection, Owner owner) const {
  std::vector<Improvement> out;
  if (!evaluator_ || !projection.cost) return out;
  const Evidence e = evidence(projection);
  std::vector<Alternative> changes;
  std::vector<std::vector<BottleneckKind>> against;
  for (std::size_t i = 0; i < bottleneck_kinds; ++i)
    for (Alternative& change : remedies(BottleneckKind(i), e, system_)) {
      if (change.owner != owner) continue;
      const auto known = std::ranges::find(changes, change.option, &Alternative::option);
      if (known == changes.end()) {
        changes.push_back(std::move(change));
        against.push_back({BottleneckKind(i)});
      } else {
        against[std::size_t(known - changes.begin())].push_back(BottleneckKind(i));
      }
    }
  changes = typed(std::move(changes), projection);
  for (PricedAlternative& priced : paradl::price(changes, setting_, machine_with_, projection)) {
    if (!(priced.gain > 0)) continue;
    const auto at = std::ranges::find(changes, priced.change.option, &Alternative::option) - changes.begin();
    const auto same = [&](const Improvement& i) { return family(i.priced.change) == family(priced.change); };
    if (std::ranges::none_of(out, same)) out.push_back({std::move(priced), against[std::size_t(at)]});
  }
  return out;
}

}  // namespace paradl
