#pragma once
#include <chrono>
#include <string>

#include "paradl/console/session.hpp"

namespace paradl::calibrate {

/// One line on stderr that says what is being done and how far it is: after half a second, if stderr is a
/// terminal, and gone when all is done. A launcher passes on lines only: there it is a new one now and then.
class Progress {
 public:
  Progress(const Session& session, bool speaks);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const std::string& what, double share);
  void clear();

 private:
  enum class Form { none, bar, lines };
  Form form_;
  bool visible_ = false;
  double told_ = 0;  // s: when the last line was written
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace paradl::calibrate
