#pragma once
#include <span>
#include <vector>

namespace paradl {

/// What a layer adds to its part of a chain. A host starts what a part does, and the part takes as long as
/// paced() says of both.
struct LayerLoad {
  double forward = 0, backward = 0, forward_host = 0, backward_host = 0;
  LayerLoad& operator+=(const LayerLoad& other);
};

/// How long a pass takes that a host starts bit by bit. A host that is ahead over long kernels falls behind
/// over short ones, so that a device waits before its host is the slower one in all: the longer of the two,
/// with a norm of 3 in place of a sharp corner. The 3 was chosen among 2, 2.5, 3, 4 and 6 on the runs that
/// profiles/kernels/a100-cuda11.yaml was fitted on.
double paced(double pass, double host);

/// Cuts a chain of layers into `stages` parts of consecutive layers so that the longest part is as short as
/// can be and, of all such cuts, the one whose borders cost least. A part takes the time of its layers and of
/// the borders on both its sides: it sends activations over the one and gradients over the other. `border[i]`
/// is what a border after layer i costs; empty: borders are free. Returns the first layer of each part. Needs
/// stages <= layer.size().
std::vector<int> balanced_partition(std::span<const LayerLoad> layer, int stages,
                                    std::span<const double> border = {});

/// The same for layers that are one number each.
std::vector<int> balanced_partition(std::span<const double> weight, int stages,
                                    std::span<const double> border = {});

/// The same so that borders cost least, with no part longer than the longest of a plain cut into equal
/// shares: what a micro-batch that goes through all parts alone waits for is their borders.
std::vector<int> cheapest_partition(std::span<const LayerLoad> layer, int stages,
                                    std::span<const double> border);

/// Cuts a chain into stages * chunks pieces, of which stage s has those numbered s, s + stages, ...: so that
/// the busiest stage has as little to do as can be and, of such cuts, the longest piece is short. Found by
/// moving borders and then by a search that proves itself where it can; a long chain's may be a little off.
std::vector<int> interleaved_partition(std::span<const LayerLoad> layer, int stages, int chunks,
                                       std::span<const double> border = {});
std::vector<int> interleaved_partition(std::span<const double> weight, int stages, int chunks,
                                       std::span<const double> border = {});

}  // namespace paradl
