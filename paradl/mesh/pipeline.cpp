#include "paradl/mesh/pipeline.hpp"

#include <algorithm>
#include <cassert>

namespace paradl {
namespace {

/// The k-th forward or backward pass of any stage.
Pipeline::Pass pass_of(const Pipeline& pipeline, bool backward, int k) {
  const int p = pipeline.stages, V = pipeline.chunks;
  if (V == 1) return {backward, 0, k};
  const int turn = k / p, chunk = turn % V;
  return {backward, backward ? V - 1 - chunk : chunk, turn / V * p + k % p};
}

}  // namespace

int Pipeline::lead(int stage) const {
  const int to_come = stages - 1 - stage;
  switch (schedule) {
    case PipelineSchedule::gpipe:
      return passes() + to_come;
    case PipelineSchedule::one_forward_one_backward:
      return to_come;
    case PipelineSchedule::interleaved:
      return 2 * to_come + (chunks - 1) * stages;
  }
  return 0;
}

int Pipeline::ahead(int stage) const { return std::min(passes(), lead(stage)); }

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
/// that where they are not interleaved they are of this round, in which the last stage goes first.
template <class Seen>
void PipelineClock::execute(const Pipeline& pipeline, std::span<const PieceTime> piece, Seen seen) {
  const int stages = pipeline.stages, passes = pipeline.passes(), last = pipeline.pieces() - 1;
  assert(int(piece.size()) == last + 1 && piece[std::size_t(last)].sent == Seconds{});
  assert(pipeline.chunks == 1 || pipeline.micro_batches % stages == 0);
  struct Stage {
    Seconds forward, backward, free;  // when it had sent the last one each way, and all
  };
  std::vector<Stage> now(static_cast<std::size_t>(stages));
  time_.stage_end.resize(now.size());

  const auto work = [&](int stage, bool backward, int k, Seconds ready) {
    Stage& at = now[std::size_t(stage)];
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
  const bool interleaved = pipeline.schedule == PipelineSchedule::interleaved;
  const int rounds = passes + pipeline.lead(0) + (interleaved ? stages : 1);
  for (int t = 0; t < rounds; ++t) {
    const Seconds wrapped = now.back().forward;
    Seconds below = now.front().backward;  // what stage s + 1 had sent back a round ago
    for (int s = stages - 1; s >= 0; --s) {
      const Stage old = now[std::size_t(s)];
      const int k = t - s, back = k - pipeline.lead(s);
      if (k >= 0 && k < passes) work(s, false, k, s > 0 ? now[std::size_t(s) - 1].forward : wrapped);
      if (back >= 0 && back < passes)
        work(s, true, back, interleaved || s + 1 == stages ? below : now[std::size_t(s) + 1].backward);
      below = old.backward;
    }
  }
  time_.end = std::ranges::max(time_.stage_end);
}

const PipelineTime& PipelineClock::run_all(const Pipeline& pipeline, std::span<const PieceTime> piece) {
  execute(pipeline, piece, [](const Event&) {});
  return time_;
}

std::vector<std::vector<PipelineClock::Event>> PipelineClock::timeline(const Pipeline& pipeline,
                                                                       std::span<const PieceTime> piece) {
  std::vector<std::vector<Event>> out(std::size_t(pipeline.stages));
  execute(pipeline, piece, [&](const Event& event) { out[std::size_t(event.stage)].push_back(event); });
  return out;
}

}  // namespace paradl
