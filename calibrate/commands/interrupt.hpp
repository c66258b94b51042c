#pragma once
#include <string>

namespace paradl::calibrate {

/// From now on the first Ctrl-C (or SIGTERM from mpirun) only sets a flag; the second ends the program.
void note_interrupts();
bool interrupted();

/// The exit code that shells use for an interrupted program.
inline constexpr int exit_interrupted = 130;

/// The message about measurements that were kept.
std::string interrupted_text(const std::string& path);

}  // namespace paradl::calibrate
