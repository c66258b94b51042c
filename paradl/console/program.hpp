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
  std::string tree;                    // printed if there are no arguments
  std::function<std::string()> parts;  // the versions of its parts for `--version -v`; slow to find
  /// Wait this long before printing an error: all MPI ranks fail for the same reason, and the first to exit
  /// ends the others.
  Seconds patience;
  std::vector<std::function<void(const Arguments& root, Session& session, Action& action)>> commands;
};

/// Parses the arguments, runs the command and returns the exit code. All errors are caught here.
int run_program(const Program& program, int argc, char** argv);

}  // namespace paradl
