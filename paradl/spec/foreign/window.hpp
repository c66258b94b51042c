#pragma once
#include <optional>

#include "paradl/spec/foreign/text.hpp"

namespace paradl::foreign {

/// How a window moves over its input. The authors' files give only the shapes of input and output.
struct Window {
  Numbers stride, padding;  // by extent; `padding` is unused if `same`
  bool same = false, ceil = false;
};

enum class WindowOf { convolution, pooling };

/// A window of extents K whose input X gives exactly the output Y; nothing if there is none.
std::optional<Window> find_window(const Numbers& X, const Numbers& K, const Numbers& Y, WindowOf use);

}  // namespace paradl::foreign
