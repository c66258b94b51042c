#pragma once
#include "paradl/machine/machine.hpp"
#include "paradl/network/curve.hpp"

namespace paradl {

/// Whether a machine's links were measured, some of them at least.
bool has_measured_links(const Machine& machine);

/// The path with the links that were measured for this operation and a buffer of m bytes: cost() of it is
/// what it takes.
Path measured_path(Collective operation, Path path, const Machine& machine, Bytes m);

/// cost() with the links that were measured for this operation and for buffers of that size: a line for each
/// range. Levels and operations that were not measured keep their specified link; allgather, reduce-scatter
/// and allreduce stand in for each other, as all are rings.
Curve measured_cost(Collective operation, const Path& path, const Machine& machine);

}  // namespace paradl
