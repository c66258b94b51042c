#include "calibrate/commands/progress.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace paradl::calibrate {

Progress::Progress(const Session& session, bool speaks)
    : shows_(speaks && session.verbosity >= 0 && isatty(STDERR_FILENO)) {}

void Progress::show(const std::string& what, double share) {
  using namespace std::chrono;
  const double passed = duration<double>(steady_clock::now() - start_).count();
  if (!shows_ || passed < 0.5) return;
  constexpr int width = 20;
  const int full = int(share * width);
  const int left = share > 0.02 ? int(passed / share * (1 - share)) : 0;
  const std::string time = left > 0 ? fmt::format("   {}:{:02} left", left / 60, left % 60) : "";
  fmt::print(stderr, "\r\033[K[{}{}] {:3.0f} % {:.40}{}", std::string(std::size_t(full), '#'),
             std::string(std::size_t(width - full), '.'), 100 * share, what, time);
  std::fflush(stderr);
  visible_ = true;
}

void Progress::clear() {
  if (visible_) fmt::print(stderr, "\r\033[K");
  visible_ = false;
}

}  // namespace paradl::calibrate
