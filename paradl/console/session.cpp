#include "paradl/console/session.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

#include "paradl/console/utf8.hpp"
#include "paradl/core/error.hpp"

namespace paradl {

Style Session::style() const {
  const Terminal out = terminal(STDOUT_FILENO, colour);
  return {.width = out.columns, .colour = out.colour, .unicode = out.unicode};
}

void print(const std::string& answer) {
  const std::string text = valid_utf8(answer);
  errno = 0;
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  const int reason = errno;
  if (written) return;
  throw EnvironmentError(fmt::format("cannot write the answer: {}", std::strerror(reason)),
                         "is the disk full, or the pipe closed?");
}

void hint(const Session& session, const std::string& text) {
  if (session.verbosity >= 0 && !text.empty()) std::fprintf(stderr, "%s\n", valid_utf8(text).c_str());
}

}  // namespace paradl
