// What a transformer adds to a cell: keys and values that travel around a ring, vocabularies that are padded,
// weights that ZeRO deals out and gathers, passes that run again.
#include <algorithm>
#include <bit>
#include <cmath>

#include "paradl/cost/price.hpp"
#include "paradl/mesh/mesh.hpp"

namespace paradl {
namespace {

/// Messages that run ahead of the work that needs them: the first is waited for, the others hide behind it.
Seconds exposed_of(Seconds first, Seconds all, Seconds work, bool overlap) {
  return overlap ? std::max(first, all - work) : all;
}

}  // namespace

double Pricer::growth_of(const Cell& cell) const {
  const AxisSet dealt = cell.weights & tensor_axis_;
  return work_growth(setting_.work.layers[std::size_t(cell.layer)], parts_[dealt],
                     setting_.training.framework);
}

double Pricer::weights_of(const Layout& layout, const Cell& cell) const {
  const Layer& layer = setting_.work.layers[std::size_t(cell.layer)];
  const double even = growth_of(cell) * layer.weights / parts_[cell.weights];
  if (!layer.bias || !traits(layer.op).product) return even;
  // Where y is a sum over parts of the channels, its biases are whole on each of them.
  double holders = 1;
  for (std::size_t a = 0; a < layout.role.size(); ++a)
    if (layout.role[a][std::size_t(cell.layer)] == Role::channel) holders *= parts_[axis_bit(int(a))];
  const double biases = std::max(1.0, layer.experts) * layer.filters();
  return even + (holders - 1) * biases / parts_[cell.weights];
}

double Pricer::items_of(const Kept& kept) const {
  const double even = kept.items / parts_[kept.divided];
  const AxisSet dealt = kept.divided & tensor_axis_;
  if (kept.grows < 0) return even;
  return even *
         growth(setting_.work.layers[std::size_t(kept.grows)], parts_[dealt], setting_.training.framework);
}

double Pricer::copies(const Cell& cell) const {
  const Layer& layer = setting_.work.layers[std::size_t(cell.layer)];
  const AxisSet dealt = cell.weights & tensor_axis_;
  const bool makes_keys = layer.kv_share > 0 && traits(layer.op).product;
  return dealt && makes_keys ? std::max(1.0, parts_[dealt] / layer.kv_heads) : 1;
}

Bytes Pricer::copied_gradient(const Cell& cell) const {
  const Layer& layer = setting_.work.layers[std::size_t(cell.layer)];
  return layer.kv_share * layer.weights / layer.kv_heads * setting_.training.bytes().sent_gradient;
}

/// Neighbours on the axis of `tensor` have the copies: of its levels, the innermost that hold them.
Path Pricer::copies_path(const Cell& cell) const {
  Path out = axis_path_[std::size_t(std::countr_zero(unsigned(cell.weights & tensor_axis_)))];
  double left = copies(cell);
  for (int k = 0; k < out.hops; ++k) {
    Hop& hop = out.hop[std::size_t(k)];
    hop.size = std::min(hop.size, left);
    left = left / hop.size;
  }
  return out;
}

/// Of the stage that has most of them.
Seconds Pricer::copies_sum(const StagePlan& plan) const {
  Seconds most;
  for (const StageKind& kind : plan.kinds) {
    Seconds own;
    for (const auto& [id, count] : kind.cells) own += count * cells_[std::size_t(id)].copies;
    most = std::max(most, own);
  }
  return most;
}

Bytes Pricer::ring_block(const Cell& cell, double samples) const {
  const Layer& layer = setting_.work.layers[std::size_t(cell.layer)];
  const double size = layer.y.channels / layer.query_heads;
  const double shared =
      std::max(1.0, parts_[cell.weights & tensor_axis_] / layer.heads);  // heads of `tensor`
  return samples / parts_[cell.work] * shared * 2 * layer.heads * size * layer.kv_length *
         setting_.training.bytes().activation;
}

/// Ring attention: p-1 times a PE passes on the keys and values that it has, and meanwhile works on them.
/// Backward their gradients travel along.
void Pricer::price_ring(const Cell& cell, double samples, CellCost& out) const {
  const auto axis = std::size_t(cell.ring_axis);
  const double p = parts_[axis_bit(cell.ring_axis)];
  const Bytes block = ring_block(cell, samples);
  const auto pass = [&](double blocks, Seconds work, Seconds& exposed) {
    const Seconds message = ring_message_[axis](blocks * block);
    const Seconds waits = setting_.training.overlap ? std::max(Seconds{}, message - work / p) : message;
    exposed += (p - 1) * waits;
    out.hidden += (p - 1) * (message - waits);
  };
  pass(1, out.forward, out.forward_exchange);
  pass(2, out.backward, out.backward_exchange);
}

bool Pricer::gathers_by_tensor() const {
  return setting_.training.zero == 3 && setting_.training.framework.gathers_by_tensor;
}

/// One ring through all PEs of a group that leaves each node through one of its ports. What goes around it
/// crosses the links between nodes once for each node, and those inside all the other times.
Path Pricer::one_port(const Mesh& mesh, AxisSet set) const {
  const double inside = group_path(mesh, set, setting_.machine).hop[0].size;
  Path path = flat_path(mesh, set, setting_.machine);
  for (int k = 0; k < path.hops; ++k) {
    Hop& hop = path.hop[std::size_t(k)];
    hop.phi = std::max(1.0, hop.phi);
    if (k > 0)
      hop.link.alpha = (hop.link.alpha + (inside - 1) * setting_.machine.levels.front().link.alpha) / inside;
  }
  return path;
}

/// Every weight tensor is gathered by itself before each forward and each backward pass, and once more where
/// that computes the forward pass again; its gradient is scattered. All of it runs beside the layers and
/// takes from them what it needs, so that neither hides behind the other:
///
///     forward: sqrt(FW^2 + G^2),  backward: sqrt(BW^2 + (2 or 3 G)^2),  G = sum over tensors (p-1)(alpha +
///     W/p beta)
///
/// Tensors below a threshold stay on every PE.
void Pricer::gather_by_tensor(const Layout& layout, Breakdown& out) const {
  constexpr double kept = 1e5;  // items: DeepSpeed's threshold
  const Training& training = setting_.training;
  const double S = training.micro_batches;
  Seconds forward, backward, once, again;
  for (std::size_t i = 0; i < layout.cells.size(); ++i) {
    const Cell& cell = layout.cells[i];
    forward += cell.count * cells_[i].forward_pass();
    backward += cell.count * cells_[i].backward_pass();
    const double items = weights_of(layout, cell);
    if (items < kept) continue;
    for (std::size_t g = 0; g < gradients_; ++g)
      if (gradient_[g].has(cell)) {
        const Seconds each = cell.count * gradient_[g].gather(items * training.bytes().weight);
        once += each;
        if (cell.recomputed) again += each;
      }
  }
  const auto exposed = [](Seconds work, Seconds wire) {
    return Seconds{std::hypot(work.base(), wire.base())} - work;
  };
  const Seconds waits = exposed(forward, once) + exposed(backward, 2 * once + again);
  out[Term::gradient_exchange] = S * waits;
  out.hidden = S * (3 * once + again - waits);
}

/// ZeRO 1 and 2 gather the updated weights once; 3 gathers them before each forward and each backward pass.
/// Where gradients are dealt out, too (2, 3), those of every micro-batch are scattered.
void Pricer::add_weight_gathers(const Layout& layout, const StagePlan& plan, Breakdown& out) const {
  const Training& training = setting_.training;
  if (gathers_by_tensor() && plan.stages == 1) return gather_by_tensor(layout, out);
  const double S = training.micro_batches;
  if (training.zero >= 2) {
    out[Term::gradient_exchange] = S * out[Term::gradient_exchange];
    out.hidden = S * out.hidden;
  }
  Seconds exposed, hidden;
  for (const StageKind& kind : plan.kinds) {
    std::array<Bytes, most_gradient_groups> weights{};
    Seconds forward, backward;
    for (const auto& [id, count] : kind.cells) {
      const Cell& cell = layout.cells[std::size_t(id)];
      forward += count * cells_[std::size_t(id)].forward_pass();
      backward += count * cells_[std::size_t(id)].backward_pass();
      for (std::size_t g = 0; g < gradients_; ++g)
        if (gradient_[g].has(cell)) weights[g] += count * weights_of(layout, cell) * training.bytes().weight;
    }
    Seconds first, all, once;
    for (std::size_t g = 0; g < gradients_; ++g) {
      if (!(weights[g] > Bytes{})) continue;
      const double pieces = std::max(1.0, std::floor(weights[g] / training.bucket));
      const Seconds each = gradient_[g].gather(weights[g] / pieces);
      first += each, all += pieces * each, once += gradient_[g].gather(weights[g]);
    }
    Seconds own = once, own_hidden;
    if (training.zero == 3) {
      // In one piece, or in pieces behind the work, whichever is faster.
      const auto gathered = [&](Seconds work) {
        return std::min(once, exposed_of(first, all, work, training.overlap));
      };
      own = S * (gathered(forward) + gathered(backward));
      own_hidden = std::max(Seconds{}, 2 * S * once - own);
    }
    if (own >= exposed) exposed = own, hidden = own_hidden;
  }
  out[Term::gradient_exchange] += exposed;
  out.hidden += hidden;
}

/// Passes that run again are priced as part of the backward pass, in which the slowest stage sets the pace;
/// here they get a term of their own.
void Pricer::show_recomputation(const StagePlan& plan, Breakdown& out) const {
  Seconds most, again;
  for (const StageKind& kind : plan.kinds) {
    Seconds backward, recompute;
    for (const StageKind::Chunk& chunk : kind.chunks)
      for (const auto& [id, count] : chunk.cells) {
        const CellCost& cost = cells_[std::size_t(id)];
        backward += count * cost.backward;
        recompute += count * cost.recompute;
      }
    if (backward > most) most = backward, again = recompute;
  }
  if (!(again > Seconds{})) return;
  out[Term::recompute] = again / most * out[Term::backward];
  out[Term::backward] = out[Term::backward] - out[Term::recompute];
}

}  // namespace paradl
