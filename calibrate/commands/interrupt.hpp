#pragma once

namespace paradl::calibrate {

/// From now on Ctrl-C (and the end that mpirun asks for) is only noted, once; a second time it ends the
/// program as ever.
void note_interrupts();
bool interrupted();

/// What a program that was interrupted gives back, as shells report it.
inline constexpr int exit_interrupted = 130;

}  // namespace paradl::calibrate
