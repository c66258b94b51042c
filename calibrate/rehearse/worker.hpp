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

/// Something that is done wrong on purpose, to see that the check finds it.
enum class Fault { none, halo, gradient };

/// A strategy to be run for real.
struct Script {
  const Workload& work;
  Mesh mesh;  // axes of more than one PE
  Training training;
  std::int64_t batch = 1;              // samples of the whole mini-batch
  std::vector<int> first_layer{0};     // of each stage
  std::vector<AxisSet> gradient_sets;  // over which each kind of Layout::gradients is summed
  Fault fault = Fault::none;
};

/// A part of a result, to be compared with the same part of another run.
struct Outcome {
  std::string what;  // "output", "gradient of the input", "gradient of conv1"
  Box own;           // the part of the whole that it is
  std::vector<float> values;
};

/// One PE that trains its part of a network on made-up data. UsageError if the strategy cannot be run.
class Worker {
 public:
  Worker(const Script& script, Device& device, const Communicator& world);

  /// One iteration: all micro-batches forward and backward, gradients summed, weights updated.
  void iterate(Stopwatch& watch);

  /// What the last iteration gave: the output and all gradients, as far as this PE has them.
  std::vector<Outcome> outcomes();

 private:
  /// The output of a layer, or the network's input, on this PE.
  struct Tensor {
    Box whole;
    Lie lie{};                     // as its readers find it
    Box held;                      // this PE's part of it then
    std::vector<Buffer> given;     // by micro-batch: as it is made or received
    std::vector<Passage> passage;  // by micro-batch: from there to its readers; empty if not made here
    std::vector<float*> data;      // by micro-batch: as its readers find it
    Lie gradient_lie{};            // as its readers give its gradient
    Piece gradient;                // added up here
    Buffer gradient_memory;
    bool touched = false;         // has something in it
    std::optional<Passage> back;  // from there to the layer that made it
  };
  /// What a layer reads.
  struct Input {
    int tensor = -1;
    Box own, box;           // its part; with what windows reach beyond it
    bool in_place = false;  // reads the tensor where it lies
    std::vector<Buffer> x;  // by micro-batch: otherwise
    bool fetches = false;   // halos have to be sent
    std::optional<HaloTrade> halo;
    bool counts = true;            // its gradient is added up on this PE
    bool writes_in_place = false;  // and nobody else adds to it
    Buffer dx;                     // otherwise
  };
  struct Part {
    Box y;
    LayerWork* work = nullptr;
    std::vector<Input> inputs;
    std::vector<Buffer> kept;  // by micro-batch
    std::vector<Buffer> dy;    // by micro-batch, made up: of layers that nobody reads
    float* dy_now = nullptr;
    Buffer statistics;   // batch norm: of a pass forward, then of one backward
    AxisSet summed = 0;  // axes over which they are summed
    double counted = 1;
  };

  std::size_t micro_batches() const { return std::size_t(script_.training.micro_batches); }
  Tensor& tensor(int layer) { return *tensors_[std::size_t(layer + 1)]; }
  Part& part(std::size_t layer) { return parts_[layer - first_]; }
  const Layer& layer(std::size_t i) const { return script_.work.layers[i]; }
  Lie wanted(std::size_t layer) const;

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
  std::size_t first_ = 0, last_ = 0;      // layers of this stage
  std::int64_t samples_ = 1;              // of a micro-batch, of all PEs together
  std::vector<int> incoming_, outgoing_;  // tensors that come from the stage before, that go to the next
  std::vector<std::optional<Tensor>> tensors_;  // the network's input, then one a layer
  std::vector<Part> parts_;
  std::optional<Weights> weights_;
  std::map<LocalLayer, std::unique_ptr<LayerWork>> works_;
};

}  // namespace paradl::calibrate
