#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/rehearse/stopwatch.hpp"
#include "calibrate/rehearse/transfer.hpp"
#include "calibrate/rehearse/weights.hpp"

namespace paradl::calibrate {

/// A deliberate mistake, to test that the check finds it.
enum class Fault { none, halo, gradient };

/// A strategy to run.
struct Script {
  const Workload& work;
  Plan plan;  // its mesh has axes of more than one rank
  Training training;
  std::vector<int> first_layer{0};     // of each stage
  std::vector<AxisSet> gradient_sets;  // the axes over which each kind of Layout::gradients is summed
  Fault fault = Fault::none;
};

/// A part of a result, to be compared with the same part of another run.
struct Outcome {
  std::string what;  // "output", "gradient of the input", "gradient of conv1"
  Box own;           // its position in the whole tensor
  std::vector<float> values;
};

/// One rank that trains its part of a network on synthetic data. UsageError if the strategy cannot be run.
class Worker {
 public:
  Worker(const Script& script, Device& device, const Communicator& world);

  /// One iteration: all micro-batches forward and backward, gradients summed, weights updated.
  void iterate(Stopwatch& watch);

  /// The results of the last iteration: this rank's parts of the output and of all gradients.
  std::vector<Outcome> outcomes();

 private:
  /// The output of a layer, or the network's input, on this rank.
  struct Tensor {
    Box whole;
    TensorPlacement placement{};                     // placement for its readers
    Box held;                                        // this rank's part in that placement
    std::vector<Buffer> given;     // by micro-batch: as computed or received
    std::vector<Passage> passage;  // by micro-batch: from there to its readers; empty if not computed here
    std::vector<float*> data;      // by micro-batch: in the placement for its readers
    TensorPlacement gradient_placement{};            // placement of the gradient from its readers
    Piece gradient;                // the sum over readers
    Buffer gradient_memory;
    bool touched = false;         // whether it has a summand yet
    std::optional<Passage> back;  // from there to the layer that computes the tensor
  };
  /// An input of a layer.
  struct Input {
    int tensor = -1;
    Box own, box;           // this rank's part; with its halo
    bool in_place = false;  // reads the tensor without a copy
    std::vector<Buffer> x;  // by micro-batch: the copy, otherwise
    bool fetches = false;   // needs a halo exchange
    std::optional<HaloTrade> halo;
    bool counts = true;            // this rank adds its gradient
    bool writes_in_place = false;  // no other layer adds to it
    Buffer dx;                     // otherwise
  };
  struct Part {
    Box y;
    LayerWork* work = nullptr;
    std::vector<Input> inputs;
    std::vector<Buffer> kept;  // by micro-batch
    std::vector<Buffer> dy;    // by micro-batch, synthetic: for layers without readers
    float* dy_now = nullptr;
    Buffer statistics;   // batch norm: of the forward pass, then of the backward pass
    AxisSet summed = 0;  // the axes over which they are summed
    double counted = 1;
  };

  std::size_t micro_batches() const { return std::size_t(script_.plan.micro_batches); }
  Tensor& tensor(int layer) { return *tensors_[std::size_t(layer + 1)]; }
  Part& part(std::size_t layer) { return parts_[layer - first_]; }
  const Layer& layer(std::size_t i) const { return script_.work.layers[i]; }
  TensorPlacement wanted(std::size_t layer) const;

  // build.cpp
  void build();
  void build_tensor(int layer);
  void build_part(std::size_t layer);
  Input build_input(std::size_t layer, int tensor, const Box& y);
  Box window(std::size_t layer, Box own, const Box& y) const;
  LocalLayer local(std::size_t layer);
  void check_slices(std::size_t layer);
  LayerWork& prepare(std::size_t layer);
  void fill_data();

  // worker.cpp
  LayerData lend(std::size_t layer, std::size_t micro_batch);
  void forward(std::size_t layer, std::size_t micro_batch, Stopwatch& watch);
  void read(Input& input, std::size_t micro_batch, Stopwatch& watch);
  void backward(std::size_t layer, std::size_t micro_batch, Stopwatch& watch);
  void hand_back(Input& input, Stopwatch& watch);
  void sum_statistics(Part& part, Stopwatch& watch, Term so_far);
  void forward(std::size_t micro_batch, Stopwatch& watch);
  void backward(std::size_t micro_batch, Stopwatch& watch);
  void spoil_gradients();

  // pipeline.cpp
  bool is_first_stage() const { return stage_ == 0; }
  bool is_last_stage() const { return stage_ + 1 == int(script_.first_layer.size()); }
  void run_stages(Stopwatch& watch);
  void pass_on(int sent, int received, Stopwatch& watch);
  void pass_back(int sent, int received, Stopwatch& watch);

  Script script_;
  Seat seat_;
  Placements placed_;
  Layout layout_;
  int stage_ = 0, stage_axis_ = -1;
  std::size_t first_ = 0, last_ = 0;            // layers of this stage
  std::int64_t samples_ = 1;                    // of a micro-batch, over all ranks
  std::vector<int> incoming_, outgoing_;        // tensors from the previous stage, and to the next
  std::vector<std::optional<Tensor>> tensors_;  // the network's input, then one per layer
  std::vector<Part> parts_;
  std::optional<Weights> weights_;
  std::map<LocalLayer, std::unique_ptr<LayerWork>> works_;
};

}  // namespace paradl::calibrate
