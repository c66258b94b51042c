#include "paradl/query/runs.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/query/fields.hpp"
#include "paradl/query/words.hpp"
#include "paradl/spec/reader.hpp"

namespace paradl {
namespace {

/// Gives a node to the inner of two axes, and the rest to the outer one. Nothing if that does not divide.
std::optional<std::vector<Parts>> natural_grid(const StrategyName& strategy, int gpus, double per_node) {
  if (strategy.axes.size() != 2) return {};
  const int inner = std::min(gpus, int(per_node));
  if (gpus % inner != 0) return {};
  return std::vector<Parts>{{.total = gpus / inner}, {.total = inner}};
}

/// Corrections to measured runs whose names or settings mean something else: profiles/accuracy/networks.yaml.
struct Readings {
  struct Network {
    std::string system, name, model;
  };
  struct Setting {
    std::string system;
    const Field* option = nullptr;
    std::string says, means;
    double up_to = 0;  // GPUs
  };
  struct Term {
    std::string system, framework;
    Override change;   // of the framework
    double up_to = 0;  // GPUs
  };
  std::vector<Network> networks;
  std::vector<Setting> settings;
  std::vector<Term> terms;
};

Readings::Setting read_setting(Reader& entry) {
  const std::string option = entry.text("option");
  const Field* field = find_field(option);
  if (!field && !option.empty())
    entry.wrong("option", fmt::format("no option is called `{}`", option), "write one such as `recompute`");
  const auto word = [&](const char* key) {
    std::string text = entry.text(key);
    try {
      Query any;
      if (field && !text.empty()) read_field(any, *field, text);
    } catch (const UsageError& error) {
      entry.wrong(key, error.what(), error.help());
    }
    return text;
  };
  return {.system = entry.text("system"),
          .option = field,
          .says = word("says"),
          .means = word("means"),
          .up_to = entry.number("up-to-gpus", 1, 1e9)};
}

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
      out.settings.push_back(read_setting(entry));
      entry.finish();
    }
  if (map.has("framework-terms"))
    for (const YAML::Node& item : map.items("framework-terms")) {
      Reader entry(item, problems, "a framework term");
      Readings::Term term{.system = entry.text("system"), .framework = entry.text("framework"), .change = {}};
      try {
        term.change = read_change(entry.text("set"));
      } catch (const UsageError&) {
        entry.wrong("set", "not KEY=VALUE", "write `set: KEY=VALUE`, such as `set: overlap=off`");
      }
      term.up_to = entry.has("up-to-gpus") ? entry.number("up-to-gpus", 1, 1e9) : 1e9;
      out.terms.push_back(std::move(term));
      entry.finish();
    }
  map.finish();
  problems.raise();
  return out;
}

Readings read_readings(const Catalog& catalog) {
  const auto files = catalog.names(SpecKind::accuracy);
  if (std::ranges::find(files, "networks") == files.end()) return {};
  return read_readings(catalog.find(SpecKind::accuracy, "networks"));
}

/// Sets framework terms as such runs had them, unless `defaults` already change these.
void add_terms(Query& query, const MeasuredRun& run, const Readings& readings,
               std::vector<std::string>& notes) {
  for (const Readings::Term& one : readings.terms) {
    const auto is_set = [&](const Override& change) { return change.path == one.change.path; };
    if (one.system != run.system || one.framework != query.framework.value_or("") || run.gpus > one.up_to ||
        std::ranges::any_of(query.framework_changes, is_set))
      continue;
    query.framework_changes.push_back(one.change);
    notes.push_back(fmt::format("runs with {} on {}{} had {}={} (profiles/accuracy/networks.yaml)",
                                one.framework,
                                one.up_to < 1e9 ? fmt::format("at most {:.0f} GPUs of ", one.up_to) : "",
                                one.system, one.change.path, one.change.text()));
  }
}

/// The cells of a run, as origins of their values.
class Cells {
 public:
  Cells(const MeasuredRun& run, std::shared_ptr<const SourceText> file) : run_(run), file_(std::move(file)) {}
  OriginPtr operator[](std::string column) const {
    std::ranges::replace(column, '-', '_');
    return std::make_shared<Origin>(Origin{file_->file, "", file_, run_.spot(column)});
  }

 private:
  const MeasuredRun& run_;
  std::shared_ptr<const SourceText> file_;
};

constexpr const char* list_of_readings = "(profiles/accuracy/networks.yaml)";

/// The model that a run's name means.
void correct_model(Query& query, const MeasuredRun& run, const Readings& readings, const Cells& cells,
                   std::vector<std::string>& notes) {
  for (const Readings::Network& one : readings.networks)
    if (one.system == run.system && one.name == *query.model) {
      query.model = {one.model, cells["model"]};
      notes.push_back(fmt::format("{} of {} is {} {}", one.name, one.system, one.model, list_of_readings));
    }
}

/// What a run's settings mean.
void correct_settings(Query& query, const MeasuredRun& run, const Readings& readings, const Cells& cells,
                      std::vector<std::string>& notes) {
  for (const Readings::Setting& one : readings.settings) {
    const std::string name(one.option->name);
    if (one.system != run.system || run.gpus > one.up_to || !run.options.contains(name)) continue;
    Query as_said = query;
    read_field(as_said, *one.option, one.says);
    if (as_said != query) continue;
    read_field(query, *one.option, one.means, cells[name]);
    notes.push_back(fmt::format("{} `{}` of runs on at most {:.0f} GPUs of {} is read as `{}` {}", name,
                                one.says, one.up_to, one.system, one.means, list_of_readings));
  }
  if (!run.options.contains("zero") && run.source.find("zero3") != run.source.npos) {
    query.zero = {3, cells["zero"]};
    notes.emplace_back("runs whose source says zero3 are read as ZeRO-3");
  }
}

/// The values of a run, with its cells as origins; missing ones come from `defaults`.
Query query_of(const MeasuredRun& run, const Cells& cells, const Query& defaults) {
  Query query = defaults;
  const auto read = [&](const std::string& name, const std::string& text) {
    const Field* field = find_field(name);
    if (!field)
      blame({cells[name]},
            UsageError(fmt::format("`{}` {} cannot be projected", name, text), "leave the run out"));
    read_field(query, *field, text, cells[name]);
  };
  query.model = {run.model, cells["model"]};
  // A run names its system: only a typed system replaces it.
  if (!query.system.typed()) query.system = {run.system, cells["system"]};
  for (const auto& [name, text] : run.options) read(name, text);
  read("batch", run.batch);
  query.gpus = {std::vector<GpuCount>{run.gpus}, cells["gpus"]};
  // One strategy, not a list: a run had one.
  query.strategies = {blaming({cells["strategy"]}, [&] { return std::vector{read_strategy(run.strategy)}; }),
                      cells["strategy"]};
  query.grid = {};
  if (!run.grid.empty()) read("grid", run.grid);
  query.grids = Grids::all;
  return query;
}

/// Whether two queries differ only in strategies, grid and GPUs, so that they can share a case.
bool same_case(const Query& a, Query b) {
  b.strategies = a.strategies;
  b.grid = a.grid;
  b.gpus = a.gpus;
  return a == b;
}

/// Whether the defaults change none of the parameters behind the run's projection.
bool as_written(const MeasuredRun& run, const Query& defaults) {
  const auto decided = [&](const char* name, const auto& given) {
    return given && !run.options.contains(name);
  };
  const Query& q = defaults;
  return q.system_changes.empty() && q.framework_changes.empty() && !q.system.typed() &&
         !decided("layer-times", q.layer_times) && !decided("links", q.links) &&
         !decided("profile", q.profile) && !decided("framework", q.framework) &&
         !decided("fidelity", q.fidelity) && !decided("precision", q.precision) &&
         !decided("optimizer", q.optimizer) && !decided("transport", q.transport) &&
         !decided("convolutions", q.convolutions) && !decided("overlap", q.overlap) &&
         !decided("reduction", q.reduction);
}

/// If the whole iteration was not measured, adds up the parts that were, each second only once.
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
  const std::vector<Projection> all = oracle.every_grid();
  for (const Projection& p : all)
    if (p.cost && (!best || p.iteration() < best->iteration())) best = &p;
  if (best) return *best;
  const Limit* broken = nullptr;
  for (const Projection& p : all)
    for (const Limit& limit : p.limits.all())
      if (!limit.holds() && !broken) broken = &limit;
  const SourceText& source = file->source;
  throw SpecError(source.file, source.text,
                  {{run->spot("strategy"),
                    fmt::format("`{}` on {} GPUs has no projection{}", run->strategy, run->gpus,
                                broken ? fmt::format(": {} breaks {}", broken->value, broken->name()) : ""),
                    "leave the run out, or correct its strategy, grid or batch"}});
}

void each_run(Library& library, const Query& defaults, const MeasuredRuns& runs,
              const std::function<void(RunAsked&)>& each) {
  const Readings readings = read_readings(library.catalog());
  const auto file = std::make_shared<const SourceText>(runs.source);
  const bool unchanged = defaults.system_changes.empty() && defaults.framework_changes.empty();
  struct Last {
    Query query;
    Oracle oracle;
  };
  // All words become values before the first run is projected: a mistake in any cell is reported at once.
  std::vector<Query> asked;
  asked.reserve(runs.runs.size());
  for (const MeasuredRun& run : runs.runs) asked.push_back(query_of(run, Cells(run, file), defaults));
  std::optional<Last> last;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const MeasuredRun& run = runs.runs[i];
    std::vector<std::string> notes;
    const Cells cells(run, file);
    Query query = std::move(asked[i]);
    correct_model(query, run, readings, cells, notes);
    correct_settings(query, run, readings, cells, notes);
    const SystemSpec& system = blaming(
        {query.system.origin()}, [&]() -> const auto& { return library.system(*query.system); });
    if (!query.framework && !system.framework.empty()) query.framework = {system.framework, cells["system"]};
    add_terms(query, run, readings, notes);
    query.measured_terms = unchanged;
    if (run.grid.empty())
      if (auto grid = natural_grid(query.strategies->front(), run.gpus, system.levels.front().size))
        query.grid = {*std::move(grid), cells["strategy"]};
    const auto oracle = [&]() -> Oracle {
      if (last && same_case(last->query, query))
        return last->oracle.asked(question_of(query, last->oracle.about()));
      Case about = load(query, library);
      Question question = question_of(query, about);
      return blaming({cells["model"]}, [&] { return Oracle(std::move(about), std::move(question)); });
    };
    RunAsked one{.run = &run,
                 .file = &runs,
                 .oracle = oracle(),
                 .framework = query.framework.value_or(ideal_framework),
                 .model = *query.model,
                 .notes = std::move(notes),
                 .as_written = as_written(run, defaults)};
    last = Last{std::move(query), one.oracle};
    each(one);
  }
}

std::vector<RunAsked> ask_runs(Library& library, const Query& defaults, const MeasuredRuns& runs) {
  std::vector<RunAsked> out;
  each_run(library, defaults, runs, [&](RunAsked& one) { out.push_back(std::move(one)); });
  return out;
}

std::vector<RunAsked> ask_runs(const Catalog& catalog, const Query& defaults, const MeasuredRuns& runs) {
  Library library(catalog);
  return ask_runs(library, defaults, runs);
}

Judged judge(const RunAsked& asked) {
  const MeasuredRun& run = *asked.run;
  const Projection p = asked.project();
  Judged out{.model = run.model,
             .system = run.system,
             .strategy = run.strategy,
             .gpus = run.gpus,
             .batch = p.plan.batch,
             .measured = run.iteration.value_or(Seconds{}),
             .projected = p.iteration(),
             .partial = !run.iteration,
             .left_out = asked.as_written ? run.left_out : std::nullopt,
             .compute = {},
             .communication = {},
             .memory = {},
             .layer_error = asked.about().layer_error()};
  const Cost& cost = *p.cost;
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
