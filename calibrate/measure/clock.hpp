#pragma once
#include <time.h>

namespace paradl::calibrate {

/// What a clock of the kernel shows: wall time, or the time that this process or thread had a core.
inline double clock_seconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

}  // namespace paradl::calibrate
