#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/backend/device.hpp"
#include "paradl/cost/projection.hpp"
#include "paradl/strategy/table.hpp"

namespace paradl::calibrate {

/// Reads `filter=2,4`, `spatial=2x2`, `data+filter=2x2`: a strategy and its sizes. If space can be split in
/// several ways, there is a mesh for each. UsageError for what cannot be read, or does not fit the network
/// and its mini-batch.
std::vector<Mesh> read_split(std::string_view text, const Workload& work, const BatchRule& batch);

/// Every strategy in two parts, if its limit allows that.
std::vector<Mesh> default_splits(const Workload& work, const BatchRule& batch);

/// The reason why a network cannot have this mesh: "cannot split into 128 parts: ..."; "" if it can.
std::string broken_limit(const Workload& work, const Mesh& mesh, double samples);

/// The mini-batch of a mesh: the total, or the samples of each rank.
double batch_on(const BatchRule& batch, const Mesh& mesh);

/// A shape to measure, and its origin.
struct PlannedShape {
  LocalLayer layer;
  std::string name;  // of the first layer of the network that has it
  Mesh mesh;         // the first that has it
  bool whole() const { return mesh.axes == 0; }
};

/// UsageError if the network has layers that no back end can run.
void refuse_unrunnable(const Workload& work);

/// The shapes of a network's layers, whole and on these meshes; each shape once. `plan`: other options.
std::vector<PlannedShape> plan_shapes(const Workload& work, const std::vector<Mesh>& splits,
                                      const Training& training, const BatchRule& batch,
                                      const Plan& plan = {});

/// "whole", "data=2,filter=2".
std::string split_text(const Mesh& mesh);

/// Rates of a device, to estimate how long a measurement will take.
struct Rates {
  double flop = 0, bytes = 0;
  std::string source;  // "a quick run", "no device here: those of a common GPU"
};
/// Typical rates of a back end, if no device is available.
Rates nominal_rates(Backend backend);

/// The approximate time of all passes of a layer.
Seconds guessed_turn(const LocalLayer& layer, const Rates& rates);
/// The approximate time of two rounds over all shapes, the least number.
Seconds guessed_time(const std::vector<LocalLayer>& shapes, const Rates& rates, int turns);

/// "about 2 min".
std::string about(Seconds time);

}  // namespace paradl::calibrate
