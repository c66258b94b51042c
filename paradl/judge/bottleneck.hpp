#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/judge/alternative.hpp"
#include "paradl/judge/evidence.hpp"

namespace paradl {

/// What keeps a strategy from being faster, larger or better: the fourteen entries of the paper's table of
/// limitations and bottlenecks.
enum class BottleneckKind {
  gradient_exchange,
  layer_collectives,
  point_to_point,
  congestion,
  self_contention,
  input_output,
  memory_redundancy,
  fragmentation,
  weight_update,
  workload_balance,
  computation_redundancy,
  number_of_pes,
  batch_norm_quality,
  gpu_occupancy,
};
inline constexpr std::size_t bottleneck_kinds = std::size_t(BottleneckKind::gpu_occupancy) + 1;

/// Inherent to the strategy, or due to framework or system.
enum class Nature { limit, bottleneck };
inline constexpr std::array<std::string_view, 2> nature_names{"limit", "bottleneck"};
static_assert(names_every(Nature::bottleneck, nature_names), "name every Nature");

enum class Reads { share, ratio, count };
enum class Sense { above, at_least, at_most };

/// A value that detects a bottleneck when it reaches its trigger.
struct Measure {
  BottleneckKind of;
  std::string_view key;  // of the trigger, under `bottlenecks` in paradl.yaml
  std::string_view meaning;
  Reads reads;
  Sense sense;
  double trigger, least, most;  // the default trigger, and the range it may be set to
  bool costs_time;              // reported only if its share of the iteration is large enough
  std::optional<Reading> (*read)(const Evidence&);  // nothing: does not apply
  std::span<const Term> terms = {};  // its share is at most theirs; empty: not known
};
inline constexpr std::array computation_terms{Term::forward, Term::backward, Term::recompute};
inline constexpr std::array exchange_terms{Term::gradient_exchange, Term::activation_exchange,
                                           Term::halo_exchange, Term::stage_transfer};

/// What makes a remedy worth listing for a plan that fits: it saves time; it saves memory, even if that takes
/// time, or only if it takes none; or it is merely possible.
enum class Worth { time, memory, free_memory, always };

/// One kind of bottleneck: a file in bottlenecks/ and a line in bottlenecks/table.cpp.
struct Entry {
  std::string_view name;   // in JSON
  std::string_view title;  // in text
  Nature nature;
  std::string_view meaning;
  std::span<const Measure> measures;     // one or two
  std::span<const ChangeKind> remedies;  // changes that might help
  Worth worth = Worth::time;             // of its remedies
  bool has_time = true;                  // to compare remedies with; not if a limit is broken
};
const Entry& entry(BottleneckKind kind);

/// The measures of all kinds.
std::span<const Measure> measures();
const Measure* find_measure(std::string_view key);

/// "24 %", "2.1", "4": a value of this measure; "> 20 %": its trigger.
std::string value_text(const Measure& measure, double value);
std::string trigger_text(const Measure& measure, double trigger);

/// The triggers: defaults, or those of paradl.yaml.
struct Triggers {
  Triggers();
  std::vector<double> value;  // by measure
  double least_share = 0.05;  // of the iteration: smaller costs are not reported
};
inline constexpr std::string_view least_share_key = "least-share";

/// One measure, its value, and whether it reached its trigger.
struct Finding {
  const Measure* measure = nullptr;
  double trigger = 0;
  std::optional<Reading> reading;  // nothing: does not apply
  bool fires = false;
};

/// A bottleneck that was found. If both of its measures fire, `finding` is a broken limit, or the one that is
/// farther beyond its trigger.
struct Bottleneck {
  BottleneckKind kind;
  Finding finding;
  std::vector<Alternative> changes;         // that might help
  std::vector<PricedAlternative> remedies;  // those that fit, projected; empty until price() is called
};

/// A change that makes a projection faster, and the bottlenecks that it addresses.
struct Improvement {
  PricedAlternative priced;
  std::vector<BottleneckKind> against;
};

/// Finds the limits and bottlenecks of projections of one setting.
class Examiner {
 public:
  /// `evaluator`: of the same setting; nullptr: projections come from the paper's closed forms, which have
  /// only terms and limits. `asked`: the question; if it leaves strategy or grid open, proposed options name
  /// them.
  Examiner(const Setting& setting, const Evaluator* evaluator, Triggers triggers = {},
           const SystemSpec* system = nullptr, MachineWith machine_with = {},
           const Question* asked = nullptr);

  /// Every measure, also those that do not fire.
  std::vector<Finding> findings(const Projection& projection) const;
  /// What fires, the largest share of the iteration first.
  std::vector<Bottleneck> bottlenecks(const Projection& projection) const;
  /// Projects every change that might help.
  void price(Bottleneck& bottleneck, const Projection& projection) const;
  /// All changes by this owner that make a projection faster, for any kind of bottleneck, found or not;
  /// largest gain first.
  std::vector<Improvement> improvements(const Projection& projection, Owner owner) const;

 private:
  Evidence evidence(const Projection& projection) const;
  std::vector<Alternative> remedies(BottleneckKind kind, const Evidence& evidence) const;
  /// Whether the terms of a measure take too little time for it to be reported.
  bool is_too_short(const Measure& measure, const Evidence& evidence) const;
  Finding read_measure(std::size_t number, const Evidence& evidence) const;
  /// The changes with options that reproduce exactly this plan.
  std::vector<Alternative> typed(std::vector<Alternative> changes, const Projection& projection) const;

  Setting setting_;
  const Evaluator* evaluator_;
  Triggers triggers_;
  const SystemSpec* system_;
  MachineWith machine_with_;
  const Question* asked_;
};

}  // namespace paradl
