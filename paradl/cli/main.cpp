// paradl: parse, dispatch, catch once, return the exit code.
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "paradl/cli/command.hpp"
#include "paradl/cli/ranges.hpp"
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

/// CLI11 reports a misspelt word in several ways; the nearest known command or option is the same help for
/// all.
UsageError explain_parse_error(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App* command = &root;
  for (const CLI::App* sub : root.get_subcommands()) command = sub;
  std::vector<std::string> left = command->remaining(true);
  if (left.empty()) left = root.remaining(true);
  const auto help = [&] {
    return fmt::format("`paradl {}{}-h` shows how it is used", command == &root ? "" : command->get_name(),
                       command == &root ? "" : " ");
  };
  if (!left.empty() && command == &root) {
    std::vector<std::string> known;
    for (const CLI::App* sub : root.get_subcommands({})) known.push_back(sub->get_name());
    if (left.front().starts_with('-'))
      return UsageError(fmt::format("`{}` is not an option of paradl", left.front()), help());
    const std::string near = did_you_mean(left.front(), known);
    return UsageError(fmt::format("`{}` is not a paradl command", left.front()),
                      near.empty() ? "`paradl` alone lists them" : near);
  }
  if (!left.empty()) {
    const std::string& word = left.front();
    if (!word.starts_with('-')) return UsageError(fmt::format("`{}` is one word too many", word), help());
    std::vector<std::string> known;
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    const std::string near = did_you_mean(word, known);
    return UsageError(fmt::format("`{}` is not an option of `paradl {}`", word, command->get_name()),
                      near.empty() ? help() : near);
  }
  return UsageError(error.what(), help());
}

/// Errors follow the format of the answer, and may come before the options have been read.
bool wants_json(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--json" || word == "--format=json" || word == "-fjson") return true;
    if ((word == "-f" || word == "--format") && i + 1 < arguments.size() && arguments[i + 1] == "json")
      return true;
  }
  return false;
}

int report(bool json, const std::string& kind, const std::string& message, const std::string& help,
           int code) {
  if (json)
    std::fputs(error_json(kind, message, help).c_str(), stderr);
  else
    std::fprintf(stderr, "error: %s\n%s", message.c_str(),
                 help.empty() ? "" : ("help: " + help + "\n").c_str());
  return code;
}

int guarded(bool json, const Action& action) {
  try {
    return action();
  } catch (const UsageError& error) {
    return report(json, "usage", shortened(error.what()), shortened(error.help()), usage);
  } catch (const SpecError& error) {
    std::string pictures = render(error);
    if (json) return report(json, "spec", pictures, "", bad_spec);
    std::fputs(pictures.c_str(), stderr);
    return bad_spec;
  } catch (const EnvironmentError& error) {
    return report(json, "environment", error.what(), error.help(), bad_environment);
  } catch (const std::bad_alloc&) {
    return report(json, "environment", "out of memory", "", bad_environment);
  } catch (const std::exception& error) {
    std::fprintf(
        stderr,
        "paradl: this is a bug in paradl (%s)\nhelp: please report it with the command and the spec files\n",
        error.what());
    return bug;
  }
}

constexpr const char* tree = R"(paradl: how long will training take, will it fit, and on how many GPUs?

  paradl advise    MODEL --on SYSTEM -p N          which strategy should I use?          (start here)
  paradl project   MODEL --on SYSTEM -p RANGE      the table: time and memory for strategies x GPUs
  paradl explain   STRATEGY MODEL --on SYSTEM -p N each term: formula, symbols, values, share
  paradl compare   A B [...]                       strategies, systems or saved results, side by side

  paradl import    FILE                            bring in a model or a system from another tool
  paradl check     FILE...                         are these spec files right?
  paradl models | systems | profiles | strategies  [list | show NAME]
  paradl help TOPIC                                longer texts; `paradl help` lists them

Try: paradl advise resnet50 --on abci -p 64
)";

int run(int argc, char** argv) {
  Session session{.catalog = Catalog(roots()), .arguments = {argv + 1, argv + argc}};
  Action action;
  CLI::App root{"How long will training take, will it fit, and on how many GPUs?", "paradl"};
  root.set_help_flag("-h,--help", "show how it is used");
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
  for (const auto define :
       {define_advise, define_project, define_explain, define_compare, define_import, define_check,
        define_models, define_systems, define_profiles, define_strategies, define_help})
    define(Arguments(root), session, action);

  const bool json = wants_json(session.arguments);
  return guarded(json, [&] {
    try {
      root.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      const CLI::App* chosen = &root;
      for (const CLI::App* sub : root.get_subcommands()) chosen = sub;
      print(chosen == &root ? tree : chosen->help("paradl"));
      return answered;
    } catch (const CLI::ParseError& error) {
      throw explain_parse_error(root, error);
    }
    if (colour == "always")
      session.colour = ColourChoice::always;
    else if (colour == "never")
      session.colour = ColourChoice::never;
    else if (colour != "auto")
      throw UsageError(fmt::format("--color {}: not known", colour), "use auto, always or never");
    if (version) {
      print(fmt::format("paradl {}\n", PARADL_VERSION));
      if (session.verbosity > 0)
        print(fmt::format("compiler {}\ncalibration: not part of this build\n", __VERSION__));
      return answered;
    }
    if (!action) {
      print(tree);
      return answered;
    }
    return action();
  });
}

}  // namespace
}  // namespace paradl

int main(int argc, char** argv) { return paradl::run(argc, argv); }
