#pragma once
#include <functional>
#include <string>
#include <vector>

#include "paradl/core/quantity.hpp"

namespace paradl::calibrate {

/// When a measurement is accurate enough.
struct StoppingRule {
  int warm_up = 1;  // samples that do not count: first touch of memory, connections, choice of algorithms
  int least = 5;    // samples before the rule can be met
  int most = 1000;
  double noise = 0.01;  // relative half-width of the median's 95 % confidence interval
  Seconds time{1.0};    // of all samples, with the warm-up; at least one sample is taken
};

/// The result of a list of samples.
struct Measured {
  Seconds median;
  Seconds lower_quartile;  // not affected by other load during some samples
  double noise = 0;        // infinite below six samples, which have no 95 % interval
  int samples = 0;         // without warm-up
  bool settled = false;    // the noise is within its limit
};

/// Collects samples until the rule is met. The same samples give the same answer on every rank.
class Stopping {
 public:
  explicit Stopping(const StoppingRule& rule) : rule_(rule) {}
  void add(Seconds sample);
  /// Adds a sample of an earlier run. This run still needs its own warm-up.
  void restore(Seconds sample);
  bool done() const;
  Measured result() const;
  const std::vector<double>& samples() const { return samples_; }  // s, without warm-up

 private:
  void count(Seconds sample);

  StoppingRule rule_;
  std::vector<double> samples_;
  int taken_ = 0;
  double spent_ = 0;
  Measured state_;
};

/// Takes samples until the rule is met.
Measured measure(const StoppingRule& rule, const std::function<Seconds()>& sample);

/// The relative half-width of the 95 % confidence interval of the median, from order statistics: without an
/// assumption about the distribution. Infinite for fewer than six.
double median_noise(std::vector<double> samples);

/// Detects other load on the machine. Compares wall time with the core time of the process, and the speed of
/// a small reference kernel over time: the speed of a shared host changes from minute to minute, although it
/// is steady within each minute.
class LoadWatch {
 public:
  struct Reading {
    Seconds wall, cpu;  // of one run of the reference kernel
  };
  /// Runs the reference kernel (about 10 ms) and remembers how long it took.
  void look() { add(run_reference()); }
  void add(const Reading& reading) { readings_.push_back(reading); }
  /// Empty if nothing is wrong.
  std::vector<std::string> warnings() const;

  /// Slowest over fastest run of the reference kernel by its core time: 1 on a steady machine.
  double drift() const;
  /// Core time over wall time of all runs: 1 on a machine that is ours alone.
  double share() const;

  static Reading run_reference();

 private:
  std::vector<Reading> readings_;
};

}  // namespace paradl::calibrate
