#include "paradl/cost/stage_table.hpp"

#include <algorithm>
#include <bit>

namespace paradl {
namespace {

/// For which a GPU waits for its host in a pass.
Seconds waiting(Seconds host, Seconds pass) { return Seconds{paced(pass.base(), host.base())} - pass; }

/// Arrays of weights that are sent one by one.
double tensors(const Layer& layer) {
  const double beside = layer.bias ? 1 : 0;  // a norm's factors and addends, a product's biases
  if (!(layer.weights > 0)) return 0;
  return layer.tied < 0 ? 1 + beside : beside;
}

/// What was not kept of the block that is at its backward pass.
Bytes rebuilt(const Layout& layout, const MeshTable& mesh, double samples) {
  Bytes out;
  const Bytes activation = mesh.setting.training.bytes().activation;
  for (const Kept& k : layout.rebuilt) out += mesh.items_of(k) * samples * activation;
  for (const Kept& k : layout.rebuilt_masks) out += mesh.items_of(k) * samples * Bytes{1};
  return out;
}

ChunkSums sum_chunk(const StageKind::Chunk& chunk, const PassTable& passes, const MeshTable& mesh,
                    KindSums& kind) {
  ChunkSums out;
  Seconds forward_host, backward_host;
  for (const auto& [id, count] : chunk.cells) {
    const CellCost& cost = passes.cells[std::size_t(id)];
    out.forward += count * cost.forward_pass();
    out.backward += count * cost.backward_pass();
    kind.forward += count * cost.forward;
    kind.backward += count * cost.backward;
    kind.arithmetic += count * cost.backward;
    kind.recompute += count * cost.recompute;
    kind.exchange += count * (cost.forward_exchange + cost.backward_exchange);
    kind.halo += count * (cost.forward_halo + cost.backward_halo);
    forward_host += count * cost.forward_host;
    backward_host += count * cost.backward_host;
  }
  const Seconds forward_wait = waiting(forward_host, out.forward);
  const Seconds backward_wait = waiting(backward_host, out.backward);
  out.forward += forward_wait, out.backward += backward_wait;
  kind.forward += forward_wait, kind.backward += backward_wait;
  out.sent = transfer(chunk, mesh, passes.samples);
  return out;
}

void sum_weights(const StageKind& kind, const Layout& layout, const PassTable& passes, const MeshTable& mesh,
                 KindSums& out) {
  for (const auto& [id, count] : kind.cells) {
    const CellCost& cost = passes.cells[std::size_t(id)];
    const Cell& cell = layout.cells[std::size_t(id)];
    out.forward_passes += count * cost.forward_pass();
    out.backward_passes += count * cost.backward_pass();
    out.update += count * cost.update;
    out.sharded_update += count * cost.sharded_update;
    out.copies += count * cost.copies;
    if (cell.gradients < 0) continue;
    const auto g = std::size_t(cell.gradients);
    out.gradient[g] += count * cost.gradient;
    out.weights[g] += count * cost.weights;
    out.tensors[g] += count * tensors(mesh.layer_of(cell));
  }
}

}  // namespace

bool scatters(const StageKind::Chunk& chunk, const MeshTable& t) {
  if (!t.setting.training.framework.scatters_transfers || !std::has_single_bit(unsigned(t.tensor_axis)))
    return false;
  const auto tensor = std::size_t(std::countr_zero(unsigned(t.tensor_axis)));
  const auto is_whole = [&](const Kept& sent) { return !(sent.divided & t.tensor_axis); };
  return t.tensor > 1 && std::ranges::all_of(chunk.sent, is_whole) &&
         t.stage_path.outermost().link.beta > t.axis_path[tensor].outermost().link.beta;
}

Transfer transfer(const StageKind::Chunk& chunk, const MeshTable& t, double samples) {
  if (chunk.sent.empty()) return {};
  Bytes sent;
  for (const Kept& tensor : chunk.sent)
    sent += tensor.items * samples / t.parts[tensor.divided] *
            item_bytes(t.setting.training.precision).activation;
  if (!scatters(chunk, t)) return {sent, t.stage_message(sent)};
  const auto tensor = std::size_t(std::countr_zero(unsigned(t.tensor_axis)));
  return {sent, t.stage_message(sent / t.tensor) +
                    t.cost[tensor][std::size_t(Collective::allgather)](sent)};
}

HeldItems held_items(std::span<const StageKind::Share> shares, const Layout& layout, const MeshTable& mesh,
                     std::span<const CellCost> cells) {
  const auto holds = [&](int id) {
    return std::ranges::find(shares, id, &StageKind::Share::cell) != shares.end();
  };
  HeldItems out;
  for (const auto& [id, count] : shares) {
    const Cell& cell = layout.cells[std::size_t(id)];
    const Layer& layer = mesh.layer_of(cell);
    double own = cells[std::size_t(id)].weights;
    // A stage that uses the weights of a layer on another has a copy of them.
    if (layer.tied >= 0 && !holds(layout.order[std::size_t(layer.tied)]))
      own += mesh.growth_of(cell) * mesh.setting.work.layers[std::size_t(layer.tied)].weights /
             mesh.parts[cell.weights];
    out.weights += count * own;
    out.sharded += count * (own / mesh.shards(cell));
    out.table = std::max(out.table, own);
    for (const Kept& k : cell.kept)
      if (k.items > 0) out.kept += count * mesh.items_of(k);
    if (cell.mask.items > 0) out.masks += count * mesh.items_of(cell.mask);
    if (is_view(layer.op)) continue;
    const double both = mesh.items_of(cell.x) + mesh.items_of(cell.y);
    out.both += count * both;
    out.largest = std::max(out.largest, both);
  }
  return out;
}

StageTable::StageTable(const Layout& layout, const StagePlan& stages, const MeshTable& mesh,
                       const PassTable& passes, std::pmr::memory_resource* memory)
    : kinds(memory), chunks(memory) {
  kinds.reserve(stages.kinds.size());
  chunks.reserve(stages.kinds.size() * std::size_t(stages.chunks));
  for (const StageKind& kind : stages.kinds) {
    KindSums& sums = kinds.emplace_back();
    for (const StageKind::Chunk& chunk : kind.chunks) {
      chunks.push_back(sum_chunk(chunk, passes, mesh, sums));
      if (stages.chunks > 1) chunks.back().held = held_items(chunk.cells, layout, mesh, passes.cells);
    }
    sum_weights(kind, layout, passes, mesh, sums);
    sums.held = held_items(kind.cells, layout, mesh, passes.cells);
  }
  for (std::size_t i = 0; i < passes.cells.size(); ++i) {
    // One GPU of a pipeline has its share of the layers.
    hidden += layout.cells[i].count / stages.stages * passes.cells[i].hidden;
    traffic += layout.cells[i].count * passes.cells[i].traffic();
    const Cell& cell = layout.cells[i];
    if (passes.cells[i].copies > Seconds{}) copied += cell.count * mesh.copied_gradient(cell);
    if (cell.gradients < 0) continue;
    const Bytes gradients = cell.count * passes.cells[i].gradient;
    gradient[std::size_t(cell.gradients)] += gradients;
    if (cell.recomputed) recomputed[std::size_t(cell.gradients)] += gradients;
  }
}

Memory memory_of(const HeldItems& held, const Layout& layout, const MeshTable& mesh, bool sends,
                 const Plan& plan, double micro_batches) {
  const Training& training = mesh.setting.training;
  const ItemBytes bytes = training.bytes();
  const double samples = plan.samples();
  const double gradients = plan.zero >= 2 ? held.sharded : held.weights;
  Memory memory;
  memory.weights = (plan.zero >= 3 ? held.sharded : held.weights) * bytes.weight;
  memory.gradients = gradients * bytes.gradient;
  memory.optimizer = (plan.zero >= 1 ? held.sharded : held.weights) *
                     (bytes.master + optimizer_slots(training.optimizer) * Bytes{4});
  if (training.gamma) {
    // The paper's accounting: values and gradients of x, y and w, times gamma.
    memory.weights *= *training.gamma;
    memory.gradients *= *training.gamma;
    memory.activations = *training.gamma * 2 * held.both * samples * micro_batches * bytes.activation;
    return memory;
  }
  memory.activations = samples * micro_batches * (held.kept * bytes.activation + held.masks * Bytes{1});
  // Two gradients of activations are alive at a time, and what was not kept of the block that is at its
  // backward pass.
  memory.workspace = held.largest * samples * bytes.activation + rebuilt(layout, mesh, samples);
  // The buckets of gradients that are being filled and sent; with ZeRO 3 the weights of a layer that are
  // gathered for now and for next.
  if (sends) memory.buffers = std::min(2.0 * training.bucket, 2.0 * gradients * bytes.sent_gradient);
  if (plan.zero >= 3) memory.buffers += 2 * held.table * bytes.weight;
  memory.reserve = training.reserve + training.fragmentation * (memory.activations + memory.workspace);
  return memory;
}

double in_flight(const StageTable& table, const StagePlan& stages, std::size_t kind, const MeshTable& mesh,
                 const Plan& plan) {
  if (stages.stages == 1) return 1;  // one stage alone runs each micro-batch to its end before the next
  const Pipeline pipeline = plan.pipeline(stages.stages);
  const int first = stages.kinds[kind].first;
  if (stages.chunks == 1) return pipeline.in_flight(first, 0);
  // Chunks keep different numbers of micro-batches.
  const Training& training = mesh.setting.training;
  const ItemBytes bytes = training.bytes();
  Bytes one, all;
  for (int c = 0; c < stages.chunks; ++c) {
    const HeldItems& held = table.chunk(kind, std::size_t(c)).held;
    const Bytes kept = training.gamma ? held.both * bytes.activation
                                      : held.kept * bytes.activation + held.masks * Bytes{1};
    one += kept;
    all += pipeline.in_flight(first, c) * kept;
  }
  return one > Bytes{} ? all / one : 1;
}

}  // namespace paradl
