#pragma once
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paradl::test {

/// Runs `action` in another process. Returns false if it has not ended after a second of CPU time. For input
/// that might otherwise never end or use all memory.
template <class Action>
bool comes_to_an_end(Action action) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit second{1, 1}, no_dump{0, 0};
    setrlimit(RLIMIT_CPU, &second);
    setrlimit(RLIMIT_CORE, &no_dump);
    try {
      action();
    } catch (...) {
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace paradl::test
