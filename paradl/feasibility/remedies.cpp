// Changes that might help against a bottleneck: of training, framework, machine or grid, each with its
// option. Whether a change helps, and by how much, is found by projecting it.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "paradl/core/format.hpp"
#include "paradl/cost/modelled_times.hpp"
#include "paradl/cost/sweep.hpp"
#include "paradl/feasibility/evidence.hpp"
#include "paradl/network/measured_cost.hpp"
#include "paradl/strategy/recomputed.hpp"

namespace paradl {
namespace {

/// Collects changes.
struct Changes {
  const Evidence& e;
  const SystemSpec* system;
  std::vector<Alternative> list = {};

  const Training& now() const { return e.setting.training; }
  double samples() const { return e.projection.batch / sample_parts(e.mesh); }  // of one pipeline

  void add(Owner owner, std::string text, std::string option, std::function<void(Training&)> change) {
    list.push_back({std::move(text), std::move(option), owner, std::move(change)});
  }
  void set_system(std::string text, std::string path, std::string value) {
    Alternative change{std::move(text), fmt::format("--set {}={}", path, value), Owner::system};
    change.system = {{std::move(path), std::move(value)}};
    list.push_back(std::move(change));
  }
  void use_batch(double batch) {
    // Stages are cut by the times of whole layers, which are asked for at the mini-batch: another cut is
    // another plan.
    if (e.details && e.details->evaluation.stages->stages > 1) return;
    Alternative change{fmt::format("a mini-batch of {:g} ({:.3g} per GPU), which changes the training", batch,
                                   batch / e.projection.gpus),
                       fmt::format("-b {:.0f}", batch)};
    change.batch = batch;
    list.push_back(std::move(change));
  }
  void use_mesh(const Mesh& mesh, std::shared_ptr<const StrategyName> strategy = nullptr) {
    const std::string grid = exact_grid(mesh, std::max(1, e.setting.work.input.dims));
    const std::string& name = strategy ? strategy->text : e.projection.strategy->text;
    Alternative change{fmt::format("{} on {}", name, grid_text(mesh, true)),
                       fmt::format("-s {} --grid {}", name, grid)};
    change.mesh = mesh;
    change.strategy = std::move(strategy);
    list.push_back(std::move(change));
  }
  /// Every spatial split that these sizes can have.
  void use_sizes(const StrategyName& strategy, const std::vector<int>& sizes, bool other) {
    std::vector<Parts> parts;
    for (const int n : sizes) parts.push_back({.total = n});
    const int most = now().framework.one_extent ? 1 : 3;
    const auto name = other ? std::make_shared<const StrategyName>(strategy) : nullptr;
    for (const Mesh& mesh : meshes(strategy, parts, std::clamp(e.setting.work.input.dims, 1, most)))
      use_mesh(mesh, name);
  }
};

bool splits_channels(const Mesh& mesh) {
  return parts_of("filter", mesh) * parts_of("channel", mesh) * parts_of("tensor", mesh) > 1;
}

/// The strategy without an axis that has only one GPU left.
StrategyName without_axis(const StrategyName& strategy, std::size_t axis) {
  std::string name;
  for (std::size_t i = 0; i < strategy.axes.size(); ++i)
    if (i != axis) name += fmt::format("{}{}", name.empty() ? "" : "+", strategy.axes[i]->name);
  return read_strategy(name + (strategy.out_of_core ? "/ooc" : ""));
}

/// Moves half of the parts of each other axis to `data`.
void move_to_data(Changes& out) {
  const StrategyName& strategy = *out.e.projection.strategy;
  const Mesh& mesh = out.e.projection.mesh;
  const auto data = std::ranges::find(strategy.axes, "data", &Strategy::name) - strategy.axes.begin();
  if (data == std::ssize(strategy.axes)) return;
  for (int a = 0; a < mesh.axes; ++a) {
    if (a == data || mesh.axis[std::size_t(a)].parts.total % 2 != 0) continue;
    std::vector<int> sizes;
    for (int i = 0; i < mesh.axes; ++i) sizes.push_back(mesh.axis[std::size_t(i)].parts.total);
    sizes[std::size_t(a)] /= 2;
    sizes[std::size_t(data)] *= 2;
    if (sizes[std::size_t(a)] > 1) {
      out.use_sizes(strategy, sizes, false);
      continue;
    }
    sizes.erase(sizes.begin() + a);
    out.use_sizes(without_axis(strategy, std::size_t(a)), sizes, true);
  }
}

/// `data` between nodes and `inner` within them.
void use_hybrid(Changes& out, std::string_view inner) {
  const int node = int(out.e.setting.machine.gpus_per_node()), p = int(out.e.projection.gpus);
  if (inner == "data" || node < 2 || p % node != 0 || p / node < 2) return;
  const StrategyName strategy = read_strategy(fmt::format("data+{}", inner));
  if (strategy.text != out.e.projection.strategy->text) out.use_sizes(strategy, {p / node, node}, true);
}

/// `tensor` instead of filter or channel, with the same sizes.
void use_tensor(Changes& out) {
  std::string name;
  std::vector<int> sizes;
  bool changed = false;
  int tensors = 0;  // an axis may occur only once
  for (const Strategy* axis : out.e.projection.strategy->axes) {
    const bool here = axis->name == "filter" || axis->name == "channel";
    changed |= here;
    tensors += here || axis->name == "tensor";
    name += fmt::format("{}{}", name.empty() ? "" : "+", here ? "tensor" : axis->name);
  }
  for (int a = 0; a < out.e.projection.mesh.axes; ++a)
    sizes.push_back(out.e.projection.mesh.axis[std::size_t(a)].parts.total);
  if (changed && tensors == 1) out.use_sizes(read_strategy(name), sizes, true);
}

/// The level of links on which the most expensive exchange of a term spends most of its time.
std::string level_of(const Evidence& e, Term term) {
  if (!e.details) return {};
  for (const ExchangeLine& line : e.details->lines)
    if (line.term == term) return std::string(std::ranges::max(line.steps, {}, &ExchangeStep::time).level);
  return {};
}

void faster_links(Changes& out, Term term) {
  if (const std::string level = level_of(out.e, term); out.system && !level.empty())
    out.set_system(fmt::format("twice the bandwidth of level {}", level),
                   fmt::format("levels.{}.bandwidth", level), "x2");
}

void shard(Changes& out, int zero, const char* what) {
  if (parts_of("data", out.e.mesh) < 2 || out.now().allreduce || out.now().zero >= zero) return;
  out.add(Owner::framework, what, fmt::format("--zero {}", zero), [zero](Training& t) { t.zero = zero; });
}

void recompute(Changes& out) {
  const Workload& work = out.e.setting.work;
  const bool scores = std::ranges::any_of(work.layers, [](const Layer& l) { return l.scores > 0; });
  if (scores && out.now().recompute == Recompute::none)
    out.add(Owner::user, "recomputed attention scores", "--recompute selective",
            [](Training& t) { t.recompute = Recompute::selective, t.recomputed_blocks = -1; });
  if (out.now().recompute != Recompute::full && !recomputable_blocks(work).empty())
    out.add(Owner::user, "recomputed activations", "--recompute full",
            [](Training& t) { t.recompute = Recompute::full, t.recomputed_blocks = -1; });
}

void split_sequence(Changes& out) {
  if (can_split_sequence(out.e.setting, out.e.mesh))
    out.add(Owner::framework, "sequence parallelism between pairs of products", "--sequence-parallel on",
            [](Training& t) { t.sequence_parallel = true; });
}

void more_micro_batches(Changes& out) {
  const int S = out.now().micro_batches;
  for (const int factor : {2, 4, 8})
    if (std::fmod(out.samples(), double(S) * factor) == 0)
      out.add(Owner::user, fmt::format("{} micro-batches", S * factor),
              fmt::format("--micro-batches {}", S * factor),
              [n = S * factor](Training& t) { t.micro_batches = n; });
}

/// Lets more GPUs send, each its own part, so that each level of links carries no more than necessary.
void spread_gradients(Changes& out) {
  if (out.now().framework.hybrid_gradients == GradientRoute::leader && out.e.mesh.axes > 1)
    out.add(Owner::framework, "a ring for each part of the weights instead of one leader per node",
            "--set framework.hybrid-gradients=rings",
            [](Training& t) { t.framework.hybrid_gradients = GradientRoute::rings; });
  if (out.now().framework.flat_rings)
    out.add(Owner::framework, "a ring on every level instead of one through all GPUs",
            "--set framework.rings=levels", [](Training& t) { t.framework.flat_rings = false; });
}

void help_gradients(Changes& out) {
  const Training& now = out.now();
  if (!now.overlap)
    out.add(Owner::framework, "gradients sent during the backward pass", "--overlap on",
            [](Training& t) { t.overlap = true; });
  spread_gradients(out);
  if (now.framework.packing > SecondsPerByte{})
    out.add(Owner::framework, "gradients packed twice as fast", "--set framework.costs.packing=x2",
            [](Training& t) { t.framework.packing = 0.5 * t.framework.packing; });
  if (now.framework.tensor > Seconds{})
    out.add(Owner::framework, "half the packing time per tensor", "--set framework.costs.tensor=x0.5",
            [](Training& t) { t.framework.tensor *= 0.5; });
  // Named algorithms use specified links: they would look faster than a measured ring.
  if (!now.allreduce && now.zero == 0 && !has_measured_links(out.e.setting.machine))
    for (const char* name : {"hd", "double-tree"})
      if (const Algorithm* algorithm = find_algorithm(name))
        out.add(Owner::framework, fmt::format("another allreduce: {}", algorithm->summary),
                fmt::format("--allreduce {}", name),
                [algorithm](Training& t) { t.allreduce = algorithm, t.density = 1; });
  if (sample_parts(out.e.mesh) > 1) out.use_batch(2 * out.e.projection.batch);
  move_to_data(out);
  faster_links(out, Term::gradient_exchange);
}

/// Without the hosts. `halos` also applies to gathers of tensors that are split in space.
void send_directly(Changes& out) {
  if (out.now().framework.halos == Transport::host)
    out.add(Owner::framework, "halos directly from GPU to GPU", "--set framework.halos=gpu",
            [](Training& t) { t.framework.halos = Transport::gpu; });
  if (out.now().transport == Transport::host)
    out.add(Owner::framework, "exchanges directly from GPU to GPU", "--transport gpu",
            [](Training& t) { t.transport = Transport::gpu; });
}

void help_collectives(Changes& out) {
  send_directly(out);
  if (splits_channels(out.e.mesh) && out.now().reduction == Reduction::allreduce)
    out.add(Owner::framework, "reduce-scatter instead of allreduce", "--reduction reduce-scatter",
            [](Training& t) { t.reduction = Reduction::reduce_scatter; });
  split_sequence(out);
  use_tensor(out);
  move_to_data(out);
  if (out.e.mesh.axes == 1) use_hybrid(out, out.e.mesh.axis[0].strategy->name);
  faster_links(out, Term::activation_exchange);
}

void help_messages(Changes& out) {
  send_directly(out);
  move_to_data(out);
}

void help_congestion(Changes& out) {
  spread_gradients(out);
  if (!out.system) return;
  const auto& levels = out.e.setting.machine.levels;
  for (std::size_t k = 2; k < levels.size() && out.e.projection.gpus > levels[k].inside; ++k)
    if (const LevelSpec& level = out.system->levels[k]; level.oversubscription > 1)
      out.set_system(
          fmt::format("no oversubscription between units of level {}", out.system->levels[k - 1].name),
          fmt::format("levels.{}.oversubscription", level.name), "1");
}

void help_contention(Changes& out) {
  if (!out.system || !out.e.details) return;
  const auto& levels = out.system->levels;
  std::vector<std::string> done;
  for (const ExchangeLine& line : out.e.details->lines)
    for (const ExchangeStep& step : line.steps) {
      const Binding& b = step.binding;
      if (b.unit.empty() || std::ranges::find(done, b.unit) != done.end()) continue;
      done.push_back(b.unit);
      const auto inner = std::ranges::find(levels, b.unit, &LevelSpec::name);
      const std::size_t k = inner == levels.end() ? 0 : std::size_t(inner - levels.begin()) + 1;
      if (k >= levels.size() || levels[k].oversubscription > 1) continue;
      out.set_system(fmt::format("{:g} ports per {} instead of {:g}: φ {:.3g} -> 1", b.enough, b.unit,
                                 b.ports, step.phi),
                     fmt::format("levels.{}.ports", levels[k].name), fmt::format("{:g}", b.enough));
    }
  help_congestion(out);
}

void help_memory(Changes& out) {
  shard(out, 1, "sharded optimizer state");
  shard(out, 3, "sharded weights, gradients and optimizer state");
  recompute(out);
  split_sequence(out);
  if (out.e.mesh.axes != 1) return;
  const bool sequences = out.e.setting.work.tokens;
  for (const char* inner : {"spatial", "tensor", "layer"})
    if (inner != std::string_view("spatial") || !sequences) use_hybrid(out, inner);
  if (!sequences && parts_of("spatial", out.e.mesh) == 1)
    out.use_sizes(read_strategy("spatial"), {int(out.e.projection.gpus)}, true);
}

void help_fragments(Changes& out) {
  more_micro_batches(out);
  shard(out, 1, "sharded optimizer state");
  recompute(out);
}

void help_balance(Changes& out) {
  more_micro_batches(out);
  const Training& now = out.now();
  const int stages = parts_of("layer", out.e.mesh);
  if (now.chunks == 1 && now.micro_batches > 1 && now.micro_batches % std::max(1, stages) == 0)
    out.add(Owner::framework, "two chunks of the network on each stage", "--schedule interleaved:2",
            [](Training& t) { t.schedule = PipelineSchedule::interleaved, t.chunks = 2; });
  if (now.stage_cut == StageCut::equal_blocks)
    out.add(Owner::framework, "stages of equal times instead of equal numbers of blocks",
            "--set framework.stages=balanced", [](Training& t) { t.stage_cut = StageCut::balanced; });
  move_to_data(out);
}

void help_redundancy(Changes& out) {
  if (out.now().framework.convolutions_only)
    out.add(Owner::framework, "all layers split, not only convolutions", "--set framework.split=all",
            [](Training& t) { t.framework.convolutions_only = false; });
  if (out.now().framework.split_layer > Seconds{})
    out.add(Owner::framework, "half the time for copies and small kernels of a split layer",
            "--set framework.costs.split-layer=x0.5", [](Training& t) { t.framework.split_layer *= 0.5; });
  use_tensor(out);
  move_to_data(out);
  if (out.e.mesh.axes == 1) use_hybrid(out, out.e.mesh.axis[0].strategy->name);
}

/// Samples from other storage, or distributed differently, if the system file has the numbers.
void move_samples(Changes& out) {
  const Machine& machine = out.e.setting.machine;
  const InputPlan& plan = out.now().input;
  const auto add = [&](const char* text, const std::string& option, InputFrom from, Shuffle shuffle) {
    out.add(Owner::user, text, option,
            [from, shuffle](Training& t) { t.input.from = from, t.input.shuffle = shuffle; });
  };
  const Shuffle local{.global = false}, partial{.global = false, .Q = 0.1};
  const bool here = plan.from == InputFrom::node;
  if (const auto& node = machine.node_storage; node && node->read && node->capacity) {
    const std::string from = here ? "" : "--input node ";
    if (!here) add("all samples on each node", "--input node", InputFrom::node, {});
    if (plan.shuffle.global) {
      add("samples divided among the nodes, a tenth of them exchanged per epoch",
          from + "--shuffle partial:0.1", InputFrom::node, partial);
      add("samples divided among the nodes, none exchanged", from + "--shuffle local", InputFrom::node,
          local);
    } else if (plan.shuffle.Q > 0) {
      add("no samples exchanged", "--shuffle local", InputFrom::node, local);
    }
  }
  if (const auto& shared = machine.shared_storage; here && plan.shuffle.global && shared && shared->read)
    add("samples from the shared file system", "--input shared", InputFrom::shared, {});
}

/// The gain is an upper bound if the rate of the storage is unknown.
std::string at_best(const InputCost& input, InputFrom from) {
  if (input.lacks != InputLacks::read_rate) return {};
  return fmt::format(", at best: storage.{}.read is unknown", input_names[std::size_t(from)]);
}

/// Twice the rate that limits reading.
void faster_reading(Changes& out, const InputCost& input) {
  if (input.bound == ReadBound::reader) {
    out.add(Owner::framework,
            "twice the rate of a reader (more processes that read and prepare)" +
                at_best(input, out.now().input.from),
            "--set framework.costs.reader=x2",
            [](Training& t) { t.framework.reader = 2 * *t.framework.reader; });
    return;
  }
  if (!out.system) return;
  const LevelSpec* ports = out.system->levels.size() > 1 ? &out.system->levels[1] : nullptr;
  const std::string_view from = input_names[std::size_t(out.now().input.from)];
  if (input.bound == ReadBound::storage)
    out.set_system(fmt::format("twice the read rate of {} storage", from),
                   fmt::format("storage.{}.read", from), "x2");
  else if (ports && ports->ports)
    out.set_system(fmt::format("twice the ports per {}", out.system->levels[0].name),
                   fmt::format("levels.{}.ports", ports->name), "x2");
}

void help_input(Changes& out) {
  if (!out.e.projection.input || !out.e.projection.input->known) return;
  const InputCost& input = *out.e.projection.input;
  const Training& now = out.now();
  if (!now.input.prefetch)
    out.add(Owner::framework, "the next mini-batch read during the iteration", "--prefetch on",
            [](Training& t) { t.input.prefetch = true; });
  if (now.input.readers == Readers::leader && input.space * input.copies > 1)
    out.add(Owner::framework,
            "every GPU reads what it needs instead of one leader" + at_best(input, now.input.from),
            "--staging each", [](Training& t) { t.input.readers = Readers::each; });
  if (now.framework.staging == Transport::host && input.staged > Bytes{})
    out.add(Owner::framework, "leaders send samples directly from GPU to GPU", "--set framework.staging=gpu",
            [](Training& t) { t.framework.staging = Transport::gpu; });
  faster_reading(out, input);
  move_samples(out);
}

void help_bounds(Changes& out) {
  for (const Limit& limit : out.e.projection.limits.all())
    if (limit.rule == LimitRule::samples && !limit.holds())
      out.use_batch(out.e.projection.batch * std::ceil(limit.value / limit.bound));
  if (out.e.mesh.axes == 1) use_hybrid(out, out.e.mesh.axis[0].strategy->name);
  move_to_data(out);
}

void help_update(Changes& out) {
  shard(out, 1, "sharded weight update");
  out.use_batch(2 * out.e.projection.batch);  // half as many updates per epoch
  const Training& now = out.now();
  if (now.framework.update_kernels == UpdateKernels::fused) return;
  const auto work_in = [&](UpdateKernels kernels) {
    return update_work(now.optimizer, now.precision, kernels);
  };
  const auto times = with_update(out.e.setting.times, out.e.setting.work, work_in(UpdateKernels::separate),
                                 work_in(UpdateKernels::fused));
  if (!times) return;
  out.add(Owner::framework, "one update kernel per weight tensor instead of one per operation",
          "--set framework.optimizer-kernels=fused",
          [](Training& t) { t.framework.update_kernels = UpdateKernels::fused; });
  out.list.back().times = std::make_shared<const LayerTimes>(*times);
}

void help_statistics(Changes& out) {
  if (!out.now().synchronised_batch_norm)
    out.add(Owner::user, "batch-norm statistics over all GPUs", "--batch-norm sync",
            [](Training& t) { t.synchronised_batch_norm = true; });
}

void help_occupancy(Changes& out) {
  if (out.e.details && out.e.details->best_batch != out.e.projection.batch)
    out.use_batch(out.e.details->best_batch);
  move_to_data(out);
}

}  // namespace

std::vector<Alternative> remedies(BottleneckKind kind, const Evidence& e, const SystemSpec* system) {
  Changes out{e, system};
  switch (kind) {
    case BottleneckKind::gradient_exchange:
      help_gradients(out);
      break;
    case BottleneckKind::layer_collectives:
      help_collectives(out);
      break;
    case BottleneckKind::point_to_point:
      help_messages(out);
      break;
    case BottleneckKind::congestion:
      help_congestion(out);
      break;
    case BottleneckKind::self_contention:
      help_contention(out);
      break;
    case BottleneckKind::input_output:
      help_input(out);
      break;
    case BottleneckKind::memory_redundancy:
      help_memory(out);
      break;
    case BottleneckKind::fragmentation:
      help_fragments(out);
      break;
    case BottleneckKind::weight_update:
      help_update(out);
      break;
    case BottleneckKind::workload_balance:
      help_balance(out);
      break;
    case BottleneckKind::computation_redundancy:
      help_redundancy(out);
      break;
    case BottleneckKind::number_of_pes:
      help_bounds(out);
      break;
    case BottleneckKind::batch_norm_quality:
      help_statistics(out);
      break;
    case BottleneckKind::gpu_occupancy:
      help_occupancy(out);
      break;
  }
  return out.list;
}

}  // namespace paradl
