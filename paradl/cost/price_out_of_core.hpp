#pragma once
#include <span>
#include <vector>

#include "paradl/cost/block_chain.hpp"
#include "paradl/cost/out_of_core.hpp"
#include "paradl/cost/price.hpp"

namespace paradl {

/// A plan that may leave the device's memory, with what was found for it. Where it fits the device, its cost is
/// that in core.
class PricedOutOfCore {
 public:
  /// One stage. `in_core` is its cost without. UsageError where the machine says nothing of its hosts.
  PricedOutOfCore(const Cost& in_core, const Tables& tables, const Plan& plan,
                  std::span<const BlockChain> chains);
  /// A pipeline: each stage plans by itself, for the micro-batches that it has in flight. `plan` and what
  /// follows are then of the stage that needs most. Its weights stay on the device.
  PricedOutOfCore(const Cost& in_core, const Tables& tables, const Plan& plan);

  const Cost& cost() const { return cost_; }
  const OutOfCorePlan& plan() const { return plan_; }  // not possible: nothing fits
  std::span<const OutOfCoreBlock> blocks() const { return chains_[plan_.chain].blocks; }
  const HostShare& host() const { return host_; }
  /// By cell: layers that run forward once more in their micro-batch. Empty if none do, or in stages.
  const std::vector<double>& again() const { return again_; }
  /// Weights would have to leave the device, but how fast its host updates them is not known.
  bool lacks_update_rate() const { return lacks_update_rate_; }
  /// What an uncertain host link means for it.
  HostDoubt doubt() const;
  /// Its streams, event by event.
  std::vector<OutOfCoreEvent> events() const;
  /// What others do: swap all blocks, recompute all, swap no more than must be.
  struct Others {
    OutOfCoreClock::Time swap_all, recompute_all, swap_only;
  };
  Others others() const;

 private:
  /// What a stage takes longer for each micro-batch, and what it holds then.
  struct StageDelay {
    Seconds again, stall;
    Memory memory;
  };
  void measure_kept(const Tables& t);
  StageDelay plan_stage(const Tables& t, std::size_t kind, const Memory& in_core);
  void keep_all();
  /// The fastest plan; if the host is too small for any, the fastest with the least host that has one: the
  /// verdict is then about the host. Not possible: about the device.
  void find_plan();
  void fill(const Tables& t, const BlockChain& from, OutOfCoreChain& to, Bytes& aside) const;
  void fill_all(const Tables& t, std::span<const BlockChain> chains, const Memory& in_core);
  void set_rooms(const Memory& in_core, std::size_t chain);
  void set_limits(const Cost& in_core, const Plan& plan, Seconds exchange);
  Memory resident(const Memory& in_core, std::size_t chain, WeightHome home) const;
  Memory least_memory(const Memory& in_core, bool anywhere) const;
  void show_recomputed(const Tables& t, const Plan& plan, const BlockChain& chain);
  void show_stalls(const Plan& plan);

  const Setting& setting_;
  Cost cost_;
  OutOfCorePlan plan_;
  OutOfCoreLimits limits_;
  HostShare host_;
  bool lacks_update_rate_ = false;
  std::vector<OutOfCoreChain> chains_;
  std::vector<Bytes> aside_;  // by chain: tensors that skip blocks, or that several blocks need
  std::vector<Bytes> kept_;   // by cell: of one layer
  std::vector<double> again_;
};

}  // namespace paradl
