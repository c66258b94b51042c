#pragma once
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paradl {

/// A place in a file the user wrote. Lines and columns start at 1, as editors count.
struct Spot {
  int line = 0, column = 0, width = 1;
};

/// One mistake in a file: what is wrong, where, and what to do.
struct Problem {
  Spot where;
  std::string message;
  std::string help;
};

/// A spec file has mistakes that the user can fix by editing it. Exit code 3.
class SpecError : public std::runtime_error {
 public:
  SpecError(std::string file, std::string source, std::vector<Problem> problems);
  const std::string& file() const { return file_; }
  const std::string& source() const { return source_; }
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  std::string file_, source_;
  std::vector<Problem> problems_;
};

/// The command line asks for something impossible. Exit code 2.
class UsageError : public std::runtime_error {
 public:
  explicit UsageError(const std::string& message, std::string help = {})
      : std::runtime_error(message), help_(std::move(help)) {}
  const std::string& help() const { return help_; }

 private:
  std::string help_;
};

/// The machine prevents the work: a file cannot be written, there is no GPU. Exit code 4.
class EnvironmentError : public std::runtime_error {
 public:
  explicit EnvironmentError(const std::string& message, std::string help = {})
      : std::runtime_error(message), help_(std::move(help)) {}
  const std::string& help() const { return help_; }

 private:
  std::string help_;
};

/// Keeps only the beginning and the end of a very long message, such as one that quotes a long word.
std::string shortened(std::string message);

/// The known word with the fewest letters different, or "" if more than a third of the letters differ.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// "did you mean `abci`?", or "" if no known word is similar.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

/// Shows each problem: message, file:line:column, the source line, a caret and the help.
std::string render(const SpecError& error);

}  // namespace paradl
