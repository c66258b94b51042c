#pragma once
#include <functional>
#include <string>
#include <vector>

#include "paradl/core/quantity.hpp"

namespace paradl::calibrate {

/// When a measurement is good enough.
struct StoppingRule {
  int warm_up = 1;  // samples that do not count: first touches, connections, algorithms that are chosen
  int least = 5;    // samples before anything is decided
  int most = 1000;
  double noise = 0.01;  // relative half-width of the median's 95 % confidence interval
  Seconds time{1.0};    // all samples together, warm-up included; one is taken in any case
};

/// What a list of samples says.
struct Measured {
  Seconds median;
  Seconds lower_quartile;  // what other load adds to some samples is not in it
  double noise = 0;        // infinite below six samples: no interval of 95 % is known of fewer
  int samples = 0;         // without warm-up
  bool settled = false;    // the noise is within its limit
};

/// Collects samples until the rule is content. The same samples give the same answer, on every rank.
class Stopping {
 public:
  explicit Stopping(const StoppingRule& rule) : rule_(rule) {}
  void add(Seconds sample);
  /// A sample of an earlier run, which warmed up then; this one still does.
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

/// Takes samples until the rule is content.
Measured measure(const StoppingRule& rule, const std::function<Seconds()>& sample);

/// The relative half-width of the 95 % confidence interval of the median, from order statistics alone: no
/// assumption on how samples are distributed. Infinite for fewer than six.
double median_noise(std::vector<double> samples);

/// Tells whether something else used the machine meanwhile. Compares wall time with the time that the process
/// had a core, and the speed of a small kernel now and then: the speed of a shared host changes between
/// minutes while each minute alone looks calm.
class LoadWatch {
 public:
  struct Reading {
    Seconds wall, cpu;  // of one run of the reference kernel
  };
  /// Runs the reference kernel (about 10 ms) and remembers how long it took.
  void look() { add(run_reference()); }
  void add(const Reading& reading) { readings_.push_back(reading); }
  /// What to warn of; empty if nothing is wrong.
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
