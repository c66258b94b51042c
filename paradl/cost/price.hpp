#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "paradl/cost/breakdown.hpp"
#include "paradl/cost/setting.hpp"
#include "paradl/cost/stages.hpp"
#include "paradl/mesh/routed_exchange.hpp"
#include "paradl/network/fabric.hpp"
#include "paradl/strategy/local.hpp"

namespace paradl {

/// What one layer of a cell costs for one micro-batch.
struct CellCost {
  Seconds forward, backward;                    // arithmetic; what is recomputed counts as backward
  Seconds recompute;                            // how much of `backward` that is
  Seconds forward_exchange, backward_exchange;  // activations and their gradients
  Seconds forward_halo, backward_halo;
  Seconds update;
  Bytes gradient;  // to be summed over the cell's `summed` axes
  Seconds hidden;  // exchanges behind the cell's own arithmetic: keys and values on their way
  Seconds forward_host, backward_host;  // until the host has started all of it
  Seconds copies;  // at the end of an iteration: gradients of keys and values that several PEs have

  Seconds forward_pass() const { return forward + forward_exchange + forward_halo; }
  Seconds backward_pass() const { return backward + backward_exchange + backward_halo; }
};

/// The hop of a path that the machine's topology stands for: 0 where GPUs are its hosts, 1 where nodes are.
int network_hop(const Setting& setting);

/// The sum of gradients over a group, as an algorithm is asked for it.
Job job_of(const Path& path, const Setting& setting);
/// Whether the algorithm that was asked for can do it.
bool can_sum(const Path& path, const Setting& setting);

/// Time by bytes: linear, or as it was measured; with copies to the host and back, where there are some.
struct MessageCost {
  Linear specified;
  const Curve* measured = nullptr;
  SecondsPerByte copies = {};
  std::optional<Linear> trees = {};  // what a library would take for short messages
  Seconds operator()(Bytes m) const {
    if (measured) return (*measured)(m) + m * copies;
    return (trees ? std::min(specified(m), (*trees)(m)) : specified(m)) + m * copies;
  }
};

/// Whether an allreduce takes trees where they are faster than rings, as libraries do that choose.
bool takes_trees(const Training& training);

/// What the algorithm that was asked for takes to sum gradients, and how that was found.
struct AskedSum {
  RoutedExchange exchange;
  NetworkFidelity fidelity = NetworkFidelity::link_load;  // closed form: too many messages to follow
  std::string chosen(Bytes m) const;                      // what `auto` takes: "ring, Simple"
  std::optional<std::pair<Job, Ways>> tabulated = {};     // what it was asked for, if it is `auto`
};

/// Prices placed workloads. It owns the scratch memory, so that pricing allocates nothing; one per thread.
class Pricer {
 public:
  explicit Pricer(const Setting& setting);

  /// One iteration over `batch` samples. `plan` has one stage where no axis is a pipeline.
  Breakdown price(const Layout& layout, const StagePlan& plan, const Mesh& mesh, double batch);

  /// The same in two steps, for who has to know what layers cost to cut them into stages.
  void price_cells(const Layout& layout, const Mesh& mesh, double batch);
  Breakdown price_plan(const Layout& layout, const StagePlan& plan, double batch);
  /// What a layer adds to the passes of its stage.
  static LayerLoad load_of(const CellCost& cost);
  /// Of one micro-batch, before any axis cuts it.
  double samples() const { return samples_; }
  /// Equal numbers mean that all cells cost the same, and have the same samples.
  std::size_t fingerprint() const;

  /// The cells of the last price() call, for those who want to know where the time goes.
  std::span<const CellCost> cells() const { return cells_; }
  /// How the last priced mesh spreads the groups of one axis.
  const Path& path(int axis) const { return axis_path_[std::size_t(axis)]; }
  /// One exchange of one micro-batch of `samples` samples, on the last priced mesh.
  Bytes bytes_of(const Exchange& exchange, double samples) const {
    return exchange.items * samples / parts_[exchange.divided] * setting_.training.bytes().activation;
  }
  Seconds time_of(const Exchange& exchange, double samples) const {
    const Seconds time = cost_[exchange.axis][std::size_t(exchange.operation)](bytes_of(exchange, samples));
    return time + skew_of(exchange);
  }
  /// What waiting for the latest rank adds to it. Where an allreduce is parted into its halves, as by
  /// sequence parallelism, so is that: nobody is late again behind the first.
  Seconds skew_of(const Exchange& exchange) const {
    using enum Collective;
    const bool half = exchange.operation == allgather || exchange.operation == reduce_scatter;
    return (half ? 0.5 : 1.0) * skew_[exchange.axis];
  }
  /// PEs that sum their gradients together, and what that costs. PEs with the same gradient take part where
  /// that is faster: each then moves only its share (frameworks that average over all ranks do just that).
  struct GradientGroup {
    Layout::Gradients of;
    AxisSet set;
    Path path;
    MessageCost sum;                  // of an allreduce, or of the reduce-scatter of ZeRO
    const AskedSum* asked = nullptr;  // by the algorithm that was asked for instead
    MessageCost gather;               // of weights that ZeRO has dealt out
    MessageCost statistics;           // the allreduce of a few numbers, whatever gradients take
    double packs = 1;                 // how many times one PE packs what each PE has of a tensor
    /// The sum of gradients: for all, or with ZeRO for the PE that updates them.
    Seconds allreduce(Bytes m) const { return asked ? asked->exchange.time(m) : sum(m); }
    bool has(const Cell& cell) const { return of.summed == cell.summed && of.alike == cell.alike; }
  };
  /// What such a group has to sum, on the last priced layout.
  Bytes gradients_of(const GradientGroup& group, const Layout& layout) const;
  /// Into which a set of axes cuts a layer or a tensor, on the last priced mesh.
  double parts(AxisSet set) const { return parts_[set]; }
  /// PEs among which ZeRO deals out what a cell's weights need: those with the same weights and other
  /// samples.
  double shards(const Cell& cell) const { return parts_[cell.summed & sharing_]; }
  /// By how much the weights and the arithmetic of a cell grow where `tensor` deals them out: work_growth().
  double growth_of(const Cell& cell) const;
  /// What one PE has of the weights of a cell's layer.
  double weights_of(const Layout& layout, const Cell& cell) const;
  /// What one PE has of a tensor that is kept, items of one sample.
  double items_of(const Kept& kept) const;
  /// PEs that make the same keys and values, each for its own queries: they sum the gradients of the weights.
  double copies(const Cell& cell) const;
  Bytes copied_gradient(const Cell& cell) const;
  Path copies_path(const Cell& cell) const;
  /// What goes around the ring of a cell's attention at a time, of one micro-batch of `samples` samples.
  Bytes ring_block(const Cell& cell, double samples) const;
  /// Between neighbours along one extent of a cut.
  const Path& halo_path(int dim) const { return halo_path_[std::size_t(dim)]; }
  /// What a stage passes on to the next for one micro-batch.
  struct Transfer {
    Bytes bytes;
    Seconds time;
    Hop hop;
  };
  Transfer transfer(const StageKind::Chunk& chunk, double samples) const;
  /// PEs of `tensor` send a part each of what they all have, where that passes slower links than they have
  /// among themselves, and gather it there.
  bool scatters(const StageKind::Chunk& chunk) const;
  /// Between two stages that use the same weights.
  Path tied_path() const;
  /// What a byte of a long message to the next stage takes, on the pipeline that is axis `axis` of a mesh.
  SecondsPerByte stage_pace(const Mesh& mesh, int axis);
  /// What a stage of this kind holds, of those that there are the one that holds most.
  Memory stage_memory(const Layout& layout, const StagePlan& plan, const StageKind& kind,
                      double samples) const;
  /// Micro-batches whose activations it keeps, as a multiple of what one of them leaves there.
  double in_flight(const Layout& layout, const StagePlan& plan, const StageKind& kind, double samples) const;
  /// The executed schedule of the last priced pipeline: every pass of every stage.
  std::vector<std::vector<PipelineClock::Event>> timeline(const StagePlan& plan, double samples);
  /// The wires on which the algorithm that was asked for is followed; nullptr: none was, or they are too
  /// many.
  const Topology* wires() const { return setting_.topology ? setting_.topology : levels_.get(); }
  std::span<const GradientGroup> gradient_groups() const { return {gradient_.data(), gradients_}; }

 private:
  void price_mesh(const Layout& layout, const Mesh& mesh);
  CellCost price_cell(const Layout& layout, const Cell& cell, const Mesh& mesh, double samples);
  void price_ring(const Cell& cell, double samples, CellCost& out) const;
  void add_weight_gathers(const Layout& layout, const StagePlan& plan, Breakdown& out) const;
  bool gathers_by_tensor() const;
  Path one_port(const Mesh& mesh, AxisSet set) const;
  void gather_by_tensor(const Layout& layout, Breakdown& out) const;
  void show_recomputation(const StagePlan& plan, Breakdown& out) const;
  Seconds copies_sum(const StagePlan& plan) const;
  Seconds price_halo(const Cell& cell, double samples, bool of_x) const;
  void price_single(const Layout& layout, Breakdown& out) const;
  void price_pipeline(const Layout& layout, const StagePlan& plan, double samples, Breakdown& out);
  /// One micro-batch on one stage, forward and backward.
  struct StagePasses {
    Seconds forward, backward, exchange, halo;
    Seconds total() const { return forward + backward + exchange + halo; }
  };
  StagePasses stage_passes(const StagePlan& plan, int stage, double samples);
  /// What is computed again of a block, while its backward pass runs.
  Bytes rebuilt(const Layout& layout, double samples) const;
  /// What a stage has to do after its last backward pass.
  struct StageEnd {
    Seconds exposed, whole;  // sums of gradients: after that pass, and in all
    Seconds update;
  };
  Seconds tied_sum(const StagePlan::Tied& tied);
  StageEnd stage_end(const Layout& layout, const StageKind& kind, Seconds backward) const;
  bool fills_buckets(const Layout& layout, const Run& run, Bytes bucket) const;
  Seconds gradient_tail(const Layout& layout, Bytes bucket) const;
  Seconds hidden_tail(std::span<const Bytes> gradient, Seconds whole, Seconds backward) const;
  Memory memory_of(const Layout& layout, std::span<const StageKind::Share> cells, double samples,
                   double in_flight) const;

  Setting setting_;
  std::vector<CellCost> cells_;
  double samples_ = 0;
  // Of the pipeline that is being priced:
  PipelineClock clock_;
  std::vector<PieceTime> pieces_;
  std::vector<StageEnd> ends_;  // by kind of stage
  PipelineTime after_;
  // Of the mesh that is being priced:
  std::array<double, 1u << most_axes> parts_{};  // product of the sizes of a set of axes
  std::array<Path, most_axes> axis_path_{};
  std::array<std::array<MessageCost, collectives>, most_axes> cost_{};  // by axis and collective
  AxisSet sharing_ = 0;                    // axes that share out samples or space
  std::array<Seconds, most_axes> skew_{};  // for which a group waits until all are there
  double tensor_ = 1;                      // parts that a vocabulary is dealt out to
  AxisSet tensor_axis_ = 0;
  Path stage_path_;  // between neighbouring stages
  MessageCost stage_message_;
  std::array<Path, 3> halo_path_{};  // between neighbours along each extent
  std::array<MessageCost, 3> halo_message_{};
  std::array<MessageCost, most_axes> ring_message_{};  // between neighbours on an axis
  static constexpr std::size_t most_gradient_groups = 16;
  std::array<GradientGroup, most_gradient_groups> gradient_{};
  std::size_t gradients_ = 0;
  Seconds statistics_cost(const Cell& cell, Bytes m) const;
  // What frameworks do differently (price_framework.cpp):
  bool through_leaders(const Mesh& mesh) const;
  double different_in_node(const Layout::Gradients& kind, const Mesh& mesh) const;
  MessageCost leader_cost(const Layout::Gradients& kind, const Path& path, const Mesh& mesh) const;
  MessageCost gradient_cost(const Path& path);
  MessageCost axis_cost(Collective operation, const Axis& axis, const Path& path);
  void add_framework(const Layout& layout, const Cell& cell, CellCost& cost) const;
  void add_host(const Cell& cell, CellCost& cost) const;
  void hide_sums(const Cell& cell, double samples, CellCost& cost) const;
  Seconds packing_of(const Cell& cell) const;
  Path group(const Mesh& mesh, AxisSet set);
  Path neighbours(const Mesh& mesh, int axis, int dim);
  MessageCost cost_of(Collective operation, const Path& path);
  const Curve& curve_of(Collective operation, const Path& path, bool trees);
  /// Times of a cell's passes by its local shapes, if a profile or the kernel-time model has them.
  std::optional<PassTimes> local_passes(const Layout& layout, const Cell& cell, const Mesh& mesh,
                                        double samples);
  const AskedSum* asked_sum(const Mesh& mesh, AxisSet set, const Path& path);
  AskedSum find_sum(const Mesh& mesh, AxisSet set, const Path& path) const;
  std::shared_ptr<const Topology>
      levels_;  // as a tree, where an algorithm was asked for and no network named
  // What takes long to find out is kept: routes on a topology, and what algorithms take.
  std::map<std::array<int, 4 * most_axes + 3>, Path> routed_;
  std::map<std::array<int, most_axes + 1>, AskedSum> asked_;
  std::map<std::array<double, 19>, Curve> measured_;  // by operation, and how the group is spread
  bool links_are_measured_;
  struct CutLayer {
    int shape_class;
    double samples;
    Cut cut;
    friend bool operator==(const CutLayer&, const CutLayer&) = default;
    struct Hash {
      std::size_t operator()(const CutLayer& key) const;
    };
  };
  std::unordered_map<CutLayer, std::optional<PassTimes>, CutLayer::Hash> passes_;
  std::array<int, 3> cut_{1, 1, 1};
  bool leaders_ = false;  // of nodes send the gradients
  Bandwidth stream_;      // of kernels that only read and write memory
};

}  // namespace paradl
