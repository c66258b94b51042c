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

/// Cuts a chain into pieces as even as can be: the sum of the squares of what they take is the smallest. For
/// stages that have several pieces each: one long piece must not be a licence for the others.
std::vector<int> even_partition(std::span<const double> weight, int pieces,
                                std::span<const double> border = {});

}  // namespace paradl
