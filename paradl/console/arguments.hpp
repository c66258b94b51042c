#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace paradl {

/// The action of a command; returns the exit code.
using Action = std::function<int()>;

/// The text of an option in --help.
struct About {
  std::string help;
  std::string meta = {};   // placeholder of its value: "SYSTEM"
  std::string group = {};  // its heading
  bool required = false;
  bool once = false;  // typed twice, it is refused; otherwise the last value counts
};

/// The arguments of a command, bound to variables that must outlive the parsing. A thin wrapper of CLI11,
/// which is slow to compile: only two files include it.
class Arguments {
 public:
  /// `typed`: the words of the command line. Options of commands that are not among them are left out: to
  /// define all would take most of the start-up time.
  Arguments(CLI::App& app, std::span<const std::string> typed) : app_(&app), typed_(typed) {}

  Arguments add_command(const std::string& name, const std::string& summary) const;
  bool left_out() const { return left_out_; }
  /// `-b,--batch`, or a name without dashes for a positional argument.
  void text(const std::string& names, std::string& value, const About& about) const;
  /// One value each time it is given; a positional argument takes all remaining words.
  void texts(const std::string& names, std::vector<std::string>& values, const About& about) const;
  void flag(const std::string& names, bool& value, const About& about) const;
  /// The words that follow are not parsed, not even `--help`.
  void pass_on_the_rest() const;
  void footer(const std::string& text) const;
  /// If the user typed this command, `action` becomes `run`.
  void runs(Action& action, Action run) const;

  std::vector<std::string> commands() const;
  std::string help_of(const std::string& command) const;

 private:
  CLI::App* app_;
  std::span<const std::string> typed_;
  bool left_out_ = false;
};

}  // namespace paradl
