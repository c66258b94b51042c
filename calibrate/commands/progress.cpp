#include "calibrate/commands/progress.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "calibrate/commands/bench.hpp"

namespace paradl::calibrate {

Progress::Progress(const Session& session, bool prints)
    : form_(!prints || session.verbosity < 0 ? Form::none
            : isatty(STDERR_FILENO)          ? Form::bar
            : launched()                     ? Form::lines
                                             : Form::none) {}

void Progress::show(const std::string& what, double share) {
  using namespace std::chrono;
  constexpr double between_lines = 10;  // s
  const double passed = duration<double>(steady_clock::now() - start_).count();
  const int left = share > 0.02 ? int(passed / share * (1 - share)) : 0;
  const std::string time = left > 0 ? fmt::format("   {}:{:02} left", left / 60, left % 60) : "";
  if (form_ == Form::lines && passed - last_line_ >= between_lines) {
    fmt::print(stderr, "{:3.0f} % {:.40}{}\n", 100 * share, what, time);
    last_line_ = passed;
  }
  if (form_ != Form::bar || passed < 0.5) return;
  constexpr int width = 20;
  const int full = int(share * width);
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
