// Readings of what takes time: exchanges, updates, waiting and redundant work.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "paradl/core/format.hpp"
#include "paradl/cost/sweep.hpp"
#include "paradl/feasibility/evidence.hpp"

namespace paradl {
namespace {

double share_of(const Evidence& e, Seconds time) { return time / e.projection.iteration(); }
double exposed(const Evidence& e, Term term) { return share_of(e, (*e.projection.cost)[term]); }

/// The exchange that takes most of a term: "allreduce dw of all weights over data, 553 MB, level rack".
std::string busiest(const Evidence& e, Term term) {
  if (!e.details) return {};
  for (const ExchangeLine& line : e.details->lines)  // most expensive first
    if (line.term == term)
      return fmt::format("{} of {} over {}, {} each, level {}", line.what, line.layer, line.axis,
                         decimal(line.bytes), line.steps.back().level);
  return {};
}

/// A term's share, and the exchange that causes it.
std::optional<Reading> read_term(const Evidence& e, Term term, std::string_view what) {
  if (!e.projection.cost) return {};
  const double share = exposed(e, term);
  if (!(share > 0)) return {};
  return Reading{share, share, busiest(e, term), fmt::format("{} {} of the iteration", what, percent(share))};
}

/// If leaders send: ": one leader per node sends, through one of 2 ports, which takes 1.9 times as long as
/// data on as many GPUs".
std::string beside_data(const Evidence& e) {
  const Machine& machine = e.setting.machine;
  if (e.setting.training.framework.hybrid_gradients != GradientRoute::leader || e.mesh.axes < 2 ||
      e.projection.gpus <= machine.gpus_per_node())
    return {};
  const StrategyName data = read_strategy("data");
  const Mesh all = meshes(data, int(e.projection.gpus), 1).front();
  Setting bare = e.setting;
  bare.training.overlap = false;  // what is hidden counts as well
  const Evaluator evaluator(bare);
  const auto sum = [&](const StrategyName& strategy, const Mesh& mesh) {
    // Samples enough for all: what is summed does not depend on them.
    const Projection p = evaluator.project(strategy, mesh, std::max(e.projection.batch, e.projection.gpus));
    return p.cost ? (*p.cost)[Term::gradient_exchange] : Seconds{};
  };
  const double ports = machine.levels[1].ports;
  std::string out =
      fmt::format(": one leader per node sends, through one of {:g} port{}", ports, ports == 1 ? "" : "s");
  if (const Seconds alone = sum(data, all); alone > Seconds{})
    out += fmt::format(", which takes {:.1f} times as long as data on as many GPUs",
                       sum(*e.projection.strategy, e.projection.mesh) / alone);
  return out;
}

/// Time of one PE for the passes of a kind of layer in one iteration.
Seconds work_of(const Evidence& e, std::size_t cell) {
  const CellCost& cost = e.details->evaluation.passes.cells[cell];
  return e.setting.training.micro_batches * (cost.forward + cost.backward);
}

/// Cells of the stage that takes longest, with their counts.
const std::vector<StageKind::Share>& busiest_cells(const Evidence& e) {
  int slowest = 0;
  for (int s = 1; s < e.details->evaluation.stages->stages; ++s)
    if (stage_time(*e.details, s) > stage_time(*e.details, slowest)) slowest = s;
  return cells_of_stage(*e.details, slowest);
}

/// "conv1", or "conv1 and 12 more".
std::string names(const Evidence& e, const std::vector<std::pair<Seconds, std::size_t>>& cells) {
  const auto most = std::ranges::max_element(cells);
  double layers = 0;
  for (const auto& [time, cell] : cells) layers += e.details->evaluation.layout->cells[cell].count;
  const std::string& name = layer_of(e, e.details->evaluation.layout->cells[most->second]).name;
  return layers > 1 ? fmt::format("{} and {:g} more", name, layers - 1) : name;
}

/// Which of reading, staging and shuffling takes longest, and what limits it.
std::string slowest_part(const Evidence& e, const InputCost& input) {
  if (input.staging > std::max(input.reading, input.exchange))
    return fmt::format("leaders distribute {} to {:g} GPUs", decimal(input.staged),
                       input.space * input.copies);
  if (input.exchange > input.reading)
    return fmt::format("workers exchange {} of samples per epoch", decimal(input.exchanged));
  const Machine& machine = e.setting.machine;
  const InputFrom from = e.setting.training.input.from;
  switch (input.bound) {
    case ReadBound::reader:
      return fmt::format("each reader reads {} at {}", decimal(input.read),
                         text(*e.setting.training.framework.reader));
    case ReadBound::storage:
      return fmt::format("{:g} readers share the {} of {}",
                         from == InputFrom::node ? input.at_once : input.readers,
                         text(*input_storage(machine, from)->read),
                         from == InputFrom::node ? "node storage" : "the shared file system");
    case ReadBound::ports:
      return fmt::format("{:g} readers of a node share its ports, level {}", input.at_once,
                         machine.levels[1].name);
  }
  return {};
}

}  // namespace

std::optional<Reading> read_gradient_exchange(const Evidence& e) {
  auto out = read_term(e, Term::gradient_exchange, "the gradient exchange takes");
  if (out && e.details) out->message += beside_data(e);
  return out;
}

std::optional<Reading> read_layer_collectives(const Evidence& e) {
  return read_term(e, Term::activation_exchange, "exchanges of activations between layers take");
}

std::optional<Reading> read_point_to_point(const Evidence& e) {
  if (!e.details) return {};
  const Cost& cost = *e.projection.cost;
  const Seconds now = cost[Term::halo_exchange] + cost[Term::stage_transfer], direct = e.details->direct;
  if (!(now > Seconds{})) return {};
  const double ratio = direct > Seconds{} ? now / direct : 1;
  const Term term = cost[Term::halo_exchange] > Seconds{} ? Term::halo_exchange : Term::stage_transfer;
  return Reading{
      ratio, share_of(e, now), busiest(e, term),
      ratio > 1
          ? fmt::format("point-to-point messages go through host memory: {} per iteration instead of {} "
                        "with direct GPU-to-GPU transfer",
                        text(now), text(direct))
          : fmt::format("point-to-point messages go directly from GPU to GPU: {} per iteration", text(now))};
}

std::optional<Reading> read_taper(const Evidence& e) {
  if (!e.projection.cost) return {};
  const auto& levels = e.setting.machine.levels;
  std::optional<Reading> out;
  // Sharing the ports of a node is self-contention; oversubscription is about the levels above it.
  for (std::size_t k = 2; k < levels.size() && e.projection.gpus > levels[k].inside; ++k) {
    const double below = levels[k - 1].ports * levels[k - 1].gpus / levels[k - 1].inside;
    const double taper = below / levels[k].ports;
    if (out && taper <= out->value) continue;
    const double share = share_of(e, e.projection.cost->exposed_communication());
    out = {taper, share, fmt::format("{} to {}", levels[k - 1].name, levels[k].name),
           fmt::format(
               "{} GPUs use several units of level {}, each with {:.3g} ports to the next level instead of "
               "{:.3g}",
               e.projection.gpus, levels[k - 1].name, levels[k].ports, below)};
  }
  return out;
}

std::optional<Reading> read_many_gpus(const Evidence& e) {
  const Machine& machine = e.setting.machine;
  if (!e.projection.cost || e.projection.gpus <= machine.gpus_per_node()) return {};
  const double share = share_of(e, e.projection.cost->exposed_communication());
  std::string band =
      machine.congestion ? "" : fmt::format("; by how much is unknown: {} has no `congestion`", machine.name);
  if (const auto& c = e.projection.congested)
    band = fmt::format(": {:.2g} to {:.2g} times as long", c->low / e.projection.iteration(),
                       c->high / e.projection.iteration());
  return Reading{
      e.projection.gpus, share, fmt::format("level {}", machine.spanned_by(e.projection.gpus).name),
      fmt::format("other jobs often slow down exchanges among {} GPUs{}", e.projection.gpus, band)};
}

std::optional<Reading> read_self_contention(const Evidence& e) {
  if (!e.details) return {};
  std::map<Term, Seconds> lost;  // time added by sharing, by term
  Seconds most;
  Reading out{.value = 1};
  for (const ExchangeLine& line : e.details->lines)
    for (const ExchangeStep& step : line.steps) {
      if (step.binding.link.empty()) continue;
      const Seconds waiting = line.count * (1 - 1 / step.phi) * step.time;
      lost[line.term] += waiting;
      if (!(waiting > most)) continue;
      most = waiting;
      out.value = step.phi;
      out.cause = fmt::format("{}, {} over {}", step.binding.link, line.what, line.axis);
      out.message = fmt::format("φ = {:.3g}: {}", step.phi, text_of(step.binding, step.phi));
    }
  for (const auto& [term, time] : lost) out.share += share_of(e, std::min(time, (*e.projection.cost)[term]));
  if (lost.empty()) return {};
  return out;
}

std::optional<Reading> read_input_output(const Evidence& e) {
  if (!e.projection.cost || !e.projection.input || !e.projection.input->known) return {};
  const InputCost& input = *e.projection.input;
  const double share = exposed(e, Term::io);
  const Seconds rest = e.projection.iteration() - (*e.projection.cost)[Term::io];
  return Reading{
      share, share, slowest_part(e, input),
      share > 0
          ? fmt::format("exposed input/output takes {} of the iteration; in total it takes {}, {:.2g} times "
                        "as long as computation and communication",
                        percent(share), text(input.total()), input.total() / rest)
          : fmt::format("input/output of {} overlaps with the iteration", text(input.total()))};
}

std::optional<Reading> read_update(const Evidence& e) {
  if (!e.projection.cost) return {};
  const Cost& cost = *e.projection.cost;
  const double of_compute = cost[Term::update] / cost.compute();
  if (!(of_compute > 0)) return {};
  Reading out{of_compute, exposed(e, Term::update), "",
              fmt::format("the weight update takes {} of the computation", percent(of_compute))};
  if (!e.details) return out;
  Seconds most;
  for (std::size_t i = 0; i < e.details->evaluation.layout->cells.size(); ++i)
    if (const Seconds update = e.details->evaluation.passes.cells[i].updated(e.setting.training.zero); update > most) {
      most = update;
      out.cause = fmt::format("{}, {} of it", layer_of(e, e.details->evaluation.layout->cells[i]).name,
                              percent(most / cost[Term::update]));
    }
  return out;
}

std::optional<Reading> read_imbalance(const Evidence& e) {
  if (!e.details || e.details->evaluation.stages->stages < 2) return {};
  const StagePlan& plan = *e.details->evaluation.stages;
  Seconds sum, most;
  int slowest = 0;
  for (int s = 0; s < plan.stages; ++s) {
    const Seconds time = stage_time(*e.details, s);
    sum += time;
    if (time > most) most = time, slowest = s;
  }
  const Seconds mean = sum / plan.stages;
  // A stage that takes longer than the mean delays each of S micro-batches.
  const double share = share_of(e, e.setting.training.micro_batches * (most - mean));
  const auto first = std::size_t(plan.first_layer[std::size_t(slowest)]);
  return Reading{most / mean, share,
                 fmt::format("stage {} of {}, from layer {}", slowest + 1, plan.stages,
                             e.setting.work.layers[first].name),
                 fmt::format("the slowest stage takes {:.2f} times the mean of all stages", most / mean)};
}

std::optional<Reading> read_bubble(const Evidence& e) {
  if (!e.projection.cost) return {};
  const double share = exposed(e, Term::bubble);
  if (!(share > 0)) return {};
  const int stages = parts_of("layer", e.mesh), S = e.setting.training.micro_batches;
  return Reading{share, share, fmt::format("{} stages, {} micro-batch{}", stages, S, S == 1 ? "" : "es"),
                 fmt::format("stages wait for others {} of the iteration", percent(share))};
}

std::optional<Reading> read_whole_layers(const Evidence& e) {
  if (!e.details) return {};
  const AxisSet all = sharing_axes(e);
  Seconds total, whole, spared;
  std::vector<std::pair<Seconds, std::size_t>> cells;
  for (const auto& [id, count] : busiest_cells(e)) {
    const Cell& cell = e.details->evaluation.layout->cells[std::size_t(id)];
    const Seconds time = count * work_of(e, std::size_t(id));
    total += time;
    const double repeats = parts_of(AxisSet(all & ~cell.work), e.mesh);
    if (!(repeats > 1) || !(time > Seconds{})) continue;
    whole += time;
    spared += (1 - 1 / repeats) * time;
    cells.emplace_back(time, std::size_t(id));
  }
  if (cells.empty()) return {};
  return Reading{whole / total, share_of(e, spared), names(e, cells),
                 fmt::format("layers that run whole on every GPU of an axis take {} of forward and backward",
                             percent(whole / total))};
}

std::optional<Reading> read_split_overhead(const Evidence& e) {
  if (!e.details) return {};
  Seconds actual, part;
  std::vector<std::pair<Seconds, std::size_t>> cells;
  for (const auto& [id, count] : busiest_cells(e)) {
    const Cell& cell = e.details->evaluation.layout->cells[std::size_t(id)];
    const bool split = parts_of(cell.weights, e.mesh) > 1 || cell.halo_axis >= 0;
    const LayerTime& alone = e.setting.times.layer[std::size_t(cell.layer)];
    if (!split || !traits(layer_of(e, cell).op).product) continue;
    const Seconds time = count * work_of(e, std::size_t(id));
    const Seconds ideal = count * e.projection.batch / parts_of(cell.work, e.mesh) * (alone.FW + alone.BW);
    actual += time;
    part += ideal;
    cells.emplace_back(time - ideal, std::size_t(id));
  }
  if (cells.empty() || !(part > Seconds{})) return {};
  const double ratio = std::max(1.0, actual / part);
  return Reading{
      ratio, share_of(e, std::max(Seconds{}, actual - part)), names(e, cells),
      fmt::format("split layers take {} per iteration, {:.2f} times their share of the whole layers' time",
                  text(actual), ratio)};
}

std::optional<Reading> read_occupancy(const Evidence& e) {
  if (!e.details) return {};
  const Cost& cost = *e.projection.cost;
  const Seconds passes = cost[Term::forward] + cost[Term::backward] + cost[Term::recompute];
  const double ratio = passes / (e.projection.batch * e.details->best_per_sample);
  const double here = e.projection.batch / e.projection.gpus,
               best = e.details->best_batch / e.projection.gpus;
  return Reading{ratio, (1 - 1 / ratio) * share_of(e, passes), fmt::format("{:.3g} samples per GPU", here),
                 ratio > 1
                     ? fmt::format("compute time per sample is {:.2f} times that with {:.3g} samples per GPU",
                                   ratio, best)
                     : fmt::format("no mini-batch that fits has a shorter compute time per sample")};
}

}  // namespace paradl
