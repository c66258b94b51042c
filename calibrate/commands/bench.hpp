#pragma once
#include <memory>
#include <string>
#include <vector>

#include "calibrate/backend/communicator.hpp"
#include "calibrate/backend/device.hpp"
#include "calibrate/files/system_file.hpp"
#include "calibrate/measure/layer_plan.hpp"
#include "paradl/console/arguments.hpp"

namespace paradl::calibrate {

/// The ranks that take part in a measurement, and the device of this rank.
struct Bench {
  Backend backend = Backend::cpu;
  std::unique_ptr<Communicator> ranks;  // exchanges host memory
  std::unique_ptr<Device> device;       // nullptr: not on this machine, which is enough for a plan
  std::unique_ptr<Communicator> links;  // exchanges device memory; nullptr: devices use host memory

  Communicator& between_devices() const { return links ? *links : *ranks; }
  bool prints() const { return ranks->rank() == 0; }  // other ranks print nothing
  DeviceFacts facts() const;
};

/// "AMD EPYC 7763 (oneDNN 2.6.3, 1 thread)".
std::string device_text(const DeviceFacts& facts);

/// "2 ranks on 1 node".
std::string ranks_text(const std::vector<int>& nodes);

/// This program, its libraries, the ranks and their nodes.
Provenance provenance_of(const Bench& bench);

/// The speed of the bench's device, from a quick run; without a device, typical values.
Rates rates_of(const Bench& bench);

/// Options of all commands that measure.
struct BenchWords {
  std::string backend;  // cpu, cuda or plain; empty: cpu
  bool dry_run = false;
  void define(const Arguments& command);
};

/// Starts the ranks and opens the back end. UsageError for an unknown name. EnvironmentError if the back end
/// is not part of this build or has no device; a dry run does without the device.
Bench open_bench(const BenchWords& words, Precision precision);

/// The rank of this process from the launcher's environment, before MPI starts; 0 without a launcher.
int launched_rank();
/// Whether a launcher such as mpirun started this process.
bool launched();

/// For `--version -v`: the back ends of this build and their libraries.
std::string parts_of_this_build();

/// Ends all ranks if this one failed, because they would wait for it. Returns the exit code.
int leave(int exit_code);

}  // namespace paradl::calibrate
