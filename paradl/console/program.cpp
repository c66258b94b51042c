// Common to both programs: parse, dispatch, catch once, return the exit code.
#include "paradl/console/program.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "paradl/console/ranges.hpp"
#include "paradl/console/utf8.hpp"
#include "paradl/core/memory.hpp"
#include "paradl/core/text.hpp"
#include "paradl/report/formats.hpp"
#include "paradl/report/json.hpp"

namespace paradl {
namespace {

/// Folders that hold models/ and systems/: here, PARADL_PATH, the installation, the source tree of an
/// uninstalled build.
std::vector<std::string> roots() {
  namespace fs = std::filesystem;
  std::vector<std::string> out{"."};
  if (const char* path = std::getenv("PARADL_PATH"))
    for (std::string& item : split_list(path, ':')) out.push_back(std::move(item));
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (!failed) out.push_back((program.parent_path().parent_path() / "share" / "paradl").string());
  out.emplace_back(PARADL_SOURCE_DIR);
  return out;
}

/// Replaces CLI11's messages, such as "--size: At Most 1 required but received 2", where we have a better
/// one.
UsageError in_our_words(const CLI::ParseError& error, const std::string& help) {
  const std::string text = error.what();
  const std::string name = text.substr(0, text.find_first_of(": "));
  if (text.find("At Most 1 required") != text.npos || text.find("received 2") != text.npos)
    return UsageError(fmt::format("`{}` is given more than once", name), "keep one of them");
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error))
    return UsageError(fmt::format("`{}` has no value", name), help);
  return UsageError(text, help);
}

/// The command with the words before its name moved to its end: `--json advise resnet50` becomes `advise
/// resnet50 --json`. Nothing if `word` is not one of these words.
std::optional<std::string> in_order(std::vector<std::string> words, const std::string& command,
                                    const std::string& word) {
  const auto name = std::ranges::find(words, command);
  if (name == words.end() || std::find(words.begin(), name, word) == name) return {};
  std::rotate(words.begin(), name, words.end());
  std::string out;
  for (const std::string& each : words) out += " " + shell_word(each);
  return out;
}

/// CLI11 reports a misspelt word in several ways; the help is always the nearest known command or option.
UsageError explain_parse_error(const CLI::App& root, const CLI::ParseError& error,
                               const std::vector<std::string>& words) {
  const std::string program = root.get_name();
  const CLI::App* command = &root;
  for (const CLI::App* sub : root.get_subcommands()) command = sub;
  std::vector<std::string> left = command->remaining(true);
  if (left.empty()) left = root.remaining(true);
  const auto help = [&] {
    return fmt::format("see `{} {}{}-h`", program, command == &root ? "" : command->get_name(),
                       command == &root ? "" : " ");
  };
  if (!left.empty() && command == &root) {
    std::vector<std::string> known;
    for (const CLI::App* sub : root.get_subcommands({})) known.push_back(sub->get_name());
    if (left.front().starts_with('-'))
      return UsageError(fmt::format("`{}` is not an option of {}", left.front(), program), help());
    const std::string near = did_you_mean(left.front(), known);
    return UsageError(fmt::format("`{}` is not a {} command", left.front(), program),
                      near.empty() ? fmt::format("`{}` without arguments lists them", program) : near);
  }
  if (!left.empty()) {
    const std::string& word = left.front();
    if (!word.starts_with('-')) return UsageError(fmt::format("unexpected argument `{}`", word), help());
    if (const auto typed = in_order(words, command->get_name(), word);
        typed && command->get_option_no_throw(word.substr(0, word.find('='))))
      return UsageError(fmt::format("`{}` is an option of `{} {}`: it must follow the command", word, program,
                                    command->get_name()),
                        fmt::format("write {}{}", program, *typed));
    std::vector<std::string> known;
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    const std::string near = did_you_mean(word, known);
    return UsageError(fmt::format("`{}` is not an option of `{} {}`", word, program, command->get_name()),
                      near.empty() ? help() : near);
  }
  return in_our_words(error, help());
}

/// The part of a command's help that fits on one screen, without the options about training and output.
std::string one_screen(const std::string& help) {
  std::string out;
  bool hidden = false, any = false;
  for (std::size_t start = 0; start < help.size();) {
    const std::size_t end = std::min(help.find('\n', start), help.size());
    const std::string_view line = std::string_view(help).substr(start, end - start);
    if (!line.empty() && line.front() != ' ') hidden = line == "Training:" || line == "Output:";
    any |= hidden;
    if (!hidden) out.append(line) += '\n';
    start = end + 1;
  }
  return any ? out + "\n`--help` also shows the options about training and output.\n" : out;
}

/// Errors have the format of the answer, but may occur before the options are parsed.
bool wants_json(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--json") return true;
    std::string_view name;
    if ((word == "-f" || word == "--format") && i + 1 < arguments.size()) name = arguments[i + 1];
    for (const std::string_view before : {"--format=", "-f"})
      if (word.starts_with(before) && word != before) name = std::string_view(word).substr(before.size());
    if (const FormatRow* row = find_format(name); row && row->format == Format::json) return true;
  }
  return false;
}

void complain(const std::string& message) {
  const std::string text = valid_utf8(message);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

int report(bool json, const std::string& kind, const std::string& message, const std::string& help,
           int code) {
  complain(json ? error_json(kind, message, help)
                : visible(fmt::format("error: {}\n{}", message, help.empty() ? "" : "help: " + help + "\n")));
  return code;
}

/// CLI11 ignores an empty word; more likely a shell variable is not set.
void refuse_empty(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (!word.empty() && !(word.starts_with("--") && word.ends_with('='))) continue;
    throw UsageError(i == 0 || !word.empty()
                         ? fmt::format("`{}` has no value", word)
                         : fmt::format("an empty argument follows `{}`", arguments[i - 1]),
                     "is a shell variable not set?");
  }
}

int report_failure(const Program& program, bool json, const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const UsageError& error) {
    return report(json, "usage", shortened(error.what()), shortened(error.help()), usage);
  } catch (const SpecError& error) {
    complain(json ? error_json(error) : render(error));
    return bad_spec;
  } catch (const EnvironmentError& error) {
    return report(json, "environment", error.what(), error.help(), bad_environment);
  } catch (const std::bad_alloc&) {
    return report(json, "environment", "out of memory", "", bad_environment);
  } catch (const std::exception& error) {
    complain(
        fmt::format("{}: this is a bug in paradl ({})\nhelp: please report it with the command and the "
                    "spec files\n",
                    program.name, error.what()));
    return bug;
  }
}

int guarded(const Program& program, bool json, const Action& action) {
  try {
    return action();
  } catch (...) {
    std::this_thread::sleep_for(std::chrono::duration<double>(program.patience.base()));
    return report_failure(program, json, std::current_exception());
  }
}

}  // namespace

int run_program(const Program& program, int argc, char** argv) {
  keep_freed_memory();
  Session session{.catalog = Catalog(roots()), .arguments = {argv + 1, argv + argc}};
  Action action;
  CLI::App root{program.about, program.name};
  root.set_help_flag("-h,--help", "show this help");
  root.fallthrough();
  root.require_subcommand(0, 1);
  bool version = false;
  root.add_flag("--version", version, "show the version");
  std::string colour = "auto";
  root.add_option("--color", colour, "auto, always or never")->type_name("WHEN");
  root.add_flag(
      "-q,--quiet", [&](std::int64_t) { session.verbosity = -1; }, "no hints on stderr");
  root.add_flag(
      "-v,--verbose", [&](std::int64_t n) { session.verbosity = int(n); }, "where each setting came from");
  for (const auto& define : program.commands) define(Arguments(root, session.arguments), session, action);

  const bool json = wants_json(session.arguments);
  return guarded(program, json, [&] {
    try {
      refuse_empty(session.arguments);
      root.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      const CLI::App* chosen = &root;
      for (const CLI::App* sub : root.get_subcommands()) chosen = sub;
      if (const auto left = root.remaining(); chosen == &root && !left.empty())
        throw explain_parse_error(root, CLI::ExtrasError(program.name, left), session.arguments);
      const auto& words = session.arguments;
      const bool all = std::ranges::find(words, "--help") != words.end();
      const std::string help = chosen->help(program.name);
      print(chosen == &root ? program.tree : all ? help : one_screen(help));
      return answered;
    } catch (const CLI::ParseError& error) {
      throw explain_parse_error(root, error, session.arguments);
    }
    if (colour == "always")
      session.colour = ColourChoice::always;
    else if (colour == "never")
      session.colour = ColourChoice::never;
    else if (colour != "auto")
      throw UsageError(fmt::format("--color {}: not known", colour), "use auto, always or never");
    if (version) {
      print(fmt::format("{} {}\n", program.name, PARADL_VERSION));
      if (session.verbosity > 0)
        print(fmt::format("commit {}\ncompiler {}\n{}", PARADL_COMMIT, __VERSION__, program.parts()));
      return answered;
    }
    if (!action) {
      print(program.tree);
      return answered;
    }
    return action();
  });
}

}  // namespace paradl
