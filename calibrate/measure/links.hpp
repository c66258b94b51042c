#pragma once
#include <functional>
#include <string>
#include <vector>

#include "calibrate/backend/communicator.hpp"
#include "calibrate/backend/device.hpp"
#include "calibrate/fit/link_points.hpp"
#include "calibrate/measure/stopping.hpp"

namespace paradl::calibrate {

/// Numbers in the host's memory, zero at first.
Buffer host_memory(std::size_t items);

struct LinkOptions {
  std::vector<LinkOperation> operations{LinkOperation::point_to_point, LinkOperation::allreduce,
                                        LinkOperation::allgather, LinkOperation::reduce_scatter,
                                        LinkOperation::all_to_all};
  Bytes least{8}, most{256e6};
  double factor = 2;  // from one size to the next
  Seconds time{60};   // for all of it; sizes for which it does not suffice are left out
  StoppingRule rule{.warm_up = 1, .least = 6, .most = 100, .noise = 0.02, .time = Seconds{5}};
  /// What is over sooner is repeated within a sample: starting together is only so exact.
  Seconds sample{200e-6};
  /// Memory that messages are sent from: a device's, for a communicator of devices.
  std::function<Buffer(std::size_t items)> allocate = host_memory;
  /// Called on rank 0 after each round with the share that is done.
  std::function<void(double share)> progress;
  /// Asked between samples; where one rank says yes, all stop.
  std::function<bool()> stop;
  /// Measured before: those are not measured again.
  std::vector<LinkPoint> known;
};

struct LinkMeasurement {
  std::vector<LinkPoint> points;  // the known ones among them
  bool interrupted = false;
};

/// Measures the links of each level: within the first node, between the first ranks of all nodes, and across
/// all ranks where nodes have several. All ranks call it and all get the same points. Sizes and operations
/// take turns in rounds, so that a machine that slows down for a while slows all of them down alike; ranks
/// start together, and the slowest counts.
LinkMeasurement measure_links(Communicator& ranks, const LinkOptions& options = {});

}  // namespace paradl::calibrate
