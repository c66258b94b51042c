#pragma once
#include <array>
#include <memory>
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
/// gradient that comes back for it takes as long. A stage is busy while it sends. What the last piece sends
/// is ignored.
struct PieceTime {
  Seconds forward, backward, sent;
  friend bool operator==(const PieceTime&, const PieceTime&) = default;
};

/// Neighbouring stages that take the same time, chunk by chunk (Pipeline::chunks of them).
struct StageRun {
  int stages = 1;
  std::span<const PieceTime> chunk;
};

/// Working memory of pipeline_end(). It grows to the largest pipeline it was used for; one per thread.
class PipelineScratch {
 public:
  PipelineScratch();
  PipelineScratch(PipelineScratch&&) noexcept;
  PipelineScratch& operator=(PipelineScratch&&) noexcept;
  ~PipelineScratch();

  struct Memory;
  Memory& memory() { return *memory_; }

 private:
  std::unique_ptr<Memory> memory_;
};

/// When a pipeline is done: as it is, and if its messages took no time.
struct PipelineEnd {
  Seconds end, silent;
};

/// Finds when a pipeline is done without executing each pass where their order makes that needless; equal to
/// execute_pipeline() for stages of any length (pipeline_end.cpp, pipeline_rounds.cpp). Runs follow each
/// other and have `pipeline.stages` stages in all. `run_end` gets the end of the last backward pass of each
/// run's first stage: the other stages of a run end earlier, since gradients go from a stage to the one
/// before it.
PipelineEnd pipeline_end(const Pipeline& pipeline, std::span<const StageRun> run, std::span<Seconds> run_end,
                         PipelineScratch& scratch);

/// When a pipeline is done, stage by stage.
struct PipelineTime {
  Seconds end;
  std::vector<Seconds> stage_end;  // of the last backward pass of each stage
};

/// One pass as it was executed: it computes until `end` and sends until `sent`.
struct PipelineEvent {
  int stage;
  Pipeline::Pass pass;
  Seconds begin, end, sent;
};

/// Executes a schedule pass by pass. `piece` has the pieces in the order of the network.
PipelineTime execute_pipeline(const Pipeline& pipeline, std::span<const PieceTime> piece);

/// Every pass of every stage, in the order in which the stage does them.
std::vector<std::vector<PipelineEvent>> pipeline_timeline(const Pipeline& pipeline,
                                                          std::span<const PieceTime> piece);

/// pipeline_end() for callers that have one time per piece and want the end of every stage.
class PipelineClock {
 public:
  using Event = PipelineEvent;
  const PipelineTime& run(const Pipeline& pipeline, std::span<const PieceTime> piece);
  std::vector<std::vector<Event>> timeline(const Pipeline& pipeline, std::span<const PieceTime> piece) const {
    return pipeline_timeline(pipeline, piece);
  }

 private:
  PipelineTime time_;
  PipelineScratch scratch_;
  std::vector<PieceTime> chunk_;  // by stage, then by chunk
  std::vector<StageRun> run_;     // one for each stage
};

}  // namespace paradl
