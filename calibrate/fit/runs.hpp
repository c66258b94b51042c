#pragma once
#include <functional>
#include <string>
#include <vector>

#include "calibrate/fit/robust.hpp"
#include "paradl/query/runs.hpp"

namespace paradl::calibrate {

/// A parameter of a machine or a framework that can be fitted to measured runs.
struct RunParameter {
  std::string name, unit;
  double start = 1;     // a first guess, in base units
  double most = 1;      // upper bound: the hardware cannot do more
  double per_unit = 1;  // base units in one `unit`
  std::function<void(Case&, double)> put;
};

/// Links of a machine with nodes, its host, and the costs of its framework.
std::vector<RunParameter> link_parameters();
/// The efficiency of a device's kernels, and the time that the host needs to start them.
std::vector<RunParameter> kernel_parameters();

struct RunFit {
  std::vector<double> values;  // in the order of the parameters, base units
  std::vector<double> errors;  // standard errors, relative; infinite if the runs do not determine the value
  double scatter = 0;          // root mean square of the remaining logarithms
};

/// Least squares over the logarithms of projected / measured iterations and, with less weight, of their
/// computation if it was measured. The loss is soft L1, so that contradicting runs do not dominate. First
/// guesses count like one run each, with an uncertainty of a factor of 1.7; they fix parameters that the runs
/// do not determine. Levenberg-Marquardt in the logarithms of the parameters, with finite differences. Runs
/// for which `use` is false are left out. With `sources_alike`, every source has the same weight, whatever
/// the number of its runs.
RunFit fit_runs(std::vector<RunAsked>& runs, const std::vector<RunParameter>& parameters,
                const std::function<bool(const MeasuredRun&)>& use, bool sources_alike = false);

/// Puts values into the machines and trainings of all runs.
void put_values(std::vector<RunAsked>& runs, const std::vector<RunParameter>& parameters,
                const std::vector<double>& values);

}  // namespace paradl::calibrate
