// Interleaved schedules: a closed form if all pieces but the first and the last one are equal; others are
// executed round by round until the rounds repeat.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>
#include <utility>

#include "paradl/mesh/pipeline_memory.hpp"

namespace paradl {
namespace {

using Pair = TimePair;

/// Round t of the pipeline is round t - s of stage s. Everything that a stage needs was then made in the
/// round before. Stage s does forward passes in rounds [s, s + passes) and backward passes in rounds
/// [lead - s, lead - s + passes), where lead is that of stage 0. In a round the forward pass comes first.
class Rounds {
 public:
  Rounds(const Pipeline& pipeline, std::span<const StageRun> run, PipelineScratch& scratch)
      : p_(pipeline.stages), V_(pipeline.chunks), passes_(pipeline.passes()), lead_(pipeline.lead(0)) {
    assert(pipeline.micro_batches % p_ == 0);
    const auto pieces = std::size_t(pipeline.pieces()), stages = std::size_t(p_), state = 2 * stages + 2;
    const std::size_t size = 2 * pieces + 2 * stages + 3 * state;
    auto& cell = scratch.memory().cell;
    if (cell.size() < size) cell.resize(size);
    Pair* next = &cell.data()->time;
    const auto take = [&](std::size_t n) { return std::exchange(next, next + n); };
    F_ = take(pieces), B_ = take(pieces), F_now_ = take(stages), B_now_ = take(stages);
    f_ = take(state), b_ = f_ + stages + 1;
    before_ = take(state), kept_ = take(state);
    read(run);
  }

  /// Executes the schedule. Then end(s) is when stage s has sent its last gradient.
  void execute();
  Pair end(int stage) const { return b_[stage]; }

 private:
  void read(std::span<const StageRun> run);
  void begin();
  void round(int from, int first, int end, Pair wrapped);
  bool settled(Pair& pace) const;

  /// A stage does p passes with a chunk, then p with the next one. In each round another stage (`step`)
  /// begins its next chunk.
  struct Turn {
    int step = 0, chunk = 0;
    void next(int stages, int chunks) {
      if (++step < stages) return;
      step = 0, chunk = chunk + 1 < chunks ? chunk + 1 : 0;
    }
  };

  int state_size() const { return 2 * (p_ + 1); }

  int p_, V_, passes_, lead_;
  Pair *F_, *B_;          // by piece: time of a forward and a backward pass, with their messages
  Pair *F_now_, *B_now_;  // by stage: these times of its current chunks
  // f_[s + 1]: when stage s has sent its last forward pass; f_[0]: when stage 0 may begin the next one.
  // b_[s]: when stage s has sent its last backward pass.
  Pair *f_, *b_;
  Pair *before_, *kept_;  // states: a period ago, and at the end of a period
};

void Rounds::read(std::span<const StageRun> run) {
  Pair* F = F_;
  Pair* B = B_;
  double sent_back = 0;  // a gradient takes as long to send as the activations that it belongs to
  for (std::size_t c = 0; c < std::size_t(V_); ++c)
    for (const StageRun& one : run) {
      const double forward = one.chunk[c].forward.base(), backward = one.chunk[c].backward.base();
      const double sent = one.chunk[c].sent.base();
      for (int n = one.stages; n > 0; --n) {
        *F++ = Pair{forward + sent, forward};
        *B++ = Pair{backward + sent_back, backward};
        sent_back = sent;
      }
    }
  F[-1][0] = F[-1][1];  // nothing follows the last piece
}

/// The state after round p - 2, before the last stage begins: the first micro-batch goes through the stages,
/// and the others follow at the pace of the slowest stage so far.
void Rounds::begin() {
  Pair path{}, slowest{};
  for (int s = 0; s + 1 < p_; ++s) {
    path += F_[s], slowest = later(slowest, F_[s]);
    f_[s + 1] = path + (p_ - 2 - s) * slowest;
  }
  f_[p_] = b_[0] = Pair{};
  std::copy_n(F_, p_, F_now_);
}

/// One round: stages from `from` on do a forward pass, stages [first, end) a backward pass. `wrapped` is when
/// the last stage may begin its backward pass. A stage that does both is free when it has sent its last
/// backward pass.
void Rounds::round(int from, int first, int end, Pair wrapped) {
  Pair* const f = f_;
  Pair* const b = b_;
  const Pair *F = F_now_, *B = B_now_;
  int s = end - 1;
  Pair below = end < p_ ? b[end] : wrapped;
  for (const int both = std::max(from, first); s >= both; --s) {
    const Pair forward = later(b[s], f[s]) + F[s];
    const Pair backward = later(forward, below) + B[s];
    below = b[s], f[s + 1] = forward, b[s] = backward;
  }
  for (; s >= first; --s) {
    const Pair backward = later(b[s], below) + B[s];
    below = b[s], b[s] = backward;
  }
  for (; s >= from; --s) f[s + 1] = later(f[s + 1], f[s]) + F[s];
}

/// Whether all passes of this round came the same time (`pace`) after those of a period ago. Then all later
/// passes do, too, since a round depends only on the one before.
bool Rounds::settled(Pair& pace) const {
  pace = b_[0] - before_[p_ + 1];
  const Pair rounding = 1e-13 * b_[0];
  for (int i = 1; i + 1 < state_size(); ++i) {
    const Pair off = f_[i] - before_[i] - pace;
    if (std::abs(off[0]) > rounding[0] || std::abs(off[1]) > rounding[1]) return false;
  }
  return true;
}

void Rounds::execute() {
  const int period = V_ * p_;
  begin();
  Turn forward{.step = p_ - 1}, backward;
  int compare = passes_ >= 3 * period ? lead_ : passes_ + lead_;  // the next round to compare with before_
  int keep = 2 * period - 1;
  for (int t = p_ - 1; t < passes_ + lead_; ++t) {
    F_now_[forward.step] = F_[forward.chunk * p_ + forward.step];
    f_[0] = forward.chunk > 0 ? f_[p_] : Pair{};
    forward.next(p_, V_);
    // Backward passes begin with the last stage.
    const int since = t - lead_, from = std::max(0, t - passes_ + 1);
    Pair wrapped{};
    if (since > -p_) {
      const int s = p_ - 1 - backward.step;
      B_now_[s] = B_[(V_ - 1 - backward.chunk) * p_ + s];
      if (backward.chunk > 0) wrapped = b_[0];
      if (since <= 0) b_[s] = f_[s + 1];  // its first one
      backward.next(p_, V_);
    }
    round(from, std::clamp(-since, 0, p_), std::min(p_, passes_ - since), wrapped);

    if (t == keep) std::copy_n(f_, state_size(), kept_);
    if (t < compare) continue;
    if (Pair pace; t > lead_ && settled(pace)) {
      // Jump to the round of stage 0's last forward pass. Like the kept state, it is the last of a period.
      const int skipped = (passes_ - 1 - keep) / period;
      for (int i = 0; i < state_size(); ++i) f_[i] = kept_[i] + skipped * pace;
      t = passes_ - 1;
      compare = passes_ + lead_;
      std::copy_n(F_ + (V_ - 1) * p_, p_, F_now_);
      std::copy_n(B_, p_ - 1, B_now_);
      B_now_[p_ - 1] = B_[period - 1];
      forward = {}, backward = {.step = p_ > 1 ? 1 : 0, .chunk = p_ > 1 ? 0 : 1 % V_};
    } else {
      std::copy_n(f_, state_size(), before_);
      if (t > lead_) keep += period;
      compare = t + period < passes_ ? t + period : passes_ + lead_;
    }
  }
}

/// Pieces that all take the same time with messages, except for the first and the last one.
struct EqualPieces {
  double forward, backward, first_forward, first_backward, last_forward, last_backward;

  /// Empty if pieces differ otherwise. Needs two chunks and two stages.
  static std::optional<EqualPieces> read(std::span<const StageRun> run, bool sends) {
    const std::size_t runs = run.size(), chunks = run[0].chunk.size();
    const auto sent = [&](std::size_t r, std::size_t c) { return sends ? run[r].chunk[c].sent.base() : 0; };
    const auto sent_before = [&](std::size_t r, std::size_t c) {
      return r > 0 ? sent(r - 1, c) : c > 0 ? sent(runs - 1, c - 1) : 0;
    };
    EqualPieces out{};
    out.forward = run[0].chunk[1].forward.base() + sent(0, 1);  // neither the first nor the last piece
    out.backward = run[0].chunk[1].backward.base() + sent_before(0, 1);
    for (std::size_t r = 0; r < runs; ++r)
      for (std::size_t c = 0; c < chunks; ++c) {
        const double forward = run[r].chunk[c].forward.base(), backward = run[r].chunk[c].backward.base();
        const bool begins = r == 0 && c == 0, ends = r + 1 == runs && c + 1 == chunks;
        if (begins) out.first_forward = forward + sent(r, c), out.first_backward = backward;
        const bool several = run[r].stages > 1;
        if (ends)
          out.last_forward = forward,
          out.last_backward = backward + (several ? sent(r, c) : sent_before(r, c));
        // The first stage of a run differs from the others: it sends gradients to another run.
        const int others = run[r].stages - 1 - (ends && several ? 1 : 0);
        const int plain = run[r].stages - (begins ? 1 : 0) - (ends ? 1 : 0);
        if (plain > 0 && forward + sent(r, c) != out.forward) return {};
        if (others > 0 && backward + sent(r, c) != out.backward) return {};
        if (!begins && !(ends && !several) && backward + sent_before(r, c) != out.backward) return {};
      }
    return out;
  }

  /// When the last stage has sent its last gradient: the length of the longest path through the passes, in
  /// the rounds of class Rounds. In a round in which a path stays at a stage, it takes a forward and a
  /// backward pass; in a round in which it moves to a neighbour, one pass.
  ///   - If all pieces are equal, a longest path goes to the last stage with the first micro-batch and stays.
  ///   - If the first piece takes longer forward, the path stays at the first stage while the other stages
  ///     only have forward passes.
  ///   - The first and the last piece are in use in the same p of V p rounds. If the last one exceeds the
  ///     others by at least as much as the first one does, each way and in total, the path need not leave the
  ///     last stage.
  ///   - If the last piece takes less than others, the path avoids it: it leaves for the stage before as soon
  ///     as gradients are back, or one round later, and comes back in the last round or not at all.
  /// Empty in all other cases, which have more paths to compare.
  std::optional<double> last_end(const Pipeline& pipeline) const {
    const int p = pipeline.stages;
    const double S = pipeline.micro_batches, turn = forward + backward;
    const double first_forward_more = first_forward - forward,
                 first_backward_more = first_backward - backward;
    const double first_more = first_forward_more + first_backward_more;
    const double last_more = last_forward + last_backward - turn;
    const double arrival = first_forward + (p - 2) * forward + (p - 1) * std::max(0.0, first_forward_more);
    const double work = S * pipeline.chunks * turn;
    if (last_more >= std::max({0.0, first_more, first_forward_more, first_backward_more}))
      return arrival + work + S * last_more;
    if (p > 2 && first_forward == forward && last_backward == backward && first_backward <= backward &&
        last_forward <= forward)
      return arrival + work + std::max({S * last_more, -turn, last_more - 2 * std::min(forward, backward)});
    return {};
  }

  /// When stage s has sent its last gradient, given when the last stage has.
  double end(int s, double last_end, int stages) const {
    if (s > 0) return last_end + (stages - 1 - s) * backward;
    return last_end + (stages - 2) * backward + first_backward +
           (stages - 1) * std::max(0.0, first_backward - backward);
  }
};

/// The closed form, if there is one.
std::optional<PipelineEnd> equal_pieces_end(const Pipeline& pipeline, std::span<const StageRun> run,
                                            std::span<Seconds> run_end) {
  if (pipeline.chunks < 2 || pipeline.stages < 2) return {};
  const auto as_is = EqualPieces::read(run, true), silent = EqualPieces::read(run, false);
  if (!as_is || !silent) return {};
  const auto last = as_is->last_end(pipeline), last_silent = silent->last_end(pipeline);
  if (!last || !last_silent) return {};
  int s = 0;
  for (std::size_t r = 0; r < run.size(); ++r) {
    run_end[r] = Seconds{as_is->end(s, *last, pipeline.stages)};
    s += run[r].stages;
  }
  return PipelineEnd{run_end[0], Seconds{silent->end(0, *last_silent, pipeline.stages)}};
}

}  // namespace

PipelineEnd interleaved_end(const Pipeline& pipeline, std::span<const StageRun> run,
                            std::span<Seconds> run_end, PipelineScratch& scratch) {
  if (const auto closed = equal_pieces_end(pipeline, run, run_end)) return *closed;
  Rounds rounds(pipeline, run, scratch);
  rounds.execute();
  int s = 0;
  for (std::size_t r = 0; r < run.size(); ++r) {
    run_end[r] = Seconds{rounds.end(s)[0]};
    s += run[r].stages;
  }
  return {Seconds{rounds.end(0)[0]}, Seconds{rounds.end(0)[1]}};
}

}  // namespace paradl
