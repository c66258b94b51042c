// The table of limits and bottlenecks: what each means, by which value it is told, and from which value on.
#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "paradl/core/format.hpp"
#include "paradl/feasibility/evidence.hpp"
#include "paradl/paper/row.hpp"

namespace paradl {
namespace {

using H = Hindrance;

// clang-format off
constexpr std::array<Entry, hindrances> entries{{
    {"gradient_exchange", "gradient exchange", Nature::limit,
     "all who hold the same weights sum their gradients in every iteration"},
    {"layer_collectives", "layer-wise collectives", Nature::limit,
     "activations and their gradients are gathered or summed layer by layer, and each layer waits for them"},
    {"point_to_point", "point-to-point messages", Nature::bottleneck,
     "halos and what stages pass on go through host memory (no GPUDirect)"},
    {"congestion", "network congestion", Nature::bottleneck,
     "exchanges cross a part of the network that is narrower than what is below it, or meet other jobs there"},
    {"self_contention", "self-contention", Nature::bottleneck,
     "flows of the job itself share a link"},
    {"input_output", "input/output", Nature::bottleneck,
     "reading and staging of samples takes longer than the iteration that hides it, or a node cannot keep them"},
    {"memory_redundancy", "memory redundancy", Nature::bottleneck,
     "GPUs hold copies of what others hold, or one layer alone is more than a device holds"},
    {"fragmentation", "memory fragmentation", Nature::bottleneck,
     "so little memory is left that what lies idle between pieces may be missing"},
    {"weight_update", "weight update", Nature::limit,
     "every replica updates all its weights"},
    {"workload_balance", "workload balance", Nature::limit,
     "stages of a pipeline wait for the slowest one, and for the first and the last micro-batch"},
    {"computation_redundancy", "computation redundancy", Nature::bottleneck,
     "layers that are not split run whole on every GPU, and split ones take more than their part"},
    {"number_of_pes", "number of PEs", Nature::limit,
     "more GPUs than the samples, channels, extents or layers that there are to share"},
    {"batch_norm_quality", "batch-norm quality", Nature::limit,
     "statistics of a batch norm over too few samples spoil training"},
    {"gpu_occupancy", "GPU occupancy", Nature::bottleneck,
     "so few (or many) samples on a GPU that its kernels run below their best"},
}};
static_assert(!entries.back().name.empty(), "one for each Hindrance");

// Triggers quoted from the ParaDL report: update 10 to 15 % of computation, congestion seen from 512 GPUs on, statistics
// of 2 to 4 samples. The others are choices: a fifth of the iteration, twice as slow, half as much again.
constexpr std::array table{
    Measure{H::gradient_exchange, "gradient-exchange", "exposed gradient exchange, of the iteration",
            Reads::share, Sense::above, 0.2, 0, 1, false, read_gradient_exchange},
    Measure{H::layer_collectives, "layer-collectives", "exposed exchange of activations, of the iteration",
            Reads::share, Sense::above, 0.2, 0, 1, false, read_layer_collectives},
    Measure{H::point_to_point, "point-to-point", "messages between neighbours, times what they take from GPU to GPU",
            Reads::ratio, Sense::at_least, 2, 1, 1e6, true, read_point_to_point},
    Measure{H::congestion, "congestion-taper", "ports below a level of links that is crossed, over those into it",
            Reads::ratio, Sense::above, 1, 1, 1e6, true, read_taper},
    Measure{H::congestion, "congestion-gpus", "GPUs that exchange over more than one node",
            Reads::count, Sense::at_least, 512, 1, 1e9, true, read_many_gpus},
    Measure{H::self_contention, "self-contention", "flows of the job that share a link (φ)",
            Reads::ratio, Sense::above, 1, 1, 1e6, true, read_self_contention},
    Measure{H::input_output, "input-output", "exposed input/output, of the iteration",
            Reads::share, Sense::above, 0.05, 0, 1, false, read_input_output},
    Measure{H::input_output, "node-storage", "what a node keeps of the data set, of its storage",
            Reads::share, Sense::above, 1, 0, 1e6, false, read_node_storage},
    Measure{H::memory_redundancy, "memory-redundancy", "copies of what other GPUs hold, of the device's memory",
            Reads::share, Sense::above, 0.25, 0, 1, false, read_replicas},
    Measure{H::memory_redundancy, "largest-layer", "what one layer needs alone, of the device's memory",
            Reads::share, Sense::above, 1, 0, 1e6, false, read_largest_layer},
    Measure{H::fragmentation, "fragmentation", "memory in use, of the device's",
            Reads::share, Sense::above, 0.85, 0, 1, false, read_fragmentation},
    Measure{H::weight_update, "weight-update", "weight update, of the computation",
            Reads::share, Sense::above, 0.1, 0, 1, false, read_update},
    Measure{H::workload_balance, "stage-imbalance", "slowest stage, times the mean of all",
            Reads::ratio, Sense::above, 1.1, 1, 1e6, true, read_imbalance},
    Measure{H::workload_balance, "bubble", "stages that wait, of the iteration",
            Reads::share, Sense::above, 0.2, 0, 1, false, read_bubble},
    Measure{H::computation_redundancy, "whole-layers", "layers that run whole, of forward and backward",
            Reads::share, Sense::above, 0.2, 0, 1, true, read_whole_layers},
    Measure{H::computation_redundancy, "split-overhead", "split layers, times their part of the whole layers",
            Reads::ratio, Sense::above, 1.5, 1, 1e6, true, read_split_overhead},
    Measure{H::number_of_pes, "number-of-pes", "parts of an axis, over what there is to share",
            Reads::ratio, Sense::above, 1, 0, 1e6, false, read_bounds},
    Measure{H::batch_norm_quality, "batch-norm-samples", "samples of one batch norm's statistics",
            Reads::count, Sense::at_most, 4, 0, 1e6, false, read_batch_norm},
    Measure{H::gpu_occupancy, "gpu-occupancy", "computation of a sample, times the least of any mini-batch that fits",
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

/// How far a value is beyond its trigger; what forbids a plan is beyond all.
std::pair<bool, double> excess(const Finding& f) {
  const double value = f.reading->value;
  const double high = f.measure->sense == Sense::at_most ? f.trigger : value;
  const double low = f.measure->sense == Sense::at_most ? value : f.trigger;
  return {f.reading->forbids, low > 0 ? high / low : 1e300};
}

}  // namespace

const Entry& entry(Hindrance hindrance) { return entries[std::size_t(hindrance)]; }
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
    if (!change.mesh) change.option += same;  // else it names its own
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

/// Whether the paper's closed forms refuse to be asked with a change.
bool beyond_paper(const Alternative& change, Training training) {
  if (change.strategy && !paper::find_row(change.strategy->text)) return true;
  if (change.training) change.training(training);
  return training.zero > 0 || training.sequence_parallel || training.recompute != Recompute::none ||
         training.allreduce || training.chunks > 1 || training.input.from != InputFrom::none;
}

}  // namespace

std::vector<Bottleneck> Examiner::bottlenecks(const Projection& projection) const {
  const Evidence e = evidence(projection);
  const auto changes = [&](Hindrance kind) {
    std::vector<Alternative> list = remedies(kind, e, system_);
    if (!evaluator_)
      std::erase_if(list, [&](const Alternative& c) { return beyond_paper(c, setting_.training); });
    return list;
  };
  std::vector<Bottleneck> out;
  for (Finding& found : judge(e)) {
    if (!found.fires) continue;
    const Hindrance kind = found.measure->of;
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

/// Of several algorithms, or of several grids, the best one is enough.
std::string_view family(const Alternative& change) {
  for (const std::string_view option : {"--allreduce", "-s", "--micro-batches"})
    if (change.option.starts_with(option)) return option;
  return change.option;
}

/// Whether a change mends a plan that fits: by time; or by memory, at no cost of time where that is merely
/// held twice; whatever it costs where something else is amiss.
bool mends(Hindrance hindrance, const PricedAlternative& priced, const Projection& now) {
  constexpr double worth_telling = 0.005;  // of the epoch, or of the memory
  if (hindrance == Hindrance::number_of_pes || hindrance == Hindrance::batch_norm_quality) return true;
  if (priced.gain >= worth_telling) return true;
  if (priced.memory > (1 - worth_telling) * now.cost->memory.total()) return false;
  return hindrance == Hindrance::fragmentation ||
         (hindrance == Hindrance::memory_redundancy && priced.gain > -worth_telling);
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
    if (projection.feasible() && !mends(b.kind, priced, projection)) continue;
    if (std::ranges::none_of(b.remedies, same)) b.remedies.push_back(std::move(priced));
  }
  if (b.remedies.empty()) b.changes.clear();  // none of them would
}

std::vector<Improvement> Examiner::improvements(const Projection& projection, Hands hands) const {
  std::vector<Improvement> out;
  if (!evaluator_ || !projection.cost) return out;
  const Evidence e = evidence(projection);
  std::vector<Alternative> changes;
  std::vector<std::vector<Hindrance>> mends;
  for (std::size_t i = 0; i < hindrances; ++i)
    for (Alternative& change : remedies(Hindrance(i), e, system_)) {
      if (change.hands != hands) continue;
      const auto known = std::ranges::find(changes, change.option, &Alternative::option);
      if (known == changes.end()) {
        changes.push_back(std::move(change));
        mends.push_back({Hindrance(i)});
      } else {
        mends[std::size_t(known - changes.begin())].push_back(Hindrance(i));
      }
    }
  changes = typed(std::move(changes), projection);
  for (PricedAlternative& priced : paradl::price(changes, setting_, machine_with_, projection)) {
    if (!(priced.gain > 0)) continue;
    const auto at = std::ranges::find(changes, priced.change.option, &Alternative::option) - changes.begin();
    const auto same = [&](const Improvement& i) { return family(i.priced.change) == family(priced.change); };
    if (std::ranges::none_of(out, same)) out.push_back({std::move(priced), mends[std::size_t(at)]});
  }
  return out;
}

}  // namespace paradl
