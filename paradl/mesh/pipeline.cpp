#include "paradl/mesh/pipeline.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace paradl {
namespace {

/// In which round a stage does its first backward pass, were there forward passes enough. In round k it does
/// forward pass k and backward pass k - lead, one after the other.
int lead(const Pipeline& pipeline, int stage) {
  const int to_come = pipeline.stages - 1 - stage;
  switch (pipeline.schedule) {
    case PipelineSchedule::gpipe:
      return pipeline.passes() + to_come;
    case PipelineSchedule::one_forward_one_backward:
      return to_come;
    case PipelineSchedule::interleaved:
      return 2 * to_come + (pipeline.chunks - 1) * pipeline.stages;
  }
  return 0;
}

/// The k-th forward or backward pass of any stage.
Pipeline::Pass pass_of(const Pipeline& pipeline, bool backward, int k) {
  const int p = pipeline.stages, V = pipeline.chunks;
  if (V == 1) return {backward, 0, k};
  const int turn = k / p, chunk = turn % V;
  return {backward, backward ? V - 1 - chunk : chunk, turn / V * p + k % p};
}

/// GPipe is a flow shop of equal jobs, forward and then backward: the first micro-batch goes through all
/// stages, the others follow it at the pace of the slowest it has met. Exact for stages of any length.
void gpipe(const Pipeline& pipeline, std::span<const PieceTime> piece, PipelineTime& out) {
  const double more = pipeline.micro_batches - 1;
  Seconds way, slowest;
  for (const PieceTime& p : piece) {
    way += p.forward + p.sent;
    slowest = std::max(slowest, p.forward + p.sent);
  }
  out.end = way + more * slowest;
  way = slowest = {};
  for (std::size_t s = piece.size(); s-- > 0;) {
    const Seconds sent = s > 0 ? piece[s - 1].sent : Seconds{};
    // A stage is done before it sends its last gradient, but waits for each one before.
    out.stage_end[s] = out.end + way + piece[s].backward + more * std::max(slowest, piece[s].backward + sent);
    way += piece[s].backward + sent;
    slowest = std::max(slowest, piece[s].backward + sent);
  }
  out.end = out.stage_end[0];
}

}  // namespace

int Pipeline::ahead(int stage) const { return std::min(passes(), lead(*this, stage)); }

Pipeline::Pass Pipeline::pass(int stage, int n) const {
  const int ahead = this->ahead(stage), turns = n - ahead;
  if (turns < 0) return pass_of(*this, false, n);
  if (turns >= 2 * (passes() - ahead)) return pass_of(*this, true, n - passes());
  return turns % 2 == 0 ? pass_of(*this, false, ahead + turns / 2) : pass_of(*this, true, turns / 2);
}

int Pipeline::in_flight(int stage, int chunk) const {
  const int kept = std::min(passes(), ahead(stage) + 1);
  const int whole = kept / pieces(), rest = kept % pieces();
  return whole * stages + std::clamp(rest - chunk * stages, 0, stages);
}

/// Round t of the pipeline is round t - s of each stage s. What comes from the stage above was then made one
/// round earlier, also what the last stage hands to the first; so were gradients from the stage below, except
/// that without chunks they are of this round, in which the last stage goes first.
template <class Seen>
void PipelineClock::execute(const Pipeline& pipeline, std::span<const PieceTime> piece, bool jumps,
                            Seen seen) {
  const int stages = pipeline.stages, passes = pipeline.passes(), last = pipeline.pieces() - 1;
  assert(int(piece.size()) == last + 1 && piece[std::size_t(last)].sent == Seconds{});
  assert(pipeline.chunks == 1 || pipeline.micro_batches % stages == 0);
  const int period = pipeline.chunks > 1 ? pipeline.pieces() : 1;
  const int steady = lead(pipeline, 0) + 1;  // from then on every stage does a pass each way in a round
  now_.assign(std::size_t(stages), {});
  time_.stage_end.resize(std::size_t(stages));

  const auto work = [&](int stage, bool backward, int k, Seconds ready) {
    Stage& at = now_[std::size_t(stage)];
    const Pipeline::Pass pass = pass_of(pipeline, backward, k);
    const auto i = std::size_t(pass.chunk * stages + stage);
    const bool is_given = backward ? int(i) == last : i == 0;  // by the loss, or by the data set
    const Seconds begin = is_given ? at.free : std::max(at.free, ready);
    const Seconds end = begin + (backward ? piece[i].backward : piece[i].forward);
    const Seconds sent = end + (!backward ? piece[i].sent : i > 0 ? piece[i - 1].sent : Seconds{});
    (backward ? at.backward : at.forward) = at.free = sent;
    if (backward) time_.stage_end[std::size_t(stage)] = end;
    seen(Event{stage, pass, begin, end, sent});
  };
  const int rounds =
      passes + lead(pipeline, 0) + (pipeline.schedule == PipelineSchedule::interleaved ? stages : 1);
  for (int t = 0; t < rounds; ++t) {
    const Seconds wrapped = now_.back().forward;
    Seconds below = now_.front().backward;  // what stage s + 1 had sent back a round ago
    for (int s = stages - 1; s >= 0; --s) {
      const Stage old = now_[std::size_t(s)];
      const int k = t - s, back = k - lead(pipeline, s);
      if (k >= 0 && k < passes) work(s, false, k, s > 0 ? now_[std::size_t(s) - 1].forward : wrapped);
      if (back >= 0 && back < passes)
        work(s, true, back,
             pipeline.chunks > 1 || s + 1 == stages ? below : now_[std::size_t(s) + 1].backward);
      below = old.backward;
    }
    if (!jumps || t < steady || (t - steady) % period != 0 || t + period >= passes) continue;
    Seconds pace;
    if (t > steady && settled(pace)) {
      const int skipped = (passes - 2 - t) / period;  // the last round is executed
      for (Stage& stage : now_)
        for (Seconds* time : {&stage.forward, &stage.backward, &stage.free}) *time += skipped * pace;
      t += skipped * period;
      jumps = false;
    } else {
      before_ = now_;
    }
  }
  time_.end = std::ranges::max(time_.stage_end);
}

/// Whether all passes of this round came by the same time after those of a period ago: then all that follow
/// do, since a round depends on the one before alone.
bool PipelineClock::settled(Seconds& pace) const {
  pace = now_[0].forward - before_[0].forward;
  const double rounding = 1e-13 * now_[0].free.base();
  for (std::size_t s = 0; s < now_.size(); ++s)
    if (std::abs((now_[s].forward - before_[s].forward - pace).base()) > rounding ||
        std::abs((now_[s].backward - before_[s].backward - pace).base()) > rounding)
      return false;
  return true;
}

const PipelineTime& PipelineClock::run_all(const Pipeline& pipeline, std::span<const PieceTime> piece) {
  execute(pipeline, piece, false, [](const Event&) {});
  return time_;
}

const PipelineTime& PipelineClock::run(const Pipeline& pipeline, std::span<const PieceTime> piece) {
  if (pipeline.schedule == PipelineSchedule::gpipe) {
    time_.stage_end.resize(piece.size());
    gpipe(pipeline, piece, time_);
  } else {
    execute(pipeline, piece, true, [](const Event&) {});
  }
  return time_;
}

std::vector<std::vector<PipelineClock::Event>> PipelineClock::timeline(const Pipeline& pipeline,
                                                                       std::span<const PieceTime> piece) {
  std::vector<std::vector<Event>> out(std::size_t(pipeline.stages));
  execute(pipeline, piece, false,
          [&](const Event& event) { out[std::size_t(event.stage)].push_back(event); });
  return out;
}

}  // namespace paradl
