#pragma once
#include <array>
#include <string_view>

#include "paradl/core/names.hpp"

namespace paradl {

/// Exchanges that have a closed form on the links between GPUs, and can be measured on them. (Whatever an
/// algorithm can do, also without such a formula, is an Operation: network/algorithm.hpp.)
enum class Collective { allreduce, allgather, reduce_scatter, all_to_all, point_to_point };

/// Their names in files and answers.
inline constexpr std::array<std::string_view, 5> collective_names{
    "allreduce", "allgather", "reduce-scatter", "all-to-all", "point-to-point"};
static_assert(names_every(Collective::point_to_point, collective_names), "name every Collective");
inline constexpr std::size_t collectives = collective_names.size();

/// Every GPU has an addend of a sum: all GPUs get the whole sum, or each GPU gets only the part that it
/// needs.
enum class Reduction { allreduce, reduce_scatter };
inline constexpr std::array<std::string_view, 2> reduction_names{"allreduce", "reduce-scatter"};
static_assert(names_every(Reduction::reduce_scatter, reduction_names), "name every Reduction");

}  // namespace paradl
