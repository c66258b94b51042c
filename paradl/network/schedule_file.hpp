#pragma once
#include "paradl/network/schedule.hpp"
#include "paradl/spec/document.hpp"

namespace paradl {

/// A schedule written as text: `P steps` on the first line, then a line `step repetitions source destination
/// bytes` for each message, in the order of steps. What a rank sends to itself takes no time. SpecError with
/// all mistakes if it cannot be run.
Schedule read_schedule(const SourceText& source);

}  // namespace paradl
