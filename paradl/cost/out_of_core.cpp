#include "paradl/cost/out_of_core.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace paradl {
namespace {

using Event = OutOfCoreEvent;
constexpr Seconds never{std::numeric_limits<double>::infinity()};
constexpr Bytes endless{std::numeric_limits<double>::infinity()};

/// A stream executes one operation after the other.
struct Stream {
  Seconds free, waited;
  /// Appends an operation that can start at `from`; returns when it starts.
  Seconds take(Seconds from, Seconds duration) {
    const Seconds begin = std::max(free, from);
    waited += begin - free;
    free = begin + duration;
    return begin;
  }
};

}  // namespace

OutOfCoreClock::Time OutOfCoreClock::run(const OutOfCoreChain& chain, std::span<const Fate> fate,
                                         WeightHome home, const OutOfCoreLimits& limits,
                                         std::vector<Event>* events, Seconds patience) {
  const std::vector<OutOfCoreBlock>& blocks = chain.blocks;
  const int n = int(blocks.size());
  const Bytes room = chain.room[std::size_t(home)];
  const bool streamed = home == WeightHome::streamed, host_updates = home != WeightHome::device;
  const auto note = [&](Event::Kind kind, int block, Seconds begin, Seconds end) {
    if (events && end > begin) events->push_back({kind, block, begin, end});
  };
  out_end_.resize(std::size_t(n));
  ready_.resize(std::size_t(n));
  stored_.resize(std::size_t(n));
  ended_.resize(std::size_t(n));
  outs_.clear();
  frees_.clear();
  if (events) events->clear();

  Time time;
  Stream compute, out, in, wire, host;
  Bytes held;
  std::size_t next_out = 0, next_free = 0;
  const auto hold = [&](Bytes bytes) { time.peak = std::max(time.peak, held += bytes); };

  for (int k = 0; k < n; ++k) {
    const auto i = std::size_t(k);
    const OutOfCoreBlock& b = blocks[i];
    const Bytes need = fate[i] == Fate::recomputed ? b.input : b.activations;
    Seconds can = compute.free;
    while (held + need > room) {  // a finished copy to the host frees memory
      if (next_out == outs_.size()) return time;
      can = std::max(can, outs_[next_out].when);
      held -= outs_[next_out++].bytes;
    }
    hold(need);
    if (streamed) {  // overwrites the weights of block k - 2
      const Seconds begin = in.take(k >= 2 ? ended_[i - 2] : Seconds{}, b.weights / limits.in);
      note(Event::Kind::load_weights, k, begin, in.free);
      can = std::max(can, in.free);
    }
    const Seconds begin = compute.take(can, b.forward);
    ended_[i] = compute.free;
    note(Event::Kind::forward, k, begin, compute.free);
    if (compute.waited > patience) return time;
    if (fate[i] != Fate::swapped) continue;
    const Seconds left = out.take(compute.free, b.activations / limits.out);
    note(Event::Kind::swap_out, k, left, out.free);
    out_end_[i] = out.free;
    outs_.push_back({out.free, b.activations});
  }

  // In the backward pass, blocks get memory in the order in which they need it, as soon as enough is free.
  in.free = std::max(in.free, compute.free);
  Seconds granted = compute.free;
  int next = n - 1;
  for (int k = n - 1; k >= 0; --k) {
    const auto i = std::size_t(k);
    const auto find_room = [&](Bytes need) {
      while (held + need > room) {
        const bool freed = next_free < frees_.size();
        // A backward pass may still free memory before a copy that ends later than all passes so far.
        const bool copied = next_out < outs_.size() && (outs_[next_out].when <= compute.free || next == k);
        if (!freed && !copied) return false;
        const bool from_copy = copied && (!freed || outs_[next_out].when < frees_[next_free].when);
        const Release& release = from_copy ? outs_[next_out++] : frees_[next_free++];
        granted = std::max(granted, release.when);
        held -= release.bytes;
      }
      return true;
    };
    for (; next >= 0; --next) {
      const auto j = std::size_t(next);
      const OutOfCoreBlock& b = blocks[j];
      if (streamed && next + 2 < n && next + 2 <= k) break;  // there is no memory for its weights yet
      if (fate[j] != Fate::kept) {
        if (!find_room(b.activations)) break;
        hold(b.activations);
      }
      ready_[j] = fate[j] == Fate::kept ? Seconds{} : granted;
      if (streamed && next + 2 < n) {
        const Seconds begin = in.take(ended_[j + 2], b.weights / limits.in);
        note(Event::Kind::load_weights, next, begin, in.free);
        ready_[j] = std::max(ready_[j], in.free);
      }
      if (fate[j] == Fate::swapped) {
        const Seconds begin = in.take(std::max(granted, out_end_[j]), b.activations / limits.in);
        note(Event::Kind::swap_in, next, begin, in.free);
        ready_[j] = in.free;
      }
    }
    if (next >= k) return time;

    const OutOfCoreBlock& b = blocks[i];
    Seconds can = ready_[i];
    if (streamed && k + 2 < n) can = std::max(can, stored_[i + 2]);  // memory for its gradients
    if (fate[i] == Fate::recomputed) {
      const Seconds begin = compute.take(can, b.again);
      note(Event::Kind::recompute, k, begin, compute.free);
      frees_.push_back({compute.free, b.input});
    }
    const Seconds begin = compute.take(can, b.backward);
    note(Event::Kind::backward, k, begin, compute.free);
    ended_[i] = compute.free;
    frees_.push_back({compute.free, b.activations});
    if (compute.waited > patience) return time;
    if (!host_updates) continue;
    const Seconds sent = wire.take(compute.free, b.exchange);
    note(Event::Kind::exchange, k, sent, wire.free);
    const Seconds left = out.take(wire.free, b.gradients / limits.out);
    note(Event::Kind::store_gradients, k, left, out.free);
    stored_[i] = out.free;
    const Seconds updated = host.take(out.free, b.update);
    note(Event::Kind::host_update, k, updated, host.free);
    ready_[i] = host.free;
  }

  time.possible = true;
  time.passes = compute.free;
  time.end = std::max(limits.in_core,
                      host_updates ? std::max(compute.free, host.free) : compute.free + limits.after);
  if (home == WeightHome::updated_on_host) {
    for (int k = n - 1; k >= 0; --k) {
      const Seconds begin = in.take(ready_[std::size_t(k)], blocks[std::size_t(k)].weights / limits.in);
      note(Event::Kind::store_weights, k, begin, in.free);
    }
    time.end = std::max(time.end, in.free);
  }
  return time;
}

int OutOfCorePlan::count(Fate f) const { return int(std::ranges::count(fate, f)); }

namespace {

/// Reverses the bits of k. If blocks are sorted by it, the first c of them are spread evenly for any c.
unsigned spread(unsigned k) {
  unsigned out = 0;
  for (int bit = 0; bit < 16; ++bit, k >>= 1) out = out << 1 | (k & 1);
  return out;
}

/// Host memory for one device, in whole bytes so that the sum over a node's GPUs has no rounding error.
Bytes on_host(Bytes swapped, std::size_t home, const OutOfCoreLimits& limits) {
  return Bytes{std::ceil((swapped + limits.host_weights[home]).base())};
}

}  // namespace

/// The candidates. Either the first c blocks of an order are recomputed, the last r of the others are kept,
/// and the rest is swapped. Or the last r blocks are kept, the first c of the others in the order are
/// recomputed, and the rest is swapped. Both c and r grow in steps of a few blocks, so that long chains have
/// few more candidates than short ones.
struct OutOfCorePlanner::Search {
  static constexpr int steps = 16;

  OutOfCorePlanner& planner;
  Goal goal;
  const OutOfCoreLimits& limits;
  std::span<const OutOfCoreChain> chains;
  std::size_t chain_number;
  WeightHome home;
  // Lower bounds for all plans, whatever the fates of their blocks:
  Seconds forward{};    // all forward passes
  Seconds work{};       // all passes, and what follows the last one
  Seconds least{};      // the end of the other streams
  Seconds reloading{};  // loading weights for the backward passes

  /// Computes these bounds before the first candidate: the least cost of weights that are not on the device.
  void measure() {
    Seconds passes, load, backward, exchange, store, update, weights;  // sums over the blocks so far
    for (const OutOfCoreBlock& b : chain().blocks) {
      if (home == WeightHome::streamed) load += b.weights / limits.in;
      forward = std::max(forward, load) + b.forward;  // it waits for its weights
      passes += b.forward + b.backward;
      backward += b.backward;
      exchange += b.exchange, store += b.gradients / limits.out, update += b.update;
      if (home == WeightHome::updated_on_host) weights += b.weights / limits.in;
    }
    work = passes + limits.after;
    if (home == WeightHome::device) return;
    // From the last block to the first, gradients are summed, stored and used, and weights come back. If
    // weights are streamed, all but those of the last two blocks are loaded again.
    const auto stored = [&](const OutOfCoreBlock& b) { return b.gradients / limits.out; };
    const OutOfCoreBlock& first = block(0);
    const Seconds back = home == WeightHome::updated_on_host ? first.weights / limits.in : Seconds{};
    work = passes + first.exchange + stored(first) + first.update + back;
    Seconds done = forward;  // when the block's backward pass is over
    for (int k = blocks() - 1; k >= 0; --k) {
      const OutOfCoreBlock& b = block(k);
      if (home == WeightHome::streamed && k + 2 < blocks()) reloading += b.weights / limits.in;
      least = std::max(least, forward + reloading + backward);
      done += b.backward;
      least = std::max({least, done + exchange + stored(first) + first.update + back,
                        done + b.exchange + store + first.update + back,
                        done + b.exchange + stored(b) + update + back,
                        done + b.exchange + stored(b) + b.update + weights});
      backward -= b.backward;
      exchange -= b.exchange, store -= stored(b), update -= b.update;
      if (home == WeightHome::updated_on_host) weights -= b.weights / limits.in;
    }
  }

  const OutOfCoreChain& chain() const { return chains[chain_number]; }
  int blocks() const { return int(chain().blocks.size()); }
  const OutOfCoreBlock& block(int k) const { return chain().blocks[std::size_t(k)]; }
  Fate& fate(int k) const { return planner.fate_[std::size_t(k)]; }
  bool found() const { return planner.best_.time.possible; }
  /// A better plan must take less time than this: less by more than rounding. If the goal is the least host
  /// memory, time does not matter.
  Seconds best() const {
    return goal == Goal::fastest && found() ? (1 - 1e-12) * planner.best_.time.end : never;
  }
  bool host_has(Bytes bytes) const {
    return bytes <= limits.host && (goal == Goal::fastest || !found() || bytes < planner.best_.host);
  }
  /// Whether the candidate with k of n blocks is tried.
  static bool is_step(int k, int n) { return k == n || n <= steps || k * steps / n > (k - 1) * steps / n; }

  /// What is known of a candidate before it is executed.
  struct Outline {
    Seconds again{};  // time to recompute blocks
    Bytes swapped{};  // bytes that are swapped out and in
    Bytes held{};     // bytes that stay: activations of kept blocks, inputs of recomputed ones
    int through = 0;  // end of the blocks up to the first swapped one
    Seconds head{};   // forward passes of these blocks
    Seconds tail{};   // backward passes of these blocks
  };
  /// Sets k as the first swapped block.
  void swap_from(int k, Outline& plan) const {
    for (; plan.through <= k; ++plan.through) {
      plan.head += block(plan.through).forward;
      plan.tail += block(plan.through).backward;
    }
  }

  /// A lower bound for the time of a plan with this outline. Copies to the host start after the first swapped
  /// block; before the last block starts, everything that does not fit must have left. Copies come back after
  /// the forward passes, and those of the first block come last.
  Seconds bound(const Outline& plan) const {
    Seconds out = std::max(std::max(limits.in_core, least), work + plan.again);
    if (plan.swapped <= Bytes{}) return out;
    const Bytes leaves = plan.held + plan.swapped - room();
    Seconds stalled;
    if (leaves > Bytes{})
      stalled = std::max(stalled, plan.head + leaves / limits.out - (forward - block(blocks() - 1).forward));
    if (home != WeightHome::streamed) out = std::max(out, work + plan.again + stalled);
    // If weights are streamed, those of the blocks before it are loaded after its activations.
    const Seconds rest = home == WeightHome::streamed ? block(0).backward : plan.tail;
    return std::max(out, std::max(forward + stalled, plan.swapped / limits.out) + reloading +
                             plan.swapped / limits.in + rest);
  }
  Bytes room() const { return chain().room[std::size_t(home)]; }

  void judge(const Outline& outline) const {
    const Bytes host = on_host(outline.swapped, std::size_t(home), limits);
    if (outline.held > room() || !host_has(host)) return;
    if (best() <= bound(outline)) return;
    const auto time =
        planner.clock_.run(chain(), planner.fate_, home, limits, nullptr, best() - work - outline.again);
    if (!time.possible || time.end >= best()) return;
    OutOfCorePlan& plan = planner.best_;
    plan.chain = chain_number;
    plan.home = home;
    plan.fate.assign(planner.fate_.begin(), planner.fate_.end());
    plan.time = time;
    plan.recompute = outline.again;
    plan.host = host;
  }

  /// Given the blocks that are marked as recomputed: all others are first kept, then swapped from the first
  /// one on. If nothing is recomputed, every number of swapped blocks is tried, so that no plan that only
  /// swaps is missed.
  void vary_kept(Seconds again) const {
    Outline plan{.again = again};
    for (int k = 0; k < blocks(); ++k) {
      if (fate(k) != Fate::recomputed) fate(k) = Fate::kept;
      plan.held += fate(k) == Fate::kept ? block(k).activations : block(k).input;
    }
    for (int k = 0;; ++k) {
      if (again <= Seconds{} || is_step(k, blocks())) {
        if (best() <= more_swapped(plan)) return;
        judge(plan);
      }
      if (k == blocks()) return;
      if (fate(k) == Fate::recomputed) continue;
      if (plan.through == 0) swap_from(k, plan);
      fate(k) = Fate::swapped;
      plan.held -= block(k).activations;
      plan.swapped += block(k).activations;
    }
  }
  /// A lower bound for plans that swap at least as much and recompute the same blocks.
  Seconds more_swapped(const Outline& plan) const {
    return std::max(std::max(limits.in_core, std::max(least, work + plan.again)),
                    std::max(forward, plan.swapped / limits.out) + reloading + plan.swapped / limits.in);
  }

  /// Recomputes the first c blocks of the order, wherever they are.
  void recompute_anywhere() const {
    std::ranges::fill(planner.fate_, Fate::kept);
    vary_kept({});
    Seconds again;
    int c = 0;
    for (const int k : planner.order_) {
      fate(k) = Fate::recomputed;
      again += block(k).again;
      if (work + again >= best()) return;
      if (is_step(++c, int(planner.order_.size()))) vary_kept(again);
    }
  }

  /// Keeps the last r blocks, and recomputes the first c of the others in the order.
  void recompute_ahead() const {
    Bytes kept;
    for (int from = blocks(); from > 0; --from) {
      if (from < blocks()) kept += block(from).activations;
      if (kept > room()) return;
      if (!is_step(from, blocks())) continue;
      Outline plan{.held = kept};
      for (int k = 0; k < blocks(); ++k) {
        fate(k) = k < from ? Fate::swapped : Fate::kept;
        if (k < from) plan.swapped += block(k).activations;
      }
      int first = 0, c = 0;
      for (const int k : planner.order_) {
        if (k >= from) continue;
        fate(k) = Fate::recomputed;
        plan.again += block(k).again;
        plan.swapped -= block(k).activations;
        plan.held += block(k).input;
        if (plan.held > room() || best() <= work + plan.again) break;
        while (first + 1 < from && fate(first) == Fate::recomputed) ++first;
        swap_from(first, plan);
        if (is_step(++c, from)) judge(plan);
      }
    }
  }

  /// The simple methods: recompute all blocks, or swap all blocks.
  void treat_all_alike() const {
    Outline recomputed, swapped;
    for (int k = 0; k < blocks(); ++k) {
      recomputed.again += block(k).again;
      recomputed.held += block(k).input;
      swapped.swapped += block(k).activations;
    }
    std::ranges::fill(planner.fate_, Fate::recomputed);
    judge(recomputed);
    std::ranges::fill(planner.fate_, Fate::swapped);
    swap_from(0, swapped);
    judge(swapped);
  }

  void run() const {
    std::vector<int>& order = planner.order_;
    order.clear();
    for (int k = 0; k < blocks(); ++k)
      if (block(k).activations > block(k).input) order.push_back(k);
    const auto evenly = [](int a, int b) { return spread(unsigned(a)) < spread(unsigned(b)); };
    std::ranges::sort(order, evenly);
    recompute_ahead();
    // Sort by the recomputation time per byte saved, cheapest first. Prices are rounded, so that blocks of
    // nearly the same price stay evenly spread.
    const auto price = [&](int k) {
      const double rate = block(k).again / (block(k).activations - block(k).input) * Bandwidth{1e12};
      return std::ilogb(std::max(rate, 1e-9) * std::max(rate, 1e-9) * std::max(rate, 1e-9));
    };
    std::ranges::stable_sort(order, {}, price);
    recompute_anywhere();
    recompute_ahead();
    treat_all_alike();
  }
};

const OutOfCorePlan& OutOfCorePlanner::search(Goal goal, std::span<const OutOfCoreChain> chains,
                                              const OutOfCoreLimits& limits) {
  best_.time = {};
  for (std::size_t home = 0; home < weight_homes; ++home) {
    if (!limits.allowed[home]) continue;
    for (std::size_t c = 0; c < chains.size(); ++c) {
      if (chains[c].room[home] < Bytes{}) continue;
      Search search{*this, goal, limits, chains, c, WeightHome(home)};
      search.measure();
      if (search.bound({}) >= search.best()) continue;
      fate_.resize(chains[c].blocks.size());
      search.run();
    }
  }
  return best_;
}

const OutOfCorePlan& OutOfCorePlanner::find(std::span<const OutOfCoreChain> chains,
                                            const OutOfCoreLimits& limits) {
  return search(Goal::fastest, chains, limits);
}

Bytes OutOfCorePlanner::least_host(std::span<const OutOfCoreChain> chains, OutOfCoreLimits limits) {
  limits.host = endless;
  const OutOfCorePlan& plan = search(Goal::least_host, chains, limits);
  return plan.time.possible ? plan.host : endless;
}

namespace {

/// Whether the host has memory for the swapped blocks, in addition to weights that are stored there.
bool host_holds(const OutOfCoreChain& chain, std::span<const Fate> fate, std::size_t home,
                const OutOfCoreLimits& limits) {
  Bytes swapped;
  for (std::size_t k = 0; k < fate.size(); ++k)
    if (fate[k] == Fate::swapped) swapped += chain.blocks[k].activations;
  return on_host(swapped, home, limits) <= limits.host;
}

}  // namespace

OutOfCoreClock::Time OutOfCorePlanner::all(Fate fate, std::span<const OutOfCoreChain> chains,
                                           const OutOfCoreLimits& limits) {
  OutOfCoreClock::Time best;
  for (std::size_t home = 0; home < weight_homes; ++home)
    for (const OutOfCoreChain& chain : chains) {
      if (!limits.allowed[home] || chain.room[home] < Bytes{}) continue;
      fate_.assign(chain.blocks.size(), fate);
      if (!host_holds(chain, fate_, home, limits)) continue;
      const auto time = clock_.run(chain, fate_, WeightHome(home), limits);
      if (time.possible && (!best.possible || time.end < best.end)) best = time;
    }
  return best;
}

OutOfCoreClock::Time OutOfCorePlanner::swap_only(std::span<const OutOfCoreChain> chains,
                                                 const OutOfCoreLimits& limits) {
  OutOfCoreClock::Time best;
  for (std::size_t home = 0; home < weight_homes; ++home)
    for (const OutOfCoreChain& chain : chains) {
      if (!limits.allowed[home] || chain.room[home] < Bytes{}) continue;
      fate_.assign(chain.blocks.size(), Fate::kept);
      for (std::size_t swapped = 0; swapped <= fate_.size(); ++swapped) {
        if (swapped > 0) fate_[swapped - 1] = Fate::swapped;
        if (!host_holds(chain, fate_, home, limits)) break;
        const auto time = clock_.run(chain, fate_, WeightHome(home), limits);
        if (time.possible && (!best.possible || time.end < best.end)) best = time;
      }
    }
  return best;
}

}  // namespace paradl
