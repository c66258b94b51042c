#pragma once
#include <optional>

#include "paradl/spec/system_spec.hpp"

namespace paradl {

/// A loaded system with one number multiplied or replaced: `levels.rack.bandwidth=x2`, `levels.rack.ports=4`.
/// It equals what `read_system` gives with that change, without reading the file again. Nothing for other
/// changes, if the file has no such number, and if the result is none that a file may have.
std::optional<SystemSpec> changed(const SystemSpec& system, const Override& change);

/// The same as `read_system`, without measured links: these may contradict changed sizes of levels.
SystemSpec read_specified(const SourceText& source, const std::vector<Override>& overrides);

}  // namespace paradl
