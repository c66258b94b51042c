#pragma once
#include <string>
#include <vector>

#include "paradl/spec/recorded_errors.hpp"

namespace paradl {

/// Bounds of actual time / projected time.
struct Uncertainty {
  double low = 1, high = 1;
};
/// Adds an independent uncertainty: the squares of the logarithms add up.
RecordedError widened(RecordedError error, const Uncertainty& by);
/// The uncertainty of kernels that no recorded run had, whose times have a relative error of `layer_error`.
/// Times at peak rates are lower bounds; by how much kernels exceed them varies with the device.
Uncertainty kernel_uncertainty(const ParameterLevel& level, double layer_error);

/// The record that gives a projection's interval: that of its strategy (`serial` uses that of `data`), or
/// that of all strategies together; nullptr if there is none. Out-of-core plans have none: see `Answer`.
const RecordedError* find_recorded(const std::vector<RecordedError>& errors, const ParameterLevel& level,
                                   const std::string& strategy, double gpus);

/// The records of a level or, if there are none, of the nearest level. In order of increasing distance, it
/// may differ in precision; device; framework (only `ideal` may replace another); source of the layer times
/// (profile, modelled or model file); links (only specified links may replace measured ones); kind of
/// network. Peak rates, specified links and closed forms are only compared with their like. Options that no
/// run had are no distance. If anything but the framework differs, or such an option was given, the errors of
/// the layer times differ as well, which widens the intervals by `kernel_uncertainty`.
std::vector<RecordedError> nearest_recorded(const std::vector<RecordedError>& errors,
                                            const ParameterLevel& level, double layer_error);

}  // namespace paradl
