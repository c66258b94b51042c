#pragma once
#include <functional>
#include <string>
#include <vector>

#include "calibrate/fit/robust.hpp"
#include "paradl/query/runs.hpp"

namespace paradl::calibrate {

/// One number of a machine or a framework that runs can tell.
struct RunParameter {
  std::string name, unit;
  double start = 1;     // a first guess, in base units
  double most = 1;      // more is beyond what the parts can do
  double per_unit = 1;  // base units in one `unit`
  std::function<void(Case&, double)> put;
};

/// Links of a machine with nodes, its host, and what its framework costs besides.
std::vector<RunParameter> link_parameters();
/// What kernels of a device reach, and what the host takes to start them.
std::vector<RunParameter> kernel_parameters();

struct RunFit {
  std::vector<double> values;  // in the order of the parameters, base units
  std::vector<double> errors;  // standard errors, relative; infinite where the runs do not tell
  double scatter = 0;          // root mean square of the logarithms that are left
};

/// Least squares over the logarithms of projected / measured iterations, and with less weight of their
/// computation where it was measured, with a soft limit (soft L1) so that runs which contradict each other do
/// not decide. First guesses, taken to be right within a factor of 1.7, count like one run each: they hold
/// what the runs do not tell. Parameters are varied in their logarithm: Levenberg and Marquardt's method with
/// derivatives from differences. Runs for which `use` is false are left out. Where sources count alike, many
/// runs of one do not outvote the few of another.
RunFit fit_runs(std::vector<RunAsked>& runs, const std::vector<RunParameter>& parameters,
                const std::function<bool(const MeasuredRun&)>& use, bool sources_alike = false);

/// Puts values into the machines and trainings of all runs.
void put_values(std::vector<RunAsked>& runs, const std::vector<RunParameter>& parameters,
                const std::vector<double>& values);

}  // namespace paradl::calibrate
