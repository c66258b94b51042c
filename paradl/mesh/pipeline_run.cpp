// When a schedule is done, without looking at each of its passes where their order makes that needless. Every
// way to find it gives what executing all passes gives, for stages of any length.
#include <algorithm>
#include <cassert>
#include <cmath>

#include "paradl/mesh/pipeline.hpp"

namespace paradl {
namespace {

/// As std::max, in a form that compilers turn into vector instructions.
Seconds later(Seconds a, Seconds b) { return Seconds{a.base() < b.base() ? b.base() : a.base()}; }

/// Some stages work on what is ready for them.
void work(const Seconds* ready, const Seconds* takes, Seconds* __restrict free, Seconds* __restrict done,
          int stages) {
  for (int s = 0; s < stages; ++s) {
    const double end = (later(free[s], ready[s]) + takes[s]).base();
    free[s] = Seconds{end};
    done[s] = Seconds{end};
  }
}

/// From every stage e >= s back to stage s: `last` of e, the backward passes of both and of all between, and
/// rounds to spare at the longest of those. Stages are looked at from the last one. While the longest so far
/// is at stage `peak`, all ways that pass it spend their spare rounds there, and the best of them stays the
/// best; the others are shorter than if they did. Only if one of these could still be longer, each is looked
/// at.
void backward_ways(const Pipeline& pipeline, std::span<const Seconds> last, std::span<const Seconds> backward,
                   std::vector<Seconds>& all, std::span<Seconds> ends) {
  const int p = pipeline.stages, S = pipeline.micro_batches;
  const auto alone = [&](int s) { return std::min(S - 1, p - 1 - s); };
  all.resize(std::size_t(p));  // backward passes of the stages up to each one
  Seconds way;
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = way += backward[i];

  Seconds longest, best, others;
  const auto length = [&](int e) { return last[std::size_t(e)] + all[std::size_t(e)] + alone(e) * longest; };
  for (int s = p - 1; s >= 0; --s) {
    const Seconds own = backward[std::size_t(s)], before = all[std::size_t(s)] - own;
    if (s == p - 1 || own > longest) {
      longest = own, best = others = {};
      for (int e = s; e < p; ++e) best = std::max(best, length(e));
    } else if (own == longest) {
      best = std::max({best, others, length(s)}), others = {};
    } else {
      others = std::max(others, length(s));
    }
    Seconds end = best - before;
    if (others > best) {
      Seconds between, most;
      for (int e = s; e < p; ++e) {
        between += backward[std::size_t(e)], most = std::max(most, backward[std::size_t(e)]);
        const Seconds one = last[std::size_t(e)] + between + alone(e) * most;
        end = e == s ? one : std::max(end, one);
      }
    }
    ends[std::size_t(s)] = end;
  }
}

}  // namespace

const PipelineTime& PipelineClock::run(const Pipeline& pipeline, std::span<const PieceTime> piece) {
  assert(int(piece.size()) == pipeline.pieces() && piece.back().sent == Seconds{});
  time_.stage_end.resize(std::size_t(pipeline.stages));
  forward_.resize(piece.size()), backward_.resize(piece.size());
  Seconds sent_back;  // gradients take as long as what they belong to
  for (std::size_t i = 0; i < piece.size(); ++i) {
    forward_[i] = piece[i].forward + piece[i].sent;
    backward_[i] = piece[i].backward + sent_back;
    sent_back = piece[i].sent;
  }
  switch (pipeline.schedule) {
    case PipelineSchedule::gpipe:
      flow_shop(pipeline);
      break;
    case PipelineSchedule::one_forward_one_backward:
      longest_ways(pipeline);
      break;
    case PipelineSchedule::interleaved:
      rounds(pipeline);
      break;
  }
  // A stage is done before it sends its last gradient.
  for (std::size_t s = 1; s < time_.stage_end.size(); ++s) time_.stage_end[s] -= piece[s - 1].sent;
  time_.end = std::ranges::max(time_.stage_end);
  return time_;
}

/// GPipe is a flow shop of equal jobs, forward and then backward: the first micro-batch goes through all
/// stages, the others follow it at the pace of the slowest it has met.
void PipelineClock::flow_shop(const Pipeline& pipeline) {
  const double more = pipeline.micro_batches - 1;
  Seconds way, slowest;
  for (const Seconds forward : forward_) way += forward, slowest = std::max(slowest, forward);
  const Seconds turn = way + more * slowest;
  way = slowest = {};
  for (std::size_t s = backward_.size(); s-- > 0;) {
    way += backward_[s], slowest = std::max(slowest, backward_[s]);
    time_.stage_end[s] = turn + way + more * slowest;
  }
}

/// 1F1B ends with the longest way through its passes. In round t stage s does forward pass t - s and then
/// backward pass t - (p-1). With a forward pass a way goes on to the next stage, one round later; with a
/// backward pass to the stage before, in the same round; or it stays and takes all passes of its stage. A
/// round trip over stages u to v takes v - u + 1 rounds and each of their passes once: staying as long at the
/// busiest of them is no shorter way. So a longest way stays at one stage b while there are passes both ways:
///   - before, it goes to a stage s >= b; rounds to spare are spent where a forward pass takes longest; from
///   s
///     it comes back to b as soon as there are backward passes;
///   - after, it goes on to a stage e >= b with the last micro-batch, and from there back likewise.
void PipelineClock::longest_ways(const Pipeline& pipeline) {
  const int p = pipeline.stages, S = pipeline.micro_batches;
  const auto alone = [&](int s) { return std::min(S - 1, p - 1 - s); };  // rounds with passes one way only
  const auto both = [&](int s) { return S - 1 - alone(s); };             // and both ways, but for one
  std::vector<Seconds>&first = now_.forward, &back = now_.backward, &last = next_.forward;
  first.assign(std::size_t(p), {}), back.assign(std::size_t(p), {}), last.assign(std::size_t(p), {});

  Seconds way, slowest;
  for (int s = 0; s < p; ++s) {
    const auto i = std::size_t(s);
    way += forward_[i], slowest = std::max(slowest, forward_[i]);
    first[i] = way + alone(s) * slowest;  // to the forward pass in the round of the first backward pass
  }
  for (auto b = std::size_t(p) - 1; b-- > 0;)
    back[b] = std::max(first[b + 1], back[b + 1]) + backward_[b + 1];  // to that backward pass
  for (int b = 0; b < p; ++b) {
    const auto i = std::size_t(b);
    last[i] = both(b) > 0 ? std::max(first[i], back[i]) + both(b) * (forward_[i] + backward_[i]) : first[i];
    if (b > 0) last[i] = std::max(last[i], last[i - 1] + forward_[i]);  // to its last forward pass
  }
  for (int b = 0; b < p; ++b)
    if (both(b) == 0) last[std::size_t(b)] = std::max(last[std::size_t(b)], back[std::size_t(b)]);

  backward_ways(pipeline, last, backward_, now_.backward, time_.stage_end);
}

/// Interleaved stages are executed round by round: round t of the pipeline is round t - s of stage s. All
/// that a stage needs was then made in the round before, so that the stages of a round know nothing of each
/// other. Rounds that only repeat those before, later, are counted at once.
void PipelineClock::rounds(const Pipeline& pipeline) {
  const int p = pipeline.stages, V = pipeline.chunks, passes = pipeline.passes(), lead = pipeline.lead(0);
  assert(pipeline.micro_batches % p == 0);
  const int period = V * p;
  const int steady = lead + 1;  // from then on every stage does a pass each way in a round
  bool jumps = true;
  // Done::forward[s + 1] and Done::backward[s] are those of stage s: what stage s waits for is at s and s
  // + 1.
  for (Done* done : {&now_, &next_})
    done->forward.assign(std::size_t(p) + 1, {}), done->backward.assign(std::size_t(p) + 1, {});
  free_.assign(std::size_t(p), {});

  const auto forward = [&](int turn, int s, int end) {
    if (s >= end) return;
    const auto i = std::size_t(s);
    work(&now_.forward[i], &forward_[std::size_t(turn % V * p + s)], &free_[i], &next_.forward[i + 1],
         end - s);
  };
  const auto backward = [&](int turn, int s, int end) {
    if (s >= end) return;
    const auto i = std::size_t(s);
    work(&now_.backward[i + 1], &backward_[std::size_t((V - 1 - turn % V) * p + s)], &free_[i],
         &next_.backward[i], end - s);
  };
  for (int t = 0; t < passes + lead + p; ++t) {
    // Forward pass t - s of stage s: stages up to t % p have begun another turn of p passes with another
    // chunk. Stage 0 takes what the last one made, or new samples.
    const int turn = t / p, begun = t % p + 1;
    const int from = std::max(0, t - passes + 1), to = std::min(p, t + 1);
    now_.forward[0] = turn % V > 0 ? now_.forward[std::size_t(p)] : Seconds{};
    forward(turn, from, std::min(begun, to));
    forward(turn - 1, std::max(begun, from), to);
    // Backward pass t + s - lead: here the last stages are first. The last one takes what stage 0 made, or
    // gradients of the loss.
    const int since = t - lead, back = std::max(0, since) / p, begin = p - std::max(0, since) % p;
    const int first = std::max(0, -since), end = std::min(p, passes - since);
    now_.backward[std::size_t(p)] = (since + p - 1) / p % V > 0 ? now_.backward[0] : Seconds{};
    backward(back, first, std::min(begin, end));
    backward(back + 1, std::max(begin, first), end);
    std::swap(now_, next_);
    if (!jumps || t < steady || (t - steady) % period != 0 || t + period >= passes) continue;
    Seconds pace;
    if (t > steady && settled(pace)) {
      const int skipped = (passes - 2 - t) / period;  // the last round is executed
      for (auto* times : {&now_.forward, &now_.backward, &free_})
        for (Seconds& time : *times) time += skipped * pace;
      t += skipped * period;
      jumps = false;
    } else {
      before_ = now_;
    }
  }
  std::ranges::copy(free_, time_.stage_end.begin());
}

/// Whether all passes of this round came by the same time after those of a period ago: then all that follow
/// do, since a round depends on the one before alone.
bool PipelineClock::settled(Seconds& pace) const {
  const std::size_t stages = free_.size();
  pace = now_.backward[0] - before_.backward[0];
  const double rounding = 1e-13 * now_.backward[0].base();
  const auto differs = [&](Seconds now, Seconds before) {
    return std::abs((now - before - pace).base()) > rounding;
  };
  for (std::size_t s = 0; s < stages; ++s)
    if (differs(now_.forward[s + 1], before_.forward[s + 1]) ||
        differs(now_.backward[s], before_.backward[s]))
      return false;
  return true;
}

}  // namespace paradl
