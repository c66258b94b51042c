#pragma once
#include <algorithm>
#include <array>
#include <memory_resource>
#include <span>
#include <vector>

#include "paradl/cost/links.hpp"
#include "paradl/strategy/local.hpp"
#include "paradl/strategy/place.hpp"

namespace paradl {

/// What depends on a layout and the sizes of its axes: numbers of parts, how groups are spread over the
/// links, and the cost of messages on each axis.
struct MeshTable {
  MeshTable(const Setting& setting, const Links& links, const Layout& layout, const Mesh& mesh);

  const Setting& setting;
  Mesh mesh;                                      // without axes of one GPU
  std::array<double, 1u << most_axes> parts;      // product of the sizes of a set of axes
  std::array<Path, most_axes> axis_path;          // how the groups of one axis are spread
  std::array<std::array<MessageCost, collectives>, most_axes> cost;  // of the exchanges on each axis
  AxisSet sharing = 0;                    // axes that split samples or space
  AxisSet tensor_axis = 0;                // axes that split heads and vocabularies ...
  double tensor = 1;                      // ... and their number of parts
  std::array<Seconds, most_axes> skew{};  // how long a group waits for its last member
  std::array<int, 3> cut{1, 1, 1};        // parts of space, by extent
  std::array<Path, 3> halo_path;          // between neighbours along each extent
  std::array<MessageCost, 3> halo_message;
  std::array<Path, most_axes> ring_path;  // between neighbours on an axis
  std::array<MessageCost, most_axes> ring_message;
  Path stage_path;  // between neighbouring stages
  MessageCost stage_message;

  /// One exchange of one micro-batch of `samples` samples.
  Bytes bytes_of(const Exchange& exchange, double samples) const;
  Seconds time_of(const Exchange& exchange, double samples) const;
  /// The wait for the last rank that an exchange includes. If an allreduce is split into a reduce-scatter and
  /// an allgather, as by sequence parallelism, each has half of the wait: no rank is late a second time.
  Seconds skew_of(const Exchange& exchange) const;

  const Layer& layer_of(const Cell& cell) const { return setting.work.layers[std::size_t(cell.layer)]; }
  /// GPUs over which ZeRO shards the state of a cell's weights: those with the same weights and other
  /// samples.
  double shards(const Cell& cell) const { return parts[cell.summed & sharing]; }
  /// The factor by which the weights and the arithmetic of a cell grow if `tensor` splits them:
  /// work_growth().
  double growth_of(const Cell& cell) const {
    const Layer& layer = layer_of(cell);
    if (!(layer.vocabulary > 0) && !(layer.kv_share > 0)) return 1;
    return work_growth(layer, parts[cell.weights & tensor_axis], setting.training.framework);
  }
  /// The weights of a cell's layer on one GPU.
  double weights_of(const Cell& cell) const {
    const Layer& layer = layer_of(cell);
    const double even = growth_of(cell) * layer.weights / parts[cell.weights];
    if (!cell.sums_channels || !layer.bias || !traits(layer.op).product) return even;
    // If y is a sum over parts of the channels, each part has all biases.
    const double biases = std::max(1.0, layer.experts) * layer.filters();
    return even + (parts[cell.sums_channels] - 1) * biases / parts[cell.weights];
  }
  /// The items of a kept tensor on one GPU, for one sample.
  double items_of(const Kept& kept) const {
    const double even = kept.items / parts[kept.divided];
    if (kept.grows < 0) return even;
    return even * growth(setting.work.layers[std::size_t(kept.grows)], parts[kept.divided & tensor_axis],
                         setting.training.framework);
  }
  /// The number of GPUs that compute the same keys and values, each for its own queries. They sum the
  /// gradients of these weights.
  double copies(const Cell& cell) const;
  Bytes copied_gradient(const Cell& cell) const;
  Path copies_path(const Cell& cell) const;
  /// One message around the ring of a cell's attention, for one micro-batch of `samples` samples.
  Bytes ring_block(const Cell& cell, double samples) const;
  /// Between two stages that use the same weights.
  Path tied_path() const;
};

/// GPUs that sum their gradients together, and the cost. GPUs with the same gradient also take part if that
/// is faster: each then moves only its share (as in frameworks that average over all ranks).
struct GradientGroup {
  AxisSet set = 0;
  Path path;
  MessageCost sum;                  // of an allreduce, or of the reduce-scatter of ZeRO
  const AskedSum* asked = nullptr;  // replaces `sum` if an algorithm was requested
  MessageCost gather;               // of weights that ZeRO has sharded
  MessageCost statistics;           // an allreduce of a few numbers, however gradients are summed
  double packs = 1;                 // how many parts of a tensor, each as large as a GPU's own, one GPU packs
  /// The sum of gradients: on all GPUs, or with ZeRO on the GPU that updates them.
  Seconds allreduce(Bytes m) const { return asked ? asked->exchange.time(m) : sum(m); }
};

/// The sums of gradients on a mesh: one for each entry of Layout::gradients. Depends on the mesh and on ZeRO.
struct GradientTable {
  GradientTable(const Links& links, const Layout& layout, const MeshTable& mesh, int zero,
                const Allreduce& allreduce,
                std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  std::pmr::vector<GradientGroup> groups;
  bool leaders = false;  // the leaders of nodes send the gradients
  bool sends = false;    // some group has more than one GPU
};

/// Whether ZeRO 3 gathers each weight tensor separately, as some frameworks do.
bool gathers_by_tensor(const Training& training, int zero);

/// The most entries of Layout::gradients: more than any combination of roles on a mesh gives.
inline constexpr std::size_t most_gradient_groups = 16;

}  // namespace paradl
