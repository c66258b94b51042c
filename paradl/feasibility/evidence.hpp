#pragma once
#include <string>

#include "paradl/feasibility/bottleneck.hpp"

namespace paradl {

// Properties of a mesh and its layers that readings and remedies share.

/// Product of the sizes of a set of axes.
double parts_of(AxisSet set, const Mesh& mesh);
/// Parts of the axis with that strategy; 1 if the mesh has none.
int parts_of(std::string_view strategy, const Mesh& mesh);
/// Parts into which the samples of a mini-batch are split.
double sample_parts(const Mesh& mesh);
/// All axes except that of a pipeline, whose PEs have different layers.
AxisSet sharing_axes(const Evidence& e);
/// A stage's layers: each kind of layer and its number.
const std::vector<StageKind::Share>& cells_of_stage(const Evidence::Details& details, int stage);
/// Time of one micro-batch on a stage, forward and backward, including exchanges.
Seconds stage_time(const Evidence::Details& details, int stage);
const Layer& layer_of(const Evidence& e, const Cell& cell);

// One function for each measure.
std::optional<Reading> read_gradient_exchange(const Evidence& e);
std::optional<Reading> read_layer_collectives(const Evidence& e);
std::optional<Reading> read_point_to_point(const Evidence& e);
std::optional<Reading> read_taper(const Evidence& e);
std::optional<Reading> read_many_gpus(const Evidence& e);
std::optional<Reading> read_self_contention(const Evidence& e);
std::optional<Reading> read_input_output(const Evidence& e);
std::optional<Reading> read_node_storage(const Evidence& e);
std::optional<Reading> read_replicas(const Evidence& e);
std::optional<Reading> read_largest_layer(const Evidence& e);
std::optional<Reading> read_fragmentation(const Evidence& e);
std::optional<Reading> read_update(const Evidence& e);
std::optional<Reading> read_imbalance(const Evidence& e);
std::optional<Reading> read_bubble(const Evidence& e);
std::optional<Reading> read_whole_layers(const Evidence& e);
std::optional<Reading> read_split_overhead(const Evidence& e);
std::optional<Reading> read_bounds(const Evidence& e);
std::optional<Reading> read_batch_norm(const Evidence& e);
std::optional<Reading> read_occupancy(const Evidence& e);

}  // namespace paradl
