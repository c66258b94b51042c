#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "paradl/cli/command.hpp"
#include "paradl/console/ranges.hpp"
#include "paradl/report/json.hpp"
#include "paradl/report/projection_table.hpp"
#include "paradl/spec/kernel_errors.hpp"

namespace paradl {

std::vector<InputFile> inputs_of(const Case& about) {
  std::vector<InputFile> out;
  for (const SourceText& source : about.model_spec.sources)
    out.push_back({"model", about.model_spec.name, source});
  out.push_back({"system", about.machine.name, about.system_spec.source});
  if (const auto& kernels = about.system_spec.device.kernels; kernels && about.times.kernels)
    out.push_back({"kernels", kernels->name, kernels->source});
  if (about.profile_spec) out.push_back({"profile", about.profile_spec->name, about.profile_spec->source});
  return out;
}

std::vector<std::string> files_of(const std::vector<InputFile>& inputs) {
  std::vector<std::string> out;
  for (const InputFile& input : inputs) out.push_back(input.source.file);
  return out;
}

Answer start_answer(const Session& session, const Case& about) {
  Answer answer;
  answer.command = session.arguments;
  answer.inputs = inputs_of(about);
  answer.read = about.files();
  answer.model = about.work.name;
  answer.system = about.machine.name;
  answer.framework = about.framework_spec.name;
  answer.epochs = about.epochs;
  answer.costs = about.costs;
  answer.level = about.level();
  answer.recorded = recorded_errors(session.catalog);
  answer.fidelity = fidelity_names[std::size_t(about.fidelity)];
  const double layer_error = about.layer_error().value_or(data_sheet_errors.most);
  answer.nearest = nearest_recorded(answer.recorded, answer.level, layer_error);
  ParameterLevel out_of_core = answer.level;
  out_of_core.changed = out_of_core_suffix;
  answer.nearest_out_of_core = nearest_recorded(answer.recorded, out_of_core, layer_error);
  return answer;
}

void examine(Answer& answer, const Examiner& examiner) {
  answer.bottlenecks.clear();
  for (const Projection& p : answer.results) answer.bottlenecks.push_back(examiner.bottlenecks(p));
}

void sort_as_asked(Answer& answer, const Options& options) {
  if (!options.has("sort")) return;
  options.read("sort", "", [&](const std::string& column) { sort_results(answer, column); });
  answer.ranked = false;
}

std::vector<RecordedError> recorded_errors(const Catalog& catalog) {
  const auto records = catalog.names(SpecKind::accuracy);
  if (std::ranges::find(records, "recorded") == records.end()) return {};
  return read_record(catalog.find(SpecKind::accuracy, "recorded")).errors;
}

RecordedErrors read_record(const SourceText& source) {
  RecordedErrors out = read_recorded_errors(source);
  Problems problems(source);
  for (const RecordedError& error : out.errors) {
    if (error.strategy == any_strategy) continue;
    try {
      read_strategy(error.strategy);
    } catch (const UsageError& unknown) {
      problems.add(error.spot, unknown.what(), unknown.help());
    }
  }
  problems.raise();
  return out;
}

void deliver_projections(const Session& session, const Options& options, const Answer& answer,
                         const std::vector<std::string>& columns, const TextAround& around) {
  const bool chosen = options.has("columns");
  const std::string wanted = options.get("columns");
  if (wanted == "help") return print(fmt::format("{}\n", fmt::join(projection_columns(), "\n")));
  const std::vector<std::string> ids = !chosen           ? columns
                                       : wanted == "all" ? projection_columns()
                                                         : split_list(wanted, ',');
  if (ids.empty())
    options.blame("columns",
                  UsageError(fmt::format("--columns {} names none", wanted), "`--columns help` lists them"));
  // Also where no table is printed: a mistake is a mistake.
  options.read("columns", "", [&](const std::string&) { return projection_table({}, ids); });
  const auto table = [&](ReadBy reader) {
    const bool all = reader == ReadBy::machines && !chosen;
    Table out = projection_table(answer, all ? projection_columns() : ids);
    return all || chosen ? out : without_empty_columns(std::move(out), {"strategy", "epoch"});
  };
  const auto text = [&](Style style) {
    if (chosen) style.width = 0;
    const Printed printed = to_text(table(ReadBy::people), style);
    hint(session, printed.hint);
    return around.before + printed.text + around.after;
  };
  deliver(session, options, {.text = text, .table = table, .json = [&] { return to_json(answer); }},
          {.read = answer.read});
}

}  // namespace paradl
