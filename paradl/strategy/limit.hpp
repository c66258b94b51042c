#pragma once
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace paradl {

/// The rule behind a limit. `limit_rules` has a row for each.
enum class LimitRule : unsigned char {
  samples,
  layers,
  chunked_layers,
  micro_batch_samples,
  filters,
  shared_filters,
  channels,
  shared_channels,
  positions,
  rows,
  columns,
  planes,
  extents,
  attention,
  expert_layers,
  allreduce,
  heads,
  kv_heads,
  experts,
  sequence,
  tensor_sequence,
  tensor_context,
  micro_batches,
  interleaving,
  stage_blocks,
  stage_chunks,
  chunk_blocks,
  memory,
  storage,
  host_memory,
  host_update,
};

/// The relation that must hold between the value of a limit and its bound.
enum class Relation : unsigned char {
  at_most,              // the value is a number of parts that must not exceed the bound
  fits,                 // the value is a number of bytes that must not exceed the bound
  divides,              // the value divides the bound
  divides_or_multiple,  // one divides the other
};

struct LimitRow {
  std::string_view name;  // in JSON and tables
  Relation relation = Relation::at_most;
  std::string_view unit = "";  // what the bound counts, in the singular
  /// Shown if the limit is broken: {0} is the value, {1} the bound with its unit, {2} the layer. Empty:
  /// reason() writes the sentence itself.
  std::string_view sentence = "";
};

inline constexpr std::string_view cannot_split_layer = "cannot split into {0} parts: {2} has {1}";

// clang-format off
inline constexpr std::array limit_rules{
    LimitRow{"p <= B", Relation::at_most, "sample", "cannot split {1} into {0} parts"},
    LimitRow{"p <= G", Relation::at_most, "layer", "cannot divide {1} into {0} stages"},
    LimitRow{"p V <= G", Relation::at_most, "layer", "cannot divide {1} into {0} chunks"},
    LimitRow{"micro-batches <= samples", Relation::at_most, "sample",
             "cannot split {1} into {0} micro-batches"},
    LimitRow{"p <= min F", Relation::at_most, "filter", cannot_split_layer},
    LimitRow{"parts <= min F", Relation::at_most, "filter", cannot_split_layer},
    LimitRow{"p <= min C", Relation::at_most, "input channel", cannot_split_layer},
    LimitRow{"parts <= min C", Relation::at_most, "input channel", cannot_split_layer},
    LimitRow{"p <= min L", Relation::at_most, "position", cannot_split_layer},
    LimitRow{"rows <= min H", Relation::at_most, "row", "cannot cut into {0} rows: {2} is {1} high"},
    LimitRow{"columns <= min W", Relation::at_most, "column", "cannot cut into {0} columns: {2} is {1} wide"},
    LimitRow{"planes <= min D", Relation::at_most, "plane", "cannot cut into {0} planes: {2} is {1} deep"},
    LimitRow{"p <= extents", Relation::at_most},
    LimitRow{"p <= sequences", Relation::at_most, "",
             "`context` needs attention over a sequence, which this network does not have"},
    LimitRow{"p <= experts", Relation::at_most, "",
             "`expert` needs layers with experts, which this network does not have"},
    LimitRow{"ranks <= what the allreduce serves", Relation::at_most},
    LimitRow{"p divides heads", Relation::divides, "head", "tensor={0} must divide the {1}"},
    LimitRow{"p divides kv-heads, or kv-heads p", Relation::divides_or_multiple, "key and value head",
             "tensor={0} must divide the {1}, or be a multiple of them"},
    LimitRow{"p divides experts", Relation::divides, "expert", "expert={0} must divide the {1}"},
    LimitRow{"p divides sequence", Relation::divides, "position", "context={0} must divide the {1}"},
    LimitRow{"tensor divides sequence", Relation::divides, "position",
             "tensor={0} must divide the {1} of a sequence for --sequence-parallel"},
    LimitRow{"tensor divides sequence/context", Relation::divides, "position",
             "tensor={0} must divide the {1} of a sequence on each part of `context` "
             "for --sequence-parallel"},
    LimitRow{"micro-batches divide samples", Relation::divides, "sample",
             "--micro-batches {0} must divide the {1} of a replica"},
    LimitRow{"stages divide micro-batches", Relation::divides},
    LimitRow{"stages divide blocks", Relation::divides, "block", "{0} stages must divide the {1}"},
    LimitRow{"stages divide blocks/chunks", Relation::divides, "block",
             "{0} stages must divide the {1} of a chunk"},
    LimitRow{"chunks divide blocks", Relation::divides, "block", "{0} chunks must divide the {1}"},
    LimitRow{"memory <= device", Relation::fits},
    LimitRow{"data set <= node storage", Relation::fits},
    LimitRow{"host memory <= node", Relation::fits},
    LimitRow{"host updates have a known rate", Relation::fits},
};
// clang-format on
static_assert(limit_rules.size() == std::size_t(LimitRule::host_update) + 1, "a row for each LimitRule");

constexpr const LimitRow& row_of(LimitRule rule) { return limit_rules[std::size_t(rule)]; }

/// A bound that a plan must keep, with the layer that sets it. A broken limit is an answer, not an error.
struct Limit {
  LimitRule rule = LimitRule::samples;
  double value = 0, bound = 0;
  int layer = -1;

  Relation relation() const { return row_of(rule).relation; }
  std::string_view name() const { return row_of(rule).name; }
  bool holds() const {
    switch (relation()) {
      case Relation::at_most:
      case Relation::fits:
        return value <= bound;
      case Relation::divides_or_multiple:
        if (std::fmod(value, bound) == 0) return true;
        [[fallthrough]];
      case Relation::divides:
        return std::fmod(bound, value) == 0;
    }
    return false;
  }
};

}  // namespace paradl
