// paradl-calibrate runs: links and framework costs from measured training runs.
#include "calibrate/fit/runs.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/commands/commands.hpp"
#include "paradl/console/files.hpp"
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
                                          : "not told by these runs (at its bound)");
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

/// How close parts are that were measured by themselves.
std::string terms_text(const std::vector<RunAsked>& runs, int up_to) {
  std::string out;
  for (const RunAsked& run : runs) {
    if (run.run->iteration || run.run->gpus > up_to) continue;
    const Judged judged = judge(run);
    const auto tell = [&](std::string_view name, const std::optional<Judged::Part>& part) {
      if (part)
        out += fmt::format("  {:<24} {:4} GPUs  {:<20} {:>9} measured {:>9} projected  {:+.0f} %\n",
                           run.run->panel(), run.run->gpus, name, text(Seconds{part->measured}),
                           text(Seconds{part->projected}), 100 * (part->projected / part->measured - 1));
    };
    tell("computation", judged.compute);
    for (std::size_t t = 0; t < terms; ++t) tell(term_names[t].title, judged.by_term[t]);
  }
  return out.empty() ? out : "Parts that were measured by themselves:\n" + out;
}

/// What is left out together: a curve, or all runs with the same cell of a column.
std::string group_of(const MeasuredRun& run, const std::string& by) {
  if (by == "panel") return run.panel();
  if (by == "model") return run.model;
  if (by == "strategy") return run.strategy;
  if (by == "source") return run.source;
  if (by == "notes") return run.notes;
  throw UsageError(fmt::format("--leave-out-by {}: not known", by),
                   "use panel, model, strategy, source or notes");
}

/// Every group in turn is left out of the fit and then predicted: what a new network may expect. In the order
/// of the runs.
std::vector<Seconds> left_out(std::vector<RunAsked>& runs, const std::vector<RunParameter>& parameters,
                              const RunFit& whole, int up_to, const std::string& by, bool sources_alike) {
  std::vector<Seconds> out(runs.size());
  std::vector<std::string> groups;
  for (const RunAsked& run : runs)
    if (const std::string name = group_of(*run.run, by);
        run.run->iteration && std::ranges::find(groups, name) == groups.end())
      groups.push_back(name);
  for (const std::string& group : groups) {
    const auto member = [&](const MeasuredRun& run) { return group_of(run, by) == group; };
    const bool fitted = std::ranges::any_of(
        runs, [&](const RunAsked& run) { return run.run->gpus <= up_to && member(*run.run); });
    if (fitted)  // else the fit on all has not seen them either
      fit_runs(
          runs, parameters, [&](const MeasuredRun& run) { return run.gpus <= up_to && !member(run); },
          sources_alike);
    else
      put_values(runs, parameters, whole.values);
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (member(*runs[i].run)) out[i] = judge(runs[i]).projected;
  }
  put_values(runs, parameters, whole.values);
  return out;
}

std::string leave_out_text(const std::vector<RunAsked>& runs, const std::vector<Seconds>& unseen,
                           int judge_to, const std::string& by) {
  std::string out = fmt::format("Each {} left out of the fit, then predicted (up to {} GPUs):\n",
                                by == "panel" ? "curve" : by, judge_to);
  std::vector<std::pair<std::string, std::vector<Judged>>> groups;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i].run->iteration || runs[i].run->gpus > judge_to) continue;
    const std::string name = group_of(*runs[i].run, by);
    auto known = std::ranges::find(groups, name, &decltype(groups)::value_type::first);
    if (known == groups.end()) known = groups.insert(groups.end(), {name, {}});
    Judged judged = judge(runs[i]);
    judged.projected = unseen[i];
    known->second.push_back(std::move(judged));
  }
  double sum = 0;
  for (const auto& [name, judged] : groups) {
    const double mean = tally(judged, name).mean;
    out += fmt::format("  {:<28} {:5.1f} %\n", name, 100 * mean);
    sum += mean;
  }
  return out + fmt::format("  {:<28} {:5.1f} %\n", "mean", 100 * sum / double(groups.size()));
}

/// The file with one column more (or another one in its place): what was predicted without each run.
std::string with_left_out(const MeasuredRuns& file, const std::vector<Seconds>& unseen) {
  std::string out;
  std::size_t run = 0;
  int line = 0;
  for (const std::string_view text : split(file.source.text, '\n')) {
    ++line;
    std::string row(text.substr(0, text.find('\r')));
    if (line == 1) row += ",left_out_s";
    if (run < file.runs.size() && file.runs[run].line == line)
      row += fmt::format(",{:.4g}", unseen[run].base()), ++run;
    out += row + "\n";
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

/// One machine, or of kernels one device, and one framework have one set of numbers.
void refuse_other(const RunAsked& run, const RunAsked& first, bool of_kernels) {
  const auto refuse = [&](const char* column, const std::string& here, const std::string& there) {
    if (here == there) return;
    const SourceText& source = run.file->source;
    throw SpecError(
        source.file, source.text,
        {{run.run->spot(column), fmt::format("this run is of {}, the first one of {}", here, there),
          "fit runs of one machine and one framework at a time"}});
  };
  if (of_kernels)
    refuse("system", run.ask->machine.device.name, first.ask->machine.device.name);
  else
    refuse("system", run.ask->machine.name, first.ask->machine.name);
  refuse("framework", run.ask->framework_spec.name, first.ask->framework_spec.name);
}

int run(const Session& session, Words& words) {
  words.options.complete();
  const int up_to = read_count("up-to", words.up_to, 1, 1 << 24),
            judge_to = read_count("judge-to", words.judge_to, 1, 1 << 24);
  if (!words.write.empty() && !words.leave_out)
    throw UsageError("--write writes what --leave-one-out predicts", "add --leave-one-out");
  const MeasuredRuns file = read_measured_runs(read_source(words.file));
  std::vector<RunAsked> runs = ask_runs(session.catalog, words.options, file);
  std::optional<MeasuredRuns> also;
  if (!words.also.empty()) {
    also = read_measured_runs(read_source(words.also));
    std::ranges::move(ask_runs(session.catalog, words.options, *also), std::back_inserter(runs));
  }
  const bool of_kernels = words.of == "kernels";
  if (!of_kernels && words.of != "links")
    throw UsageError(fmt::format("--of {}: not known", words.of), "use links or kernels");
  for (const RunAsked& one : runs) {
    refuse_other(one, runs.front(), of_kernels);
    if (of_kernels && one.ask->times.level != "modelled")
      throw UsageError(
          fmt::format("the layer times of {} on {} are not modelled", one.run->model, one.run->system),
          "add --layer-times modelled, and `multiprocessors` to the device in the system file");
    if (!of_kernels && (!one.ask->machine.host || !one.ask->machine.host->staged ||
                        std::ranges::any_of(one.ask->machine.levels,
                                            [](const Level& level) { return level.measured.empty(); })))
      throw UsageError(
          fmt::format("{} has no `measured` links and `staged` host to be fitted", one.run->system),
          "write first guesses into the system file");
  }
  const auto parameters = of_kernels ? kernel_parameters() : link_parameters();
  const auto small = [&](const MeasuredRun& r) { return r.gpus <= up_to; };
  const auto fitted = std::ranges::count_if(runs, [&](const RunAsked& r) { return small(*r.run); });
  if (fitted <= std::ptrdiff_t(parameters.size()))
    throw UsageError(fmt::format("{} has too few runs of at most {} GPUs for {} parameters", words.file,
                                 up_to, parameters.size()),
                     "raise --up-to, or measure more");
  const RunFit fit = fit_runs(runs, parameters, small, of_kernels);
  std::string out =
      fmt::format("Fitted on {} runs of at most {} GPUs; what is left: {:.1f} % (root mean square).\n",
                  fitted, up_to, 100 * fit.scatter);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    out += value_text(parameters[i], fit.values[i], fit.errors[i]);
  out += fmt::format("Accuracy, runs that were fitted (up to {} GPUs):\n", up_to) +
         tallies_text(judge_some(runs, small));
  if (judge_to > up_to)
    out += fmt::format("Accuracy, up to {} GPUs:\n", judge_to) +
           tallies_text(judge_some(runs, [&](const MeasuredRun& r) { return r.gpus <= judge_to; }));
  out += sources_text(runs) + terms_text(runs, up_to);
  if (words.leave_out) {
    if (!words.write.empty() &&
        std::ranges::any_of(file.runs, [](const MeasuredRun& r) { return r.left_out.has_value(); }))
      throw UsageError(fmt::format("{} has a column left_out_s already", words.file), "remove it first");
    const auto unseen = left_out(runs, parameters, fit, up_to, words.by, of_kernels);
    out += leave_out_text(runs, unseen, judge_to, words.by);
    if (!words.write.empty()) write_file(words.write, with_left_out(file, unseen));
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
      {.help = "more runs to fit on, such as those of which only parts were measured; a curve that is "
               "left out is left out here, too",
       .meta = "FILE.csv"});
  command.text(
      "--of", words->of,
      {.help = "links: those of the machine, and what its framework costs (default); kernels: what its "
               "device reaches, and its host",
       .meta = "WHAT"});
  command.text("--up-to", words->up_to,
               {.help = "fit on runs of at most so many GPUs; default 64", .meta = "N"});
  command.text("--judge-to", words->judge_to,
               {.help = "judge on runs of at most so many; default 256", .meta = "N"});
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
      R"(Prints the numbers for `measured` and `staged` of the system file and for `costs` of the framework file, with their
standard errors; no file is changed. Runs are those of one machine and one framework.

Examples:
  paradl-calibrate runs examples/validate/abci.csv
  paradl-calibrate runs examples/validate/abci.csv --also examples/validate/abci-parts.csv --leave-one-out
  paradl-calibrate runs mine.csv --up-to 32 --on my-cluster.yaml)");
  command.when_chosen(
      [&session, &action, words] { action = [&session, words] { return run(session, *words); }; });
}

}  // namespace paradl::calibrate
