// paradl validate: how close are projections to measured runs?
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/cli/command.hpp"
#include "paradl/cli/ranges.hpp"
#include "paradl/cli/runs.hpp"
#include "paradl/report/validation.hpp"
#include "paradl/report/validation_picture.hpp"

namespace paradl {
namespace {

struct Words {
  std::string file, require, record, origin;
  Options options;
};

/// A projection that cannot be made is a mistake of its line.
std::vector<Judged> judge_all(const std::vector<RunAsked>& asked, const MeasuredRuns& runs) {
  std::vector<Judged> out;
  for (const RunAsked& one : asked) {
    try {
      out.push_back(judge(one));
    } catch (const UsageError& error) {
      throw SpecError(runs.source.file, runs.source.text,
                      {{runs.spot(*one.run, "strategy"), error.what(), error.help()}});
    }
  }
  return out;
}

/// On what the projections rest, each thing once.
std::vector<std::string> bases_of(const std::vector<RunAsked>& asked) {
  std::vector<std::string> out;
  const auto add = [&](const std::string& text) {
    if (std::ranges::find(out, text) == out.end()) out.push_back(text);
  };
  for (const RunAsked& one : asked) add("framework " + one.framework);
  for (const RunAsked& one : asked)
    for (const std::string& note : one.notes) add(note);
  constexpr std::size_t few = 3;                                        // models that are named
  std::vector<std::pair<std::string, std::vector<std::string>>> times;  // and the models that have them
  for (const RunAsked& one : asked) {
    auto known = std::ranges::find(times, one.ask->times.source, &decltype(times)::value_type::first);
    if (known == times.end()) known = times.insert(times.end(), {one.ask->times.source, {}});
    if (std::ranges::find(known->second, one.model) == known->second.end())
      known->second.push_back(one.model);
  }
  for (const auto& [source, models] : times)
    add(models.size() <= few ? fmt::format("layer times of {}: {}", fmt::join(models, ", "), source)
                             : fmt::format("layer times of {} models: {}", models.size(), source));
  for (const RunAsked& one : asked) add("links: " + one.ask->links_text());
  return out;
}

/// Adds what these runs say to the file, in place of what it had of their levels.
void record(const Words& words, const Validation& validation) {
  RecordedErrors known;
  if (std::filesystem::exists(words.record)) known = read_recorded_errors(read_source(words.record));
  std::string origin = words.origin;
  if (origin.empty()) origin = std::filesystem::path(words.file).filename().string();
  write_file(
      words.record,
      recorded_text(merged(std::move(known), record_errors(validation.judged, validation.levels), origin)));
}

int run(const Session& session, Words& words) {
  words.options.complete();
  hint(session, session.verbosity > 0 ? words.options.origins() : "");
  const double require = words.require.empty() ? 0 : read_number("require", words.require, 0, 100);
  const MeasuredRuns runs = read_measured_runs(read_source(words.file));
  if (!runs.ignored.empty())
    hint(session, fmt::format("note: columns that mean nothing here: {}", fmt::join(runs.ignored, ", ")));
  const std::vector<RunAsked> asked = ask_runs(session.catalog, words.options, runs);

  Validation validation{.command = session.arguments,
                        .runs = runs.runs,
                        .judged = judge_all(asked, runs),
                        .levels = {},
                        .recorded = recorded_errors(session.catalog),
                        .bases = bases_of(asked)};
  for (const RunAsked& one : asked) validation.levels.push_back(one.ask->level());
  validation.inputs.push_back({"runs", words.file, runs.source});
  for (const RunAsked& one : asked) {
    for (InputFile& input : inputs_of(*one.ask)) validation.inputs.push_back(std::move(input));
    validation.inputs.push_back({"framework", one.ask->framework_spec.name, one.ask->framework_spec.source});
  }
  deliver(session, words.options, [&](const std::string& format, Style style) -> std::string {
    if (format == "json") return validation_json(validation);
    if (format == "jsonl") return validation_lines(validation);
    if (format == "svg") return validation_svg(validation.judged);
    const Table table = validation_table(validation);
    if (format != "text") return render_table(format, table);
    return validation_text(validation, style);
  });
  if (!words.record.empty()) record(words, validation);
  const double mean = 100 * tally(validation.judged, "").mean;
  if (mean >= require) return answered;
  hint(session,
       fmt::format("the mean accuracy is {:.1f} %, below the {} % that --require asks for", mean, require));
  return answered_no;
}

}  // namespace

void define_validate(const Arguments& root, Session& session, Action& action) {
  auto words = std::make_shared<Words>();
  const Arguments command = root.add_command("validate", "how close are projections to measured runs?");
  command.text("FILE.csv", words->file,
               {.help = "measured runs; `paradl help formats` tells its columns", .required = true});
  command.text("--require", words->require,
               {.help = "exit with 1 if the mean accuracy is below N percent", .meta = "N"});
  command.text(
      "--record", words->record,
      {.help = "write how far off each strategy was, for the intervals of projections; what the file has of "
               "other levels stays",
       .meta = "FILE.yaml"});
  command.text("--origin", words->origin,
               {.help = "with --record: what the runs are; default: the name of the file", .meta = "TEXT"});
  words->options.define(command, {"gpus", "batch", "strategy", "grid", "grids", "samples", "epochs", "price",
                                  "columns", "sort"});
  command.footer(R"(What a run leaves open is taken from these options. -o FILE.svg draws the runs.

Examples:
  paradl validate examples/validate/abci.csv
  paradl validate examples/validate/abci.csv --require 85 -o runs.svg
  paradl validate runs.csv --on my-cluster.yaml --framework ddp --json)");
  command.when_chosen(
      [&session, &action, words] { action = [&session, words] { return run(session, *words); }; });
}

}  // namespace paradl
