#pragma once
#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "paradl/core/names.hpp"
#include "paradl/core/quantity.hpp"

namespace paradl {

/// The order in which the stages of a pipeline work on micro-batches.
enum class PipelineSchedule { gpipe, one_forward_one_backward, interleaved };
inline constexpr std::array<std::string_view, 3> schedule_names{"gpipe", "1f1b", "interleaved"};
static_assert(names_every(PipelineSchedule::interleaved, schedule_names), "name every PipelineSchedule");

/// A pipeline: the order of passes on each stage. A stage holds `chunks` pieces of the network that are not
/// neighbours: chunk c of stage s is piece c * stages + s in the order of the network.
struct Pipeline {
  int stages = 1, micro_batches = 1;
  int chunks = 1;  // more than one only if interleaved; micro_batches is then a multiple of stages
  PipelineSchedule schedule = PipelineSchedule::gpipe;

  friend bool operator==(const Pipeline&, const Pipeline&) = default;
  int pieces() const { return stages * chunks; }
  int passes() const { return chunks * micro_batches; }  // forward passes of a stage; as many backward
  /// The round in which a stage does its first backward pass, if there are enough forward passes. In round k
  /// it does forward pass k and then backward pass k - lead.
  int lead(int stage) const;
  /// Forward passes of a stage before it alternates forward and backward passes: the only difference between
  /// schedules. GPipe: all of them. 1F1B: one for each later stage. Interleaved: two for each later stage,
  /// and one for each stage and each chunk but the last.
  int ahead(int stage) const;

  struct Pass {
    bool backward;
    int chunk, micro_batch;
  };
  /// The n-th of the 2 * passes() passes of a stage: `ahead` forward, then one forward and one backward in
  /// turn, then the remaining backward passes. In interleaved schedules a stage takes `stages` micro-batches
  /// through its first chunk, then through the next one, and so on; backward, from the last chunk to the
  /// first.
  Pass pass(int stage, int n) const;

  /// Micro-batches whose activations a chunk of a stage keeps when the stage keeps most: just before its
  /// first backward pass.
  int in_flight(int stage, int chunk) const;
};

/// The times of one micro-batch in one piece of the network. `sent` is the message to the next piece; the
/// gradient that comes back takes as long. A stage is busy while it sends. `sent` of the last piece is
/// ignored.
struct PieceTime {
  Seconds forward, backward, sent;
  friend bool operator==(const PieceTime&, const PieceTime&) = default;
};

/// Neighbouring stages whose chunks take the same times; `chunk` has Pipeline::chunks entries.
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

/// When a pipeline is done, with its messages and as if messages took no time.
struct PipelineEnd {
  Seconds end, silent;
};

/// Finds when a pipeline is done without executing each pass, where closed forms or repeating rounds allow it
/// (pipeline_end.cpp, pipeline_rounds.cpp). Equal to execute_pipeline() for stages of any length. Runs are in
/// the order of stages and have `pipeline.stages` stages in total. `run_end` gets the end of the last
/// backward pass of each run's first stage: the other stages of a run end earlier, since gradients go from a
/// stage to the one before it.
PipelineEnd pipeline_end(const Pipeline& pipeline, std::span<const StageRun> run, std::span<Seconds> run_end,
                         PipelineScratch& scratch);

/// When a pipeline is done, stage by stage.
struct PipelineTime {
  Seconds end;
  std::vector<Seconds> stage_end;  // of the last backward pass of each stage
};

/// One executed pass: it computes from `begin` to `end` and sends until `sent`.
struct PipelineEvent {
  int stage;
  Pipeline::Pass pass;
  Seconds begin, end, sent;
};

/// Executes a schedule pass by pass; `piece` is in the order of the network.
PipelineTime execute_pipeline(const Pipeline& pipeline, std::span<const PieceTime> piece);

/// The passes of every stage, in the order of execution.
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
