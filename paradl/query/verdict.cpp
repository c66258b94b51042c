#include "paradl/query/verdict.hpp"

#include <algorithm>

#include "paradl/judge/advice.hpp"

namespace paradl {

const Remedy* Verdict::instead() const {
  constexpr double worth_a_change = 0.995;  // of the epoch
  if (!best.feasible() || fitting.empty()) return nullptr;
  const Remedy& first = fitting.front();
  return first.note.empty() && first.projection.epoch() < worth_a_change * best.epoch() ? &first : nullptr;
}

Verdict fitting_verdict(const Oracle& oracle, const Projection& best) {
  Verdict out{.best = best};
  const bool fits_as_asked = best.feasible() && (!best.out_of_core || oracle.question().named);
  // The grid that needs the least memory is not always the fastest once it fits, so all grids are tried.
  if (!fits_as_asked && oracle.about().fidelity == Fidelity::detailed)
    out.fitting = ways_to_fit(oracle.every_grid(), oracle.evaluator(), &oracle.question());
  return out;
}

Verdict verdict_of(const Oracle& oracle, const Projection& best, const Examiner& examiner) {
  Verdict out = fitting_verdict(oracle, best);
  if (!best.feasible() || out.instead()) return out;
  out.found = examiner.bottlenecks(best);
  for (std::size_t i = 0; i < std::min(most_bottlenecks, out.found.size()); ++i)
    examiner.price(out.found[i], best);
  if (oracle.about().fidelity == Fidelity::detailed) {
    const Plan split = without_ones(best.plan);
    out.whole_layers =
        whole_layers_text(oracle.evaluator().layout(split).role, split.mesh, oracle.about().work);
  }
  return out;
}

}  // namespace paradl
