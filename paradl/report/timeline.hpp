#pragma once
#include <span>
#include <string>

#include "paradl/cost/out_of_core.hpp"
#include "paradl/cost/timeline.hpp"

namespace paradl {

/// A schedule as a picture: a row for each stage with its forward and backward passes and messages. `name` is
/// the title. UsageError if there is too much to draw.
std::string timeline_svg(const Timeline& timeline, const std::string& name);

/// The same as a trace for Chrome and Perfetto: complete events in microseconds, a thread for each stage.
std::string timeline_json(const Timeline& timeline, const std::string& name);

/// The same for an out-of-core plan: a row, or a thread, for each stream.
std::string timeline_svg(std::span<const OutOfCoreEvent> events, const std::string& name);
std::string timeline_json(std::span<const OutOfCoreEvent> events, const std::string& name);

}  // namespace paradl
