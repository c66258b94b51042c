#include "paradl/cost/setting.hpp"

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

}  // namespace paradl
