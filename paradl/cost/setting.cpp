#include "paradl/cost/setting.hpp"

#include <fmt/format.h>

namespace paradl {

std::string shuffle_text(const Shuffle& shuffle) {
  if (shuffle.global) return "global";
  return shuffle.Q > 0 ? fmt::format("partial:{}", shuffle.Q) : "local";
}

}  // namespace paradl
