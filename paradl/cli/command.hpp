#pragma once
#include <string>
#include <vector>

#include "paradl/console/arguments.hpp"
#include "paradl/console/deliver.hpp"
#include "paradl/console/files.hpp"
#include "paradl/console/session.hpp"
#include "paradl/query/oracle.hpp"
#include "paradl/report/answer.hpp"
#include "paradl/report/table.hpp"

namespace paradl {

// `define_X` in cli/X.cpp adds a command; if the user typed it, `action` becomes its run().
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

/// The files that a case uses.
std::vector<InputFile> inputs_of(const Case& about);
/// Their paths.
std::vector<std::string> files_of(const std::vector<InputFile>& inputs);
/// An answer with everything filled in except its results.
Answer start_answer(const Session& session, const Case& about);
/// Reads the file profiles/accuracy/recorded.csv and looks up its strategies. SpecError.
RecordedErrors read_record(const SourceText& source);
/// The errors in that file; none if there is no such file.
std::vector<RecordedError> recorded_errors(const Catalog& catalog);

/// Finds the limits and bottlenecks of every result.
void examine(Answer& answer, const Examiner& examiner);
/// Sorts the results by the column of --sort, if it is given.
void sort_as_asked(Answer& answer, const Options& options);

/// What the text format prints before and after the table; other formats do not need it.
struct TextAround {
  std::string before, after;
};
/// Prints the table of projections in the requested format, and writes it to every -o. `columns`: what it has
/// if --columns does not choose.
void deliver_projections(const Session& session, const Options& options, const Answer& answer,
                         const std::vector<std::string>& columns, const TextAround& around);

}  // namespace paradl
