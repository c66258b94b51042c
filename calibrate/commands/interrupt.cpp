#include "calibrate/commands/interrupt.hpp"

#include <csignal>

namespace paradl::calibrate {
namespace {

volatile std::sig_atomic_t noted = 0;

}  // namespace

void note_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { noted = 1; };
  action.sa_flags = int(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return noted != 0; }

std::string interrupted_text(const std::string& path) {
  return "interrupted: the measurements so far are in " + path + "; the next run continues from there";
}

}  // namespace paradl::calibrate
