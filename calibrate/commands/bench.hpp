#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "calibrate/backend/communicator.hpp"
#include "calibrate/backend/device.hpp"
#include "paradl/console/options.hpp"

namespace paradl::calibrate {

/// What measurements are made with: the ranks that take part, and this one's device.
struct Bench {
  std::string backend;
  std::unique_ptr<Communicator> ranks;  // of host memory
  std::unique_ptr<Device> device;       // nullptr: it is not here, and a plan does without
  std::unique_ptr<Communicator> links;  // of the device's memory; nullptr: that is the host's

  Communicator& between_devices() const { return links ? *links : *ranks; }
  bool speaks() const { return ranks->rank() == 0; }  // the others print nothing
  DeviceFacts facts() const;
};

/// "AMD EPYC 7763 (oneDNN 2.6.3, 1 thread)".
std::string device_text(const DeviceFacts& facts);

/// A device that is not here: a plan (`--dry-run`) does without.
enum class Absent { refused, allowed };

/// Opens a back end by its name: `cpu`, `cuda`, `plain`; "" is the best that this machine has. UsageError for
/// one that is not known, EnvironmentError for one that is not part of this build or has no device.
Bench open_bench(const std::string& backend, Precision precision, Absent absent = Absent::refused);

/// The rank of this process by what its launcher says, before anything is opened; 0 without one.
int launched_rank();
/// Whether there is one.
bool launched();

/// What `--version -v` says: which back ends are part of this build, and with which libraries.
std::string parts_of_this_build();

/// UsageError unless it can name a file and stand in it as it is: letters, digits, - _ . +
void check_name(const std::string& name);

/// -f of commands that print one table. UsageError before anything is measured.
void check_format(const Options& options);

/// The way out after an error: other ranks must not wait for this one.
int leave(int exit_code);

}  // namespace paradl::calibrate
