#pragma once
#include <string>
#include <vector>

#include "paradl/judge/fitting.hpp"
#include "paradl/query/examiner.hpp"

namespace paradl {

/// What to do, and what limits it: complete before anything is printed.
struct Verdict {
  Projection best;                   // of the question as asked
  std::vector<Remedy> fitting = {};  // if nothing fits in core: changes that would make it fit, fastest first
  std::vector<Bottleneck> found = {};  // bottlenecks of `best`, the first ones with remedies
  std::string whole_layers = {};       // layers that run on every GPU of an axis

  /// A change that makes a plan fit in core and is faster than `best`; nullptr if there is none, or if it
  /// needs more GPUs.
  const Remedy* instead() const;
  /// The recommended plan.
  const Projection& shown() const { return instead() ? instead()->projection : best; }
};

constexpr std::size_t most_bottlenecks = 3;  // with remedies

/// Whether `best`, the best answer of an oracle, fits, and what would make it fit.
Verdict fitting_verdict(const Oracle& oracle, const Projection& best);
/// The same with the bottlenecks of `best`, if that is the recommended plan.
Verdict verdict_of(const Oracle& oracle, const Projection& best, const Examiner& examiner);

}  // namespace paradl
