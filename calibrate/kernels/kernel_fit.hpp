#pragma once
#include <array>
#include <string>
#include <vector>

#include "calibrate/kernels/deepbench.hpp"

namespace paradl::calibrate {

/// One fitted parameter of the model, and its bounds.
struct FittedParameter {
  std::string_view name;
  double least, most;
  double (*get)(const KernelParameters&);
  void (*set)(KernelParameters&, double);
};
std::vector<FittedParameter> fitted_parameters(const KernelDevice& device);

/// Fits the parameters of the model to timings: log error, soft L1, every kind of kernel with the same
/// weight.
KernelParameters fit_kernels(const KernelDevice& device, const std::vector<KernelTiming>& timings);

/// The accuracy of the model on one kind of kernel.
struct KernelErrors {
  std::size_t kernels = 0;
  double median = 0, ninetieth = 0;  // of |modelled / measured - 1|
  double bias = 0;                   // median of log(modelled / measured)
  double rank_correlation = 0;       // Spearman's
};
using ErrorsByClass = std::array<KernelErrors, kernel_class_names.size()>;

KernelErrors errors_of(const std::vector<double>& modelled, const std::vector<double>& measured);
ErrorsByClass kernel_errors(const KernelDevice& device, const std::vector<KernelTiming>& timings);

/// Cross-validation: shapes are divided into `folds` parts, and each part is predicted by parameters fitted
/// to the others.
ErrorsByClass cross_validate(const KernelDevice& device, const std::vector<KernelTiming>& timings,
                             int folds = 5, unsigned seed = 1);

}  // namespace paradl::calibrate
