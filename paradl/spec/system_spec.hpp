#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "paradl/core/money.hpp"
#include "paradl/core/quantity.hpp"
#include "paradl/core/units.hpp"
#include "paradl/spec/document.hpp"
#include "paradl/spec/kernel_spec.hpp"
#include "paradl/spec/measured_link.hpp"
#include "paradl/spec/override.hpp"
#include "paradl/spec/precision.hpp"

namespace paradl {

/// The power of a device in watts when idle (if known) and at work.
struct Draw {
  std::optional<double> idle;
  double peak = 0;
};

struct DeviceSpec {
  std::string name;
  Bytes memory;
  Bandwidth memory_bandwidth;
  std::array<std::optional<FlopRate>, precision_names.size()> peak;  // by Precision
  std::optional<double> multiprocessors;
  std::optional<Draw> watts;
  std::string kernels_name;  // its fitted kernels, a name in profiles/kernels/; empty: none
  Spot kernels_spot;
  std::optional<KernelSpec> kernels;  // filled by Catalog
};

/// The power of one cable of a level, both ends together.
struct Watts {
  double idle = 0, peak = 0;
};

/// Limits of the numbers of a level, and of the sizes of all levels multiplied.
inline constexpr double most_gpus = 1 << 24;
inline constexpr Range port_limits{1e-3, 1e6}, oversubscription_limits{1, 1e6};

/// Links that join `size` units of the level below.
struct LevelSpec {
  std::string name;
  int size = 1;
  Seconds latency;
  Bandwidth bandwidth;          // of one port, one direction
  std::optional<double> ports;  // that connect one unit of the level below
  double oversubscription = 1;
  std::optional<Watts> watts;
  std::vector<MeasuredLinkSpec> measured;
};

/// The factor by which other jobs slow down exchanges between nodes, from measurements such as GPCNeT's:
/// typical, lowest and highest.
struct CongestionSpec {
  double typical = 1, low = 1, high = 1;
};

/// Measured exchanges through host memory, without GPUDirect.
struct StagedSpec {
  Seconds latency;      // of one message from GPU to GPU on different hosts
  Bandwidth bandwidth;  // of the same message
  Bandwidth copies;     // of a collective's buffers to the host and back, in addition to the network's time
};

struct HostSpec {
  std::optional<Bytes> memory;                     // per node
  std::optional<Bandwidth> bandwidth;              // between one GPU and its host, one direction
  double shared_by = 1;                            // GPUs that share this link
  std::optional<Bandwidth> memory_bandwidth = {};  // of the host: limits weight updates on the host
  std::optional<StagedSpec> staged;
  std::optional<Draw> watts;  // of a node without its GPUs
};

struct StorageSpec {
  std::optional<Bytes> capacity;
  std::optional<Bandwidth> read;
};

/// A system file as written: systems/*.yaml.
struct SystemSpec {
  SourceText source;
  std::string name, summary, origin;
  DeviceSpec device;
  std::vector<LevelSpec> levels;  // innermost first
  Spot topology_spot;
  std::string topology;      // of the outermost level, by name; empty: a tree of the levels
  bool half_duplex = false;  // both directions of a cable share its bandwidth
  std::optional<CongestionSpec> congestion;
  std::optional<HostSpec> host;
  std::optional<StorageSpec> node_storage, shared_storage;
  std::optional<Price> price;  // of one GPU
  std::string framework;       // of measured runs on this system that name none; may be empty
};

/// Reads a system. SpecError lists the mistakes in the file, UsageError those in an override.
SystemSpec read_system(SourceText source, const std::vector<Override>& overrides = {});

}  // namespace paradl
