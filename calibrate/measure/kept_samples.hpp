#pragma once
#include <map>
#include <string>
#include <vector>

#include "calibrate/backend/communicator.hpp"
#include "calibrate/measure/stopping.hpp"

namespace paradl::calibrate {

/// Seconds, by what they are of: "2 flows of 64 kB".
using Samples = std::map<std::string, std::vector<double>>;

/// A file of samples for the next run with the same tools on the same ranks: what was measured before a run
/// was interrupted.
class KeptSamples {
 public:
  KeptSamples(std::string path, std::string tool) : path_(std::move(path)), tool_(std::move(tool)) {}

  const std::string& path() const { return path_; }
  /// Nothing where there is no such file, or one of other tools or ranks.
  Samples read() const;
  void write(const Samples& samples) const;
  void remove() const;

 private:
  std::string path_, tool_;
};

/// Goes on from the samples that rank 0 has: not every node need see its file. All ranks call it.
Stopping resume(const StoppingRule& rule, Communicator& ranks, const std::vector<double>& samples);

}  // namespace paradl::calibrate
