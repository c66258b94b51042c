#pragma once
#include <span>
#include <vector>

#include "paradl/cost/block_chain.hpp"
#include "paradl/cost/out_of_core.hpp"
#include "paradl/cost/price.hpp"

namespace paradl {

/// Prices what a Pricer has priced, out of core. It owns the scratch memory; one per thread.
class OutOfCorePricer {
 public:
  explicit OutOfCorePricer(const Setting& setting) : setting_(setting) {}

  /// `in_core` is the cost without, from the last call of `pricer`. It does not change where it fits the
  /// device. UsageError where the machine says nothing of its hosts.
  Breakdown price(const Breakdown& in_core, const Pricer& pricer, const Layout& layout,
                  std::span<const BlockChain> chains, const Mesh& mesh, double batch);

  /// The same for a pipeline: each stage plans by itself, for the micro-batches that it has in flight. `plan`
  /// and what follows are then of the stage that needs most. Its weights stay on the device.
  Breakdown price(const Breakdown& in_core, const Pricer& pricer, const Layout& layout, const StagePlan& plan,
                  const Mesh& mesh, double batch);

  // Of the last call:
  const OutOfCorePlan& plan() const { return plan_; }  // not possible: nothing fits
  std::span<const OutOfCoreBlock> blocks() const { return chains_[plan_.chain].blocks; }
  double gpus_per_host() const { return host_.gpus; }
  const HostShare& host() const { return host_; }
  /// By cell: layers that run forward once more in their micro-batch. Empty if none do, or in stages.
  const std::vector<double>& again() const { return again_; }
  /// Weights would have to leave the device, but how fast its host updates them is not known.
  bool lacks_update_rate() const { return lacks_update_rate_; }
  /// What an uncertain host link means for it.
  HostDoubt doubt();
  /// Its streams, event by event.
  std::vector<OutOfCoreEvent> events();
  /// What others do: swap all blocks, recompute all, swap no more than must be.
  struct Others {
    OutOfCoreClock::Time swap_all, recompute_all, swap_only;
  };
  Others others();

 private:
  void measure_kept(const Pricer& pricer, const Layout& layout, double samples);
  /// What a stage takes longer for each micro-batch, and what it holds then.
  struct StageDelay {
    Seconds again, stall;
    Memory memory;
  };
  StageDelay plan_stage(const Pricer& pricer, const Layout& layout, const StagePlan& plan,
                        const StageKind& kind, double samples);
  void keep_all();
  /// The fastest plan; if the host is too small for any, the fastest with the least host that has one: the
  /// verdict is then about the host. Not possible: about the device.
  void find_plan();
  void fill(const Pricer& pricer, const Layout& layout, const BlockChain& from, double samples,
            std::size_t chain);
  void set_rooms(const Memory& in_core, std::size_t chain);
  void set_limits(const Breakdown& in_core, Seconds exchange);
  Memory resident(const Memory& in_core, std::size_t chain, WeightHome home) const;
  Memory least_memory(const Memory& in_core, bool anywhere) const;
  void show_recomputed(const Pricer& pricer, const Layout& layout, const BlockChain& chain, Breakdown& out);
  void show_stalls(Breakdown& out);
  std::span<const OutOfCoreChain> chains() const { return {chains_.data(), count_}; }

  Setting setting_;
  OutOfCorePlanner planner_;
  OutOfCorePlan plan_;
  OutOfCoreLimits limits_;
  HostShare host_;
  bool lacks_update_rate_ = false;
  std::vector<OutOfCoreChain> chains_;  // perhaps more than this question has
  std::size_t count_ = 0;
  std::vector<Bytes> aside_;  // by chain: tensors that skip blocks, or that several blocks need
  std::vector<Bytes> kept_;   // by cell: of one layer
  std::vector<double> again_;
  OutOfCoreChain silent_;
};

}  // namespace paradl
