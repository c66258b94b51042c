#include "paradl/query/examiner.hpp"

namespace paradl {

Examiner examiner_of(const Oracle& oracle, Triggers triggers) {
  const Case& about = oracle.about();
  return {oracle.setting(),
          about.fidelity == Fidelity::paper ? nullptr : &oracle.evaluator(),
          std::move(triggers),
          &about.system_spec,
          [&about](const std::vector<Override>& more) { return about.machine_with(more); },
          &oracle.question()};
}

}  // namespace paradl
