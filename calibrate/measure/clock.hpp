#pragma once
#include <time.h>

namespace paradl::calibrate {

/// The time of a kernel clock: wall time, or the core time of this process or thread.
inline double clock_seconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

}  // namespace paradl::calibrate
