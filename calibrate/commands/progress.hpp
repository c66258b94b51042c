#pragma once
#include <chrono>
#include <string>

#include "paradl/console/session.hpp"

namespace paradl::calibrate {

/// Progress on stderr. On a terminal: one line, which appears after half a second and disappears at the end.
/// Under a launcher, which forwards whole lines only: a new line every ten seconds.
class Progress {
 public:
  Progress(const Session& session, bool prints);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const std::string& what, double share);
  void clear();

 private:
  enum class Form { none, bar, lines };
  Form form_;
  bool visible_ = false;
  double last_line_ = 0;  // s: when the last line was written
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace paradl::calibrate
