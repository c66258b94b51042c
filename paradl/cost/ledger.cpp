#include "paradl/cost/ledger.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "paradl/core/format.hpp"
#include "paradl/cost/evaluator.hpp"
#include "paradl/cost/layer_exchanges.hpp"

namespace paradl {
namespace {

/// Gradients that leaders of nodes sum, or the requested algorithm.
bool is_special(const Charge& charge, const Evaluation& e) {
  if (charge.kind != ChargeKind::gradient_sum) return false;
  return e.gradients.groups[std::size_t(charge.group)].asked || (e.gradients.leaders && e.plan.zero == 0);
}

/// Fills in the part of an exchange that is on links, and its formula.
void put_on_links(Charge& charge, const Evaluation& e) {
  if (is_special(charge, e)) {
    const bool asked = e.gradients.groups[std::size_t(charge.group)].asked;
    charge.formula = asked ? Formula::requested : Formula::leaders;
    charge.on_links = charge.each;
  } else if (charge.kind ==
             ChargeKind::transfer) {  // scattered over the GPUs of `tensor`, it is not one message
    charge.formula = Formula::message;
    charge.on_links = charge.each;
  } else {
    const MessageCost message = message_of(charge, e);
    const bool trees = charge.operation == Collective::allreduce && message.takes_trees(charge.bytes);
    charge.formula = trees ? Formula::trees : ring_formula(*charge.operation);
    charge.on_links = message.on_links(charge.bytes);
  }
}

/// Writes the charges of one layer.
class LayerBook {
 public:
  LayerBook(const Evaluation& e, std::size_t cell, double passes, Ledger& ledger)
      : e_(e),
        cell_(e.layout->cells[cell]),
        cost_(e.passes.cells[cell]),
        id_(int(cell)),
        S_(e.plan.micro_batches),
        forward_(S_ * passes),
        ledger_(ledger) {}

  void add_computation() {
    compute(Term::forward, ChargeKind::forward, S_, cost_.forward);
    compute(Term::backward, ChargeKind::backward, S_, cost_.backward - cost_.recompute);
    if (forward_ > S_) compute(Term::recompute, ChargeKind::recompute, forward_ - S_, cost_.forward);
    compute(Term::update, ChargeKind::update, 1, cost_.updated(e_.plan.zero));
  }

  void add_exchanges() {
    LayerExchanges(e_.mesh, e_.gradients, e_.plan).each(cell_, cost_, [&](const LayerExchange& one) {
      add(one);
    });
  }

 private:
  void compute(Term term, ChargeKind kind, double count, Seconds each) {
    if (each > Seconds{})
      ledger_.push_back({.term = term,
                         .kind = kind,
                         .formula = formula_of(term, e_.stages->stages > 1),
                         .cell = id_,
                         .layer = cell_.layer,
                         .count = count,
                         .each = each,
                         .busy = count * each,
                         .exposed = count * each});
  }

  void add(const LayerExchange& one) {
    const double count = one.count * one.passes(forward_, S_);
    Charge& charge =
        ledger_.emplace_back(Charge{.term = one.is_halo() ? Term::halo_exchange : Term::activation_exchange,
                                    .kind = one.kind,
                                    .cell = id_,
                                    .layer = cell_.layer,
                                    .group = one.group,
                                    .extent = one.extent,
                                    .operation = one.operation,
                                    .axes = one.axes,
                                    .count = count,
                                    .bytes = one.bytes,
                                    .each = one.each,
                                    .busy = count * one.each,
                                    .exposed = count * (one.each - one.hidden)});
    put_on_links(charge, e_);
  }

  const Evaluation& e_;
  const Cell& cell_;
  const CellCost& cost_;
  int id_;
  double S_, forward_;
  Ledger& ledger_;
};

bool is_sum(const Charge& charge) {
  return charge.kind == ChargeKind::gradient_sum || charge.kind == ChargeKind::packing ||
         charge.kind == ChargeKind::tied_gradient_sum;
}
bool is_gather(const Charge& charge) {
  return charge.kind == ChargeKind::weight_gather || charge.kind == ChargeKind::weight_gather_again;
}

/// Writes the charges of a plan.
class Book {
 public:
  explicit Book(const Evaluation& e)
      : e_(e),
        t_(e.tables()),
        S_(e.plan.micro_batches),
        sums_(e.plan.zero >= 2 ? S_ : 1),
        by_tensor_(gathers_by_tensor(e.mesh.setting.training, e.plan.zero) && e.stages->stages == 1),
        on_host_(e.out_of_core && e.out_of_core->plan().time.possible &&
                 e.out_of_core->plan().home != WeightHome::device) {}

  Ledger write() {
    const bool pipeline = e_.stages->stages > 1;
    Scratch scratch;
    if (pipeline) tail_ = pipeline_tail(t_, e_.plan, scratch);
    const std::vector<double> busiest = layers_of(e_.sums.busiest()), updated = updated_layers();
    for (std::size_t i = 0; i < e_.layout->cells.size(); ++i) {
      const std::size_t from = ledger_.size();
      LayerBook book(e_, i, forward_passes(e_, i), ledger_);
      book.add_computation();
      book.add_exchanges();
      for (std::size_t c = from; c < ledger_.size(); ++c) {
        Charge& charge = ledger_[c];
        const double layers = charge.term == Term::update ? updated[i] : busiest[i];
        charge.count *= e_.layout->cells[i].count;
        charge.busy = layers * charge.busy;
        charge.exposed = layers * charge.exposed;
      }
    }
    add_waits();
    if (on_host_) update_on_host();
    if (pipeline) expose(tail_.update, [](const Charge& c) { return c.kind == ChargeKind::update; });
    add_gradient_exchange();
    expose_gradient_exchange();
    if (pipeline) add_schedule();
    if (e_.out_of_core) {
      add_wait(Term::recompute, ChargeKind::recompute, e_.out_of_core->delay());
      add_wait(Term::swap, ChargeKind::swap, e_.cost[Term::swap]);
    }
    return std::move(ledger_);
  }

  Ledger write_exchanges() {
    for (std::size_t i = 0; i < e_.layout->cells.size(); ++i) {
      const std::size_t from = ledger_.size();
      LayerBook(e_, i, forward_passes(e_, i), ledger_).add_exchanges();
      for (std::size_t c = from; c < ledger_.size(); ++c) ledger_[c].count *= e_.layout->cells[i].count;
    }
    add_gradient_exchange();
    add_transfers();
    return std::move(ledger_);
  }

 private:
  /// The number of layers by cell on the stages of a kind.
  std::vector<double> layers_of(std::size_t kind) const {
    std::vector<double> out(e_.layout->cells.size());
    for (const StageKind::Chunk& chunk : e_.stages->kinds[kind].chunks)
      for (const auto& [cell, count] : chunk.cells) out[std::size_t(cell)] += count;
    return out;
  }

  /// Layers whose weights are updated, one after the other: of the stage that is done last; of all stages if
  /// there is only one micro-batch. A stage that has a copy of weights updates it, too.
  std::vector<double> updated_layers() const {
    const StagePlan& stages = *e_.stages;
    std::vector<double> out(e_.layout->cells.size());
    if (on_host_) return out;
    for (std::size_t k = 0; k < stages.kinds.size(); ++k) {
      if (stages.stages > 1 && S_ > 1 && int(k) != tail_.last) continue;
      const double count = S_ > 1 ? 1 : stages.kinds[k].count;
      const std::vector<double> layers = layers_of(k);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] += count * layers[i];
      for (const StagePlan::Tied& tied : stages.tied)
        if (tied.user == stages.kinds[k].first) out[std::size_t(tied.cell)] += count;
    }
    return out;
  }

  /// Charges that are hidden in part, in proportion to their time.
  template <class Is>
  void expose(Seconds exposed, Is is) {
    Seconds busy;
    for (const Charge& charge : ledger_)
      if (is(charge)) busy += charge.busy;
    if (!(busy > Seconds{})) return;
    for (Charge& charge : ledger_)
      if (is(charge)) charge.exposed = exposed * (charge.busy / busy);
  }

  void add_wait(Term term, ChargeKind kind, Seconds wait) {
    if (wait > Seconds{})
      ledger_.push_back({.term = term,
                         .kind = kind,
                         .formula = formula_of(term, e_.stages->stages > 1),
                         .each = wait,
                         .busy = wait,
                         .exposed = wait});
  }

  /// Passes take longer than their layers if the host launches kernels too late.
  void add_waits() {
    const std::size_t busiest = e_.sums.busiest();
    Seconds forward, backward;
    for (const int number : e_.stages->kinds[busiest].piece) {
      const PieceSums& piece = e_.sums.pieces[std::size_t(number)];
      const auto beyond = [](Seconds all, Seconds part) {  // by more than rounding
        return all > (1 + 1e-12) * part ? all - part : Seconds{};
      };
      forward += beyond(piece.forward_pass, piece.forward_passes);
      backward += beyond(piece.backward_pass, piece.backward_passes);
    }
    const double again = e_.sums.kinds[busiest].recomputed_share();
    add_wait(Term::forward, ChargeKind::wait_for_host, S_ * forward);
    add_wait(Term::backward, ChargeKind::wait_for_host, S_ * (1 - again) * backward);
    add_wait(Term::recompute, ChargeKind::wait_for_host, S_ * again * backward);
  }

  void update_on_host() {
    Seconds update;
    for (const OutOfCoreBlock& block : e_.out_of_core->blocks()) update += block.update;
    ledger_.push_back({.term = Term::update,
                       .kind = ChargeKind::update,
                       .formula = Formula::update,
                       .each = update,
                       .busy = update,
                       .exposed = e_.cost[Term::update]});
  }

  /// The kind of stage whose gradient sums take longest.
  std::size_t slowest_sums() const {
    const auto whole = [&](const LayerSums& kind) { return whole_sum(t_, kind); };
    return std::size_t(std::ranges::max_element(e_.sums.kinds, {}, whole) - e_.sums.kinds.begin());
  }

  void add_gradient_exchange() {
    const std::size_t summing = slowest_sums();
    const std::size_t gathering = e_.plan.zero > 0 ? slowest_gathers(t_, e_.plan).kind : 0;
    for (std::size_t g = 0; g < e_.gradients.groups.size(); ++g)
      if (e_.gradients.groups[g].path.size() > 1)
        add_group(g, e_.sums.kinds[summing], e_.sums.kinds[gathering]);
    add_copies();
    add_tied();
  }

  void add_exchange(const Charge& charge) {
    if (charge.each > Seconds{}) put_on_links(ledger_.emplace_back(charge), e_);
  }

  /// The gathers of a group's tensors, each once.
  Seconds tensors(std::size_t group, bool recomputed) const {
    Seconds out;
    for (std::size_t i = 0; i < e_.layout->cells.size(); ++i)
      if (const Cell& cell = e_.layout->cells[i];
          cell.gradients == int(group) && (cell.recomputed || !recomputed))
        out += gathered_once(t_, i);
    return out;
  }

  void add_group(std::size_t g, const LayerSums& summing, const LayerSums& gathering) {
    const GradientGroup& group = e_.gradients.groups[g];
    const int zero = e_.plan.zero;
    const ItemBytes bytes = e_.mesh.setting.training.bytes();
    const Bytes gradients = e_.sums.gradient[g];
    const auto add = [&](ChargeKind kind, Collective operation, double count, Bytes m, Seconds each,
                         Seconds busy) {
      add_exchange({.term = Term::gradient_exchange,
                    .kind = kind,
                    .group = int(g),
                    .operation = operation,
                    .axes = group.set,
                    .count = count,
                    .bytes = m,
                    .each = each,
                    .busy = count * busy});
    };
    const Seconds summed = summing.gradient[g] > Bytes{} ? group.allreduce(summing.gradient[g]) : Seconds{};
    add(ChargeKind::gradient_sum, zero > 0 ? Collective::reduce_scatter : Collective::allreduce, sums_,
        gradients, group.allreduce(gradients), by_tensor_ ? tensors(g, false) : summed);
    if (const Seconds packs = packing(t_, summing, g); packs > Seconds{} && !by_tensor_)
      ledger_.push_back({.term = Term::gradient_exchange,
                         .kind = ChargeKind::packing,
                         .group = int(g),
                         .count = sums_,
                         .each = packs,
                         .busy = sums_ * packs});
    if (zero == 0) return;
    const auto gather = [&](ChargeKind kind, double count, Bytes of, Seconds busy) {
      const Bytes weights = of / bytes.sent_gradient * bytes.weight;
      if (of > Bytes{}) add(kind, Collective::allgather, count, weights, group.gather(weights), busy);
    };
    const Seconds gathered =
        gathering.weights[g] > 0 ? group.gather(gathering.weights[g] * bytes.weight) : Seconds{};
    gather(ChargeKind::weight_gather, zero >= 3 ? 2 * S_ : 1, gradients,
           by_tensor_ ? tensors(g, false) : gathered);
    // If weights are gathered tensor by tensor, they are gathered again for a recomputed forward pass.
    if (by_tensor_) gather(ChargeKind::weight_gather_again, S_, e_.sums.recomputed[g], tensors(g, true));
  }

  /// On the stage where they take longest.
  void add_copies() {
    if (std::ranges::none_of(e_.sums.kinds, [](const LayerSums& kind) { return kind.copies > Seconds{}; }))
      return;
    const auto most = std::ranges::max_element(e_.sums.kinds, {}, &LayerSums::copies);
    const std::vector<double> layers = layers_of(std::size_t(most - e_.sums.kinds.begin()));
    for (std::size_t i = 0; i < e_.layout->cells.size(); ++i)
      if (const Cell& cell = e_.layout->cells[i]; e_.mesh.copies(cell) > 1) {
        const Seconds each = e_.passes.cells[i].copies,
                      busy = by_tensor_ ? Seconds{} : sums_ * layers[i] * each;
        add_exchange({.term = Term::gradient_exchange,
                      .kind = ChargeKind::copied_gradient_sum,
                      .cell = int(i),
                      .layer = cell.layer,
                      .operation = Collective::allreduce,
                      .count = sums_ * cell.count,
                      .bytes = e_.mesh.copied_gradient(cell),
                      .each = each,
                      .busy = busy,
                      .exposed = busy});
      }
  }

  void add_tied() {
    for (const StagePlan::Tied& tied : e_.stages->tied) {
      const Seconds each = tied_sum(t_, tied);
      Charge& charge = ledger_.emplace_back(Charge{.term = Term::gradient_exchange,
                                                   .kind = ChargeKind::tied_gradient_sum,
                                                   .cell = tied.cell,
                                                   .layer = e_.layout->cells[std::size_t(tied.cell)].layer,
                                                   .operation = Collective::allreduce,
                                                   .count = sums_,
                                                   .bytes = e_.passes.cells[std::size_t(tied.cell)].gradient,
                                                   .each = each,
                                                   .busy = sums_ * each});
      put_on_links(charge, e_);
    }
  }

  void expose_gradient_exchange() {
    const auto is_any = [](const Charge& c) { return c.term == Term::gradient_exchange; };
    if (on_host_) return expose(e_.cost[Term::gradient_exchange], is_any);
    if (by_tensor_) return expose(tensor_gathers(t_, e_.plan).exposed, is_any);
    const Seconds once = e_.stages->stages > 1 ? tail_.gradient : single_sum(t_).exposed;
    expose(sums_ * once, is_sum);
    if (e_.plan.zero > 0) expose(slowest_gathers(t_, e_.plan).time.exposed, is_gather);
  }

  void add_schedule() {
    const auto [executed, silent] = e_.schedule.time;
    add_wait(Term::bubble, ChargeKind::bubble, silent - S_ * e_.sums.kinds[e_.sums.busiest()].passes());
    add_transfers();
    expose(executed - silent, [](const Charge& c) { return c.kind == ChargeKind::transfer; });
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
        put_on_links(ledger_.emplace_back(Charge{.term = Term::stage_transfer,
                                                 .kind = ChargeKind::transfer,
                                                 .layer = stages.first_layer[next] - 1,
                                                 .operation = Collective::point_to_point,
                                                 .count = count,
                                                 .bytes = bytes,
                                                 .each = each,
                                                 .busy = count * each}),
                     e_);
      }
  }

  const Evaluation& e_;
  Tables t_;
  double S_, sums_;  // micro-batches, and how often gradients are summed
  bool by_tensor_, on_host_;
  PipelineTail tail_;
  Ledger ledger_;
};

}  // namespace

double forward_passes(const Evaluation& e, std::size_t cell) {
  const Cell& placed = e.layout->cells[cell];
  const double again = e.out_of_core && !e.out_of_core->again().empty() ? e.out_of_core->again()[cell] : 0;
  return (placed.recomputed ? 2 : 1) + again / placed.count;
}

Ledger layer_charges(const Evaluation& e, std::size_t cell, double passes) {
  Ledger out;
  LayerBook book(e, cell, passes, out);
  book.add_computation();
  book.add_exchanges();
  return out;
}

std::string text(const Charge& c) {
  const std::string_view kind = charge_names[std::size_t(c.kind)];
  if (!c.operation) return fmt::format("{}: {} exposed", kind, text(c.exposed));
  return fmt::format("{} ({}): {:g} x {}, {} each, {} exposed", kind,
                     collective_names[std::size_t(*c.operation)], c.count, decimal(c.bytes), text(c.each),
                     text(c.exposed));
}

Ledger ledger_of(const Evaluation& e) { return Book(e).write(); }

Ledger exchanges_of(const Evaluation& e) {
  const Ledger all = Book(e).write_exchanges();
  const auto time = [&](int i) { return all[std::size_t(i)].count * all[std::size_t(i)].on_links; };
  std::vector<int> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](int i) { return !(all[std::size_t(i)].on_links > Seconds{}); });
  std::ranges::stable_sort(order, std::greater{}, time);
  Ledger out;
  out.reserve(order.size());
  for (const int i : order) out.push_back(all[std::size_t(i)]);
  return out;
}

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

/// Copies through the host hide the links of halos, and some frameworks gather each tensor through one port:
/// then the tables have other costs than those of the links.
MessageCost message_of(const Charge& charge, const Evaluation& e) {
  const bool staged = e.mesh.setting.training.framework.halos == Transport::host;
  const auto on_links = [&] { return e.links->cost_of(*charge.operation, path_of(charge, e)); };
  switch (charge.kind) {
    case ChargeKind::output:
    case ChargeKind::output_gradient:
      return staged ? on_links()
                    : e.mesh.cost[std::size_t(std::countr_zero(unsigned(charge.axes)))]
                                 [std::size_t(*charge.operation)];
    case ChargeKind::halo:
    case ChargeKind::gradient_halo:
      return staged ? on_links() : e.mesh.halo_message[std::size_t(charge.extent)];
    case ChargeKind::keys:
    case ChargeKind::key_gradients:
      return e.mesh.ring_message[std::size_t(e.layout->cells[std::size_t(charge.cell)].ring_axis)];
    case ChargeKind::statistics:
      return e.gradients.groups[std::size_t(charge.group)].statistics;
    case ChargeKind::gradient_sum:
      return e.gradients.groups[std::size_t(charge.group)].sum;
    case ChargeKind::weight_gather:
    case ChargeKind::weight_gather_again:
      return gathers_by_tensor(e.mesh.setting.training, e.plan.zero)
                 ? on_links()
                 : e.gradients.groups[std::size_t(charge.group)].gather;
    case ChargeKind::transfer:
      return e.mesh.stage_message;
    case ChargeKind::copied_gradient_sum:
    case ChargeKind::tied_gradient_sum:
      return on_links();
    default:
      return {};  // computes or waits
  }
}

}  // namespace paradl
