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

/// Everything that a query refers to, found, read and checked. It is a value that owns its parts; `load`
/// completes it, and nothing changes it afterwards.
struct Case {
  ModelSpec model_spec;
  SystemSpec system_spec;  // with the query's changes
  FrameworkSpec framework_spec;
  std::optional<ProfileSpec> profile_spec;

  Workload work;
  Machine machine;
  std::shared_ptr<const Topology> topology;  // none: a tree of the machine's levels
  Training training;
  Plan plan;  // without mesh and mini-batch: only the options the query gives. `Oracle` adds both.
  LayerTimes times;
  Fidelity fidelity = Fidelity::detailed;

  std::vector<Override> system_changes;
  bool changed_terms = false;    // of the framework
  bool specified_links = false;  // measurements of links are not used
  std::string changed;           // a change that no measured run had: "--set", "--input"; or nothing
  double epochs = 0;             // 0: not given
  bool costs = false;            // show the cost of epochs: their number or a price is given

  /// A setting made this way copies the parts that it needs; `setting_of` shares them.
  operator Setting() const { return {work, machine, times, training, topology}; }
  /// The machine with more values of its file changed. UsageError if that is impossible.
  Machine machine_with(const std::vector<Override>& more) const;

  /// Paths of the files that it was read from.
  std::vector<std::string> files() const;

  /// The kind of parameters behind a projection: errors are recorded by it.
  ParameterLevel level() const;
  /// The relative error of the layer times: 0.2 is a fifth. Nothing: unknown.
  std::optional<double> layer_error() const;
};

/// What projections of a case depend on. It keeps the case alive.
Setting setting_of(const std::shared_ptr<const Case>& about);

/// UsageError or SpecError, at the place of the wrong value, if something cannot be found, cannot be read,
/// has no effect or contradicts something else.
Case load(const Query& query, Library& library);
Case load(const Query& query, const Catalog& catalog);

/// The strategies, GPUs, mini-batches and grids that a query wants to try.
Question question_of(const Query& query, const Case& about);

/// The options of all plans that a query asks about; those that it leaves open are as in `otherwise`.
Plan plan_of(const Query& query, const Plan& otherwise = {});
/// How a query trains under a framework. UsageError if options contradict each other.
Training training_of(const Query& query, const FrameworkSpec& framework);
/// The same under the framework that the query names, or the ideal one.
Training load_training(const Query& query, Library& library);

/// The topology that a system names, if it names one. SpecError at its place in the file if it is impossible;
/// UsageError if --set made it so.
std::unique_ptr<const Topology> network_of(const SystemSpec& spec, const Machine& machine, bool as_in_file);

/// UsageError if a profile was measured in another precision or with another optimizer than requested.
void check_profile(const ProfileSpec& profile, const Training& training);

}  // namespace paradl
