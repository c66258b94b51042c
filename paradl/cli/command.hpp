#pragma once
#include <functional>
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

// One function per command, each in its own file: it adds the subcommand, which sets `action` when it is
// chosen.
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
void examine(Answer& answer, Examiner& examiner);

/// Prints an answer in the requested format, and writes it to every -o. `people` makes the text format: the
/// table with the command's text around it.
void deliver(const Session& session, const Options& options, const Answer& answer,
             const std::vector<std::string>& columns,
             const std::function<std::string(const Printed& table)>& people);

}  // namespace paradl
