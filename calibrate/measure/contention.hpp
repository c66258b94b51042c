#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "calibrate/backend/communicator.hpp"
#include "calibrate/fit/sharing.hpp"
#include "calibrate/measure/kept.hpp"
#include "calibrate/measure/links.hpp"
#include "calibrate/measure/stopping.hpp"

namespace paradl::calibrate {

/// Two ranks that send to each other at the same time.
using Pair = std::pair<int, int>;

/// Pairs whose routes share a link: each rank of the first node with one of the second node. With fewer than
/// two ranks on either node: each rank of the first half with one of the second half.
std::vector<Pair> crossing_pairs(const std::vector<int>& nodes);

struct ContentionOptions {
  /// Sizes of messages. A link limited by a token bucket does not delay the first bytes: use larger messages.
  Bytes least{64e3}, most{4e6};
  double factor = 4;
  Seconds time{30};  // in total; after that, each size has the samples taken so far
  StoppingRule rule{.warm_up = 1, .least = 15, .most = 60, .noise = 0.02, .time = Seconds{5}};
  std::function<Buffer(std::size_t items)> allocate = host_memory;
  /// Asked between samples; all ranks stop if one returns true.
  std::function<bool()> stop;
};

struct Contention {
  /// The lower quartile of each size and number of flows. A sample is the time of the slowest rank; with more
  /// flows it is more likely that other load delays one of them, which only ever adds time. On a loaded
  /// machine the median gives phi = 1.05 to 1.14 for flows that share nothing, the quartile 1.04 to 1.08.
  std::vector<SharedObservation> points;
  SharingFit fit;
  bool interrupted = false;  // then there is no fit
};

/// Lets the first 1, 2, ... pairs exchange at the same time, and measures how much longer one flow takes
/// beside others. All ranks call it and get the same result. Continues from the `kept` samples of an earlier
/// run, and replaces them by its own.
Contention measure_contention(Communicator& ranks, const std::vector<Pair>& pairs,
                              const ContentionOptions& options, Samples& kept);

/// The time of a piece of work while `active` ranks of a node do it at the same time.
struct Slowdown {
  int active = 1;
  Measured time;
  double factor = 1;  // relative to one rank alone
};

/// Work that ranks of a node do beside each other.
struct SharedTask {
  std::string name;            // "copy of 32 MB"
  std::function<void()> work;  // must not communicate
  StoppingRule rule;
  std::function<bool()> stop;  // asked between samples; all ranks stop if one returns true
};

/// Runs the task on 1, 2, ... ranks of the first node at once: how much cores that share memory and caches
/// slow each other down. All ranks call it and get the same result; empty if it was interrupted. Continues
/// from the `kept` samples of an earlier run, and replaces them by its own.
std::vector<Slowdown> measure_shared_memory(Communicator& ranks, const SharedTask& task, Samples& kept);

}  // namespace paradl::calibrate
