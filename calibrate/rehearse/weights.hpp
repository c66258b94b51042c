#pragma once
#include <array>
#include <vector>

#include "calibrate/rehearse/transfer.hpp"
#include "paradl/cost/setting.hpp"
#include "paradl/strategy/place.hpp"

namespace paradl::calibrate {

/// One array of weights of a layer (LayerData::w): the whole, and the part that a rank has. Empty boxes if
/// the layer does not have the array.
struct WeightShare {
  Box whole{.begin = {}, .end = {}}, own{.begin = {}, .end = {}};
};

/// The arrays of one layer, in the order of LayerData::w.
std::array<WeightShare, 2> weight_shares(const Layer& layer, std::size_t index, const Placements& placed,
                                         const Mesh& mesh, const Coordinates& at);

/// The weights of one rank, their gradients and the optimizer's state. Gradients that are summed over the
/// same ranks are contiguous, so that one allreduce sums them all.
class Weights {
 public:
  /// Of the layers from `first` up to `last`. `sets` are the axes over which each kind of Layout::gradients
  /// is summed. UsageError if tied weights are split in two ways.
  Weights(const Workload& work, const Layout& layout, const Placements& placed, Seat& seat, std::size_t first,
          std::size_t last, Optimizer optimizer, int micro_batches, std::vector<AxisSet> sets);

  /// Puts the pointers of a layer into `data`.
  void lend(std::size_t layer, LayerData& data) const;
  void clear_gradients();
  /// Adds LayerData::dw of the last pass, if several passes add to a gradient.
  void collect(std::size_t layer);
  void sum_gradients();
  void update();

  std::size_t items(std::size_t layer, std::size_t k) const { return layers_[layer - first_].array[k].items; }
  std::array<WeightShare, 2> shares(std::size_t layer) const { return layers_[layer - first_].share; }
  const float* gradient(std::size_t layer, std::size_t k) const;
  /// All gradients of one kind, so that a test can spoil them.
  Buffer& gradients_of_kind(std::size_t kind) { return kinds_[kind].gradients; }

 private:
  struct Array {
    std::size_t items = 0, at = 0;  // its position among the arrays of the layer
  };
  struct Part {
    std::array<WeightShare, 2> share;
    std::array<Array, 2> array;
    std::size_t kind = 0, at = 0;  // its position among the gradients of its kind
    std::size_t items = 0;
    Buffer values, state;
    Buffer addend;          // if several passes add: the summand of one, then its share of the owner's
    std::size_t owner = 0;  // the layer whose w[0] it uses
    bool has_bias = true;   // if channels are split, only the first rank adds it
  };
  struct Kind {
    AxisSet set = 0;     // empty: not summed
    bool counts = true;  // if several ranks have the same gradient, only the first contributes
    std::size_t items = 0;
    Buffer gradients;
  };
  void add_layer(const Workload& work, const Layout& layout, const Placements& placed, std::size_t i);

  Seat& seat_;
  std::size_t first_;
  Optimizer optimizer_;
  int micro_batches_;
  std::vector<Part> layers_;
  std::vector<Kind> kinds_;  // as Layout::gradients, and one more that is not summed
};

}  // namespace paradl::calibrate
