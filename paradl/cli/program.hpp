#pragma once
#include <functional>
#include <string>
#include <vector>

#include "paradl/cli/command.hpp"

namespace paradl {

/// A program of commands.
struct Program {
  std::string name, about;
  std::string tree;   // what it prints when it is called without a word
  std::string parts;  // what `--version -v` says of its parts
  std::vector<std::function<void(const Arguments& root, Session& session, Action& action)>> commands;
};

/// Parses the words, runs the command and returns the exit code; every error ends here.
int run_program(const Program& program, int argc, char** argv);

}  // namespace paradl
