#pragma once
#include <functional>
#include <string>
#include <vector>

#include "paradl/cli/options.hpp"
#include "paradl/query/oracle.hpp"
#include "paradl/report/answer.hpp"
#include "paradl/report/table.hpp"
#include "paradl/report/terminal.hpp"

namespace paradl {

/// What every command gets: where specs are, how to print, and the words that were typed.
struct Session {
  Catalog catalog;
  std::vector<std::string> arguments;
  ColourChoice colour = ColourChoice::automatic;
  int verbosity = 0;    // -1: quiet
  Style style() const;  // for stdout
};

/// What a command does when it was chosen; returns the exit code.
using Action = std::function<int()>;

// One per command, in its own file: adds the subcommand and sets `action` when it is chosen.
void define_advise(const Arguments& root, Session& session, Action& action);
void define_project(const Arguments& root, Session& session, Action& action);
void define_compare(const Arguments& root, Session& session, Action& action);
void define_validate(const Arguments& root, Session& session, Action& action);
void define_explain(const Arguments& root, Session& session, Action& action);
void define_collectives(const Arguments& root, Session& session, Action& action);
void define_topology(const Arguments& root, Session& session, Action& action);
void define_import(const Arguments& root, Session& session, Action& action);
void define_check(const Arguments& root, Session& session, Action& action);
void define_models(const Arguments& root, Session& session, Action& action);
void define_systems(const Arguments& root, Session& session, Action& action);
void define_profiles(const Arguments& root, Session& session, Action& action);
void define_frameworks(const Arguments& root, Session& session, Action& action);
void define_strategies(const Arguments& root, Session& session, Action& action);
void define_calibrate(const Arguments& root, Session& session, Action& action);
void define_help(const Arguments& root, Session& session, Action& action);

/// Exit codes.
inline constexpr int answered = 0, answered_no = 1, usage = 2, bad_spec = 3, bad_environment = 4, bug = 70;

/// Writes to stdout; EnvironmentError if that fails (a full disk, a closed pipe).
void print(const std::string& text);
/// Writes to stderr unless the session is quiet.
void hint(const Session& session, const std::string& text);
/// Writes a whole file; EnvironmentError if it cannot.
void write_file(const std::string& path, const std::string& text);
/// Refuses a drawing of another kind; an empty path is none.
void demand_svg(const std::string& path);
/// UsageError if two of these are one file: the later would replace the earlier.
void refuse_twice(const std::vector<std::string>& files);

/// The files that a case rests on.
std::vector<InputFile> inputs_of(const Case& about);
/// An answer with everything but its results filled in.
Answer start_answer(const Session& session, const Case& about);
/// The file accuracy/recorded.yaml, its strategies looked up. SpecError.
RecordedErrors read_record(const SourceText& source);
/// What that file has; nothing where there is none.
std::vector<RecordedError> recorded_errors(const Catalog& catalog);

/// Looks at every result for limits and bottlenecks.
void examine(Answer& answer, Examiner& examiner);

/// An answer in one format. UsageError for a format it does not know.
using Render = std::function<std::string(const std::string& format, Style style)>;
/// A table as markdown, csv or latex; UsageError for other formats.
std::string render_table(const std::string& format, const Table& table);

/// Writes what was rendered to every -o (format by its extension), then prints the format asked for.
void deliver(const Session& session, const Options& options, const Render& render);
/// What it would refuse (-f and -o), refused before a long run. UsageError or EnvironmentError.
void check_delivery(const Options& options);
/// Prints an answer in the format asked for, and writes it to every -o. `people` is what a person reads: text
/// around the table as the command likes it.
void deliver(const Session& session, const Options& options, const Answer& answer,
             const std::vector<std::string>& columns,
             const std::function<std::string(const Printed& table)>& people);

}  // namespace paradl
