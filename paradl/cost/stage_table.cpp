#include "paradl/cost/stage_table.hpp"

#include <algorithm>
#include <bit>

namespace paradl {
namespace {

/// How long a GPU waits for its host in a pass.
Seconds waiting(Seconds host, Seconds pass) { return Seconds{paced(pass.base(), host.base())} - pass; }

/// The number of weight tensors that are sent one by one.
double tensors(const Layer& layer) {
  const double beside = layer.bias ? 1 : 0;  // a norm's factors and addends, a product's biases
  if (!(layer.weights > 0)) return 0;
  return layer.tied < 0 ? 1 + beside : beside;
}

/// The recomputed activations of the block whose backward pass is running.
Bytes rebuilt(const Layout& layout, const MeshTable& mesh, double samples) {
  Bytes out;
  const Bytes activation = mesh.setting.training.bytes().activation;
  for (const Kept& k : layout.rebuilt) out += mesh.items_of(k) * samples * activation;
  for (const Kept& k : layout.rebuilt_masks) out += mesh.items_of(k) * samples * Bytes{1};
  return out;
}

/// Adds `count` layers of a cell, apart from their gradients, which are summed by group: see add_gradients.
void add(CellCost& sum, double count, const CellCost& cost) {
  sum.forward += count * cost.forward;
  sum.backward += count * cost.backward;
  sum.recompute += count * cost.recompute;
  sum.update += count * cost.update;
  sum.forward_host += count * cost.forward_host;
  sum.backward_host += count * cost.backward_host;
  sum.weights += count * cost.weights;
  sum.kept += count * cost.kept;
  sum.masks += count * cost.masks;
  sum.both += count * cost.both;
  sum.forward_exchange += count * cost.forward_exchange;
  sum.backward_exchange += count * cost.backward_exchange;
  sum.forward_halo += count * cost.forward_halo;
  sum.backward_halo += count * cost.backward_halo;
  sum.hidden += count * cost.hidden;
  sum.copies += count * cost.copies;
  sum.sharded_update += count * cost.sharded_update;
  sum.sharded_weights += count * cost.sharded_weights;
  sum.forward_traffic += count * cost.forward_traffic;
  sum.backward_traffic += count * cost.backward_traffic;
}

/// The items of some layers, given the sum of their costs.
HeldItems held_by(const CellCost& sum, double table, double largest) {
  return {.weights = sum.weights,
          .sharded = sum.sharded_weights,
          .table = table,
          .kept = sum.kept,
          .masks = sum.masks,
          .both = sum.both,
          .largest = largest};
}

void add(HeldItems& sum, const HeldItems& part) {
  sum.weights += part.weights;
  sum.sharded += part.sharded;
  sum.table = std::max(sum.table, part.table);
  sum.kept += part.kept;
  sum.masks += part.masks;
  sum.both += part.both;
  sum.largest = std::max(sum.largest, part.largest);
}

/// Adds the gradients of some layers of a cell to those of its group.
void add_gradients(LayerSums& sum, double count, const Cell& cell, const CellCost& cost,
                   const MeshTable& mesh) {
  if (cell.gradients < 0) return;
  const auto g = std::size_t(cell.gradients);
  sum.gradient[g] += count * cost.gradient;
  sum.weights[g] += count * cost.weights;
  sum.tensors[g] += count * tensors(mesh.layer_of(cell));
}

/// Adds a copy of a layer's weights: its update, its gradients, and its passes for ZeRO.
void add_copy(LayerSums& sum, const Cell& cell, const CellCost& cost, const MeshTable& mesh) {
  sum.forward_passes += cost.forward_pass();
  sum.backward_passes += cost.backward_pass();
  sum.update += cost.update;
  sum.sharded_update += cost.sharded_update;
  sum.copies += cost.copies;
  add(sum.held, held_by(cost, cost.weights, cost.both));
  add_gradients(sum, 1, cell, cost, mesh);
}

PieceSums sum_piece(const StageKind::Chunk& chunk, const Layout& layout, const PassTable& passes,
                    const MeshTable& mesh) {
  PieceSums out;
  CellCost sum;
  double table = 0, largest = 0;
  for (const auto& [id, count] : chunk.cells) {
    const CellCost& cost = passes.cells[std::size_t(id)];
    add(sum, count, cost);
    table = std::max(table, cost.weights), largest = std::max(largest, cost.both);
    add_gradients(out, count, layout.cells[std::size_t(id)], cost, mesh);
  }
  out.held = held_by(sum, table, largest);
  out.exchange = sum.forward_exchange + sum.backward_exchange;
  out.halo = sum.forward_halo + sum.backward_halo;
  out.arithmetic = sum.backward, out.recompute = sum.recompute;
  out.update = sum.update, out.sharded_update = sum.sharded_update;
  out.copies = sum.copies;
  out.hidden = sum.hidden, out.traffic = sum.traffic();
  out.forward_passes = sum.forward_pass(), out.backward_passes = sum.backward_pass();
  const Seconds forward_wait = waiting(sum.forward_host, out.forward_passes);
  const Seconds backward_wait = waiting(sum.backward_host, out.backward_passes);
  out.forward_pass = out.forward_passes + forward_wait;
  out.backward_pass = out.backward_passes + backward_wait;
  out.forward = sum.forward + forward_wait, out.backward = sum.backward + backward_wait;
  out.sent = transfer(chunk, mesh, passes.samples);
  return out;
}

void add(LayerSums& sum, const LayerSums& part, std::size_t groups) {
  sum.forward += part.forward, sum.backward += part.backward;
  sum.exchange += part.exchange, sum.halo += part.halo;
  sum.arithmetic += part.arithmetic, sum.recompute += part.recompute;
  sum.forward_passes += part.forward_passes, sum.backward_passes += part.backward_passes;
  sum.update += part.update, sum.sharded_update += part.sharded_update;
  sum.copies += part.copies;
  for (std::size_t g = 0; g < groups; ++g) {
    sum.gradient[g] += part.gradient[g];
    sum.weights[g] += part.weights[g];
    sum.tensors[g] += part.tensors[g];
  }
  add(sum.held, part.held);
}

/// A stage that uses the weights of a layer on another stage has a copy of them.
void add_borrowed(const StageKind& kind, const Layout& layout, const PassTable& passes, const MeshTable& mesh,
                  HeldItems& held) {
  for (const auto& [id, count] : kind.borrowed) {
    const Cell& cell = layout.cells[std::size_t(id)];
    const Layer& layer = mesh.layer_of(cell);
    const double copy = mesh.growth_of(cell) * mesh.setting.work.layers[std::size_t(layer.tied)].weights /
                        mesh.parts[cell.weights];
    held.weights += count * copy;
    held.sharded += count * copy / mesh.shards(cell);
    held.table = std::max(held.table, passes.cells[std::size_t(id)].weights + copy);
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

HeldItems held_alone(int cell, const Layout& layout, const PassTable& passes, const MeshTable& mesh) {
  const CellCost& cost = passes.cells[std::size_t(cell)];
  HeldItems out = held_by(cost, cost.weights, cost.both);
  StageKind alone;
  if (mesh.layer_of(layout.cells[std::size_t(cell)]).tied >= 0) alone.borrowed = {{cell, 1}};
  add_borrowed(alone, layout, passes, mesh, out);
  return out;
}

StageTable::StageTable(const Layout& layout, const StagePlan& stages, const MeshTable& mesh,
                       const PassTable& passes, std::pmr::memory_resource* memory)
    : kinds(memory), pieces(memory) {
  pieces.reserve(stages.pieces.size());
  for (const StageKind::Chunk& piece : stages.pieces)
    pieces.push_back(sum_piece(piece, layout, passes, mesh));
  kinds.reserve(stages.kinds.size());
  for (const StageKind& kind : stages.kinds) {
    LayerSums& sums = kinds.emplace_back();
    for (const int piece : kind.piece) add(sums, pieces[std::size_t(piece)], layout.gradients.size());
    for (const StagePlan::Tied& tied : stages.tied)  // copies of weights: see StageKind::cells
      if (tied.user == kind.first) {
        const auto id = std::size_t(tied.cell);
        add_copy(sums, layout.cells[id], passes.cells[id], mesh);
      }
    add_borrowed(kind, layout, passes, mesh, sums.held);
  }
  bool recomputes = false, copies = false;
  for (const StageKind& kind : stages.kinds)
    for (const int piece : kind.piece) {
      const PieceSums& sums = pieces[std::size_t(piece)];
      hidden += kind.count / stages.stages * sums.hidden;  // one GPU has its share of the layers
      traffic += kind.count * sums.traffic;
      for (std::size_t g = 0; g < layout.gradients.size(); ++g) gradient[g] += kind.count * sums.gradient[g];
      recomputes = recomputes || sums.recompute > Seconds{};
      copies = copies || sums.copies > Seconds{};
    }
  for (std::size_t i = 0; (recomputes || copies) && i < passes.cells.size(); ++i) {
    const Cell& cell = layout.cells[i];
    const CellCost& cost = passes.cells[i];
    if (cost.copies > Seconds{}) copied += cell.count * mesh.copied_gradient(cell);
    if (cell.recomputed && cell.gradients >= 0)
      recomputed[std::size_t(cell.gradients)] += cell.count * cost.gradient;
  }
}

std::size_t StageTable::busiest() const {
  return std::size_t(std::ranges::max_element(kinds, {}, &LayerSums::passes) - kinds.begin());
}

double StageTable::recomputed_share() const { return kinds[busiest()].recomputed_share(); }

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
  // Two gradients of activations exist at a time, and the recomputed activations of the block whose backward
  // pass is running.
  memory.workspace = held.largest * samples * bytes.activation + rebuilt(layout, mesh, samples);
  // One bucket of gradients is filled while another is sent. With ZeRO 3, the gathered weights of the current
  // and of the next layer.
  if (sends) memory.buffers = std::min(2.0 * training.bucket, 2.0 * gradients * bytes.sent_gradient);
  if (plan.zero >= 3) memory.buffers += 2 * held.table * bytes.weight;
  memory.reserve = training.reserve + training.fragmentation * (memory.activations + memory.workspace);
  return memory;
}

double in_flight(const StageTable& table, const StageKind& kind, int stages, const MeshTable& mesh,
                 const Plan& plan) {
  if (stages == 1) return 1;  // a single stage finishes each micro-batch before the next
  const Pipeline pipeline = plan.pipeline(stages);
  if (kind.piece.size() == 1) return pipeline.in_flight(kind.first, 0);
  // Chunks keep different numbers of micro-batches.
  const Training& training = mesh.setting.training;
  const ItemBytes bytes = training.bytes();
  Bytes one, all;
  for (std::size_t c = 0; c < kind.piece.size(); ++c) {
    const HeldItems& held = table.pieces[std::size_t(kind.piece[c])].held;
    const Bytes kept = training.gamma ? held.both * bytes.activation
                                      : held.kept * bytes.activation + held.masks * Bytes{1};
    one += kept;
    all += pipeline.in_flight(kind.first, int(c)) * kept;
  }
  return one > Bytes{} ? all / one : 1;
}

}  // namespace paradl
