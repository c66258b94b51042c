#pragma once
#include "paradl/spec/framework_spec.hpp"
#include "paradl/spec/local_layer.hpp"
#include "paradl/strategy/place.hpp"

namespace paradl {

/// Into how many parts the axes of a mesh cut each dimension of a layer; 1: not cut.
struct Cut {
  double samples = 1;   // parts of the mini-batch
  double filters = 1;   // output channels alone
  double channels = 1;  // input channels alone
  double both = 1;      // channels of x and y together, if a layer works channel by channel
  double experts = 1;   // experts
  double tensor = 1;    // parts that `tensor` axes contribute to these: they split heads and vocabulary
  double words = 0;     // size of the padded vocabulary; 0: not padded
  std::array<int, 3> space{1, 1, 1};
  friend auto operator<=>(const Cut&, const Cut&) = default;
};

/// The size of a vocabulary that is split into `parts` parts. If the framework pads it, each part is rounded
/// up to a multiple of 128 (or of the framework's own number), as in Megatron-LM.
double padded_vocabulary(double words, double parts, const FrameworkTerms& framework = {});

/// The factor by which the vocabulary, or the keys and values, of a layer grow if `tensor` splits them into
/// `parts` parts: a vocabulary is padded, and if there are more parts than heads of keys and values, several
/// parts hold copies.
double growth(const Layer& layer, double parts, const FrameworkTerms& framework);
/// The same for its weights and arithmetic. Attention does not grow: it computes each query once.
double work_growth(const Layer& layer, double parts, const FrameworkTerms& framework);

/// How a mesh cuts the layers of one cell.
Cut cut_of(const Layout& layout, const Cell& cell, const Mesh& mesh);

/// The part of a layer that the GPU with the largest part runs for a micro-batch of `samples` samples.
LocalLayer local_layer(const Layer& layer, const Cut& cut, double samples);

}  // namespace paradl
