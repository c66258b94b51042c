#pragma once
#include <array>
#include <string>
#include <vector>

#include "calibrate/kernels/deepbench.hpp"

namespace paradl::calibrate {

/// One fitted parameter of the model, and between which values it may lie.
struct FittedParameter {
  std::string_view name;
  double least, most;
  double (*get)(const KernelParameters&);
  void (*set)(KernelParameters&, double);
};
std::vector<FittedParameter> fitted_parameters(const KernelDevice& device);

/// Parameters that bring the model nearest to timings: log error, soft L1, each kind of kernel weighing
/// alike.
KernelParameters fit_kernels(const KernelDevice& device, const std::vector<KernelTiming>& timings);

/// How the model does on one kind of kernel.
struct KernelErrors {
  std::size_t kernels = 0;
  double median = 0, ninetieth = 0;  // of |modelled / measured - 1|
  double bias = 0;                   // median of log(modelled / measured)
  double rank_correlation = 0;       // Spearman's
};
using ErrorsByClass = std::array<KernelErrors, kernel_class_names.size()>;

KernelErrors errors_of(const std::vector<double>& modelled, const std::vector<double>& measured);
ErrorsByClass kernel_errors(const KernelDevice& device, const std::vector<KernelTiming>& timings);

/// The same with every shape predicted by parameters that were fitted without it: shapes are dealt out to
/// `folds` parts, each of which is left out once.
ErrorsByClass cross_validate(const KernelDevice& device, const std::vector<KernelTiming>& timings,
                             int folds = 5, unsigned seed = 1);

}  // namespace paradl::calibrate
