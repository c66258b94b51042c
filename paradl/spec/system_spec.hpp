#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "paradl/core/money.hpp"
#include "paradl/core/quantity.hpp"
#include "paradl/spec/document.hpp"
#include "paradl/spec/kernel_spec.hpp"
#include "paradl/spec/measured_link.hpp"
#include "paradl/spec/override.hpp"
#include "paradl/spec/precision.hpp"

namespace paradl {

/// What a device draws at rest, where that is known, and at work.
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
  std::string kernels_name;  // of what was fitted there, a name in profiles/kernels/; empty: nothing was
  Spot kernels_spot;
  std::optional<KernelSpec> kernels;  // what a catalog finds under that name
};

/// What one cable of a level draws, both ends together.
struct Watts {
  double idle = 0, peak = 0;
};

/// Links that join `size` units of the level below.
struct LevelSpec {
  std::string name;
  int size = 1;
  Seconds latency;
  Bandwidth bandwidth;          // of one port, one direction
  std::optional<double> ports;  // through which one unit of the level below leaves
  double oversubscription = 1;
  std::optional<Watts> watts;
  std::vector<MeasuredLinkSpec> measured;
};

/// How much longer exchanges between nodes take beside other jobs, from measurements such as GPCNeT's:
/// typically, at best and at worst.
struct CongestionSpec {
  double typical = 1, low = 1, high = 1;
};

/// Exchanges that pass through host memory, as they were measured: no GPUDirect.
struct StagedSpec {
  Seconds latency;      // of one message between two hosts, from GPU to GPU
  Bandwidth bandwidth;  // of the same
  Bandwidth copies;     // of a collective's buffers to the host and back, beside the network's own time
};

struct HostSpec {
  std::optional<Bytes> memory;                     // per node
  std::optional<Bandwidth> bandwidth;              // between one GPU and its host, one direction
  double shared_by = 1;                            // GPUs that have that link together
  std::optional<Bandwidth> memory_bandwidth = {};  // of the host: what updates on it are bound by
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
  std::string topology;      // of the outermost level, as a word; empty: a tree of the levels
  bool half_duplex = false;  // both directions of a cable share its bandwidth
  std::optional<CongestionSpec> congestion;
  std::optional<HostSpec> host;
  std::optional<StorageSpec> node_storage, shared_storage;
  std::optional<Price> price;  // of one GPU
  std::string framework;       // of the runs that were measured on it, where a run names none; may be empty
};

/// Reads a system. SpecError lists what is wrong with the file, UsageError what is wrong with an override.
SystemSpec read_system(SourceText source, const std::vector<Override>& overrides = {});

}  // namespace paradl
