// paradl-calibrate runs: links and framework costs from measured training runs.
#include "calibrate/fit/runs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/commands/commands.hpp"
#include "paradl/console/files.hpp"
#include "paradl/console/options.hpp"
#include "paradl/console/ranges.hpp"
#include "paradl/core/format.hpp"
#include "paradl/core/text.hpp"
#include "paradl/report/validation.hpp"

namespace paradl::calibrate {
namespace {

struct Words {
  std::string file, also, of = "links", up_to = "64", judge_to = "256", by = "panel", write;
  bool leave_out = false;
  Options options;
};

/// What is left out together: a curve, or all runs with the same cell of a column.
enum class LeftOut { panel, model, strategy, source, notes };
constexpr std::array<std::string_view, 5> left_out_names{"panel", "model", "strategy", "source", "notes"};
static_assert(names_every(LeftOut::notes, left_out_names), "name every LeftOut");

LeftOut read_left_out(const std::string& word) {
  if (const auto by = find_name<LeftOut>(left_out_names, word)) return *by;
  throw UsageError(fmt::format("--leave-out-by {}: unknown", word),
                   "use panel, model, strategy, source or notes");
}

/// What to fit, on which runs.
struct FitQuery {
  bool kernels = false;  // parameters of the device and its host, instead of links and framework costs
  int up_to = 64, judge_to = 256;  // GPUs of runs to fit, and to report the accuracy of
  LeftOut by = LeftOut::panel;

  bool fits(const MeasuredRun& run) const { return run.gpus <= up_to; }
  bool judges(const MeasuredRun& run) const { return run.gpus <= judge_to; }
  std::vector<RunParameter> parameters() const { return kernels ? kernel_parameters() : link_parameters(); }
};

std::vector<Judged> judge_some(const std::vector<RunAsked>& runs,
                               const std::function<bool(const MeasuredRun&)>& wanted) {
  std::vector<Judged> out;
  for (const RunAsked& run : runs)
    if (run.run->iteration && wanted(*run.run)) out.push_back(judge(run));
  return out;
}

std::string value_text(const RunParameter& parameter, double value, double error) {
  return fmt::format("  {:<22} {:>9.4g} {:<5} {}\n", parameter.name, value / parameter.per_unit,
                     parameter.unit,
                     std::isfinite(error) ? fmt::format("+- {:.0f} %", 100 * error)
                                          : "not determined by these runs (at its bound)");
}

std::string tallies_text(const std::vector<Judged>& judged) {
  std::string out;
  double sum = 0;
  const auto tallies = by_strategy(judged);
  if (tallies.empty()) return "  no run has a whole iteration\n";
  for (const Tally& t : tallies) {
    out += fmt::format("  {:<14} {:5.1f} %  ({} runs)\n", t.name, 100 * t.mean, t.n);
    sum += t.mean;
  }
  return out + fmt::format("  {:<14} {:5.1f} %\n", "mean of these", 100 * sum / double(tallies.size()));
}

std::string sources_text(const std::vector<RunAsked>& runs) {
  std::vector<std::string> sources;
  for (const RunAsked& run : runs)
    if (std::ranges::find(sources, run.run->source) == sources.end()) sources.push_back(run.run->source);
  std::string out = "Accuracy by source, all runs:\n";
  for (const std::string& source : sources) {
    const Tally t =
        tally(judge_some(runs, [&](const MeasuredRun& run) { return run.source == source; }), source);
    if (t.n > 0) out += fmt::format("  {:5.1f} %  ({} runs)  {}\n", 100 * t.mean, t.n, source);
  }
  return out;
}

/// The accuracy of parts that were measured separately.
std::string terms_text(const std::vector<RunAsked>& runs, const FitQuery& query) {
  std::string out;
  for (const RunAsked& run : runs) {
    if (run.run->iteration || !query.fits(*run.run)) continue;
    const Judged judged = judge(run);
    const auto add = [&](std::string_view name, const std::optional<Judged::Part>& part) {
      if (part)
        out += fmt::format("  {:<24} {:4} GPUs  {:<20} {:>9} measured {:>9} projected  {:+.0f} %\n",
                           run.run->panel(), run.run->gpus, name, text(Seconds{part->measured}),
                           text(Seconds{part->projected}), 100 * (part->projected / part->measured - 1));
    };
    add("computation", judged.compute);
    for (std::size_t t = 0; t < terms; ++t) add(term_names[t].title, judged.by_term[t]);
  }
  return out.empty() ? out : "Parts that were measured separately:\n" + out;
}

/// The name of the group that a run is left out with.
std::string group_of(const MeasuredRun& run, LeftOut by) {
  switch (by) {
    case LeftOut::panel:
      return run.panel();
    case LeftOut::model:
      return run.model;
    case LeftOut::strategy:
      return run.strategy;
    case LeftOut::source:
      return run.source;
    case LeftOut::notes:
      break;
  }
  return run.notes;
}

/// Leaves every group out of the fit in turn, and predicts it: the accuracy to expect for a new network. In
/// the order of the runs; nothing for groups without a whole iteration.
std::vector<std::optional<Seconds>> left_out(std::vector<RunAsked>& runs, const RunFit& whole,
                                             const FitQuery& query) {
  const auto parameters = query.parameters();
  std::vector<std::optional<Seconds>> out(runs.size());
  std::vector<std::string> groups;
  for (const RunAsked& run : runs)
    if (const std::string name = group_of(*run.run, query.by);
        run.run->iteration && std::ranges::find(groups, name) == groups.end())
      groups.push_back(name);
  for (const std::string& group : groups) {
    const auto member = [&](const MeasuredRun& run) { return group_of(run, query.by) == group; };
    const bool fitted = std::ranges::any_of(
        runs, [&](const RunAsked& run) { return query.fits(*run.run) && member(*run.run); });
    if (fitted)
      fit_runs(
          runs, parameters, [&](const MeasuredRun& run) { return query.fits(run) && !member(run); },
          query.kernels);
    else  // the fit to all runs does not use them either
      put_values(runs, parameters, whole.values);
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (member(*runs[i].run)) out[i] = judge(runs[i]).projected;
  }
  put_values(runs, parameters, whole.values);
  return out;
}

std::string leave_out_text(const std::vector<RunAsked>& runs,
                           const std::vector<std::optional<Seconds>>& unseen, const FitQuery& query) {
  std::string out = fmt::format("Each {} left out of the fit, then predicted (up to {} GPUs):\n",
                                query.by == LeftOut::panel ? "curve" : left_out_names[std::size_t(query.by)],
                                query.judge_to);
  std::vector<std::pair<std::string, std::vector<Judged>>> groups;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i].run->iteration || !query.judges(*runs[i].run)) continue;
    const std::string name = group_of(*runs[i].run, query.by);
    auto known = std::ranges::find(groups, name, &decltype(groups)::value_type::first);
    if (known == groups.end()) known = groups.insert(groups.end(), {name, {}});
    Judged judged = judge(runs[i]);
    judged.projected = *unseen[i];
    known->second.push_back(std::move(judged));
  }
  if (groups.empty()) return out + fmt::format("  no run of up to {} GPUs has a whole iteration\n", query.judge_to);
  double sum = 0;
  for (const auto& [name, judged] : groups) {
    const double mean = tally(judged, name).mean;
    out += fmt::format("  {:<28} {:5.1f} %\n", name, 100 * mean);
    sum += mean;
  }
  return out + fmt::format("  {:<28} {:5.1f} %\n", "mean", 100 * sum / double(groups.size()));
}

/// The file with one more column: the prediction of each run from a fit without it, if there is one.
std::string with_left_out(const MeasuredRuns& file, const std::vector<std::optional<Seconds>>& unseen) {
  std::string out;
  std::size_t run = 0;
  int line = 0;
  for (const std::string_view text : split(file.source.text, '\n')) {
    ++line;
    std::string row(text.substr(0, text.find('\r')));
    if (line == 1) row += ",left_out_s";
    if (run < file.runs.size() && file.runs[run].line == line) {
      row += unseen[run] ? fmt::format(",{:.4g}", unseen[run]->base()) : ",";
      ++run;
    }
    out += row + "\n";
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

/// All runs must share what is fitted: the framework, and the machine (or its device, for kernels).
void refuse_other(const RunAsked& run, const RunAsked& first, const FitQuery& query) {
  const auto refuse = [&](const char* column, const std::string& here, const std::string& there) {
    if (here == there) return;
    const SourceText& source = run.file->source;
    throw SpecError(
        source.file, source.text,
        {{run.run->spot(column), fmt::format("this run is of {}, the first one of {}", here, there),
          "fit runs of one machine and one framework at a time"}});
  };
  const auto machine = [&](const RunAsked& r) {
    return query.kernels ? r.about().machine.device.name : r.about().machine.name;
  };
  refuse("system", machine(run), machine(first));
  refuse("framework", run.about().framework_spec.name, first.about().framework_spec.name);
}

/// The run's files must have the parameters that are fitted.
void demand_parameters(const RunAsked& run, const FitQuery& query) {
  const Machine& machine = run.about().machine;
  if (query.kernels) {
    if (run.about().times.level != LayerSource::modelled)
      throw UsageError(
          fmt::format("the layer times of {} on {} are not modelled", run.run->model, run.run->system),
          "add --layer-times modelled, and `multiprocessors` to the device in the system file");
    return;
  }
  const auto unmeasured = [](const Level& level) { return level.measured.empty(); };
  if (!machine.host || !machine.host->staged || std::ranges::any_of(machine.levels, unmeasured))
    throw UsageError(fmt::format("{} has no `measured` links and `staged` host to fit", run.run->system),
                     "write first guesses into the system file");
}

FitQuery read_query(const Words& words) {
  FitQuery query{.kernels = words.of == "kernels",
                 .up_to = read_count("up-to", words.up_to, 1, 1 << 24),
                 .judge_to = read_count("judge-to", words.judge_to, 1, 1 << 24),
                 .by = read_left_out(words.by)};
  if (!words.write.empty() && !words.leave_out)
    throw UsageError("--write writes what --leave-one-out predicts", "add --leave-one-out");
  if (!query.kernels && words.of != "links")
    throw UsageError(fmt::format("--of {}: unknown", words.of), "use links or kernels");
  return query;
}

std::string fit_text(const std::vector<RunAsked>& runs, const RunFit& fit, const FitQuery& query) {
  const auto fitted = std::ranges::count_if(runs, [&](const RunAsked& r) { return query.fits(*r.run); });
  const auto parameters = query.parameters();
  std::string out =
      fmt::format("Fitted on {} runs of at most {} GPUs; remaining error {:.1f} % (root mean square).\n",
                  fitted, query.up_to, 100 * fit.scatter);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    out += value_text(parameters[i], fit.values[i], fit.errors[i]);
  out += fmt::format("Accuracy, runs that were fitted (up to {} GPUs):\n", query.up_to) +
         tallies_text(judge_some(runs, [&](const MeasuredRun& r) { return query.fits(r); }));
  if (query.judge_to > query.up_to)
    out += fmt::format("Accuracy, up to {} GPUs:\n", query.judge_to) +
           tallies_text(judge_some(runs, [&](const MeasuredRun& r) { return query.judges(r); }));
  return out + sources_text(runs) + terms_text(runs, query);
}

int run(const Session& session, Words& words) {
  words.options.complete();
  const FitQuery query = read_query(words);
  const MeasuredRuns file = read_measured_runs(read_source(words.file));
  const bool has_column =
      std::ranges::any_of(file.runs, [](const MeasuredRun& r) { return r.left_out.has_value(); });
  if (!words.write.empty() && has_column)
    throw UsageError(fmt::format("{} has a column left_out_s already", words.file), "remove it first");
  Library library(session.catalog);
  const Query defaults = words.options.query();
  std::vector<RunAsked> runs = ask_runs(library, defaults, file);
  std::optional<MeasuredRuns> also;
  if (!words.also.empty()) {
    also = read_measured_runs(read_source(words.also));
    std::ranges::move(ask_runs(library, defaults, *also), std::back_inserter(runs));
  }
  if (!words.write.empty()) {
    std::vector<std::string> read{file.source.file};
    if (also) read.push_back(also->source.file);
    for (const RunAsked& one : runs)
      for (const std::string& path : one.about().files()) read.push_back(path);
    refuse_overwriting({words.write}, read);
  }
  for (const RunAsked& one : runs) {
    refuse_other(one, runs.front(), query);
    demand_parameters(one, query);
  }
  const auto parameters = query.parameters();
  const auto small = [&](const MeasuredRun& r) { return query.fits(r); };
  const auto fitted = std::ranges::count_if(runs, [&](const RunAsked& r) { return small(*r.run); });
  if (fitted <= std::ptrdiff_t(parameters.size()))
    throw UsageError(fmt::format("{} has too few runs of at most {} GPUs for {} parameters", words.file,
                                 query.up_to, parameters.size()),
                     "raise --up-to, or measure more");
  const RunFit fit = fit_runs(runs, parameters, small, query.kernels);
  std::string out = fit_text(runs, fit, query);
  if (words.leave_out) {
    const auto unseen = left_out(runs, fit, query);
    out += leave_out_text(runs, unseen, query);
    if (!words.write.empty()) {
      write_file(words.write, with_left_out(file, unseen));
      const auto empty =
          std::count(unseen.begin(), unseen.begin() + std::ptrdiff_t(file.runs.size()), std::nullopt);
      if (empty > 0)
        hint(session, fmt::format("note: {} run{} of groups without a whole iteration {} no left_out_s", empty,
                                  empty == 1 ? "" : "s", empty == 1 ? "has" : "have"));
    }
  }
  print(out);
  return answered;
}

}  // namespace

void define_runs(const Arguments& root, Session& session, Action& action) {
  auto words = std::make_shared<Words>();
  const Arguments command = root.add_command("runs", "links and framework costs from measured training runs");
  command.text("FILE.csv", words->file,
               {.help = "measured runs, as `paradl validate` reads them", .required = true});
  command.text(
      "--also", words->also,
      {.help = "more runs to fit, for example with only some parts measured; --leave-one-out applies to "
               "them, too",
       .meta = "FILE.csv"});
  command.text(
      "--of", words->of,
      {.help = "links: links of the machine and costs of the framework (default); kernels: efficiency of the "
               "device, and its host",
       .meta = "WHAT"});
  command.text("--up-to", words->up_to, {.help = "fit runs of at most N GPUs; default 64", .meta = "N"});
  command.text("--judge-to", words->judge_to,
               {.help = "report the accuracy of runs of at most N GPUs; default 256", .meta = "N"});
  command.flag("--leave-one-out", words->leave_out,
               {.help = "also fit without each curve in turn, and predict it"});
  command.text(
      "--leave-out-by", words->by,
      {.help = "what is left out together: panel (model and strategy, default), model, strategy, source "
               "or notes",
       .meta = "COLUMN"});
  command.text("--write", words->write,
               {.help = "with --leave-one-out: the runs, with these predictions in a column left_out_s",
                .meta = "FILE.csv"});
  words->options.define_only(command, {"on", "framework", "profile", "layer-times"});
  command.footer(
      R"(Prints the numbers for `measured` and `staged` of the system file and for `costs` of the framework file,
with their standard errors; no file is changed. All runs must be of one machine and one framework.

Examples:
  paradl-calibrate runs examples/validate/abci.csv
  paradl-calibrate runs examples/validate/abci.csv --also examples/validate/abci-parts.csv --leave-one-out
  paradl-calibrate runs mine.csv --up-to 32 --on my-cluster.yaml)");
  command.runs(action, [&session, words] { return run(session, *words); });
}

}  // namespace paradl::calibrate
