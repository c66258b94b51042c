// When a schedule is done, by closed forms instead of executing its passes: GPipe and 1F1B, for stages of any
// length. A run of equal stages takes no more computing time here than one stage.
#include <algorithm>
#include <cassert>

#include "paradl/mesh/pipeline_memory.hpp"

namespace paradl {
namespace {

using Pair = TimePair;
using Stretch = PipelineScratch::Memory::Stretch;

/// The times of a piece, each with messages and without.
struct Times {
  explicit Times(const PieceTime& time)
      : forward{time.forward.base(), time.forward.base()},
        backward{time.backward.base(), time.backward.base()},
        sent{time.sent.base(), 0} {}
  Pair forward, backward, sent;
};

/// GPipe is a flow shop of equal jobs, forward and then backward: the first micro-batch goes through all
/// stages, and the others follow at the pace of the slowest stage so far.
PipelineEnd gpipe(const Pipeline& pipeline, std::span<const StageRun> run, std::span<Seconds> run_end) {
  const double more = pipeline.micro_batches - 1;
  const std::size_t last = run.size() - 1;
  Pair path{}, slowest{};
  for (std::size_t r = 0; r <= last; ++r) {
    const Times time(run[r].chunk[0]);
    const Pair forward = time.forward + time.sent;
    path += run[r].stages * forward;
    if (r < last || run[r].stages > 1) slowest = later(slowest, forward);
    if (r < last) continue;
    path -= time.sent;  // the last stage sends nothing
    slowest = later(slowest, time.forward);
  }
  Pair end = path + more * slowest;
  const Pair turn = end;
  path = slowest = Pair{};
  Times time(run[last].chunk[0]);
  for (std::size_t r = run.size(); r-- > 0;) {
    // The first stage of a run sends gradients back to another run.
    const Pair others = time.backward + time.sent;
    if (run[r].stages > 1) path += (run[r].stages - 1) * others, slowest = later(slowest, others);
    Pair first = time.backward;
    if (r > 0) time = Times(run[r - 1].chunk[0]), first += time.sent;
    path += first, slowest = later(slowest, first);
    end = turn + path + more * slowest;
    run_end[r] = Seconds{end[0]};
  }
  return {Seconds{end[0]}, Seconds{end[1]}};
}

/// Splits runs into stretches of stages that take the same time with messages: the first stage of a run and
/// the last stage of all send other messages than their neighbours. A stretch always begins at stage
/// `breaks`.
std::span<Stretch> stretches(std::span<const StageRun> run, int breaks, std::vector<Stretch>& out) {
  if (out.size() < 3 * run.size() + 1) out.resize(3 * run.size() + 1);
  Stretch* next = out.data();
  int stage = 0;
  const auto add = [&](Pair forward, Pair backward, int stages, int of_run) {
    const auto put = [&](int n) {
      next->forward = forward, next->backward = backward;
      next->first = stage, next->stages = n, next->run = of_run;
      ++next, stage += n, of_run = -1;
    };
    const int before = breaks - stage;
    if (0 < before && before < stages) put(before), stages -= before;
    put(stages);
  };
  Pair sent_before{};
  for (std::size_t r = 0; r < run.size(); ++r) {
    const Times time(run[r].chunk[0]);
    const int ends = r + 1 == run.size() && time.sent[0] > 0 ? 1 : 0;  // its last stage sends nothing
    int left = run[r].stages - ends, of_run = int(r);
    if (left > 0 && sent_before[0] != time.sent[0]) {
      add(time.forward + time.sent, time.backward + sent_before, 1, of_run);
      --left, of_run = -1;
    }
    if (left > 0) add(time.forward + time.sent, time.backward + time.sent, left, of_run), of_run = -1;
    if (ends) add(time.forward, time.backward + (run[r].stages > 1 ? time.sent : sent_before), 1, of_run);
    sent_before = time.sent;
  }
  return {out.data(), next};
}

/// 1F1B takes as long as the longest path through its passes. In round t stage s does forward pass t - s and
/// then backward pass t - (p-1). After a forward pass, a path can go to the next stage, one round later;
/// after a backward pass, to the stage before, in the same round; or it stays and takes all passes of its
/// stage. A round trip over stages u to v takes v - u + 1 rounds and each of their passes once; to stay as
/// many rounds at the busiest of these stages takes at least as long. So, while there are passes both ways,
/// some longest path stays at one stage b:
///   - before that, it goes to a stage s >= b and spends spare rounds where a forward pass takes longest; it
///     comes back to b as soon as there are backward passes;
///   - after that, it goes to a stage e >= b with the last micro-batch, and comes back in the same way.
/// Within a stretch of equal stages, all on the same side of stage p - S, each of these lengths is the
/// maximum of linear functions of the stage, so the longest is at one end of the stretch.
class LongestPaths {
 public:
  LongestPaths(const Pipeline& pipeline, std::span<Stretch> stretch)
      : p_(pipeline.stages), S_(pipeline.micro_batches), stretch_(stretch) {
    to_first_backward();
    to_last_forward();
  }

  /// Writes the end of each run's first stage; returns the end of the first stage of all.
  PipelineEnd ends(std::span<Seconds> run_end) const;

 private:
  int alone(int s) const { return std::min(S_ - 1, p_ - 1 - s); }  // rounds with passes one way only
  int both(int s) const { return S_ - 1 - alone(s); }              // rounds with both, minus one
  static int last(const Stretch& at) { return at.first + at.stages - 1; }

  /// At::first: to the forward pass in the round of the first backward pass; At::back: to that backward pass.
  void to_first_backward() {
    Pair path{}, slowest{};
    for (Stretch& at : stretch_) {
      slowest = later(slowest, at.forward);
      at.begin.first = path + at.forward + alone(at.first) * slowest;
      at.end.first = path + at.stages * at.forward + alone(last(at)) * slowest;
      // For now a path through the second stage, from which the first one can be reached.
      at.begin.back = path + 2 * at.forward + alone(at.first + 1) * slowest + at.backward;
      path += at.stages * at.forward;
    }
    Pair below{};
    for (std::size_t i = stretch_.size(); i-- > 0;) {
      Stretch& at = stretch_[i];
      at.end.back = below;
      const Pair from_end = later(at.end.first, below) + (at.stages - 1) * at.backward;
      at.begin.back = at.stages == 1 ? below : later(at.begin.back, from_end);
      below = later(at.begin.first, at.begin.back) + at.backward;
    }
  }

  /// At::last: to the last forward pass.
  void to_last_forward() {
    Pair before{};
    for (Stretch& at : stretch_) {
      const Pair turn = at.forward + at.backward;
      const bool stays = both(at.first) > 0;
      const auto staying = [&](const Stretch::At& x, int s) {
        return stays ? later(x.first, x.back) + both(s) * turn : x.first;
      };
      at.begin.last = later(staying(at.begin, at.first), before + at.forward);
      at.end.last = later(staying(at.end, last(at)), at.begin.last + (at.stages - 1) * at.forward);
      before = at.end.last;
      if (stays) continue;
      at.begin.last = later(at.begin.last, at.begin.back);
      at.end.last = later(at.end.last, at.end.back);
    }
  }

  int p_, S_;
  std::span<Stretch> stretch_;
};

/// The end of stage s is the longest path from a stage e >= s back to s: At::last of e, the backward passes
/// of stages s to e, and spare rounds at the longest of these passes. Stages are visited from the last one.
/// All paths that go through the stage with the longest pass so far spend their spare rounds there, and the
/// best of them stays the best (`best`). The other paths are shorter than if they did so, too (`others`, an
/// upper bound). Only if that bound exceeds `best`, each path is computed.
PipelineEnd LongestPaths::ends(std::span<Seconds> run_end) const {
  // The time without messages is only needed for the first stage.
  Pair all{}, slowest{}, end{};
  for (const Stretch& at : stretch_) {
    slowest = later(slowest, at.backward);
    end = later(end, at.begin.last + all + at.backward + alone(at.first) * slowest);
    all += at.stages * at.backward;
    end = later(end, at.end.last + all + alone(last(at)) * slowest);
  }

  double longest = -1, best = 0, others = 0, before = all[0];  // before: backward passes before a stretch
  // From either end of a stretch to the first stage of all, with spare rounds at the longest pass so far.
  const auto length = [&](const Stretch& at, double up_to) {
    const double backward = at.backward[0];
    return later(at.begin.last[0] + up_to + backward + alone(at.first) * longest,
                 at.end.last[0] + up_to + at.stages * backward + alone(last(at)) * longest);
  };
  for (std::size_t i = stretch_.size(); i-- > 0;) {
    const Stretch& at = stretch_[i];
    const double own = at.backward[0];
    before -= at.stages * own;
    if (own > longest) {
      longest = own, best = others = 0;
      double up_to = before;
      for (const Stretch& e : stretch_.subspan(i))
        best = later(best, length(e, up_to)), up_to += e.stages * e.backward[0];
    } else if (own == longest) {
      best = later(later(best, others), length(at, before)), others = 0;
    } else {
      others = later(others, length(at, before));
    }
    if (at.run < 0) continue;
    double found = best - before;
    if (others > best) {
      double between = 0, most = 0;
      found = 0;
      for (const Stretch& e : stretch_.subspan(i)) {
        const double backward = e.backward[0];
        most = later(most, backward);
        found = later(found, e.begin.last[0] + between + backward + alone(e.first) * most);
        between += e.stages * backward;
        found = later(found, e.end.last[0] + between + alone(last(e)) * most);
      }
    }
    run_end[std::size_t(at.run)] = Seconds{found};
  }
  return {Seconds{end[0]}, Seconds{end[1]}};
}

}  // namespace

PipelineScratch::PipelineScratch() : memory_(std::make_unique<Memory>()) {}
PipelineScratch::PipelineScratch(PipelineScratch&&) noexcept = default;
PipelineScratch& PipelineScratch::operator=(PipelineScratch&&) noexcept = default;
PipelineScratch::~PipelineScratch() = default;

PipelineEnd pipeline_end(const Pipeline& pipeline, std::span<const StageRun> run, std::span<Seconds> run_end,
                         PipelineScratch& scratch) {
  assert(run_end.size() == run.size());
  const auto found = [&] {
    switch (pipeline.schedule) {
      case PipelineSchedule::gpipe:
        return gpipe(pipeline, run, run_end);
      case PipelineSchedule::one_forward_one_backward:
        return LongestPaths(pipeline, stretches(run, pipeline.stages - pipeline.micro_batches + 1,
                                                scratch.memory().stretch))
            .ends(run_end);
      case PipelineSchedule::interleaved:
        return interleaved_end(pipeline, run, run_end, scratch);
    }
    return PipelineEnd{};
  };
  const PipelineEnd out = found();
  // A stage is done when it has computed its last gradient: sending it does not count.
  for (std::size_t r = 1; r < run.size(); ++r) run_end[r] -= run[r - 1].chunk[0].sent;
  return out;
}

}  // namespace paradl
