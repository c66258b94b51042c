#pragma once
#include <optional>
#include <span>
#include <string>

#include "paradl/cost/projection.hpp"

namespace paradl {

/// A change that makes something fit, found by asking the oracle again.
struct Remedy {
  std::string change;     // as it is typed: "--recompute selective", "--grid data=2,tensor=8"
  std::string of;         // the strategy and grid that it is for
  Projection projection;  // with the change
};

/// Of the changes that let a projection fit the device's memory, the one with the shortest iteration; single
/// changes before pairs of them. Nothing if it fits, if it breaks another bound, or if none is found.
std::optional<Remedy> cheapest_fit(const Projection& projection, const Setting& setting);
/// The same over several projections: the fastest of all remedies, a sample.
std::optional<Remedy> cheapest_fit(std::span<const Projection> projections, const Setting& setting);

/// "data+tensor 4x8 fits with --zero 1: 61.2 GiB, 12.1 s per iteration".
std::string text(const Remedy& remedy);
/// "--zero 1: 61.2 GiB, 1.03 times as long".
std::string text(const Remedy& remedy, const Projection& instead_of);

}  // namespace paradl
