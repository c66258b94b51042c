#pragma once
#include <functional>
#include <string>
#include <vector>

#include "calibrate/backend/communicator.hpp"
#include "calibrate/backend/device.hpp"
#include "calibrate/fit/link_points.hpp"
#include "calibrate/measure/stopping.hpp"

namespace paradl::calibrate {

/// Zeros in host memory.
Buffer host_memory(std::size_t items);

struct LinkOptions {
  std::vector<Collective> operations{Collective::point_to_point, Collective::allreduce, Collective::allgather,
                                     Collective::reduce_scatter, Collective::all_to_all};
  Bytes least{8}, most{256e6};
  double factor = 2;  // from one size to the next
  Seconds time{60};   // in total; sizes that would take longer are left out
  StoppingRule rule{.warm_up = 1, .least = 6, .most = 100, .noise = 0.02, .time = Seconds{5}};
  /// Shorter operations are repeated within a sample, because ranks do not start exactly together.
  Seconds sample{200e-6};
  /// Memory for messages: device memory for a communicator between devices.
  std::function<Buffer(std::size_t items)> allocate = host_memory;
  /// Called on rank 0 after each round with the completed share.
  std::function<void(double share)> progress;
  /// Asked between samples; all ranks stop if one returns true.
  std::function<bool()> stop;
  /// Measured before; they are not measured again.
  std::vector<LinkPoint> known;
};

struct LinkMeasurement {
  std::vector<LinkPoint> points;  // including the known ones
  bool interrupted = false;
};

/// Measures the links of each level: within the first node, between the first ranks of all nodes, and across
/// all ranks if nodes have several. All ranks call it and get the same points. Sizes and operations take
/// turns in rounds, so that a temporary slowdown of the machine affects all of them. Ranks start together,
/// and the time is that of the slowest.
LinkMeasurement measure_links(Communicator& ranks, const LinkOptions& options = {});

}  // namespace paradl::calibrate
