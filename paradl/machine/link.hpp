#pragma once
#include "paradl/core/quantity.hpp"

namespace paradl {

/// Hockney link: one message of m bytes takes alpha + m * beta.
struct Link {
  Seconds alpha;
  SecondsPerByte beta;
};

}  // namespace paradl
