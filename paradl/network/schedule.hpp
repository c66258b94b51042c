#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "paradl/core/quantity.hpp"

namespace paradl {

/// What the receiver does with a message: adds it to its own values, or replaces them.
enum class Arrival : std::uint8_t { add, replace };

/// One message of a step. It carries `width` pieces of the buffer from piece `first` on; width 0 means that
/// no buffer is known (a schedule that was read from a file).
struct Flow {
  std::int32_t source = 0, target = 0;
  std::int32_t first = 0, width = 0;
  Arrival arrival = Arrival::replace;
  Bytes bytes;
};

/// Flows that start together, `repeat` times. A ring sends another piece each time: with every repetition the
/// first piece moves on by `shift` widths, around within its block of `modulus` widths (0: all pieces).
struct Step {
  std::size_t first = 0, count = 0;  // its flows in Schedule::flows
  int repeat = 1;
  int shift = 0, modulus = 0;
};

/// A collective as messages: sources, targets and sizes, in order.
struct Schedule {
  int ranks = 1;
  int pieces = 1;  // into which the buffer is cut
  std::vector<Flow> flows;
  std::vector<Step> steps;

  std::span<const Flow> of(const Step& step) const { return {flows.data() + step.first, step.count}; }
  int length() const;          // steps, repetitions counted
  Bytes largest_sent() const;  // by one rank, over all steps
  /// Starts a step: all flows added before the next begin() belong to it.
  void begin(int repeat = 1, int shift = 0, int modulus = 0);
  void add(const Flow& flow);
};

/// Runs a schedule on numbers: `buffer[rank][piece]` before, and what every rank has after. All messages of a
/// step carry what their senders had when it began; those for one rank arrive in the order of the schedule.
using Buffers = std::vector<std::vector<double>>;
Buffers execute(const Schedule& schedule, Buffers buffer);

}  // namespace paradl
