#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/backend/device.hpp"
#include "paradl/cost/projection.hpp"
#include "paradl/strategy/table.hpp"

namespace paradl::calibrate {

/// Reads `filter=2,4`, `spatial=2x2`, `data+filter=2x2`: a strategy and the sizes that it is to have. Space
/// that may be cut in several ways gives a mesh for each. UsageError for what cannot be read, or does not fit
/// the network and its mini-batch.
std::vector<Mesh> read_split(std::string_view text, const Workload& work, const BatchRule& batch);

/// Every strategy in two parts, where its limit allows that.
std::vector<Mesh> default_splits(const Workload& work, const BatchRule& batch);

/// The reason why a network cannot have this mesh: "filter = 128 breaks p <= min F"; "" if it can.
std::string broken_limit(const Workload& work, const Mesh& mesh, double samples);

/// The mini-batch of a mesh: as a whole, or so many samples for each of its PEs.
double batch_on(const BatchRule& batch, const Mesh& mesh);

/// A shape that is to be measured, and where it comes from.
struct PlannedShape {
  LocalLayer layer;
  std::string name;   // of the first layer of the network that has it
  std::string split;  // of the first mesh that has it: "whole", "filter=2"
};

/// UsageError if the network has layers that no back end can run.
void refuse_unrunnable(const Workload& work);

/// What a network's layers are on these meshes, and whole; each shape once.
std::vector<PlannedShape> plan_shapes(const Workload& work, const std::vector<Mesh>& splits,
                                      const Training& training, const BatchRule& batch);

/// "whole", "data=2,filter=2".
std::string split_text(const Mesh& mesh);

/// What a device does in a second; by it one guesses how long measuring will take.
struct Rates {
  double flop = 0, bytes = 0;
  std::string source;  // "a quick run", "no device here: those of a common GPU"
};
/// Those of a back end without a device at hand.
Rates nominal_rates(std::string_view backend);

/// About what all passes of a layer take, once.
Seconds guessed_turn(const LocalLayer& layer, const Rates& rates);
/// About what two rounds over all of them take: no shape is done before.
Seconds guessed_time(const std::vector<LocalLayer>& shapes, const Rates& rates, int turns);

/// "about 2 min".
std::string about(Seconds time);

}  // namespace paradl::calibrate
