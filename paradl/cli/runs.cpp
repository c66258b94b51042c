#include "paradl/cli/runs.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/spec/reader.hpp"

namespace paradl {
namespace {

/// "16x4": a node to the innermost axis, and what is left to the outermost.
std::string natural_grid(const StrategyName& strategy, int gpus, double per_node) {
  if (strategy.axes.size() != 2) return "";
  const int inner = std::min(gpus, int(per_node));
  if (gpus % inner != 0) return "";
  return fmt::format("{}={},{}={}", strategy.axes[0]->name, gpus / inner, strategy.axes[1]->name, inner);
}

/// What measured runs on a system mean, where that is not what they say: profiles/accuracy/networks.yaml.
struct Readings {
  struct Network {
    std::string system, name, model;
  };
  struct Setting {
    std::string system, option, says, means;
    double up_to = 0;  // GPUs
  };
  struct Term {
    std::string system, framework, change;  // `KEY=VALUE` of the framework
    double up_to = 0;                       // GPUs
  };
  std::vector<Network> networks;
  std::vector<Setting> settings;
  std::vector<Term> terms;
};

Readings read_readings(const SourceText& source) {
  Problems problems(source);
  Reader map(parse_yaml(source), problems, "a list of networks");
  Readings out;
  if (map.require("networks"))
    for (const YAML::Node& item : map.items("networks")) {
      Reader entry(item, problems, "a network");
      out.networks.push_back({entry.text("system"), entry.text("name"), entry.text("model")});
      entry.finish();
    }
  if (map.has("settings"))
    for (const YAML::Node& item : map.items("settings")) {
      Reader entry(item, problems, "a setting");
      out.settings.push_back({entry.text("system"), entry.text("option"), entry.text("says"),
                              entry.text("means"), entry.number("up-to-gpus", 1, 1e9)});
      entry.finish();
    }
  if (map.has("framework-terms"))
    for (const YAML::Node& item : map.items("framework-terms")) {
      Reader entry(item, problems, "a framework term");
      out.terms.push_back({entry.text("system"), entry.text("framework"), entry.text("set"),
                           entry.has("up-to-gpus") ? entry.number("up-to-gpus", 1, 1e9) : 1e9});
      entry.finish();
    }
  map.finish();
  problems.raise();
  return out;
}

Readings read_readings(const Catalog& catalog) {
  const auto files = catalog.names("accuracy");
  if (std::ranges::find(files, "networks") == files.end()) return {};
  return read_readings(catalog.find("accuracy", "networks"));
}

/// A run as it is meant; what was read otherwise than it stands is added to `notes`.
MeasuredRun meant(MeasuredRun run, const Readings& readings, std::vector<std::string>& notes) {
  constexpr const char* file = "(profiles/accuracy/networks.yaml)";
  for (const Readings::Network& one : readings.networks)
    if (one.system == run.system && one.name == run.model) {
      run.model = one.model;
      notes.push_back(fmt::format("{} of {} is {} {}", one.name, one.system, one.model, file));
    }
  for (const Readings::Setting& one : readings.settings) {
    const auto said = run.options.find(one.option);
    if (one.system != run.system || said == run.options.end() || said->second != one.says ||
        run.gpus > one.up_to)
      continue;
    said->second = one.means;
    notes.push_back(fmt::format("{} `{}` of runs on at most {:.0f} GPUs of {} is read as `{}` {}", one.option,
                                one.says, one.up_to, one.system, one.means, file));
  }
  if (!run.options.contains("zero") && run.source.find("zero3") != run.source.npos) {
    run.options["zero"] = "3";
    notes.emplace_back("runs whose source says zero3 are read as ZeRO-3");
  }
  return run;
}

/// Terms of the framework as such runs had them; --set has the last word.
void set_terms(Options& asked, const MeasuredRun& run, const Readings& readings,
               std::vector<std::string>& notes) {
  for (const Readings::Term& one : readings.terms) {
    const std::string change = "framework." + one.change, key = change.substr(0, change.find('=') + 1);
    const auto is_set = [&](const std::string& set) { return set.starts_with(key); };
    if (one.system != run.system || one.framework != asked.get("framework") || run.gpus > one.up_to ||
        std::ranges::any_of(asked.sets(), is_set))
      continue;
    asked.add_set(change);
    notes.push_back(fmt::format("{} of runs on {}{} had {} (profiles/accuracy/networks.yaml)", one.framework,
                                one.up_to < 1e9 ? fmt::format("at most {:.0f} GPUs of ", one.up_to) : "",
                                one.system, one.change));
  }
}

std::string column_named(std::string key) {
  std::ranges::replace(key, '-', '_');
  return key;
}

/// A mistake in a cell of a run.
SpecError mistake(const SourceText& file, const MeasuredRun& run, std::string_view column,
                  const UsageError& error) {
  return {file.file, file.text, {{run.spot(column), error.what(), error.help()}}};
}

/// What a run says, each as of its cell, over what the command line says, over defaults.
Options options_of(const MeasuredRun& run, const std::shared_ptr<const SourceText>& file, Options options) {
  const auto known = Options::configuration_keys();
  const auto set = [&](const std::string& key, const std::string& value) {
    options.set(key, value, file, run.spot(column_named(key)));
  };
  for (const auto& [key, value] : run.options) {
    const bool idle = value == "0" || value == "none" || value == "off" || value == "1";
    if (std::ranges::find(known, key) != known.end())
      set(key, value);
    else if (!idle)
      throw mistake(*file, run, column_named(key),
                    UsageError(fmt::format("`{}` {} cannot be projected", key, value), "leave the run out"));
  }
  set("strategy", run.strategy);
  set("batch", run.batch);
  if (!run.grid.empty()) set("grid", run.grid);
  set("gpus", fmt::format("{}", run.gpus));
  return options;
}

/// What a question is of, but for the strategy and its sizes.
std::string kind_of(const std::string& model, const std::string& system, Options asked) {
  for (const char* key : {"strategy", "grid", "gpus"}) asked.set(key, "");
  return fmt::format("{}\n{}\n{}{}", model, system, asked.origins(), fmt::join(asked.sets(), " "));
}

/// Whether the command line leaves to the run on what its projection rests.
bool as_written(const MeasuredRun& run, const Options& options) {
  constexpr std::array keys{"layer-times", "links",     "profile",      "framework", "fidelity", "precision",
                            "optimizer",   "transport", "convolutions", "overlap",   "reduction"};
  return options.sets().empty() && !options.typed("on") && std::ranges::none_of(keys, [&](const char* key) {
           return options.has(key) && !run.options.contains(key);
         });
}

/// What was measured of an iteration that was not, each second of it once.
void add_parts(Judged& run) {
  run.measured = run.projected = Seconds{};
  const auto add = [&](const std::optional<Judged::Part>& part) {
    if (!part) return;
    run.measured += Seconds{part->measured};
    run.projected += Seconds{part->projected};
  };
  add(run.compute);
  add(run.communication);
  for (std::size_t t = 0; t < terms; ++t) {
    const bool counted =
        (is_compute(Term(t)) && run.compute) || (is_communication(Term(t)) && run.communication);
    if (!counted) add(run.by_term[t]);
  }
}

}  // namespace

void check_readings(const SourceText& source) { read_readings(source); }

Projection RunAsked::project() const {
  const Projection* best = nullptr;
  const std::vector<Projection> all =
      sweep(ask->question, ask->work, ask->machine,
            [&](const StrategyName& s, const Mesh& m, double batch) { return ask->project(s, m, batch); });
  for (const Projection& p : all)
    if (p.cost && (!best || p.iteration() < best->iteration())) best = &p;
  if (best) return *best;
  const Limit* broken = nullptr;
  for (const Projection& p : all)
    for (const Limit& limit : p.limits.all())
      if (!limit.holds() && !broken) broken = &limit;
  throw mistake(
      file->source, *run, "strategy",
      UsageError(fmt::format("`{}` on {} GPUs has no projection{}", run->strategy, run->gpus,
                             broken ? fmt::format(": {} breaks {}", broken->value, broken->rule) : ""),
                 "leave the run out, or correct its strategy, grid or batch"));
}

void each_run(const Catalog& catalog, const Options& options, const MeasuredRuns& runs,
              const std::function<void(RunAsked&)>& each) {
  const Readings readings = read_readings(catalog);
  const auto file = std::make_shared<const SourceText>(runs.source);
  std::map<std::string, SystemSpec> systems;
  std::unique_ptr<Ask> last;  // and what was asked
  std::string last_kind;
  for (const MeasuredRun& written : runs.runs) {
    std::vector<std::string> notes;
    const MeasuredRun run = meant(written, readings, notes);
    RunAsked one{.run = &written,
                 .file = &runs,
                 .ask = {},
                 .framework = {},
                 .model = run.model,
                 .notes = std::move(notes),
                 .as_written = as_written(run, options)};
    // Whose words are refused: of a cell, unless they were typed.
    const auto in_cell = [&](const char* column, auto work) {
      try {
        return work();
      } catch (const UsageError& error) {
        if (std::string_view(error.what()).starts_with("--")) throw;
        throw mistake(*file, run, column, error);
      }
    };
    Options asked = options_of(run, file, options);
    // A run knows its system: nothing but what is typed takes it elsewhere.
    const std::string system = options.typed("on") ? options.get("on") : run.system;
    if (!systems.contains(system))
      systems.emplace(system,
                      options.typed("on")
                          ? options.read("on", "", [&](const std::string& on) { return catalog.system(on); })
                          : in_cell("system", [&] { return catalog.system(system); }));
    const SystemSpec& machine = systems.at(system);
    if (!asked.has("framework") && !machine.framework.empty()) asked.set("framework", machine.framework);
    set_terms(asked, run, readings, one.notes);
    const StrategyName strategy = in_cell("strategy", [&] { return read_strategy(run.strategy); });
    if (run.grid.empty())
      if (const std::string grid = natural_grid(strategy, run.gpus, machine.levels.front().size);
          !grid.empty())
        asked.set("grid", grid, file, run.spot("strategy"));
    asked.set("grids", "all");
    one.framework = asked.get("framework", "ideal");
    const std::string kind = kind_of(run.model, system, asked);
    if (last && kind == last_kind) {
      ask_anew(asked, *last);
      one.ask = std::move(last);
    } else {
      one.ask = in_cell("model", [&] { return read_ask(catalog, asked, run.model, system); });
      last_kind = kind;
      // Terms that profiles/accuracy/networks.yaml says of such runs are theirs, and no change.
      if (options.sets().empty() && one.ask->changed == "--set") one.ask->changed.clear();
    }
    each(one);
    last = std::move(one.ask);
  }
}

std::vector<RunAsked> ask_runs(const Catalog& catalog, const Options& options, const MeasuredRuns& runs) {
  std::vector<RunAsked> out;
  each_run(catalog, options, runs, [&](RunAsked& one) { out.push_back(std::move(one)); });
  return out;
}

Judged judge(const RunAsked& asked) {
  const MeasuredRun& run = *asked.run;
  const Projection p = asked.project();
  Judged out{.model = run.model,
             .system = run.system,
             .strategy = run.strategy,
             .gpus = run.gpus,
             .batch = p.batch,
             .measured = run.iteration.value_or(Seconds{}),
             .projected = p.iteration(),
             .partial = !run.iteration,
             .left_out = asked.as_written ? run.left_out : std::nullopt,
             .compute = {},
             .communication = {},
             .memory = {},
             .layer_error = asked.ask->layer_error()};
  const Breakdown& cost = *p.cost;
  if (run.compute) out.compute = {run.compute->base(), cost.compute().base()};
  if (run.communication) out.communication = {run.communication->base(), cost.exposed_communication().base()};
  if (run.memory) out.memory = {run.memory->base(), cost.memory.total().base()};
  for (std::size_t t = 0; t < terms; ++t)
    if (const auto measured = run.terms.find(std::string(term_names[t].json)); measured != run.terms.end())
      out.by_term[t] = {measured->second.base(), cost[Term(t)].base()};
  if (out.partial) add_parts(out);
  return out;
}

}  // namespace paradl
