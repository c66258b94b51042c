#pragma once
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace paradl::test {

/// Runs `action` in a process of its own: false if a second of computing did not bring it to an end. For
/// input that would otherwise keep a test busy, or eat all memory, for ever.
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
