#include "paradl/cost/setting.hpp"

#include <fmt/format.h>

namespace paradl {

std::string schedule_text(const Training& training) {
  switch (training.schedule) {
    case PipelineSchedule::gpipe:
      return "gpipe";
    case PipelineSchedule::one_forward_one_backward:
      return "1f1b";
    case PipelineSchedule::interleaved:
      return "interleaved:" + std::to_string(training.chunks);
  }
  return {};
}

std::string shuffle_text(const Shuffle& shuffle) {
  if (shuffle.global) return "global";
  return shuffle.Q > 0 ? fmt::format("partial:{}", shuffle.Q) : "local";
}

}  // namespace paradl
