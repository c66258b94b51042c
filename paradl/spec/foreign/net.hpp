#pragma once
#include <optional>
#include <string>
#include <vector>

#include "paradl/core/quantity.hpp"
#include "paradl/spec/foreign/layers.hpp"
#include "paradl/spec/foreign/window.hpp"

// A network of the ParaDL authors' format: first as written, then with what the file omits.
namespace paradl::foreign {

/// One line of a network: NAME|x|w|y, and maybe a time.
struct NetLayer {
  int line = 0;
  Field x_field, w_field, y_field;
  Numbers x, y;                 // channels and extents
  Numbers w;                    // channels, filters and the window's extents
  std::optional<Seconds> time;  // forward + backward of one sample

  Numbers window() const { return {w.begin() + 2, w.end()}; }
};

struct Net {
  std::string dataset, model;
  Field input_field;
  std::int64_t samples = 0;
  Numbers input;  // channels and extents
  std::vector<NetLayer> layers;
  std::vector<Listed> names;  // one for each layer
};

/// Reads the lines as written; every shape has as many extents as the input. Throws SpecError.
Net read_net(const SourceText& source);

/// What a layer needs in addition to what its line says.
struct Wiring {
  Window window;         // of convolutions and pools
  bool flatten = false;  // its input has extents and must be flattened
  int shortcut = -2;     // an ADD's second input: a layer's index, or -1 for the network's input
};

/// Follows the shapes from layer to layer. An x that differs from the output of the layer before is replaced
/// by that output, with a warning; any other contradiction is a SpecError.
std::vector<Wiring> wire(Net& net, const SourceText& source, std::vector<std::string>& warnings);

}  // namespace paradl::foreign
