// What a framework adds to what a strategy needs: each term is off by default (spec/framework_spec.hpp).
#include <algorithm>
#include <bit>

#include "paradl/cost/price.hpp"
#include "paradl/network/measured_cost.hpp"

namespace paradl {
namespace {

/// A large message's link: gradients travel in one buffer.
constexpr Bytes large{1e8};

/// Bytes that one PE copies between its GPU and its host for each byte of a collective's buffer.
double copied(Collective operation, double p) {
  switch (operation) {
    case Collective::allgather:       // its share out, the whole in
    case Collective::reduce_scatter:  // the whole out, its share in
      return 1 + 1 / p;
    case Collective::allreduce:
    case Collective::all_to_all:
    case Collective::point_to_point:
      return 2;
  }
  return 0;
}

bool is_window_wider_than_one(const Layer& layer) {
  return traits(layer.op).window && std::ranges::any_of(layer.kernel, [](double k) { return k > 1; });
}

/// Whether the product for a weight's gradient adds to that of earlier micro-batches itself. No framework
/// that splits sequences has it otherwise.
bool adds_in_products(const Training& training) {
  return training.sequence_parallel || !(training.framework.accumulation > Bytes{});
}

/// Arrays of weights that are sent one by one.
double tensors(const Layer& layer) {
  const double beside = layer.bias ? 1 : 0;  // a norm's factors and addends, a product's biases
  if (!(layer.weights > 0)) return 0;
  return layer.tied < 0 ? 1 + beside : beside;
}

}  // namespace

MessageCost Pricer::axis_cost(Collective operation, const Axis& axis, const Path& path) {
  const Training& training = setting_.training;
  if (axis.strategy->input == Placement::split_space && training.framework.halos == Transport::host) {
    Path staged = path;
    for (int k = 0; k < staged.hops; ++k) {
      Hop& hop = staged.hop[std::size_t(k)];
      hop.link = staged_message(setting_.machine, hop.link);
      hop.phi = 1;  // the measured rate is that of all GPUs of a node at once
    }
    return {cost(operation, staged)};
  }
  MessageCost out = cost_of(operation, path);
  if (training.transport == Transport::host && path.size() > 1)
    out.copies = copied(operation, path.size()) * staged_copy(setting_.machine);
  return out;
}

MessageCost Pricer::gradient_cost(const Path& path) {
  MessageCost out = cost_of(Collective::allreduce, path);
  if (path.size() <= 1) return out;
  out.copies = setting_.training.framework.packing;
  if (setting_.training.transport == Transport::host)
    out.copies += copied(Collective::allreduce, path.size()) * staged_copy(setting_.machine);
  return out;
}

bool Pricer::through_leaders(const Mesh& mesh) const {
  return setting_.training.framework.hybrid_gradients == GradientRoute::leader && mesh.axes > 1;
}

namespace {

/// PEs along one axis in a node whose inner axes have `stride` PEs.
double parts_in_node(const Machine& machine, const Axis& axis, double stride) {
  return std::clamp(machine.gpus_per_node() / stride, 1.0, double(axis.parts.total));
}

}  // namespace

/// Parts of such a gradient that a node's PEs have between them: 4 where filters are split among four.
double Pricer::different_in_node(const Layout::Gradients& kind, const Mesh& mesh) const {
  double different = 1, stride = 1;
  for (int a = mesh.axes - 1; a >= 0; --a) {
    const Axis& axis = mesh.axis[std::size_t(a)];
    if (!((kind.summed | kind.alike) & axis_bit(a)))
      different *= parts_in_node(setting_.machine, axis, stride);
    stride *= axis.parts.total;
  }
  return different;
}

/// Everything that a node has is reduced to its leader, summed around a ring of leaders and broadcast:
/// 2 W/B_node + 2(n-1)(alpha + W/n beta), where W counts every different gradient in the node. One leader
/// drives one port. Each PE packs its own gradients for the sum in the node, and the leader all different
/// ones for the sum between leaders.
MessageCost Pricer::leader_cost(const Layout::Gradients& kind, const Path& path, const Mesh& mesh) const {
  const Training& training = setting_.training;
  if (path.size() <= 1) return {};
  double members = 1, stride = 1;  // of the group, in one node
  for (int a = mesh.axes - 1; a >= 0; --a) {
    const Axis& axis = mesh.axis[std::size_t(a)];
    if (kind.summed & axis_bit(a)) members *= parts_in_node(setting_.machine, axis, stride);
    stride *= axis.parts.total;
  }
  const double n = std::max(1.0, path.size() / members);
  const double different = different_in_node(kind, mesh);
  const Path measured = measured_path(Collective::allreduce, path, setting_.machine, large);
  Link between = measured.outermost().link;
  if (training.transport == Transport::host) between = staged_message(setting_.machine, between);
  Path node;
  node.hops = 1;
  node.hop[0] = {.size = 2, .link = setting_.machine.levels.front().link};
  const Link within = measured_path(Collective::allreduce, node, setting_.machine, large).hop[0].link;
  const Linear sum{2 * (n - 1) * between.alpha, 2 * within.beta + 2 * (n - 1) / n * between.beta};
  return {{sum.fixed, different * sum.per_byte}, nullptr, (1 + different) * training.framework.packing};
}

/// What packing costs for the tensors of one such layer; what it costs for their bytes is part of sending
/// them.
Seconds Pricer::packing_of(const Cell& cell) const {
  const Seconds each = setting_.training.framework.tensor;
  if (!(each > Seconds{})) return {};
  Seconds out;
  for (std::size_t g = 0; g < gradients_; ++g)
    if (gradient_[g].has(cell) && gradient_[g].path.size() > 1)
      out += gradient_[g].packs * tensors(setting_.work.layers[std::size_t(cell.layer)]) * each;
  return out;
}

/// One third of what a split layer costs is shown as forward, as of measured totals.
void Pricer::add_framework(const Layout& layout, const Cell& cell, CellCost& cost) const {
  const FrameworkTerms& framework = setting_.training.framework;
  const Layer& layer = setting_.work.layers[std::size_t(cell.layer)];
  const bool by_channels = traits(layer.op).product && parts_[cell.weights] > 1;
  const bool by_space = cell.halo_axis >= 0 && is_window_wider_than_one(layer);
  if (by_channels || by_space) {
    cost.forward += framework.split_layer / 3;
    cost.backward += 2 * framework.split_layer / 3;
  }
  if (!adds_in_products(setting_.training) && layer.weights > 0)
    cost.backward += weights_of(layout, cell) * framework.accumulation / stream_;
}

bool Pricer::scatters(const StageKind::Chunk& chunk) const {
  if (!setting_.training.framework.scatters_transfers || !std::has_single_bit(unsigned(tensor_axis_)))
    return false;
  const auto tensor = std::size_t(std::countr_zero(unsigned(tensor_axis_)));
  const auto is_whole = [&](const Kept& sent) { return !(sent.divided & tensor_axis_); };
  return tensor_ > 1 && std::ranges::all_of(chunk.sent, is_whole) &&
         stage_path_.outermost().link.beta > axis_path_[tensor].outermost().link.beta;
}

/// Backward, what `tensor` sums is needed by the layer before; the products for the weights do not wait for
/// it where they are more than products. The latest rank is waited for in any case.
void Pricer::hide_sums(const Cell& cell, double samples, CellCost& cost) const {
  const Training& training = setting_.training;
  if (!(training.framework.hidden_sums > 0) || !adds_in_products(training)) return;
  for (const Exchange& e : cell.backward) {
    if (!(axis_bit(e.axis) & tensor_axis_)) continue;
    const Seconds behind = training.framework.hidden_sums * (time_of(e, samples) - skew_of(e));
    cost.backward_exchange = cost.backward_exchange - behind;
    cost.hidden += behind;
  }
}

void Pricer::add_host(const Cell& cell, CellCost& cost) const {
  const FrameworkTerms& framework = setting_.training.framework;
  const Layer& layer = setting_.work.layers[std::size_t(cell.layer)];
  if (is_view(layer.op)) return;
  cost.forward_host = framework.host;
  cost.backward_host = framework.host_backward * framework.host;
  if (cell.recomputed) cost.backward_host += cost.forward_host;
}

}  // namespace paradl
