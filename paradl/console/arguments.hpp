#pragma once
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace paradl {

/// What is said of an option in --help.
struct About {
  std::string help;
  std::string meta = {};   // of its value: "SYSTEM"
  std::string group = {};  // heading under which it stands
  bool required = false;
};

/// The words that one command takes, bound to variables that must outlive the parsing. A thin cover over
/// CLI11, which takes long to compile: only two files include it.
class Arguments {
 public:
  explicit Arguments(CLI::App& app) : app_(&app) {}

  Arguments add_command(const std::string& name, const std::string& summary) const;
  /// `-b,--batch`, or a name without dashes for a positional word.
  void text(const std::string& names, std::string& value, const About& about) const;
  /// One value each time it is given; a positional word takes all there are.
  void texts(const std::string& names, std::vector<std::string>& values, const About& about) const;
  void flag(const std::string& names, bool& value, const About& about) const;
  /// Whatever follows is not read, `--help` neither.
  void pass_on_the_rest() const;
  void footer(const std::string& text) const;
  void when_chosen(std::function<void()> action) const;

  std::vector<std::string> commands() const;
  std::string help_of(const std::string& command) const;

 private:
  CLI::App* app_;
};

}  // namespace paradl
