#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "calibrate/backend/communicator.hpp"
#include "calibrate/fit/sharing.hpp"
#include "calibrate/measure/kept_samples.hpp"
#include "calibrate/measure/links.hpp"
#include "calibrate/measure/stopping.hpp"

namespace paradl::calibrate {

/// Two ranks that send to each other at the same time.
using Pair = std::pair<int, int>;

/// Pairs whose ways share a link: each rank of the first node with one of the second; on other layouts each
/// rank of the first half with one of the second.
std::vector<Pair> crossing_pairs(const std::vector<int>& nodes);

struct ContentionOptions {
  /// Sizes of messages. Links that are limited by a bucket let the first bytes pass freely: stay well above.
  Bytes least{64e3}, most{4e6};
  double factor = 4;
  Seconds time{30};  // for all of it; what does not fit any more is left with the samples that it has
  StoppingRule rule{.warm_up = 1, .least = 15, .most = 60, .noise = 0.02, .time = Seconds{5}};
  std::function<Buffer(std::size_t items)> allocate = host_memory;
  /// Asked between samples; where one rank says yes, all stop.
  std::function<bool()> stop;
};

struct Contention {
  /// The lower quartile of each size and number of flows. The slowest rank counts, and more flows have more
  /// ranks that something else may hold up; that only ever adds, and is not the link's doing. On a loaded
  /// machine a median finds phi = 1.05 to 1.14 where flows do not meet at all, the quartile 1.04 to 1.08.
  std::vector<SharedObservation> points;
  SharingFit fit;
  bool interrupted = false;  // then there is no fit
};

/// Lets the first 1, 2, ... pairs exchange at the same time: how much longer the bytes of one flow take
/// beside others. All ranks call it, and all get the same. Goes on from the `kept` samples of an earlier run,
/// and leaves its own there.
Contention measure_contention(Communicator& ranks, const std::vector<Pair>& pairs,
                              const ContentionOptions& options, Samples& kept);

/// What a piece of work takes while `active` ranks of a node do it at the same time.
struct Slowdown {
  int active = 1;
  Measured time;
  double factor = 1;  // over one rank alone
};

/// Work that ranks of a node do beside each other.
struct SharedTask {
  std::string name;            // "copy of 32 MB"
  std::function<void()> work;  // must not communicate
  StoppingRule rule;
  std::function<bool()> stop;  // asked between samples; where one rank says yes, all stop
};

/// Runs it (a layer's pass, say) on 1, 2, ... ranks of the first node at once: what cores that share memory
/// and caches cost each other. All ranks call this, and all get the same; nothing if it was interrupted. Goes
/// on from the `kept` samples of an earlier run, and leaves its own there.
std::vector<Slowdown> measure_shared_memory(Communicator& ranks, const SharedTask& task, Samples& kept);

}  // namespace paradl::calibrate
