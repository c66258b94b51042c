#pragma once
#include "paradl/spec/local_layer.hpp"
#include "paradl/strategy/place.hpp"

namespace paradl {

/// By how much the axes of a mesh cut a layer: what is cut by nobody is cut by one.
struct Cut {
  double samples = 1;   // parts of the mini-batch
  double filters = 1;   // output channels alone
  double channels = 1;  // input channels alone
  double both = 1;      // channels of x and y alike, where a layer works channel by channel
  double experts = 1;   // those of a layer that has several
  double words = 0;     // of a vocabulary that is padded before it is cut; 0: as it is
  std::array<int, 3> space{1, 1, 1};
  friend auto operator<=>(const Cut&, const Cut&) = default;
};

/// How a mesh cuts the layers of one cell.
Cut cut_of(const Layout& layout, const Cell& cell, const Mesh& mesh);

/// What the PE with the largest part runs for a micro-batch of `samples` samples.
LocalLayer local_layer(const Layer& layer, const Cut& cut, double samples);

}  // namespace paradl
