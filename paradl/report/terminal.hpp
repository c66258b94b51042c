#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace paradl {

/// The values of `--color`.
enum class ColourChoice { automatic, always, never };

struct Terminal {
  bool tty = false;  // a terminal that is not dumb: bars and progress may be shown
  int columns = 0;   // 0: not a terminal, or unknown width
  bool colour = false;
  bool unicode = false;
};

/// Examines a stream and the environment. Colour: by `choice`, then NO_COLOR, then CLICOLOR_FORCE, then
/// whether it is a tty.
Terminal terminal(int fd, ColourChoice choice);

/// Width of a UTF-8 text on a terminal: its number of code points. (We print no wide or combining
/// characters.)
std::size_t display_width(std::string_view text);

struct Substitution {
  std::string_view from, to;
};

/// Replaces each `from` by its `to` in one pass. The first substitution that matches is used, so list longer
/// ones first.
std::string substituted(std::string_view text, std::span<const Substitution> substitutions);

/// For terminals without UTF-8: "Σ α" -> "sum alpha". Unknown characters become "?".
std::string ascii(std::string_view text);

}  // namespace paradl
