#pragma once
#include <string>
#include <vector>

#include "paradl/report/table.hpp"
#include "paradl/report/terminal.hpp"
#include "paradl/spec/catalog.hpp"

namespace paradl {

/// The context of every command: where specs are, how to print, and the typed words.
struct Session {
  Catalog catalog;
  std::vector<std::string> arguments;
  ColourChoice colour = ColourChoice::automatic;
  int verbosity = 0;    // -1: quiet
  Style style() const;  // for stdout
};

/// Exit codes.
inline constexpr int answered = 0, answered_no = 1, usage = 2, bad_spec = 3, bad_environment = 4, bug = 70;

/// Writes to stdout; EnvironmentError if that fails (a full disk, a closed pipe).
void print(const std::string& text);
/// Writes to stderr unless the session is quiet.
void hint(const Session& session, const std::string& text);

}  // namespace paradl
