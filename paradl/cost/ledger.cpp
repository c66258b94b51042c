#include "paradl/cost/ledger.hpp"

#include <algorithm>

#include "paradl/core/format.hpp"
#include "paradl/cost/evaluator.hpp"

namespace paradl {
namespace {

/// Writes the charges. `Charge::exposed` first holds the time of a charge on the slowest stage as if nothing
/// were hidden; settle() then scales the charges of each term so that they sum to that term of the cost.
class Book {
 public:
  explicit Book(const Evaluation& e)
      : e_(e), S_(e.plan.micro_batches), on_pace_(e.layout->cells.size()), all_(e.layout->cells.size()) {
    for (const StageKind::Chunk& chunk : pace_setter().chunks)
      for (const auto& [cell, count] : chunk.cells) on_pace_[std::size_t(cell)] += count;
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i] = e.layout->cells[i].count;
  }

  Ledger write() {
    for (std::size_t i = 0; i < e_.layout->cells.size(); ++i) {
      add_computation(i);
      add_exchanges(i);
    }
    add_waits();
    for (std::size_t g = 0; g < e_.gradients.groups.size(); ++g) add_gradient_sums(g);
    add_copies();
    add_transfers();
    for (const auto& [term, kind] :
         {std::pair{Term::bubble, ChargeKind::bubble}, {Term::swap, ChargeKind::swap}})
      if (e_.cost[term] > Seconds{}) add({.term = term, .kind = kind, .exposed = e_.cost[term]});
    settle();
    return std::move(ledger_);
  }

 private:
  void add(Charge charge) { ledger_.push_back(charge); }

  /// The slowest stages: the cost shows their passes.
  const StageKind& pace_setter() const {
    const auto longest = std::ranges::max_element(e_.sums.kinds, {}, &LayerSums::passes);
    return e_.stages->kinds[std::size_t(longest - e_.sums.kinds.begin())];
  }

  void add_computation(std::size_t i) {
    const CellCost& cost = e_.passes.cells[i];
    const auto charge = [&](Term term, ChargeKind kind, double count, Seconds each, double on_pace) {
      if (each > Seconds{})
        add({.term = term,
             .kind = kind,
             .cell = int(i),
             .layer = e_.layout->cells[i].layer,
             .count = count,
             .each = each,
             .exposed = on_pace * each});
    };
    charge(Term::forward, ChargeKind::forward, S_ * all_[i], cost.forward, S_ * on_pace_[i]);
    charge(Term::backward, ChargeKind::backward, S_ * all_[i], cost.backward - cost.recompute,
           S_ * on_pace_[i]);
    const double again = (cost.recompute > Seconds{} ? all_[i] : 0) + again_out_of_core(i);
    charge(Term::recompute, ChargeKind::recompute, S_ * again, again > 0 ? cost.forward : Seconds{},
           S_ * again);
    const Seconds update = cost.updated(e_.plan.zero);
    charge(Term::update, ChargeKind::update, all_[i], update, all_[i]);
  }

  double again_out_of_core(std::size_t i) const {
    return e_.out_of_core && !e_.out_of_core->again().empty() ? e_.out_of_core->again()[i] : 0;
  }

  void add_exchanges(std::size_t i) {
    const double on_pace = all_[i] > 0 ? on_pace_[i] / all_[i] : 0;
    for (Charge charge : layer_charges(e_, i, forward_passes(e_, i))) {
      charge.count *= all_[i];
      charge.exposed = on_pace * all_[i] * charge.exposed;
      add(charge);
    }
  }

  /// Passes take longer than their layers if the host launches kernels too late.
  void add_waits() {
    Seconds forward, backward;
    for (std::size_t i = 0; i < on_pace_.size(); ++i) {
      forward += on_pace_[i] * e_.passes.cells[i].forward;
      backward += on_pace_[i] * e_.passes.cells[i].backward;
    }
    const auto longest = std::ranges::max_element(e_.sums.kinds, {}, &LayerSums::passes);
    for (const auto& [term, all, layers] : {std::tuple{Term::forward, longest->forward, forward},
                                            {Term::backward, longest->backward, backward}})
      if (all > (1 + 1e-12) * layers)
        add({.term = term,
             .kind = ChargeKind::wait_for_host,
             .count = S_,
             .each = all - layers,
             .exposed = S_ * (all - layers)});
  }

  void add_gradient_sums(std::size_t g) {
    const GradientGroup& group = e_.gradients.groups[g];
    if (!(group.path.size() > 1)) return;
    const int zero = e_.plan.zero;
    const ItemBytes bytes = e_.mesh.setting.training.bytes();
    const Bytes gradients = e_.sums.gradient[g];
    const auto charge = [&](ChargeKind kind, Collective operation, double count, Bytes m, Seconds each) {
      if (each > Seconds{})
        add({.term = Term::gradient_exchange,
             .kind = kind,
             .group = int(g),
             .operation = operation,
             .axes = group.set,
             .count = count,
             .bytes = m,
             .each = each,
             .exposed = count * each});
    };
    charge(ChargeKind::gradient_sum, zero > 0 ? Collective::reduce_scatter : Collective::allreduce,
           zero >= 2 ? S_ : 1, gradients, group.allreduce(gradients));
    if (zero == 0) return;
    const auto gather = [&](ChargeKind kind, double count, Bytes of) {
      const Bytes weights = of / bytes.sent_gradient * bytes.weight;
      if (of > Bytes{}) charge(kind, Collective::allgather, count, weights, group.gather(weights));
    };
    gather(ChargeKind::weight_gather, zero >= 3 ? 2 * S_ : 1, gradients);
    // If weights are gathered tensor by tensor, they are gathered again for a recomputed forward pass.
    if (gathers_by_tensor(e_.mesh.setting.training, zero) && e_.stages->stages == 1)
      gather(ChargeKind::weight_gather_again, S_, e_.sums.recomputed[g]);
  }

  void add_copies() {
    const auto allreduce = [&](ChargeKind kind, int cell, double count, Bytes m, Seconds each) {
      add({.term = Term::gradient_exchange,
           .kind = kind,
           .cell = cell,
           .layer = e_.layout->cells[std::size_t(cell)].layer,
           .operation = Collective::allreduce,
           .count = count,
           .bytes = m,
           .each = each,
           .exposed = count * each});
    };
    for (std::size_t i = 0; i < e_.layout->cells.size(); ++i)
      if (const Cell& cell = e_.layout->cells[i]; e_.mesh.copies(cell) > 1)
        allreduce(ChargeKind::copied_gradient_sum, int(i), cell.count, e_.mesh.copied_gradient(cell),
                  e_.passes.cells[i].copies);
    for (const StagePlan::Tied& tied : e_.stages->tied) {
      const Bytes gradient = e_.passes.cells[std::size_t(tied.cell)].gradient;
      allreduce(ChargeKind::tied_gradient_sum, tied.cell, 1, gradient,
                e_.links->cost_of(Collective::allreduce, e_.mesh.tied_path())(gradient));
    }
  }

  /// Forward and backward, once for each micro-batch.
  void add_transfers() {
    const StagePlan& stages = *e_.stages;
    for (std::size_t k = 0; k < stages.kinds.size(); ++k)
      for (std::size_t c = 0; c < stages.kinds[k].chunks.size(); ++c) {
        const StageKind& kind = stages.kinds[k];
        if (kind.chunks[c].sent.empty()) continue;
        const std::size_t next = c * std::size_t(stages.stages) + std::size_t(kind.first) + 1;
        const auto [bytes, each] = e_.sums.pieces[std::size_t(kind.piece[c])].sent;
        const double count = 2 * S_ * kind.count;
        add({.term = Term::stage_transfer,
             .kind = ChargeKind::transfer,
             .layer = stages.first_layer[next] - 1,
             .operation = Collective::point_to_point,
             .count = count,
             .bytes = bytes,
             .each = each,
             .exposed = count * each});
      }
  }

  /// Scales the charges of each term so that they sum to that term of the cost.
  void settle() {
    std::array<Seconds, terms> sum{};
    for (const Charge& charge : ledger_) sum[std::size_t(charge.term)] += charge.exposed;
    for (Charge& charge : ledger_) {
      const Seconds all = sum[std::size_t(charge.term)];
      if (all > Seconds{}) charge.exposed = e_.cost[charge.term] * (charge.exposed / all);
    }
    // A term without charges gets one, such as packing if no message takes time.
    constexpr std::array rest{
        ChargeKind::forward, ChargeKind::backward, ChargeKind::update,       ChargeKind::recompute,
        ChargeKind::bubble,  ChargeKind::gradient_sum, ChargeKind::output, ChargeKind::halo,
        ChargeKind::transfer, ChargeKind::swap};
    for (std::size_t t = 0; t < rest.size(); ++t)
      if (!(sum[t] > Seconds{}) && e_.cost[Term(t)] > Seconds{})
        add({.term = Term(t), .kind = rest[t], .exposed = e_.cost[Term(t)]});
  }

  const Evaluation& e_;
  double S_;
  std::vector<double> on_pace_, all_;  // number of layers by cell: on the slowest stage, and on all stages
  Ledger ledger_;
};

/// The exchanges of one layer; `exposed` is the time of all `count` of them.
class LayerBook {
 public:
  LayerBook(const Evaluation& e, std::size_t cell, double passes)
      : e_(e),
        cell_(e.layout->cells[cell]),
        id_(int(cell)),
        S_(e.plan.micro_batches),
        forward_(S_ * passes) {}

  Ledger write() {
    add_changes(cell_.forward, ChargeKind::output, forward_);
    add_changes(cell_.backward, ChargeKind::output_gradient, S_);
    if (cell_.halo_axis >= 0) {
      add_halos(ChargeKind::halo, true, forward_);
      add_halos(ChargeKind::gradient_halo, e_.mesh.setting.training.halos_of_dx, S_);
    }
    add_statistics();
    if (cell_.ring_axis >= 0) add_ring();
    return std::move(ledger_);
  }

 private:
  void add(Term term, ChargeKind kind, Collective operation, AxisSet axes, double count, Bytes m,
           Seconds each, Seconds exposed, int extent = -1) {
    ledger_.push_back({.term = term,
                       .kind = kind,
                       .cell = id_,
                       .layer = cell_.layer,
                       .group = kind == ChargeKind::statistics ? cell_.gradients : -1,
                       .extent = extent,
                       .operation = operation,
                       .axes = axes,
                       .count = count,
                       .bytes = m,
                       .each = each,
                       .exposed = exposed});
  }

  void add_changes(const ExchangeList& list, ChargeKind kind, double count) {
    const double samples = e_.plan.samples();
    for (const Exchange& exchange : list) {
      const Seconds each = e_.mesh.time_of(exchange, samples);
      const Seconds hidden = kind == ChargeKind::output_gradient
                                 ? hidden_sum(exchange, e_.mesh, e_.plan)
                                 : Seconds{};
      add(Term::activation_exchange, kind, exchange.operation, axis_bit(exchange.axis), count,
          e_.mesh.bytes_of(exchange, samples), each, count * (each - hidden));
    }
  }

  void add_halos(ChargeKind kind, bool of_x, double count) {
    const Layer& layer = e_.mesh.layer_of(cell_);
    const Shape& shape = of_x ? layer.x : layer.y;
    for (int d = 0; d < shape.dims; ++d) {
      const int parts = e_.mesh.cut[std::size_t(d)];
      if (parts < 2) continue;
      const Bytes row = halo_row(cell_, e_.mesh, e_.plan.samples(), of_x, d) *
                        e_.mesh.setting.training.bytes().activation;
      const auto [before, after] = halo_messages(parts, of_x ? x_halo(layer, d) : dy_halo(layer, d));
      const auto message = [&](double rows, double times) {
        if (!(rows > 0)) return;
        const Seconds each = e_.mesh.halo_message[std::size_t(d)](rows * row);
        add(Term::halo_exchange, kind, Collective::point_to_point, axis_bit(cell_.halo_axis), times,
            rows * row, each, times * each, d);
      };
      message(before, before == after ? 2 * count : count);
      if (before != after) message(after, count);
    }
  }

  /// Mean and variance forward, their gradients backward.
  void add_statistics() {
    if (!e_.mesh.setting.training.synchronised_batch_norm || !cell_.samples || cell_.gradients < 0) return;
    const Bytes numbers = statistics_bytes(cell_, e_.mesh);
    const Seconds each = statistics_time(cell_, numbers, e_.gradients, e_.plan);
    if (each > Seconds{})
      add(Term::activation_exchange, ChargeKind::statistics, Collective::allreduce,
          e_.gradients.groups[std::size_t(cell_.gradients)].set, forward_ + S_, numbers, each,
          (forward_ + S_) * each);
  }

  /// Each GPU passes on its block p-1 times; backward, the gradients travel with it.
  void add_ring() {
    const double rounds = e_.mesh.parts[axis_bit(cell_.ring_axis)] - 1;
    const Bytes block = e_.mesh.ring_block(cell_, e_.plan.samples());
    const CellCost& cost = e_.passes.cells[std::size_t(id_)];
    const auto pass = [&](ChargeKind kind, double blocks, double count, Seconds work) {
      const RingTime time = ring_time(cell_, blocks * block, work, e_.mesh);
      add(Term::activation_exchange, kind, Collective::point_to_point, axis_bit(cell_.ring_axis),
          count * rounds, blocks * block, time.message, count * rounds * time.waits);
    };
    pass(ChargeKind::keys, 1, forward_, cost.forward);
    pass(ChargeKind::key_gradients, 2, S_, cost.backward - cost.recompute);
  }

  const Evaluation& e_;
  const Cell& cell_;
  int id_;
  double S_, forward_;
  Ledger ledger_;
};

}  // namespace

double forward_passes(const Evaluation& e, std::size_t cell) {
  const Cell& placed = e.layout->cells[cell];
  const double again = e.out_of_core && !e.out_of_core->again().empty() ? e.out_of_core->again()[cell] : 0;
  return (placed.recomputed ? 2 : 1) + again / placed.count;
}

Ledger layer_charges(const Evaluation& e, std::size_t cell, double passes) {
  return LayerBook(e, cell, passes).write();
}

std::string text(const Charge& c) {
  const std::string_view kind = charge_names[std::size_t(c.kind)];
  if (!c.operation) return fmt::format("{}: {} exposed", kind, text(c.exposed));
  return fmt::format("{} ({}): {:g} x {}, {} each, {} exposed", kind,
                     collective_names[std::size_t(*c.operation)], c.count, decimal(c.bytes), text(c.each),
                     text(c.exposed));
}

Ledger ledger_of(const Evaluation& e) { return Book(e).write(); }

Path path_of(const Charge& charge, const Evaluation& e) {
  switch (charge.kind) {
    case ChargeKind::output:
    case ChargeKind::output_gradient:
      for (int a = 0; a < e.plan.mesh.axes; ++a)
        if (charge.axes == axis_bit(a)) return e.mesh.axis_path[std::size_t(a)];
      return {};
    case ChargeKind::halo:
    case ChargeKind::gradient_halo:
      return e.mesh.halo_path[std::size_t(charge.extent)];
    case ChargeKind::keys:
    case ChargeKind::key_gradients:
      return e.mesh.ring_path[std::size_t(e.layout->cells[std::size_t(charge.cell)].ring_axis)];
    case ChargeKind::statistics:
    case ChargeKind::gradient_sum:
    case ChargeKind::weight_gather:
    case ChargeKind::weight_gather_again:
      return e.gradients.groups[std::size_t(charge.group)].path;
    case ChargeKind::copied_gradient_sum:
      return e.mesh.copies_path(e.layout->cells[std::size_t(charge.cell)]);
    case ChargeKind::tied_gradient_sum:
      return e.mesh.tied_path();
    case ChargeKind::transfer:
      return e.mesh.stage_path;
    default:
      return {};  // computes or waits
  }
}

}  // namespace paradl
