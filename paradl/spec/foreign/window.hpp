#pragma once
#include <optional>

#include "paradl/spec/foreign/text.hpp"

namespace paradl::foreign {

/// How a window moves over its input. The authors' files give only what comes in and what goes out.
struct Window {
  Numbers stride, padding;  // by extent; no padding where `same`
  bool same = false, ceil = false;
};

enum class WindowOf { convolution, pooling };

/// A window of extents K that takes X to Y exactly; nothing if there is none.
std::optional<Window> find_window(const Numbers& X, const Numbers& K, const Numbers& Y, WindowOf use);

}  // namespace paradl::foreign
