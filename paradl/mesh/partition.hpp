#pragma once
#include <span>
#include <vector>

namespace paradl {

/// What a layer adds to its part of a chain: the time of its passes on the device, and the time that the host
/// takes to launch them. paced() combines the sums of both.
struct LayerLoad {
  double forward = 0, backward = 0, forward_host = 0, backward_host = 0;
  LayerLoad& operator+=(const LayerLoad& other);
};

/// The time of a pass whose kernels a host launches one by one. The host gets ahead during long kernels and
/// falls behind during short ones, so the device sometimes waits even if the host needs less time in total.
/// The result is therefore a smooth maximum of both: their 3-norm. The 3 was chosen among 2, 2.5, 3, 4 and 6
/// on the runs that profiles/kernels/a100-cuda11.yaml was fitted on.
double paced(double pass, double host);

/// Cuts a chain of layers into `stages` parts of consecutive layers. The longest part is as short as
/// possible; among such cuts, the borders cost least. A part takes the time of its layers and of the borders
/// on both sides: it sends activations over one and gradients over the other. `border[i]` is the cost of a
/// border after layer i; empty: borders are free. Returns the first layer of each part. Needs stages <=
/// layer.size().
std::vector<int> balanced_partition(std::span<const LayerLoad> layer, int stages,
                                    std::span<const double> border = {});

/// The same for layers with one number each.
std::vector<int> balanced_partition(std::span<const double> weight, int stages,
                                    std::span<const double> border = {});

/// Cuts so that borders cost least and no part is longer than the longest part of a plain cut into equal
/// shares. This suits a single micro-batch: it goes through all parts alone, and cuts only add their borders.
std::vector<int> cheapest_partition(std::span<const LayerLoad> layer, int stages,
                                    std::span<const double> border);

/// Cuts a chain into stages * chunks pieces; stage s has pieces s, s + stages, ... The busiest stage has as
/// little to do as possible; among such cuts, the longest piece is short. Borders are moved first, then a
/// search improves the cut or proves that it is the best. On long chains the search ends early, and the
/// result may be slightly worse than the best.
std::vector<int> interleaved_partition(std::span<const LayerLoad> layer, int stages, int chunks,
                                       std::span<const double> border = {});
std::vector<int> interleaved_partition(std::span<const double> weight, int stages, int chunks,
                                       std::span<const double> border = {});

}  // namespace paradl
