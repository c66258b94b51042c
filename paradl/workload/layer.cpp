#include "paradl/workload/layer.hpp"

#include <algorithm>
#include <cmath>

namespace paradl {

// A window of k = dilation (kernel - 1) + 1 rows that moves by s rows at a time reaches k - s rows beyond the
// rows that belong to its own outputs. With stride 1 this is the paper's (K-1)/2 on either side; pooling that
// tiles its input (k = s) needs no halo at all. `padding` is the part of these rows that is before the first
// row.

Halo x_halo(const Layer& layer, int dim) {
  const auto d = std::size_t(dim);
  const double k = layer.dilation[d] * (layer.kernel[d] - 1) + 1, s = layer.stride[d];
  const double reach = std::max(0.0, k - s);
  const double before = std::min(reach, std::min(layer.padding[d], k - 1));
  // Without padding, the rows beyond are divided between both sides as the outputs are.
  const double share = layer.padding[d] > 0 ? before : std::floor(reach / 2);
  return {share, reach - share};
}

// Backward: row i of dx sums the rows of dy whose windows cover it, which reach (k - s)/s rows beyond its
// own.
Halo dy_halo(const Layer& layer, int dim) {
  const auto d = std::size_t(dim);
  const Halo forward = x_halo(layer, dim);
  const double s = layer.stride[d];
  return {std::ceil(forward.after / s), std::ceil(forward.before / s)};
}

}  // namespace paradl
