#pragma once
#include <optional>

#include "paradl/spec/system_spec.hpp"

namespace paradl {

/// A loaded system with one rate, size or latency multiplied: `levels.rack.bandwidth=x2`. It equals what
/// `read_system` gives with that change, without reading the file again. Nothing for other changes, and if
/// the file has no such value.
std::optional<SystemSpec> scaled(const SystemSpec& system, const Override& change);

}  // namespace paradl
