// paradl-calibrate runs: links and framework costs from measured training runs.
#include "calibrate/fit/runs.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/commands/commands.hpp"
#include "paradl/cli/ranges.hpp"
#include "paradl/core/format.hpp"
#include "paradl/report/validation.hpp"

namespace paradl::calibrate {
namespace {

struct Words {
  std::string file, of = "links", up_to = "64", judge_to = "256";
  bool leave_out = false;
  Options options;
};

std::vector<Judged> judge_some(const std::vector<RunAsked>& runs,
                               const std::function<bool(const MeasuredRun&)>& wanted) {
  std::vector<Judged> out;
  for (const RunAsked& run : runs)
    if (wanted(*run.run)) out.push_back(judge(run));
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
    out += fmt::format("  {:5.1f} %  ({} runs)  {}\n", 100 * t.mean, t.n, source);
  }
  return out;
}

/// Every curve in turn is left out of the fit and then predicted: what a new network may expect.
std::string leave_out_text(std::vector<RunAsked>& runs, const std::vector<RunParameter>& parameters,
                           int up_to, int judge_to) {
  std::vector<std::string> panels;
  for (const RunAsked& run : runs)
    if (std::ranges::find(panels, run.run->panel()) == panels.end()) panels.push_back(run.run->panel());
  std::string out =
      fmt::format("Each curve left out of the fit, then predicted (up to {} GPUs):\n", judge_to);
  double sum = 0;
  for (const std::string& panel : panels) {
    fit_runs(runs, parameters,
             [&](const MeasuredRun& run) { return run.gpus <= up_to && run.panel() != panel; });
    const Tally t =
        tally(judge_some(
                  runs, [&](const MeasuredRun& run) { return run.gpus <= judge_to && run.panel() == panel; }),
              panel);
    out += fmt::format("  {:<28} {:5.1f} %\n", panel, 100 * t.mean);
    sum += t.mean;
  }
  return out + fmt::format("  {:<28} {:5.1f} %\n", "mean", 100 * sum / double(panels.size()));
}

int run(const Session& session, Words& words) {
  words.options.complete();
  const int up_to = read_count("up-to", words.up_to, 1, 1 << 24),
            judge_to = read_count("judge-to", words.judge_to, 1, 1 << 24);
  const MeasuredRuns file = read_measured_runs(read_source(words.file));
  std::vector<RunAsked> runs = ask_runs(session.catalog, words.options, file);
  const bool of_kernels = words.of == "kernels";
  if (!of_kernels && words.of != "links")
    throw UsageError(fmt::format("--of {}: not known", words.of), "use links or kernels");
  for (const RunAsked& one : runs) {
    if (of_kernels && !one.ask->times.kernels)
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
  if (std::ranges::count_if(file.runs, small) <= std::ptrdiff_t(parameters.size()))
    throw UsageError(fmt::format("{} has too few runs of at most {} GPUs for {} parameters", words.file,
                                 up_to, parameters.size()),
                     "raise --up-to, or measure more");
  const RunFit fit = fit_runs(runs, parameters, small, of_kernels);
  std::string out =
      fmt::format("Fitted on {} runs of at most {} GPUs; what is left: {:.1f} % (root mean square).\n",
                  std::ranges::count_if(file.runs, small), up_to, 100 * fit.scatter);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    out += value_text(parameters[i], fit.values[i], fit.errors[i]);
  out += fmt::format("Accuracy, runs that were fitted (up to {} GPUs):\n", up_to) +
         tallies_text(judge_some(runs, small));
  if (judge_to > up_to)
    out += fmt::format("Accuracy, up to {} GPUs:\n", judge_to) +
           tallies_text(judge_some(runs, [&](const MeasuredRun& r) { return r.gpus <= judge_to; }));
  out += sources_text(runs);
  if (words.leave_out) out += leave_out_text(runs, parameters, up_to, judge_to);
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
  words->options.define_only(command, {"on", "framework", "profile", "layer-times"});
  command.footer(
      R"(Prints the numbers for `measured` and `staged` of the system file and for `costs` of the framework file, with their
standard errors; no file is changed. Runs are those of one machine and one framework.

Examples:
  paradl-calibrate runs examples/validate/abci.csv
  paradl-calibrate runs examples/validate/abci.csv --leave-one-out
  paradl-calibrate runs mine.csv --up-to 32 --on my-cluster.yaml)");
  command.when_chosen(
      [&session, &action, words] { action = [&session, words] { return run(session, *words); }; });
}

}  // namespace paradl::calibrate
