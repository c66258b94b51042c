#pragma once
#include <span>
#include <string>

#include "paradl/cost/evaluator.hpp"

namespace paradl {

/// A schedule as a picture: a row for each stage, forward and backward passes and what they send in their
/// places. `name` says what was executed. UsageError if there is too much to draw.
std::string timeline_svg(const Timeline& timeline, const std::string& name);

/// The same as a trace that Chrome and Perfetto open: complete events in microseconds, a thread for each
/// stage.
std::string timeline_json(const Timeline& timeline, const std::string& name);

/// The same of a plan out of core: a row, or a thread, for each stream.
std::string timeline_svg(std::span<const OutOfCoreEvent> events, const std::string& name);
std::string timeline_json(std::span<const OutOfCoreEvent> events, const std::string& name);

}  // namespace paradl
