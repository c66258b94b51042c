#pragma once
#include <span>
#include <string>
#include <vector>

#include "paradl/cost/question.hpp"

namespace paradl {

class Evaluator;

/// A change that makes a plan fit, with its projection.
struct Remedy {
  std::string words;      // the changed options: "--zero 1"; includes the grid if that changes
  std::string change;     // as typed: "--recompute selective", "--zero 1 -s data+layer --grid ..."
  std::string option;     // the same with strategy and grid: "-s data+tensor --grid data=1,tensor=8 --zero 1"
  std::string note;       // if more than options change: "twice the GPUs"
  std::string of;         // the strategy and grid that it applies to
  Projection projection;  // with the change
};

/// The changes that make a projection fit the device's memory, shortest iteration first: recomputation,
/// sequence parallelism, ZeRO, micro-batches and schedule, alone and combined; if none of these is enough,
/// twice the GPUs. Empty if it fits, if it breaks another limit, or if nothing helps. `asked`: the question.
/// If it does not fix the spatial split, each change gets its best one. The printed option names everything
/// the question leaves open.
std::vector<Remedy> ways_to_fit(const Projection& projection, const Evaluator& evaluator,
                                const Question* asked = nullptr);
/// The same for several projections, such as all grids of a strategy: only for those that could be fastest.
std::vector<Remedy> ways_to_fit(std::span<const Projection> projections, const Evaluator& evaluator,
                                const Question* asked = nullptr);

/// If no change helps: "nothing that was tried fits, up to --recompute full, --zero 3". Empty if the
/// projection fits or breaks another limit.
std::string nothing_fits_text(const Projection& projection, const Setting& setting);

/// "data+tensor 4x8 fits with --zero 1: 61.2 GiB, 12.1 s per iteration".
std::string text(const Remedy& remedy);
/// "--zero 1: 61.2 GiB, 1.03 times as long".
std::string text(const Remedy& remedy, const Projection& instead_of);
/// "data+tensor 4x8 fits with --zero 1: 61.2 GiB, 1.03 times as long".
std::string whole_text(const Remedy& remedy, const Projection& instead_of);

}  // namespace paradl
