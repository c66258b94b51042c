#include "paradl/cost/price_out_of_core.hpp"

#include <algorithm>
#include <limits>

namespace paradl {
namespace {

constexpr Bytes endless{std::numeric_limits<double>::infinity()};

/// Items of one micro-batch on one PE.
double local(const Kept& tensor, const Pricer& pricer, double samples) {
  return pricer.items_of(tensor) * samples;
}

}  // namespace

void OutOfCorePricer::measure_kept(const Pricer& pricer, const Layout& layout, double samples) {
  kept_.resize(layout.cells.size());
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const Cell& cell = layout.cells[i];
    double items = 0;
    for (const Kept& kept : cell.kept) items += local(kept, pricer, samples);
    kept_[i] = items * setting_.training.bytes().activation + local(cell.mask, pricer, samples) * Bytes{1};
  }
}

/// One block after the other: times of its passes with their exchanges, and bytes as one PE has them.
void OutOfCorePricer::fill(const Pricer& pricer, const Layout& layout, const BlockChain& from, double samples,
                           std::size_t chain) {
  OutOfCoreChain& to = chains_[chain];
  const ItemBytes bytes = setting_.training.bytes();
  const auto weights_of = [&](int layer) {
    return pricer.weights_of(layout, layout.cells[std::size_t(layout.order[std::size_t(layer)])]);
  };
  Bytes aside;
  to.blocks.resize(from.blocks.size());
  for (std::size_t b = 0; b < from.blocks.size(); ++b) {
    const ChainBlock& block = from.blocks[b];
    OutOfCoreBlock& out = to.blocks[b];
    out = {.first = block.first, .end = block.end};
    double weights = 0, gradients = 0;
    for (int l = block.first; l < block.end; ++l) {
      const auto id = std::size_t(layout.order[std::size_t(l)]);
      const CellCost& cost = pricer.cells()[id];
      out.forward += cost.forward_pass();
      out.backward += cost.backward_pass();
      if (l < block.again) out.again += cost.forward_pass();
      (from.shared[std::size_t(l)] ? aside : out.activations) += kept_[id];
      const double own = weights_of(l);
      const int tied = setting_.work.layers[std::size_t(l)].tied;
      weights += own, gradients += own;
      if (tied >= 0 && (tied < block.first || tied >= block.end)) weights += weights_of(tied);
    }
    for (const Kept& tensor : block.inputs) out.input += local(tensor, pricer, samples) * bytes.activation;
    for (const Kept& tensor : block.skips) aside += local(tensor, pricer, samples) * bytes.activation;
    out.weights = weights * bytes.weight;
    out.gradients = gradients * bytes.gradient;
  }
  aside_[chain] = aside;
}

/// What the device has besides the activations of blocks, by where the weights live.
Memory OutOfCorePricer::resident(const Memory& in_core, std::size_t chain, WeightHome home) const {
  Memory out = in_core;
  out.activations = aside_[chain];
  if (home != WeightHome::device) out.optimizer = {};
  if (home == WeightHome::streamed) {  // two blocks at a time
    out.weights = out.gradients = {};
    for (const OutOfCoreBlock& block : chains_[chain].blocks) {
      out.weights = std::max(out.weights, 2 * block.weights);
      out.gradients = std::max(out.gradients, 2 * block.gradients);
    }
  }
  out.reserve = setting_.training.reserve;
  return out;
}

void OutOfCorePricer::set_rooms(const Memory& in_core, std::size_t chain) {
  for (std::size_t home = 0; home < weight_homes; ++home) {
    const Memory there = resident(in_core, chain, WeightHome(home));
    const Bytes fixed = there.weights + there.gradients + there.optimizer + there.buffers + there.reserve;
    // Fragments lie between activations and workspace, and grow with them.
    const Bytes free = (setting_.machine.device.memory - fixed) / (1 + setting_.training.fragmentation);
    chains_[chain].room[home] = free - there.workspace - there.activations - Bytes{1};  // for rounding
  }
}

void OutOfCorePricer::set_limits(const Breakdown& in_core, Seconds exchange) {
  const Training& training = setting_.training;
  const Memory& memory = in_core.memory;
  limits_ = {.out = host_.link, .in = host_.link, .host = host_.memory};
  limits_.after = in_core[Term::gradient_exchange] + in_core[Term::update];
  limits_.in_core = limits_.after;
  for (const OutOfCoreBlock& block : chains_.front().blocks)
    limits_.in_core += block.forward + block.backward;
  const Bytes weights = memory.weights + memory.gradients + memory.optimizer;
  limits_.host_weights = {Bytes{}, weights, weights};
  // Accumulated or dealt out, gradients and state stay where they are.
  const bool may_leave = training.micro_batches == 1 && training.zero == 0;
  limits_.allowed = {true, may_leave && host_.memory_bandwidth, may_leave && host_.memory_bandwidth};
  lacks_update_rate_ = may_leave && !host_.memory_bandwidth;
  if (!limits_.allowed[1]) return;

  // The exchange in proportion to what is sent, and the update to what the optimizer touches.
  const Bytes touched = update_bytes(training.optimizer, training.precision);
  for (std::size_t c = 0; c < count_; ++c)
    for (OutOfCoreBlock& block : chains_[c].blocks) {
      if (!(block.gradients > Bytes{})) continue;
      block.exchange = block.gradients / memory.gradients * exchange;
      block.update = block.gradients / training.bytes().gradient * touched / *host_.memory_bandwidth;
    }
}

void OutOfCorePricer::keep_all() {
  chains_.front().room.fill(endless);  // there is enough by the pricer's own account
  plan_.chain = 0;
  plan_.home = WeightHome::device;
  plan_.fate.assign(chains_.front().blocks.size(), Fate::kept);
  plan_.recompute = {};
  plan_.host = {};
  plan_.time = planner_.clock().run(chains_.front(), plan_.fate, plan_.home, limits_);
}

void OutOfCorePricer::find_plan() {
  plan_ = planner_.find(chains(), limits_);
  if (plan_.time.possible) return;
  limits_.host = planner_.least_host(chains(), limits_);
  plan_ = planner_.find(chains(), limits_);
}

/// What it takes at least: one block at a time; with weights anywhere, or where they may be.
Memory OutOfCorePricer::least_memory(const Memory& in_core, bool anywhere) const {
  Memory least;
  for (std::size_t c = 0; c < count_; ++c)
    for (std::size_t home = 0; home < weight_homes; ++home) {
      if (!limits_.allowed[home] && !anywhere) continue;
      Memory need = resident(in_core, c, WeightHome(home));
      Bytes largest;
      for (const OutOfCoreBlock& block : chains_[c].blocks) largest = std::max(largest, block.activations);
      need.activations += largest;
      need.reserve += setting_.training.fragmentation * (need.activations + need.workspace);
      if (!(least.total() > Bytes{}) || need.total() < least.total()) least = need;
    }
  return least;
}

Breakdown OutOfCorePricer::price(const Breakdown& in_core, const Pricer& pricer, const Layout& layout,
                                 std::span<const BlockChain> chains_of, const Mesh& mesh, double batch) {
  const Training& training = setting_.training;
  const double samples = batch / training.micro_batches;
  host_ = host_share(setting_.machine, mesh.gpus());
  again_.clear();
  count_ = chains_of.size();
  if (chains_.size() < count_) chains_.resize(count_), aside_.resize(count_);
  measure_kept(pricer, layout, samples);
  for (std::size_t c = 0; c < count_; ++c) {
    fill(pricer, layout, chains_of[c], samples, c);
    set_rooms(in_core.memory, c);
  }
  Seconds exchange;
  for (const Pricer::GradientGroup& group : pricer.gradient_groups())
    if (const Bytes sent = pricer.gradients_of(group, layout); sent > Bytes{})
      exchange += group.allreduce(sent);
  set_limits(in_core, exchange);
  if (in_core.memory.total() <= setting_.machine.device.memory) {
    keep_all();
    return in_core;
  }

  find_plan();
  Breakdown out = in_core;
  if (!plan_.time.possible) {
    out.memory = least_memory(in_core.memory, false);
    lacks_update_rate_ &= least_memory(in_core.memory, true).total() <= setting_.machine.device.memory;
    return out;
  }
  out.memory = resident(in_core.memory, plan_.chain, plan_.home);
  out.memory.activations += plan_.time.peak;
  out.memory.reserve += training.fragmentation * (out.memory.activations + out.memory.workspace);
  show_recomputed(pricer, layout, chains_of[plan_.chain], out);
  show_stalls(out);
  return out;
}

/// Blocks that run again repeat their exchanges, too.
void OutOfCorePricer::show_recomputed(const Pricer& pricer, const Layout& layout, const BlockChain& chain,
                                      Breakdown& out) {
  const double S = setting_.training.micro_batches;
  for (std::size_t b = 0; b < chain.blocks.size(); ++b) {
    if (plan_.fate[b] != Fate::recomputed) continue;
    for (int l = chain.blocks[b].first; l < chain.blocks[b].again; ++l) {
      const auto id = std::size_t(layout.order[std::size_t(l)]);
      const CellCost& cost = pricer.cells()[id];
      again_.resize(layout.cells.size());
      ++again_[id];
      out[Term::recompute] += S * cost.forward;
      out[Term::activation_exchange] += S * cost.forward_exchange;
      out[Term::halo_exchange] += S * cost.forward_halo;
    }
  }
}

/// Whatever the executed plan takes beyond the work of its passes is told as swapping, but for what the
/// exchange of gradients and the update on the host add to it.
void OutOfCorePricer::show_stalls(Breakdown& out) {
  const OutOfCoreChain& chain = chains_[plan_.chain];
  Seconds work = plan_.recompute;
  for (const OutOfCoreBlock& block : chain.blocks) work += block.forward + block.backward;
  const auto beyond = [](Seconds all, Seconds part) {  // by more than rounding
    return all > (1 + 1e-12) * part ? all - part : Seconds{};
  };
  if (plan_.home == WeightHome::device) {
    out[Term::swap] = setting_.training.micro_batches * beyond(plan_.time.passes, work);
    return;
  }
  OutOfCoreLimits limits = limits_;
  limits.in_core = {};
  const auto end_without = [&](bool exchange) {
    silent_ = chain;
    for (OutOfCoreBlock& block : silent_.blocks) {
      block.update = {};
      if (!exchange) block.exchange = {};
    }
    return planner_.clock().run(silent_, plan_.fate, plan_.home, limits).end;
  };
  const Seconds updated = plan_.time.end, summed = end_without(true), swapped = end_without(false);
  const Seconds exchange = out[Term::gradient_exchange] + out.hidden;
  out[Term::update] = beyond(updated, summed);
  out[Term::gradient_exchange] = beyond(summed, swapped);
  out[Term::swap] = beyond(swapped, work);
  out.hidden = beyond(exchange, out[Term::gradient_exchange]);
}

HostDoubt OutOfCorePricer::doubt() {
  if (!plan_.time.possible) return {};
  const auto times_as_long = [&](double rate) {
    OutOfCoreLimits limits = limits_;
    limits.out = rate * limits.out;
    limits.in = rate * limits.in;
    return planner_.clock().run(chains_[plan_.chain], plan_.fate, plan_.home, limits).end / plan_.time.end;
  };
  return {.slow = std::max(1.0, times_as_long(1 / HostDoubt::factor)),
          .fast = std::min(1.0, times_as_long(HostDoubt::factor))};
}

std::vector<OutOfCoreEvent> OutOfCorePricer::events() {
  std::vector<OutOfCoreEvent> out;
  planner_.clock().run(chains_[plan_.chain], plan_.fate, plan_.home, limits_, &out);
  return out;
}

OutOfCorePricer::Others OutOfCorePricer::others() {
  return {planner_.all(Fate::swapped, chains(), limits_), planner_.all(Fate::recomputed, chains(), limits_),
          planner_.swap_only(chains(), limits_)};
}

}  // namespace paradl
