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

namespace {

/// Executes all passes and calls `seen` with each of them.
///
/// Round t of the pipeline is round t - s of each stage s. A stage then receives activations that the stage
/// before it (or the last stage, for the first one) made one round earlier. Gradients from the next stage
/// were also made one round earlier in interleaved schedules; in others they are made in the same round,
/// which therefore visits the last stage first.
template <class Seen>
void execute(const Pipeline& pipeline, std::span<const PieceTime> piece, Seen seen) {
  const int stages = pipeline.stages, passes = pipeline.passes(), last = pipeline.pieces() - 1;
  assert(int(piece.size()) == last + 1);
  assert(pipeline.chunks == 1 || pipeline.micro_batches % stages == 0);
  struct Stage {
    Seconds forward, backward, free;  // when it had sent its last forward, its last backward, its last pass
  };
  std::vector<Stage> now(static_cast<std::size_t>(stages));

  const auto work = [&](int stage, bool backward, int k, Seconds ready) {
    Stage& at = now[std::size_t(stage)];
    const Pipeline::Pass pass = pass_of(pipeline, backward, k);
    const int i = pass.chunk * stages + stage;
    const PieceTime& own = piece[std::size_t(i)];
    const bool is_given = i == (backward ? last : 0);  // its input is the loss or the data set: no waiting
    const Seconds begin = is_given ? at.free : std::max(at.free, ready);
    const Seconds end = begin + (backward ? own.backward : own.forward);
    Seconds sent = end;
    if (backward && i > 0) sent += piece[std::size_t(i) - 1].sent;
    if (!backward && i < last) sent += own.sent;
    (backward ? at.backward : at.forward) = at.free = sent;
    seen(PipelineEvent{stage, pass, begin, end, sent});
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
}

}  // namespace

PipelineTime execute_pipeline(const Pipeline& pipeline, std::span<const PieceTime> piece) {
  PipelineTime out{{}, std::vector<Seconds>(std::size_t(pipeline.stages))};
  execute(pipeline, piece, [&](const PipelineEvent& event) {
    if (event.pass.backward) out.stage_end[std::size_t(event.stage)] = event.end;
  });
  out.end = std::ranges::max(out.stage_end);
  return out;
}

std::vector<std::vector<PipelineEvent>> pipeline_timeline(const Pipeline& pipeline,
                                                          std::span<const PieceTime> piece) {
  std::vector<std::vector<PipelineEvent>> out(std::size_t(pipeline.stages));
  execute(pipeline, piece,
          [&](const PipelineEvent& event) { out[std::size_t(event.stage)].push_back(event); });
  return out;
}

const PipelineTime& PipelineClock::run(const Pipeline& pipeline, std::span<const PieceTime> piece) {
  const auto stages = std::size_t(pipeline.stages), chunks = std::size_t(pipeline.chunks);
  chunk_.resize(piece.size()), run_.resize(stages), time_.stage_end.resize(stages);
  for (std::size_t s = 0; s < stages; ++s) {
    for (std::size_t c = 0; c < chunks; ++c) chunk_[s * chunks + c] = piece[c * stages + s];
    run_[s] = {1, std::span(chunk_).subspan(s * chunks, chunks)};
  }
  time_.end = pipeline_end(pipeline, run_, time_.stage_end, scratch_).end;
  return time_;
}

}  // namespace paradl
