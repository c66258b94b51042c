#pragma once
#include <functional>
#include <string>
#include <vector>

#include "paradl/console/arguments.hpp"
#include "paradl/console/session.hpp"
#include "paradl/core/quantity.hpp"

namespace paradl {

/// A program of commands.
struct Program {
  std::string name, about;
  std::string tree;                    // what it prints when it is called without a word
  std::function<std::string()> parts;  // what `--version -v` says of them; to look takes its time
  /// Called before an error is printed. All MPI ranks fail alike, and the first to exit ends the others.
  Seconds patience;
  std::vector<std::function<void(const Arguments& root, Session& session, Action& action)>> commands;
};

/// Parses the words, runs the command and returns the exit code; every error ends here.
int run_program(const Program& program, int argc, char** argv);

}  // namespace paradl
