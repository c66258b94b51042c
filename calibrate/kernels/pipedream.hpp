#pragma once
#include <string>
#include <vector>

#include "paradl/machine/kernel_device.hpp"
#include "paradl/spec/local_layer.hpp"

namespace paradl::calibrate {

/// One layer of a network that PipeDream's profiler timed (PyTorch; GPU not stated, V100 class).
struct ProfiledLayer {
  LocalLayer layer;
  double forward = 0, backward = 0;  // s, without the weight update
};

struct ProfiledNetwork {
  std::string name;
  std::vector<ProfiledLayer> layers;  // without the first convolution, whose times include other work
  double measured() const;            // forward and backward of a mini-batch, s
};

/// profiles_pipedream.csv in a folder.
std::vector<ProfiledNetwork> read_pipedream(const std::string& folder);

/// Forward and backward by the kernel-time model, with the overhead of timing each layer separately.
double modelled_network(const KernelDevice& device, const ProfiledNetwork& network);

}  // namespace paradl::calibrate
