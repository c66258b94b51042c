#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "paradl/cost/setting.hpp"
#include "paradl/network/topology.hpp"
#include "paradl/query/library.hpp"
#include "paradl/query/query.hpp"
#include "paradl/spec/recorded_errors.hpp"

namespace paradl {

/// Everything a query refers to, found, read and checked. It is a value that owns what it has, and whoever
/// got it from `load` need not change it.
struct Case {
  ModelSpec model_spec;
  SystemSpec system_spec;  // with the query's changes
  FrameworkSpec framework_spec;
  std::optional<ProfileSpec> profile_spec;

  Workload work;
  Machine machine;
  std::shared_ptr<const Topology> topology;  // none: the machine's levels are all there is
  Training training;
  LayerTimes times;
  Fidelity fidelity = Fidelity::detailed;

  std::vector<Override> system_changes;
  bool changed_terms = false;    // of the framework
  bool specified_links = false;  // what was measured of links is not used
  std::string changed;           // what no measured run had: "--set", "--input"; or nothing
  double epochs = 0;             // 0: not asked
  bool costs = false;            // what the epochs cost is shown: they were asked for, or there is a price

  /// Refers to this case, which must stay where it is.
  Setting setting() const { return {work, machine, times, training, topology.get()}; }
  operator Setting() const { return setting(); }
  /// The machine with more values of its file changed. UsageError where that cannot be.
  Machine machine_with(const std::vector<Override>& more) const;

  /// On what projections rest, as errors are recorded by it.
  ParameterLevel level() const;
  /// How far the layer times may be off: 0.2 is a fifth. Nothing: not known.
  std::optional<double> layer_error() const;
};

/// UsageError or SpecError, at the place of the value that is wrong, where something cannot be found, cannot
/// be read, has no effect or contradicts something else.
Case load(const Query& query, Library& library);
Case load(const Query& query, const Catalog& catalog);

/// What of a query is to be tried on its case.
Question question_of(const Query& query, const Case& about);

/// How a query trains under a framework. UsageError where options contradict each other.
Training training_of(const Query& query, const FrameworkSpec& framework);
/// The same under the framework that it names, or the ideal one.
Training load_training(const Query& query, Library& library);
Training load_training(const Query& query, const Catalog& catalog);

/// The network that a system names, if it names one. SpecError at its place if it cannot be as the file has
/// it; UsageError if --set made it so.
std::unique_ptr<const Topology> network_of(const SystemSpec& spec, const Machine& machine, bool as_in_file);

/// Times in another precision or with another optimizer would not be those that were asked for. UsageError.
void check_profile(const ProfileSpec& profile, const Training& training);

}  // namespace paradl
