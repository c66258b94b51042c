#include "paradl/cost/price_out_of_core.hpp"

#include <algorithm>
#include <limits>

namespace paradl {
namespace {

/// Items of one micro-batch on one GPU.
double local(const Kept& tensor, const Tables& t) { return t.mesh.items_of(tensor) * t.passes.samples; }

}  // namespace

void PricedOutOfCore::measure_kept(const Tables& t) {
  kept_.resize(t.layout.cells.size());
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const Cell& cell = t.layout.cells[i];
    double items = 0;
    for (const Kept& kept : cell.kept) items += local(kept, t);
    kept_[i] = items * setting_.training.bytes().activation + local(cell.mask, t) * Bytes{1};
  }
}

/// Fills in each block: the times of its passes with their exchanges, and its bytes on one GPU.
void PricedOutOfCore::fill(const Tables& t, const BlockChain& from, OutOfCoreChain& to, Bytes& aside) const {
  const ItemBytes bytes = setting_.training.bytes();
  const auto cost_of = [&](int layer) -> const CellCost& {
    return t.passes.cells[std::size_t(t.layout.order[std::size_t(layer)])];
  };
  for (const ChainBlock& block : from.blocks) {
    OutOfCoreBlock& out = to.blocks.emplace_back();
    out.first = block.first, out.end = block.end;
    double weights = 0, gradients = 0;
    for (int l = block.first; l < block.end; ++l) {
      const CellCost& cost = cost_of(l);
      out.forward += cost.forward_pass();
      out.backward += cost.backward_pass();
      if (l < block.again) out.again += cost.forward_pass();
      const Bytes kept = kept_[std::size_t(t.layout.order[std::size_t(l)])];
      (from.shared[std::size_t(l)] ? aside : out.activations) += kept;
      const int tied = setting_.work.layers[std::size_t(l)].tied;
      weights += cost.weights, gradients += cost.weights;
      if (tied >= 0 && (tied < block.first || tied >= block.end)) weights += cost_of(tied).weights;
    }
    for (const Kept& tensor : block.inputs) out.input += local(tensor, t) * bytes.activation;
    for (const Kept& tensor : block.skips) aside += local(tensor, t) * bytes.activation;
    out.weights = weights * bytes.weight;
    out.gradients = gradients * bytes.gradient;
  }
}

void PricedOutOfCore::fill_all(const Tables& t, std::span<const BlockChain> chains, const Memory& in_core) {
  chains_.assign(chains.size(), {});
  aside_.assign(chains.size(), {});
  for (std::size_t c = 0; c < chains.size(); ++c) {
    fill(t, chains[c], chains_[c], aside_[c]);
    set_rooms(in_core, c);
  }
}

/// The memory of the device without the activations of blocks, by where weights are stored.
Memory PricedOutOfCore::resident(const Memory& in_core, std::size_t chain, WeightHome home) const {
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

void PricedOutOfCore::set_rooms(const Memory& in_core, std::size_t chain) {
  for (std::size_t home = 0; home < weight_homes; ++home) {
    const Memory there = resident(in_core, chain, WeightHome(home));
    const Bytes fixed = there.weights + there.gradients + there.optimizer + there.buffers + there.reserve;
    // Fragmentation grows with activations and workspace.
    const Bytes free = (setting_.machine.device.memory - fixed) / (1 + setting_.training.fragmentation);
    chains_[chain].room[home] = free - there.workspace - there.activations - Bytes{1};  // for rounding
  }
}

void PricedOutOfCore::set_limits(const Cost& in_core, const Plan& plan, Seconds exchange) {
  const Training& training = setting_.training;
  const Memory& memory = in_core.memory;
  limits_ = {.out = host_.link, .in = host_.link, .host = host_.memory};
  limits_.after = in_core[Term::gradient_exchange] + in_core[Term::update];
  limits_.in_core = limits_.after;
  for (const OutOfCoreBlock& block : chains_.front().blocks)
    limits_.in_core += block.forward + block.backward;
  const Bytes weights = memory.weights + memory.gradients + memory.optimizer;
  limits_.host_weights = {Bytes{}, weights, weights};
  // Gradients that are accumulated or sharded stay on the device, and so does the optimizer state.
  const bool may_leave = plan.micro_batches == 1 && plan.zero == 0;
  limits_.allowed = {true, may_leave && host_.memory_bandwidth, may_leave && host_.memory_bandwidth};
  lacks_update_rate_ = may_leave && !host_.memory_bandwidth;
  if (!limits_.allowed[1]) return;

  // The exchange is split in proportion to the bytes sent, the update in proportion to the bytes touched.
  const Bytes touched = update_bytes(training.optimizer, training.precision);
  for (OutOfCoreChain& chain : chains_)
    for (OutOfCoreBlock& block : chain.blocks) {
      if (!(block.gradients > Bytes{})) continue;
      block.exchange = block.gradients / memory.gradients * exchange;
      block.update = block.gradients / training.bytes().gradient * touched / *host_.memory_bandwidth;
    }
}

void PricedOutOfCore::keep_all() {
  constexpr Bytes unlimited{std::numeric_limits<double>::infinity()};
  chains_.front().room.fill(unlimited);  // the cost in core has shown that memory is enough
  plan_.chain = 0;
  plan_.home = WeightHome::device;
  plan_.fate.assign(chains_.front().blocks.size(), Fate::kept);
  plan_.recompute = {};
  plan_.host = {};
  plan_.time = OutOfCoreClock().run(chains_.front(), plan_.fate, plan_.home, limits_);
}

void PricedOutOfCore::find_plan() {
  OutOfCorePlanner planner;
  plan_ = planner.find(chains_, limits_);
  if (plan_.time.possible) return;
  limits_.host = planner.least_host(chains_, limits_);
  plan_ = planner.find(chains_, limits_);
}

/// The least memory: that of one block at a time. `anywhere`: weights may be stored anywhere, allowed or not.
Memory PricedOutOfCore::least_memory(const Memory& in_core, bool anywhere) const {
  Memory least;
  for (std::size_t c = 0; c < chains_.size(); ++c)
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

PricedOutOfCore::PricedOutOfCore(const Cost& in_core, const Tables& t, const Plan& plan,
                                 std::span<const BlockChain> chains)
    : setting_(t.setting()), cost_(in_core), host_(host_share(setting_.machine, plan.mesh.gpus())) {
  measure_kept(t);
  fill_all(t, chains, in_core.memory);
  Seconds exchange;
  for (std::size_t g = 0; g < t.gradients.groups.size(); ++g)
    if (const Bytes sent = t.sums.gradient[g]; sent > Bytes{})
      exchange += t.gradients.groups[g].allreduce(sent);
  set_limits(in_core, plan, exchange);
  if (in_core.memory.total() <= setting_.machine.device.memory) {
    keep_all();
    return;
  }

  find_plan();
  if (!plan_.time.possible) {
    cost_.memory = least_memory(in_core.memory, false);
    lacks_update_rate_ &= least_memory(in_core.memory, true).total() <= setting_.machine.device.memory;
    return;
  }
  cost_.memory = resident(in_core.memory, plan_.chain, plan_.home);
  cost_.memory.activations += plan_.time.peak;
  cost_.memory.reserve +=
      setting_.training.fragmentation * (cost_.memory.activations + cost_.memory.workspace);
  show_recomputed(t, plan, chains[plan_.chain]);
  show_stalls(plan);
}

/// Adds recomputed blocks to the cost: they also repeat their exchanges.
void PricedOutOfCore::show_recomputed(const Tables& t, const Plan& plan, const BlockChain& chain) {
  const double S = plan.micro_batches;
  for (std::size_t b = 0; b < chain.blocks.size(); ++b) {
    if (plan_.fate[b] != Fate::recomputed) continue;
    for (int l = chain.blocks[b].first; l < chain.blocks[b].again; ++l) {
      const auto id = std::size_t(t.layout.order[std::size_t(l)]);
      const CellCost& cost = t.passes.cells[id];
      again_.resize(t.layout.cells.size());
      ++again_[id];
      cost_[Term::recompute] += S * cost.forward;
      cost_[Term::activation_exchange] += S * cost.forward_exchange;
      cost_[Term::halo_exchange] += S * cost.forward_halo;
      cost_.traffic += S * cost.forward_traffic;
    }
  }
}

/// The time of the executed plan beyond the work of its passes counts as swapping, except for what the
/// exchange of gradients and the update on the host add.
void PricedOutOfCore::show_stalls(const Plan& plan) {
  Cost& out = cost_;
  const OutOfCoreChain& chain = chains_[plan_.chain];
  Seconds work = plan_.recompute;
  for (const OutOfCoreBlock& block : chain.blocks) work += block.forward + block.backward;
  const auto beyond = [](Seconds all, Seconds part) {  // by more than rounding
    return all > (1 + 1e-12) * part ? all - part : Seconds{};
  };
  if (plan_.home == WeightHome::device) {
    out[Term::swap] = plan.micro_batches * beyond(plan_.time.passes, work);
    return;
  }
  OutOfCoreLimits limits = limits_;
  limits.in_core = {};
  const auto end_without = [&](bool exchange) {
    OutOfCoreChain silent = chain;
    for (OutOfCoreBlock& block : silent.blocks) {
      block.update = {};
      if (!exchange) block.exchange = {};
    }
    return OutOfCoreClock().run(silent, plan_.fate, plan_.home, limits).end;
  };
  const Seconds updated = plan_.time.end, summed = end_without(true), swapped = end_without(false);
  const Seconds exchange = out[Term::gradient_exchange] + out.hidden;
  out[Term::update] = beyond(updated, summed);
  out[Term::gradient_exchange] = beyond(summed, swapped);
  out[Term::swap] = beyond(swapped, work);
  out.hidden = beyond(exchange, out[Term::gradient_exchange]);
}

HostDoubt PricedOutOfCore::doubt() const {
  if (!plan_.time.possible) return {};
  const auto times_as_long = [&](double rate) {
    OutOfCoreLimits limits = limits_;
    limits.out = rate * limits.out;
    limits.in = rate * limits.in;
    return OutOfCoreClock().run(chains_[plan_.chain], plan_.fate, plan_.home, limits).end / plan_.time.end;
  };
  return {.slow = std::max(1.0, times_as_long(1 / HostDoubt::factor)),
          .fast = std::min(1.0, times_as_long(HostDoubt::factor))};
}

std::vector<OutOfCoreEvent> PricedOutOfCore::events() const {
  std::vector<OutOfCoreEvent> out;
  OutOfCoreClock().run(chains_[plan_.chain], plan_.fate, plan_.home, limits_, &out);
  return out;
}

PricedOutOfCore::Others PricedOutOfCore::others() const {
  OutOfCorePlanner planner;
  return {planner.all(Fate::swapped, chains_, limits_), planner.all(Fate::recomputed, chains_, limits_),
          planner.swap_only(chains_, limits_)};
}

}  // namespace paradl
