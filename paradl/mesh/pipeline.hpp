#pragma once
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "paradl/core/names.hpp"
#include "paradl/core/quantity.hpp"

namespace paradl {

/// In which order the stages of a pipeline work on micro-batches.
enum class PipelineSchedule { gpipe, one_forward_one_backward, interleaved };
inline constexpr std::array<std::string_view, 3> schedule_names{"gpipe", "1f1b", "interleaved"};
static_assert(names_every(PipelineSchedule::interleaved, schedule_names), "name every PipelineSchedule");

/// A pipeline: which stage does what, one thing after the other. A stage holds `chunks` pieces of the network
/// that do not follow each other: chunk c of stage s is piece c * stages + s in the order of the network.
struct Pipeline {
  int stages = 1, micro_batches = 1;
  int chunks = 1;  // more than one only if interleaved; micro_batches is then a multiple of stages
  PipelineSchedule schedule = PipelineSchedule::gpipe;

  int pieces() const { return stages * chunks; }
  int passes() const { return chunks * micro_batches; }  // forward, of one stage; as many backward
  /// The round in which a stage does its first backward pass, were there forward passes enough. In round k it
  /// does forward pass k and then backward pass k - lead.
  int lead(int stage) const;
  /// Forward passes of a stage before its first backward pass. The schedules differ in nothing else: all of
  /// them (GPipe); as many as there are stages to come (1F1B); all chunks but the last, and what the stages
  /// to come hold twice, until the first gradient is back (interleaved).
  int ahead(int stage) const;

  struct Pass {
    bool backward;
    int chunk, micro_batch;
  };
  /// The n-th of the 2 * passes() passes of a stage: `ahead` forward, then one forward and one backward in
  /// turn, then the backward passes that are left. Interleaved, a stage takes as many micro-batches as there
  /// are stages through one of its chunks, then through the next; backward from the last chunk to the first.
  Pass pass(int stage, int n) const;

  /// Micro-batches whose activations a chunk of a stage keeps when the stage keeps most: when it is about to
  /// do its first backward pass.
  int in_flight(int stage, int chunk) const;
};

/// What one micro-batch takes in one piece of the network. `sent` is the message to the next piece; the
/// gradient that comes back for it takes as long. A stage is busy while it sends.
struct PieceTime {
  Seconds forward, backward, sent;
};

/// When a pipeline is done.
struct PipelineTime {
  Seconds end;
  std::vector<Seconds> stage_end;  // of the last backward pass of each stage
};

/// Executes schedules. It keeps its memory, so that it allocates only for more stages than it has seen; one
/// per thread.
class PipelineClock {
 public:
  /// Pass by pass, whatever the schedule.
  const PipelineTime& run_all(const Pipeline& pipeline, std::span<const PieceTime> piece);
  /// The same times, found faster by what each schedule's passes have in common (pipeline_run.cpp).
  const PipelineTime& run(const Pipeline& pipeline, std::span<const PieceTime> piece);

  /// One pass as it was executed: it computes until `end` and sends until `sent`.
  struct Event {
    int stage;
    Pipeline::Pass pass;
    Seconds begin, end, sent;
  };
  /// Every pass of every stage, in the order in which the stage does them.
  std::vector<std::vector<Event>> timeline(const Pipeline& pipeline, std::span<const PieceTime> piece);

 private:
  template <class Seen>
  void execute(const Pipeline& pipeline, std::span<const PieceTime> piece, Seen seen);
  void flow_shop(const Pipeline& pipeline);
  void longest_ways(const Pipeline& pipeline);
  void rounds(const Pipeline& pipeline);
  bool settled(Seconds& pace) const;

  PipelineTime time_;
  /// When a stage was done with its last passes, what they had to send included. By stage.
  struct Done {
    std::vector<Seconds> forward, backward;
  };
  Done now_, next_, before_;                 // after a round, after the one that follows, and a period ago
  std::vector<Seconds> free_;                // by stage: when it is done with everything so far
  std::vector<Seconds> forward_, backward_;  // by piece: what passes take, with what they send
};

}  // namespace paradl
