#pragma once
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/cli/arguments.hpp"
#include "paradl/cost/evaluator.hpp"
#include "paradl/cost/sweep.hpp"
#include "paradl/feasibility/bottleneck.hpp"
#include "paradl/spec/catalog.hpp"
#include "paradl/spec/recorded_errors.hpp"

namespace paradl {

/// Options as typed, and where each value came from: the command line, the environment or a configuration
/// file.
class Options {
 public:
  /// Adds the shared options to a command, but for those it would not heed.
  void define(const Arguments& command, const std::vector<std::string_view>& without = {});
  /// Only these of them, and how to answer; --set only with `on`.
  void define_only(
      const Arguments& command, const std::vector<std::string_view>& keys,
      const std::string& output_help = "also write there; format from the extension; repeatable");

  /// Fills what the command line left open: PARADL_* variables, then paradl.yaml here or above, then the
  /// user's own.
  void complete();

  /// What a configuration file sets. SpecError for keys that are no options.
  void read_configuration(const SourceText& source);
  static std::vector<std::string> configuration_keys();

  /// Reads a value with `parse`; what that refuses is blamed on where the value came from.
  template <class Parse>
  auto read(const std::string& key, const std::string& fallback, Parse parse) const {
    const std::string text = get(key, fallback);
    try {
      return parse(text);
    } catch (const UsageError& error) {
      blame(key, error);
    }
  }
  /// Throws what is wrong with a value, or with several together, as of where the first of them that was not
  /// typed came from: a variable, or the place in a file.
  [[noreturn]] void blame(std::initializer_list<std::string_view> keys, const UsageError& error) const;
  [[noreturn]] void blame(std::string_view key, const UsageError& error) const { blame({key}, error); }
  /// UsageError if anything else was typed: it would not be heeded.
  void refuse_typed(const std::vector<std::string_view>& but, const std::string& what) const;
  bool typed(const std::string& key) const { return has(key) && values_.at(key).origin == typed_here; }

  bool has(const std::string& key) const { return values_.contains(key) && !values_.at(key).text.empty(); }
  std::string get(const std::string& key, const std::string& fallback = {}) const {
    return has(key) ? values_.at(key).text : fallback;
  }
  void set(const std::string& key, const std::string& text) { values_[key] = {text, typed_here, {}, {}}; }
  /// The same, as of a place in a file.
  void set(const std::string& key, const std::string& text, std::shared_ptr<const SourceText> file,
           Spot spot) {
    const std::string origin = file->file;
    values_[key] = {text, origin, std::move(file), spot};
  }
  const std::vector<std::string>& sets() const { return sets_; }
  void add_set(const std::string& change) { sets_.push_back(change); }
  const std::vector<std::string>& outputs() const { return outputs_; }
  /// Whether some of the answer goes out as JSON.
  bool wants_json() const;
  /// Whether some of it tells limits and bottlenecks of every row: JSON, or a column of the table.
  bool wants_bottlenecks() const;
  /// From which values on limits and bottlenecks are told: as a configuration says, or as shipped.
  Triggers triggers() const;
  bool json() const { return json_; }
  /// What was typed about machine and training, as it would be typed again: " --precision bf16 --set ...".
  /// What was asked (GPUs, strategy, grid) and how to answer are left out.
  std::string repeated() const;
  /// What -v prints: each setting and its origin.
  std::string origins() const;

 private:
  static constexpr const char* typed_here = "command line";
  struct Entry {
    std::string text, origin = typed_here;
    std::shared_ptr<const SourceText> file = {};  // the one that has it ...
    Spot spot = {};                               // ... and where
  };
  std::map<std::string, Entry> values_;
  std::vector<std::string> sets_, outputs_;
  std::map<std::string, double> triggers_;  // of limits and bottlenecks, by key
  bool json_ = false;
};

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
  std::unique_ptr<Evaluator> evaluator;
  std::vector<StrategyName> beyond_core;  // the strategies of `question`, out of core

  /// The machine as other jobs slow it, with what is built on it.
  struct Slowed {
    Machine machine;
    std::unique_ptr<const Topology> topology;
    std::unique_ptr<Evaluator> evaluator;
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
