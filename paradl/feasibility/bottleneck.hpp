#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/cost/evaluator.hpp"
#include "paradl/feasibility/alternative.hpp"
#include "paradl/feasibility/exchange_lines.hpp"

namespace paradl {

/// What keeps a strategy from being as fast, as large or as good as it might be: the fourteen entries of the
/// paper's table of limitations and bottlenecks.
enum class Hindrance {
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
inline constexpr std::size_t hindrances = std::size_t(Hindrance::gpu_occupancy) + 1;

/// Inherent to the strategy, or due to framework or system.
enum class Nature { limit, bottleneck };
inline constexpr std::array<std::string_view, 2> nature_names{"limit", "bottleneck"};
static_assert(names_every(Nature::bottleneck, nature_names), "name every Nature");

struct Entry {
  std::string_view name;   // as in the JSON
  std::string_view title;  // as people read it
  Nature nature;
  std::string_view meaning;
};
const Entry& entry(Hindrance hindrance);

/// What a projection is judged by, beside its terms.
struct Evidence {
  const Projection& projection;
  const Setting& setting;
  Mesh mesh;  // without axes of one PE
  /// From the engine; none where a bound is broken and nothing was priced, and of the paper's closed forms.
  struct Details {
    Evaluation evaluation;
    std::vector<ExchangeLine> lines;
    Seconds direct;           // messages between neighbours, if none passed through a host
    double best_batch = 0;    // at which a sample takes least computation, of those that fit; 0: not known
    Seconds best_per_sample;  // and what it takes there
    Bytes largest_layer;      // what the layer needs that needs most, alone on a device
    int largest = -1;         // which one that is
  };
  std::optional<Details> details;
};

/// A value that was found, and what it means here.
struct Reading {
  double value = 0;
  double share = 0;      // of the iteration, or of the device's memory
  std::string cause;     // the layer or link behind it
  std::string message;   // a sentence without its stop
  bool forbids = false;  // a bound that is broken: there is no such plan
};

enum class Reads { share, ratio, count };
enum class Sense { above, at_least, at_most };

/// A value of the model that tells a hindrance from a trigger on. An entry has one or two.
struct Measure {
  Hindrance of;
  std::string_view key;  // of the trigger, under `bottlenecks` in paradl.yaml
  std::string_view meaning;
  Reads reads;
  Sense sense;
  double trigger, least, most;  // as shipped, and the range it may be set to
  bool costs_time;  // told only if its share of the iteration is worth naming; others are told in any case
  std::optional<Reading> (*read)(const Evidence&);  // nothing: does not apply
};
std::span<const Measure> measures();
const Measure* find_measure(std::string_view key);

/// "24 %", "2.1", "4": a value of this measure; "> 20 %": its trigger.
std::string value_text(const Measure& measure, double value);
std::string trigger_text(const Measure& measure, double trigger);

/// From which values on something is told: as shipped, or as paradl.yaml says.
struct Triggers {
  Triggers();
  std::vector<double> value;  // by measure
  double least_share = 0.05;  // of the iteration: what costs less is not told
};
inline constexpr std::string_view least_share_key = "least-share";

/// One value, judged.
struct Finding {
  const Measure* measure = nullptr;
  double trigger = 0;
  std::optional<Reading> reading;  // nothing: does not apply
  bool fires = false;
};

/// A hindrance that was found: by a measure that forbids the plan, or that is farthest beyond its trigger.
struct Bottleneck {
  Hindrance kind;
  Finding finding;
  std::vector<Alternative> changes;         // that might mend it
  std::vector<PricedAlternative> remedies;  // those of them that fit, priced; empty until somebody asks
};

/// A change that brings something, and what it mends.
struct Improvement {
  PricedAlternative priced;
  std::vector<Hindrance> mends;
};

/// Looks at projections of one setting for what limits them.
class Examiner {
 public:
  /// `evaluator`: of the same setting; nullptr: projections come from the paper's closed forms, of which only
  /// terms and bounds are known. `asked`: what was; what it left open is typed with every change, so that it
  /// is not chosen anew.
  Examiner(const Setting& setting, const Evaluator* evaluator, Triggers triggers = {},
           const SystemSpec* system = nullptr, MachineWith machine_with = {},
           const Question* asked = nullptr);

  /// Every measure, also those that do not fire.
  std::vector<Finding> findings(const Projection& projection) const;
  /// What fires, the largest share of the iteration first.
  std::vector<Bottleneck> bottlenecks(const Projection& projection) const;
  /// Asks the oracle again for everything that might mend one.
  void price(Bottleneck& bottleneck, const Projection& projection) const;
  /// All changes in these hands that make a projection faster, for whatever hindrance, found or not; the
  /// largest gain first.
  std::vector<Improvement> improvements(const Projection& projection, Hands hands) const;

 private:
  Evidence evidence(const Projection& projection) const;
  std::vector<Finding> judge(const Evidence& evidence) const;
  /// Changes as they are typed to get this very plan.
  std::vector<Alternative> typed(std::vector<Alternative> changes, const Projection& projection) const;

  Setting setting_;
  const Evaluator* evaluator_;
  Triggers triggers_;
  const SystemSpec* system_;
  MachineWith machine_with_;
  const Question* asked_;
};

/// What might mend a hindrance. `system`: the machine's file, or nullptr if it cannot be changed.
std::vector<Alternative> remedies(Hindrance hindrance, const Evidence& evidence, const SystemSpec* system);

}  // namespace paradl
