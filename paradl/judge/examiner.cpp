// Finds limits and bottlenecks of projections, and projects the changes that might help.
#include <algorithm>

#include "paradl/judge/bottleneck.hpp"
#include "paradl/judge/changes.hpp"
#include "paradl/paper/row.hpp"

namespace paradl {
namespace {

bool beyond(Sense sense, double value, double trigger) {
  constexpr double rounding = 1e-9;
  switch (sense) {
    case Sense::above:
      return value > trigger * (1 + rounding);
    case Sense::at_least:
      return value >= trigger * (1 - rounding);
    case Sense::at_most:
      return value <= trigger * (1 + rounding);
  }
  return false;
}

/// How far a value is beyond its trigger; a broken limit comes before everything else.
std::pair<bool, double> excess(const Finding& f) {
  const double value = f.reading->value;
  const double high = f.measure->sense == Sense::at_most ? f.trigger : value;
  const double low = f.measure->sense == Sense::at_most ? value : f.trigger;
  return {f.reading->forbids, low > 0 ? high / low : 1e300};
}

}  // namespace

Triggers::Triggers() {
  for (const Measure& measure : measures()) value.push_back(measure.trigger);
}

Examiner::Examiner(const Setting& setting, const Evaluator* evaluator, Triggers triggers,
                   const SystemSpec* system, MachineWith machine_with, const Question* asked)
    : setting_(setting),
      evaluator_(evaluator),
      triggers_(std::move(triggers)),
      system_(system),
      machine_with_(std::move(machine_with)),
      asked_(asked) {}

std::vector<Alternative> Examiner::typed(std::vector<Alternative> changes, const Projection& p) const {
  if (!asked_) return changes;
  const std::string same = same_plan(*asked_, p.plan, setting_.work.input.dims);
  for (Alternative& change : changes)
    if (!change.mesh) change.option += same;  // a change of the mesh names its own plan
  return changes;
}

bool Examiner::is_too_short(const Measure& measure, const Evidence& e) const {
  if (!measure.costs_time || measure.terms.empty() || !e.projection.cost) return false;
  double most = 0;
  for (const Term term : measure.terms) most += exposed(e, term);
  return most < triggers_.least_share;
}

Finding Examiner::read_measure(std::size_t i, const Evidence& e) const {
  const Measure& measure = measures()[i];
  Finding found{&measure, triggers_.value[i], measure.read(e)};
  if (const auto& reading = found.reading)
    found.fires = beyond(measure.sense, reading->value, found.trigger) &&
                  (!measure.costs_time || reading->share >= triggers_.least_share);
  return found;
}

Evidence Examiner::evidence(const Projection& p) const {
  Evidence out = evaluator_ ? evidence_of(p, setting_, *evaluator_) : evidence_of(p, setting_);
  out.system = system_;
  return out;
}

std::vector<Finding> Examiner::findings(const Projection& projection) const {
  const Evidence e = evidence(projection);
  std::vector<Finding> out;
  for (std::size_t i = 0; i < measures().size(); ++i) out.push_back(read_measure(i, e));
  return out;
}

namespace {

/// Whether the paper's closed forms do not support a change.
bool beyond_paper(const Alternative& change, Plan plan, Training training) {
  change.apply(plan);
  if (!paper::find_row(strategy_of(plan).text)) return true;
  if (change.training) change.training(training);
  return plan.zero > 0 || plan.sequence_parallel || plan.recompute != Recompute::none ||
         plan.allreduce.algorithm || plan.chunks > 1 || training.input.from != InputFrom::none;
}

}  // namespace

std::vector<Alternative> Examiner::remedies(BottleneckKind kind, const Evidence& e) const {
  std::vector<Alternative> out;
  for (const ChangeKind change : entry(kind).remedies)
    for (Alternative& one : alternatives(change, e))
      if (evaluator_ || !beyond_paper(one, e.projection.plan, setting_.training))
        out.push_back(std::move(one));
  return out;
}

std::vector<Bottleneck> Examiner::bottlenecks(const Projection& projection) const {
  const Evidence e = evidence(projection);
  std::vector<Bottleneck> out;
  for (std::size_t i = 0; i < measures().size(); ++i) {
    if (is_too_short(measures()[i], e)) continue;
    Finding found = read_measure(i, e);
    if (!found.fires) continue;
    const BottleneckKind kind = found.measure->of;
    const auto same = std::ranges::find(out, kind, &Bottleneck::kind);
    if (same == out.end())
      out.push_back({kind, std::move(found), remedies(kind, e), {}});
    else if (excess(found) > excess(same->finding))
      same->finding = std::move(found);
  }
  const auto share = [](const Bottleneck& b) { return b.finding.reading ? b.finding.reading->share : 0; };
  std::ranges::stable_sort(out, std::greater{}, share);
  return out;
}

namespace {

/// Whether only the better of two changes is listed: both are the same, or choose the same thing.
bool rivals(const Alternative& a, const Alternative& b) {
  if (a.of->choice != b.of->choice) return false;
  return a.of->choice != Choice::own || a.option == b.option;
}

/// Whether a change improves a plan that fits.
bool helps(Worth worth, const PricedAlternative& priced, const Projection& now) {
  constexpr double least_gain = 0.005;  // of the epoch, or of the memory
  if (worth == Worth::always || priced.gain >= least_gain) return true;
  if (priced.memory > (1 - least_gain) * now.cost->memory.total()) return false;
  return worth == Worth::memory || (worth == Worth::free_memory && priced.gain > -least_gain);
}

}  // namespace

void Examiner::price(Bottleneck& b, const Projection& projection) const {
  if (!evaluator_) return;  // closed forms do not cover most changes
  b.remedies.clear();
  for (PricedAlternative& priced :
       paradl::price(typed(b.changes, projection), *evaluator_, machine_with_, projection)) {
    const auto same = [&](const PricedAlternative& other) { return rivals(other.change, priced.change); };
    if (projection.feasible() && !helps(entry(b.kind).worth, priced, projection)) continue;
    if (std::ranges::none_of(b.remedies, same)) b.remedies.push_back(std::move(priced));
  }
  if (b.remedies.empty()) b.changes.clear();  // none of them helps
}

std::vector<Improvement> Examiner::improvements(const Projection& projection, Owner owner) const {
  std::vector<Improvement> out;
  if (!evaluator_ || !projection.cost) return out;
  const Evidence e = evidence(projection);
  std::vector<Alternative> changes;
  std::vector<std::vector<BottleneckKind>> against;
  for (std::size_t i = 0; i < bottleneck_kinds; ++i)
    for (Alternative& change : remedies(BottleneckKind(i), e)) {
      if (change.owner != owner) continue;
      const auto known = std::ranges::find(changes, change.option, &Alternative::option);
      if (known == changes.end()) {
        changes.push_back(std::move(change));
        against.push_back({BottleneckKind(i)});
      } else {
        against[std::size_t(known - changes.begin())].push_back(BottleneckKind(i));
      }
    }
  changes = typed(std::move(changes), projection);
  for (PricedAlternative& priced : paradl::price(changes, *evaluator_, machine_with_, projection)) {
    if (!(priced.gain > 0)) continue;
    const auto at = std::ranges::find(changes, priced.change.option, &Alternative::option) - changes.begin();
    const auto same = [&](const Improvement& i) { return rivals(i.priced.change, priced.change); };
    if (std::ranges::none_of(out, same)) out.push_back({std::move(priced), against[std::size_t(at)]});
  }
  return out;
}

}  // namespace paradl
