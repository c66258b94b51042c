#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "paradl/console/options.hpp"
#include "paradl/cost/planner.hpp"
#include "paradl/cost/sweep.hpp"
#include "paradl/feasibility/bottleneck.hpp"
#include "paradl/spec/catalog.hpp"
#include "paradl/spec/recorded_errors.hpp"

namespace paradl {

enum class Fidelity { detailed, paper };

/// A question with everything it refers to, read and checked: what every command that projects starts from.
struct Ask {
  ModelSpec model_spec;
  SystemSpec system_spec;
  std::optional<ProfileSpec> profile_spec;
  FrameworkSpec framework_spec;
  Workload work;
  Machine machine;
  std::unique_ptr<const Topology> topology;  // none: the machine's levels are all there is
  LayerTimes times;
  Training training;
  Question question;
  Fidelity fidelity = Fidelity::detailed;
  bool default_batch = false;       // nobody gave one
  std::vector<Override> overrides;  // of the system, by --set
  bool changed_terms = false;       // of the framework, by --set
  std::string changed;              // what of all that no measured run had: "--set", "--input"; or nothing
  bool specified_links = false;     // --links ideal
  Triggers triggers;
  double epochs = 0;   // 0: not asked
  bool costs = false;  // what they cost is shown: of --epochs, or by a price
  std::unique_ptr<Planner> planner;
  std::vector<StrategyName> beyond_core;  // the strategies of `question`, out of core

  /// The machine as other jobs slow it, with what is built on it.
  struct Slowed {
    Machine machine;
    std::unique_ptr<const Topology> topology;
    std::unique_ptr<Planner> planner;
  };
  std::vector<std::unique_ptr<Slowed>>
      slowed;  // low, typical, high; empty where the system has no congestion

  /// Who looks for limits and bottlenecks.
  Examiner examiner() const;
  /// The machine with more values of its file changed. UsageError where that cannot be.
  Machine machine_with(const std::vector<Override>& more) const;
  Setting setting() const { return {work, machine, times, training, topology.get()}; }
  Projection project(const StrategyName& strategy, const Mesh& mesh, double batch) const;
  std::vector<Projection> sweep() const;
  /// The answers of a sweep, best first. Out of core is one more of them where it is the best there is and
  /// nobody named strategies.
  std::vector<Projection> ranked();
  /// The best of the question's strategies out of core, if it is faster than all that fit in core. Nothing
  /// where the system file does not say enough of its hosts.
  std::optional<Projection> best_out_of_core();
  void add_band(Projection& projection) const;
  std::string links_text() const;             // where link times come from, for footnotes
  std::string framework_text() const;         // " Framework: ddp." unless it is the ideal
  ParameterLevel level() const;               // on what its projections rest
  std::optional<double> layer_error() const;  // how far its layer times may be off: 0.2, a fifth
};

/// The network that a system names, if it names one. SpecError at its place if it cannot be as the file has it.
std::unique_ptr<const Topology> network_of(const SystemSpec& spec, const Machine& machine,
                                           bool as_in_file);

/// What --set says of the system, and of the framework (`framework.halos=gpu`).
struct Overrides {
  std::vector<Override> system, framework;
};
Overrides read_overrides(const std::vector<std::string>& sets);

/// Times in another precision or with another optimizer would not be those that were asked for. UsageError.
void check_profile(const ProfileSpec& profile, const Training& training);

/// Reads how a framework trains. UsageError or SpecError for a value that cannot be.
Training read_training(const Catalog& catalog, const Options& options);
/// The framework that was asked for, or the ideal.
FrameworkSpec read_framework(const Catalog& catalog, const Options& options);

/// Where link times come from, some machines being measured in part: "measured (node), specifications
/// (cluster), in"; a file's name follows.
std::string links_text(const Machine& machine);

/// Reads model, system and options. UsageError or SpecError where they do not make a question.
std::unique_ptr<Ask> read_ask(const Catalog& catalog, const Options& options, const std::string& model,
                              const std::string& system, bool needs_gpus = true);
/// Asks for other strategies, grids, GPUs or mini-batches than before; all else must be as it was.
void ask_anew(const Options& options, Ask& ask, bool needs_gpus = true);

}  // namespace paradl
