#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace paradl {

/// What `--color` says.
enum class ColourChoice { automatic, always, never };

struct Terminal {
  bool tty = false;  // a person watches, on a terminal that is not dumb: bars and progress are welcome
  int columns = 0;   // 0: not a terminal, or of unknown width
  bool colour = false;
  bool unicode = false;
};

/// Looks at a stream and the environment. Colour: `choice`, then NO_COLOR, then CLICOLOR_FORCE, then whether
/// it is a tty.
Terminal terminal(int fd, ColourChoice choice);

/// Columns that a UTF-8 text takes on a terminal: its code points. (We print no wide or combining
/// characters.)
std::size_t display_width(std::string_view text);

struct Substitution {
  std::string_view from, to;
};

/// Replaces each `from` by its `to` in one pass. The first substitution that matches wins: longer ones go
/// first.
std::string substituted(std::string_view text, std::span<const Substitution> substitutions);

/// For terminals without UTF-8: "Σ α" -> "sum alpha". Characters without a known spelling become "?".
std::string ascii(std::string_view text);

}  // namespace paradl
