#pragma once
#include <array>
#include <optional>
#include <string_view>

#include "paradl/core/names.hpp"
#include "paradl/mesh/placement.hpp"
#include "paradl/network/collective.hpp"

namespace paradl {

/// Every GPU has an addend of a sum: all GPUs get the whole sum, or each GPU gets only the part that it
/// needs.
enum class Reduction { allreduce, reduce_scatter };
inline constexpr std::array<std::string_view, 2> reduction_names{"allreduce", "reduce-scatter"};
static_assert(names_every(Reduction::reduce_scatter, reduction_names), "name every Reduction");

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
