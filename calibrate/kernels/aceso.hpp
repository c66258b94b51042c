#pragma once
#include <string>
#include <vector>

#include "paradl/machine/convolution_time.hpp"

namespace paradl::calibrate {

/// Which channels of a convolution are split.
enum class ChannelSplit { filters, channels };

/// One convolution of a Wide-ResNet, timed by Aceso's profiler (V100, PyTorch): the whole operator, with the
/// collective of a split and the copy that gathers its parts. The copy is made even without a split.
struct OperatorTiming {
  std::string name;
  Convolution whole;
  int ways = 1;
  ChannelSplit split = ChannelSplit::filters;
  double forward = 0, backward = 0;  // s
};

/// profiles_aceso_v100.csv in a folder: each shape once, without the stem.
std::vector<OperatorTiming> read_aceso(const std::string& folder);

/// Alpha and beta of the collectives of that node, by range of size: alpha_beta_fits.csv.
class NodeCollectives {
 public:
  explicit NodeCollectives(const std::string& folder);
  double all_gather(int ways, double bytes_of_a_rank) const;
  double all_reduce(int ways, double bytes) const;

 private:
  struct Line {
    std::string collective;
    int ways;
    double from, below, alpha, beta;
  };
  double time(const std::string& collective, int ways, double bytes) const;
  std::vector<Line> lines_;
};

struct OperatorTime {
  double forward = 0, backward = 0;  // s
};

/// Kernels at the split shapes, the collective, and the copies.
OperatorTime modelled_operator(const KernelDevice& device, const NodeCollectives& node,
                               const OperatorTiming& timing);

}  // namespace paradl::calibrate
