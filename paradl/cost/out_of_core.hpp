// Training beyond the memory of a device, as KARMA does it (Wahib et al., SC'20): the activations of each
// block of layers are kept, swapped to the host and back, or recomputed. If weights do not fit either, the
// host updates them, or they are streamed block by block.
#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "paradl/core/names.hpp"
#include "paradl/core/quantity.hpp"

namespace paradl {

/// What happens to a block's activations between its forward and its backward pass.
enum class Fate : std::uint8_t { kept, swapped, recomputed };

/// Where weights are stored: with gradients and optimizer state on the device; on the device, with the state
/// on the host, which updates them; or all on the host, with the weights of two blocks at a time on the
/// device.
enum class WeightHome : std::uint8_t { device, updated_on_host, streamed };
inline constexpr std::size_t weight_homes = std::size_t(WeightHome::streamed) + 1;
inline constexpr std::array<std::string_view, weight_homes> weight_home_names{"device", "updated on host",
                                                                              "streamed"};
inline constexpr std::array<std::string_view, 3> fate_names{"kept", "swapped", "recomputed"};
static_assert(names_every(WeightHome::streamed, weight_home_names), "name every WeightHome");
static_assert(names_every(Fate::recomputed, fate_names), "name every Fate");

/// The part of a block on one device, for one micro-batch.
struct OutOfCoreBlock {
  int first = 0, end = 0;  // layers: from `first` up to, not including, `end`
  Seconds forward{}, backward{};
  Seconds again{};      // to recompute what its backward pass needs
  Bytes activations{};  // needed by its backward pass
  Bytes input{};        // kept instead if the block is recomputed
  Bytes weights{}, gradients{};
  Seconds exchange{};  // of its gradients
  Seconds update{};    // of its weights, on the host
};

/// One way to cut a network into blocks.
struct OutOfCoreChain {
  std::vector<OutOfCoreBlock> blocks;
  /// Bytes left for activations, by where weights are stored. Below zero: the rest does not fit.
  std::array<Bytes, weight_homes> room{};
};

/// What does not depend on how the network is cut.
struct OutOfCoreLimits {
  Bandwidth out, in;                               // between device and host, each way
  Bytes host;                                      // host memory that one device may use
  std::array<Bytes, weight_homes> host_weights{};  // the part of it for weights, gradients and state
  std::array<bool, weight_homes> allowed{true, false, false};
  /// If weights are on the device: the gradient sums after the passes, and the update.
  Seconds after{};
  /// The time of an iteration with unlimited memory, which is a lower bound: if the host hides more than the
  /// device does, that would be faster with unlimited memory, too, so it does not count as an advantage.
  Seconds in_core{};
};

/// One operation of one of the streams.
struct OutOfCoreEvent {
  enum class Kind : std::uint8_t {
    forward,
    recompute,
    backward,
    swap_out,
    swap_in,
    load_weights,
    store_gradients,
    exchange,
    host_update,
    store_weights
  } kind;
  int block;
  Seconds begin, end;
};

/// Executes plans: computation in order, and copies in both directions at the same time. Each operation waits
/// for its data and for free memory. The clock reuses its buffers, so it allocates only for longer chains
/// than before.
class OutOfCoreClock {
 public:
  struct Time {
    bool possible = false;  // false: some block never finds enough free memory
    Seconds passes;         // until the last backward pass is over
    Seconds end;            // until the next iteration can start
    Bytes peak;             // of activations on the device
  };
  /// A plan whose passes wait for more than `patience` is abandoned, and its result is not possible.
  Time run(const OutOfCoreChain& chain, std::span<const Fate> fate, WeightHome home,
           const OutOfCoreLimits& limits, std::vector<OutOfCoreEvent>* events = nullptr,
           Seconds patience = Seconds{std::numeric_limits<double>::infinity()});

 private:
  struct Release {
    Seconds when;
    Bytes bytes;
  };
  std::vector<Release> outs_,
      frees_;  // memory that copies and backward passes release, each in order of time
  std::vector<Seconds> out_end_, ready_, stored_, ended_;  // by block
};

/// The uncertainty of a plan's time: the factor by which it changes if the host link is half as fast as the
/// system file says, or twice as fast. System files have rates from data sheets: copies from pageable memory
/// reach half of these, and neighbours that share the link (`shared-by`) may be idle.
struct HostDoubt {
  static constexpr double factor = 2;
  double slow = 1, fast = 1;
};

/// A plan and what it costs.
struct OutOfCorePlan {
  std::size_t chain = 0;
  WeightHome home = WeightHome::device;
  std::vector<Fate> fate;  // by block of that chain
  OutOfCoreClock::Time time;
  Seconds recompute;
  Bytes host;  // host memory for one device
  int count(Fate f) const;
};

/// Finds plans. The candidates do not depend on memory or bandwidth, and more of either never makes a
/// candidate slower. So it never makes the best plan slower.
class OutOfCorePlanner {
 public:
  /// The fastest plan that fits device and host memory; `possible` is false if there is none. Valid until the
  /// next call.
  const OutOfCorePlan& find(std::span<const OutOfCoreChain> chains, const OutOfCoreLimits& limits);
  /// The least host memory with which there is a plan, ignoring limits.host; infinite if there is none.
  Bytes least_host(std::span<const OutOfCoreChain> chains, OutOfCoreLimits limits);

  /// For comparison, what simpler methods do: the same fate for all blocks.
  OutOfCoreClock::Time all(Fate fate, std::span<const OutOfCoreChain> chains, const OutOfCoreLimits& limits);
  /// The fastest plan that recomputes nothing.
  OutOfCoreClock::Time swap_only(std::span<const OutOfCoreChain> chains, const OutOfCoreLimits& limits);

  OutOfCoreClock& clock() { return clock_; }

 private:
  struct Search;
  enum class Goal : std::uint8_t { fastest, least_host };
  const OutOfCorePlan& search(Goal goal, std::span<const OutOfCoreChain> chains,
                              const OutOfCoreLimits& limits);

  OutOfCoreClock clock_;
  OutOfCorePlan best_;
  std::vector<Fate> fate_;
  std::vector<int> order_;
};

}  // namespace paradl
