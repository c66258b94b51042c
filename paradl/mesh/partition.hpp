#pragma once
#include <span>
#include <vector>

namespace paradl {

/// Cuts a chain of layers into `stages` parts of consecutive layers so that the longest part is as short as
/// can be and, of all such cuts, the one whose borders cost least. A part takes the time of its layers and of
/// the borders on both its sides: it sends activations over the one and gradients over the other. `border[i]`
/// is what a border after layer i costs; empty: borders are free. Returns the first layer of each part. Needs
/// stages <= weight.size().
std::vector<int> balanced_partition(std::span<const double> weight, int stages,
                                    std::span<const double> border = {});

/// Cuts a chain into stages * chunks pieces, of which stage s has those numbered s, s + stages, ...: so that
/// the busiest stage has as little to do as can be and, of such cuts, the longest piece is short. Found by
/// moving borders and then by a search that proves itself where it can; a long chain's may be a little off.
std::vector<int> interleaved_partition(std::span<const double> weight, int stages, int chunks,
                                       std::span<const double> border = {});

}  // namespace paradl
