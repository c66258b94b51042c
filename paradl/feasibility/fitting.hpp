#pragma once
#include <span>
#include <string>
#include <vector>

#include "paradl/cost/sweep.hpp"

namespace paradl {

/// A change that makes something fit, found by asking the oracle again.
struct Remedy {
  std::string words;      // what changes: "--zero 1"; the grid, too, where it is another one
  std::string change;     // as it is typed: "--recompute selective", "--zero 1 -s data+layer --grid ..."
  std::string option;     // the same with strategy and grid: "-s data+tensor --grid data=1,tensor=8 --zero 1"
  std::string note;       // what is more than a change of options: "twice the GPUs"
  std::string of;         // the strategy and grid that it is for
  Projection projection;  // with the change
};

/// The changes that let a projection fit the device's memory, the one with the shortest iteration first:
/// recomputation, sequence parallelism, ZeRO, micro-batches and schedule, alone and together; where nothing
/// of that is enough, twice the GPUs. None if it fits, if it breaks another bound, or if nothing helps.
/// `asked`: what was; a cut of space that it left open is chosen anew, and what else it left open is typed
/// with the change.
std::vector<Remedy> ways_to_fit(const Projection& projection, const Setting& setting,
                                const Question* asked = nullptr);
/// The same for several projections, such as all grids of a strategy: those are mended that could be fastest.
std::vector<Remedy> ways_to_fit(std::span<const Projection> projections, const Setting& setting,
                                const Question* asked = nullptr);

/// Where there is no way: "nothing that was tried fits, up to --recompute full, --zero 3". Empty for what
/// fits or breaks another bound.
std::string nothing_fits_text(const Projection& projection, const Setting& setting);

/// "data+tensor 4x8 fits with --zero 1: 61.2 GiB, 12.1 s per iteration".
std::string text(const Remedy& remedy);
/// "--zero 1: 61.2 GiB, 1.03 times as long", as it is typed.
std::string text(const Remedy& remedy, const Projection& instead_of);
/// "data+tensor 4x8 fits with --zero 1: 61.2 GiB, 1.03 times as long".
std::string whole_text(const Remedy& remedy, const Projection& instead_of);

}  // namespace paradl
