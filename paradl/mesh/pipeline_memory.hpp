#pragma once
// What pipeline_end.cpp and pipeline_rounds.cpp share.
#include "paradl/mesh/pipeline.hpp"

namespace paradl {

/// A time with messages and one without: two numbers that a processor adds and compares in one instruction.
using TimePair [[gnu::vector_size(16)]] = double;

inline TimePair later(TimePair a, TimePair b) { return a > b ? a : b; }
inline double later(double a, double b) { return a > b ? a : b; }

struct PipelineScratch::Memory {
  /// Stages that take the same time, messages included.
  struct Stretch {
    TimePair forward, backward;
    int first, stages, run;  // its first stage; the run that begins with it, or -1
    /// Lengths of the longest paths to its first and to its last stage, for 1F1B.
    struct At {
      TimePair first, back, last;
    } begin, end;
  };
  std::vector<Stretch> stretch;

  struct Cell {
    TimePair time;
  };
  std::vector<Cell> cell;
};

/// pipeline_end() of interleaved schedules, except that `run_end` includes the last message of a stage.
PipelineEnd interleaved_end(const Pipeline& pipeline, std::span<const StageRun> run,
                            std::span<Seconds> run_end, PipelineScratch& scratch);

}  // namespace paradl
