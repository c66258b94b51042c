#pragma once
#include <optional>

#include "paradl/mesh/placement.hpp"
#include "paradl/spec/collective.hpp"

namespace paradl {

/// The placement of a sum: whole, or in slices of channels.
constexpr Placement reduced(Reduction reduction) {
  return reduction == Reduction::allreduce ? Placement::replicated : Placement::split_channel;
}

/// The collective that changes one placement into another; none if the change is free (equal placements, or
/// a local slice).
constexpr std::optional<Collective> exchange(Placement from, Placement to) {
  if (from == to) return {};
  if (from == Placement::partial)
    return to == Placement::replicated ? Collective::allreduce : Collective::reduce_scatter;
  if (from == Placement::replicated) return {};
  return to == Placement::replicated ? Collective::allgather : Collective::all_to_all;
}

}  // namespace paradl
