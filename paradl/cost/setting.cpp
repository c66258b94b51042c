#include "paradl/cost/setting.hpp"

#include <fmt/format.h>

namespace paradl {

std::string schedule_text(const Training& training) {
  const std::string name(schedule_names[std::size_t(training.schedule)]);
  return training.schedule == PipelineSchedule::interleaved ? fmt::format("{}:{}", name, training.chunks)
                                                            : name;
}

std::string shuffle_text(const Shuffle& shuffle) {
  if (shuffle.global) return "global";
  return shuffle.Q > 0 ? fmt::format("partial:{}", shuffle.Q) : "local";
}

}  // namespace paradl
