// Training beyond the memory of a device, as KARMA does it (Wahib et al., SC'20): of each block of layers the
// activations stay, go to the host and come back, or are computed once more; where weights do not fit either,
// the host updates them, or they come and go block by block.
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

/// What becomes of a block's activations between its forward and its backward pass.
enum class Fate : std::uint8_t { kept, swapped, recomputed };

/// Where weights live: with gradients and the optimizer's state on the device; the state on the host, which
/// updates them; or all on the host, and two blocks of them at a time on the device.
enum class WeightHome : std::uint8_t { device, updated_on_host, streamed };
inline constexpr std::size_t weight_homes = std::size_t(WeightHome::streamed) + 1;
inline constexpr std::array<std::string_view, weight_homes> weight_home_names{"device", "updated on host",
                                                                              "streamed"};
inline constexpr std::array<std::string_view, 3> fate_names{"kept", "swapped", "recomputed"};
static_assert(names_every(WeightHome::streamed, weight_home_names), "name every WeightHome");
static_assert(names_every(Fate::recomputed, fate_names), "name every Fate");

/// A block as one device has it, for one micro-batch.
struct OutOfCoreBlock {
  int first = 0, end = 0;  // layers: from `first` up to, not including, `end`
  Seconds forward{}, backward{};
  Seconds again{};      // to make anew what its backward pass needs
  Bytes activations{};  // which its backward pass needs
  Bytes input{};        // which stays instead if it is recomputed
  Bytes weights{}, gradients{};
  Seconds exchange{};  // of its gradients
  Seconds update{};    // of its weights, on the host
};

/// One way to cut a network into blocks.
struct OutOfCoreChain {
  std::vector<OutOfCoreBlock> blocks;
  /// Bytes for activations, besides what always has its place, by where weights live. Below zero: none.
  std::array<Bytes, weight_homes> room{};
};

/// What does not depend on how the network is cut.
struct OutOfCoreLimits {
  Bandwidth out, in;                               // between device and host, each way
  Bytes host;                                      // that one device may use there
  std::array<Bytes, weight_homes> host_weights{};  // what weights, gradients and state take of it
  std::array<bool, weight_homes> allowed{true, false, false};
  /// If weights live on the device: gradients that are still summed when the passes are over, and the update.
  Seconds after{};
  /// An iteration that has all the memory it needs: a host that hides more than the device does is not
  /// counted as faster, since it would be so with all that memory, too.
  Seconds in_core{};
};

/// Something that one of the streams did.
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

/// Executes plans: computation in order, copies in both directions beside it, each waiting for its data and
/// for room. It keeps its memory, so that it allocates only for more blocks than it has seen.
class OutOfCoreClock {
 public:
  struct Time {
    bool possible = false;  // some block never finds room otherwise
    Seconds passes;         // until the last backward pass is over
    Seconds end;            // until the next iteration can start
    Bytes peak;             // of activations on the device
  };
  /// A plan whose passes wait for more than `patience` is given up: not possible, as far as it was followed.
  Time run(const OutOfCoreChain& chain, std::span<const Fate> fate, WeightHome home,
           const OutOfCoreLimits& limits, std::vector<OutOfCoreEvent>* events = nullptr,
           Seconds patience = Seconds{std::numeric_limits<double>::infinity()});

 private:
  struct Release {
    Seconds when;
    Bytes bytes;
  };
  std::vector<Release> outs_,
      frees_;  // room that copies and backward passes give back, each in order of time
  std::vector<Seconds> out_end_, ready_, stored_, ended_;  // by block
};

/// How many times as long a plan takes behind a host link that is half as fast as its system file says, and
/// behind one that is twice as fast. Files have data sheets' rates: copies from ordinary memory reach half of
/// these, and neighbours that `shared-by` counts may be idle.
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
  Bytes host;  // of one device
  int count(Fate f) const;
};

/// Finds plans. Candidates do not depend on memory or bandwidth, and more of these never makes one slower: so
/// neither does it make the best of them slower.
class OutOfCorePlanner {
 public:
  /// The fastest plan that keeps to device and host memory; `possible` is false if there is none. Valid until
  /// the next call.
  const OutOfCorePlan& find(std::span<const OutOfCoreChain> chains, const OutOfCoreLimits& limits);
  /// The least host memory with which there is a plan, whatever `limits` says of it; endless if there is
  /// none.
  Bytes least_host(std::span<const OutOfCoreChain> chains, OutOfCoreLimits limits);

  /// What others do, for comparison; end of the next iteration's wait, or not possible.
  OutOfCoreClock::Time all(Fate fate, std::span<const OutOfCoreChain> chains, const OutOfCoreLimits& limits);
  /// Of the plans that recompute nothing, the fastest.
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
