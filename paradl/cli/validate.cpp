// paradl validate: how close are projections to measured runs?
#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "paradl/cli/basis.hpp"
#include "paradl/cli/command.hpp"
#include "paradl/console/ranges.hpp"
#include "paradl/core/format.hpp"
#include "paradl/paper/row.hpp"
#include "paradl/query/runs.hpp"
#include "paradl/report/validation.hpp"
#include "paradl/report/validation_picture.hpp"

namespace paradl {
namespace {

struct Words {
  std::string file, require, record, origin;
  Options options;
};

/// The sources of projections, each once, in the order of the report.
class Bases {
 public:
  void add(const RunAsked& one) {
    once(frameworks_, "framework " + one.framework);
    for (const std::string& note : one.notes) once(notes_, note);
    auto known = std::ranges::find(times_, one.about().times.source, &Times::source);
    if (known == times_.end()) known = times_.insert(times_.end(), {one.about().times.source, {}});
    once(known->models, one.model);
    once(links_, "links: " + links_text(one.about()));
  }
  std::vector<std::string> told() const {
    constexpr std::size_t few = 3;  // up to this many models are named
    std::vector<std::string> out = frameworks_;
    out.insert(out.end(), notes_.begin(), notes_.end());
    for (const auto& [source, models] : times_)
      out.push_back(models.size() <= few
                        ? fmt::format("layer times of {}: {}", fmt::join(models, ", "), source)
                        : fmt::format("layer times of {} models: {}", models.size(), source));
    out.insert(out.end(), links_.begin(), links_.end());
    return out;
  }

 private:
  struct Times {
    std::string source;
    std::vector<std::string> models;
  };
  static void once(std::vector<std::string>& list, const std::string& text) {
    if (std::ranges::find(list, text) == list.end()) list.push_back(text);
  }
  std::vector<std::string> frameworks_, notes_, links_;
  std::vector<Times> times_;
};

/// Compares the runs one after the other, without keeping their projections. If a run cannot be projected,
/// that is a mistake in its line.
Validation judge_all(const Session& session, const Words& words, const Query& query,
                     const MeasuredRuns& runs) {
  Validation out{.command = session.arguments,
                 .inputs = {{"runs", words.file, runs.source}},
                 .runs = runs.runs,
                 .judged = {},
                 .levels = {},
                 .recorded = recorded_errors(session.catalog),
                 .bases = {},
                 .without_row = {}};
  Bases bases;
  const auto add_input = [&](InputFile input) {
    const auto same = [&](const InputFile& i) { return i.source.file == input.source.file; };
    if (std::ranges::none_of(out.inputs, same)) out.inputs.push_back(std::move(input));
  };
  Library library(session.catalog);
  each_run(library, query, runs, [&](const RunAsked& one) {
    out.judged.push_back(judge(one));
    out.levels.push_back(one.about().level());
    bases.add(one);
    for (InputFile& input : inputs_of(one.about())) add_input(std::move(input));
    add_input({"framework", one.about().framework_spec.name, one.about().framework_spec.source});
  });
  out.bases = bases.told();
  return out;
}

/// Removes and counts runs of strategies for which the paper has no row.
std::map<std::string, int> take_without_row(MeasuredRuns& runs) {
  std::map<std::string, int> out;
  std::erase_if(runs.runs, [&](const MeasuredRun& run) {
    const bool known = paper::find_row(run.strategy) != nullptr;
    if (!known) ++out[run.strategy];
    return !known;
  });
  if (runs.runs.empty())
    throw UsageError("the paper has no closed form for any of these runs", "leave --fidelity paper out");
  return out;
}

/// A run that is off by orders of magnitude probably has a wrong unit, so it must not be recorded.
void refuse_slips(const MeasuredRuns& runs, const Validation& validation) {
  constexpr double slip = 100;
  for (std::size_t i = 0; i < validation.judged.size(); ++i) {
    const Judged& run = validation.judged[i];
    const double times = run.measured / run.unseen();
    if (run.partial || (times < slip && times > 1 / slip)) continue;
    throw SpecError(
        runs.source.file, runs.source.text,
        {{validation.runs[i].spot("iteration_s"),
          fmt::format("{} is {:.3g} times the projected {}: --record would count this as an error "
                      "of the projection",
                      text(run.measured), times, text(run.unseen())),
          "is it in seconds? correct the run, or leave it out"}});
  }
}

/// The record with the intervals of these runs, which replace those of the same levels.
std::string recorded(const Words& words, const Validation& validation) {
  const auto errors = record_errors(validation.judged, validation.levels);
  if (errors.empty())
    throw UsageError(fmt::format("{} has nothing to record: no run has a value for iteration_s", words.file),
                     "leave --record out, or add iteration_s");
  RecordedErrors known;
  if (std::filesystem::exists(words.record)) known = read_record(read_source(words.record));
  std::string origin = words.origin;
  if (origin.empty()) origin = std::filesystem::path(words.file).filename().string();
  return recorded_text(merged(std::move(known), errors, origin));
}

int run(const Session& session, Words& words) {
  words.options.complete();
  hint(session, session.verbosity > 0 ? words.options.origins() : "");
  const double require = words.require.empty() ? 0 : read_number("require", words.require, 0, 100);
  if (!words.origin.empty() && words.record.empty())
    throw UsageError("--origin has no effect without --record",
                     "add --record FILE.csv, or leave --origin out");
  if (!words.record.empty() && !words.record.ends_with(".csv"))
    throw UsageError(fmt::format("--record {}: a record is a CSV file", words.record),
                     fmt::format("write --record {}",
                                 std::filesystem::path(words.record).replace_extension(".csv").string()));
  MeasuredRuns runs = read_measured_runs(read_source(words.file));
  if (!runs.ignored.empty())
    hint(session, fmt::format("note: ignored columns: {}", fmt::join(runs.ignored, ", ")));
  std::map<std::string, int> without_row;
  const Query query = words.options.query();
  if (query.fidelity == Fidelity::paper) without_row = take_without_row(runs);
  Validation validation = judge_all(session, words, query, runs);
  validation.without_row = std::move(without_row);
  if (!words.record.empty())
    for (const ParameterLevel& level : validation.levels)
      if (!level.changed.empty())
        throw UsageError(fmt::format("--record needs projections from unchanged files, but {} changes them",
                                     level.changed),
                         "put the changes into your own files: --on FILE.yaml, --framework FILE.yaml");
  AnswerFiles files{.read = files_of(validation.inputs)};
  if (!words.record.empty()) {
    refuse_slips(runs, validation);
    files.more.push_back({words.record, recorded(words, validation)});
  }
  deliver(session, words.options,
          {.text = [&](const Style& style) { return validation_text(validation, style); },
           .table = [&](ReadBy) { return validation_table(validation); },
           .json = [&] { return validation_json(validation); },
           .picture = [&] { return validation_svg(validation.judged); }},
          files);
  const double mean = 100 * tally(validation.judged, "").mean;
  if (mean >= require) return answered;
  hint(session, fmt::format("the mean accuracy is {:.1f} %, below the {} % of --require", mean, require));
  return answered_no;
}

}  // namespace

void define_validate(const Arguments& root, Session& session, Action& action) {
  auto words = std::make_shared<Words>();
  const Arguments command = root.add_command("validate", "how close are projections to measured runs?");
  command.text("FILE.csv", words->file,
               {.help = "measured runs; `paradl help formats` lists the columns", .required = true});
  command.text("--require", words->require,
               {.help = "exit with 1 if the mean accuracy is below N percent", .meta = "N"});
  command.text(
      "--record", words->record,
      {.help = "write the errors of each strategy to this file, for the intervals of projections; entries of "
               "other levels stay",
       .meta = "FILE.csv"});
  command.text(
      "--origin", words->origin,
      {.help = "with --record: description of the runs; default: the name of the file", .meta = "TEXT"});
  words->options.define(command, {"gpus", "batch", "strategy", "grid", "grids", "samples", "epochs", "price",
                                  "columns", "sort"});
  command.footer(R"(The options give values for empty cells of a run. -o FILE.svg draws the runs.

Examples:
  paradl validate examples/validate/abci.csv
  paradl validate examples/validate/abci.csv --require 85 -o runs.svg
  paradl validate runs.csv --on my-cluster.yaml --framework ddp --json)");
  command.runs(action, [&session, words] { return run(session, *words); });
}

}  // namespace paradl
