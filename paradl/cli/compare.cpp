// paradl compare: strategies, systems or saved results, side by side.
#include <algorithm>
#include <filesystem>
#include <list>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/cli/command.hpp"
#include "paradl/core/format.hpp"
#include "paradl/judge/advice.hpp"
#include "paradl/judge/plan_notes.hpp"
#include "paradl/query/examiner.hpp"
#include "paradl/report/comparison.hpp"
#include "paradl/report/json.hpp"
#include "paradl/report/out_of_core_plan.hpp"

namespace paradl {
namespace {

/// One question and its best answer.
struct Side {
  Side(const Session& session, const Triggers& triggers, const Query& query, Library& library)
      : oracle(ask(query, library)),
        setting(oracle.setting()),
        answer(start_answer(session, oracle.about())) {
    if (oracle.question().gpus.size() != 1)
      throw UsageError("compare answers for one number of GPUs", "use -p 64");
    answer.setting = &setting;
    auto results = oracle.sweep();
    rank(results);
    answer.results = {results.front()};
    examine(answer, examiner_of(oracle, triggers));
    if (best().feasible() && best().out_of_core && best().out_of_core->plans())
      out_of_core = account_of(setting.work, *oracle.evaluator().evaluate(best().plan).out_of_core);
  }
  const Projection& best() const { return answer.results.front(); }

  Oracle oracle;
  Setting setting;
  Answer answer;
  std::optional<OutOfCoreAccount> out_of_core;  // the plan of the best answer, if it leaves the core
};

/// What a plan out of core gains over swapping or recomputing everything.
std::string plan_of(const Side& side) {
  const Projection& p = side.best();
  if (!side.out_of_core) return {};
  return fmt::format("{} on {}:\n{}", p.strategy(), side.oracle.about().machine.name,
                     plan_text(*side.out_of_core));
}

bool is_result_file(const std::string& word) {
  return word.ends_with(row_of(Format::json).ending);
}

/// How the words are meant: saved results, strategies of one model, or systems.
enum class Mode { results, strategies, systems };

Mode mode_of(const Session& session, const std::vector<std::string>& words, const std::string& model) {
  if (std::ranges::all_of(words, is_result_file)) return Mode::results;
  if (std::ranges::any_of(words, is_result_file))
    throw UsageError("saved results are compared with saved results", "give only .json files");
  const std::string& first = words.front();
  if (names_strategy(first)) return Mode::strategies;
  if (!model.empty()) return Mode::systems;
  const auto systems = session.catalog.names(SpecKind::systems);
  const bool system = Catalog::is_path(first) || std::ranges::find(systems, first) != systems.end();
  return system ? Mode::systems : Mode::strategies;
}

/// The model stands behind what is compared, unless --model names it.
void take_model(const Session& session, Mode mode, std::vector<std::string>& words, std::string& model) {
  if (!model.empty()) return;
  const auto systems = session.catalog.names(SpecKind::systems);
  if (mode == Mode::systems && std::ranges::find(systems, words.back()) != systems.end())
    throw UsageError("the model is missing", "add --model resnet50");
  model = words.back();
  words.pop_back();
}

/// The name of each file, with its folder or a number where names are the same.
std::vector<std::string> labels_of(const std::vector<std::string>& files) {
  std::vector<std::string> out;
  const auto stem = [](const std::string& file) { return std::filesystem::path(file).stem().string(); };
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::string label = std::ranges::count(files, stem(files[i]), stem) == 1 ? stem(files[i]) : files[i];
    const auto again = std::count(files.begin(), files.begin() + std::ptrdiff_t(i), files[i]);
    out.push_back(again == 0 ? std::move(label) : fmt::format("{} ({})", label, again + 1));
  }
  return out;
}

SavedComparison read_saved(const std::vector<std::string>& files) {
  const std::vector<std::string> labels = labels_of(files);
  std::vector<std::vector<Contestant>> saved;
  for (std::size_t i = 0; i < files.size(); ++i) {
    saved.push_back(read_results(read_source(files[i])));
    for (Contestant& one : saved.back()) one.name = labels[i];
  }
  return compare_saved(saved);
}

/// What is said of saved answers before their numbers.
std::string differences_text(const std::vector<std::string>& differ,
                             const std::vector<std::string>& left_out) {
  std::string out;
  if (!differ.empty()) out += fmt::format("Asked differently: {}.\n", fmt::join(differ, "; "));
  constexpr std::size_t most = 5;
  const std::size_t named = std::min(most, left_out.size());
  if (named > 0)
    out += fmt::format("Left out: {}{}.\n",
                       fmt::join(left_out.begin(), left_out.begin() + std::ptrdiff_t(named), "; "),
                       named < left_out.size() ? fmt::format("; and {} more", left_out.size() - named) : "");
  return out.empty() ? out : out + "\n";
}

int run(const Session& session, Options& options, std::vector<std::string> words, std::string model) {
  options.complete();
  std::vector<Comparison> all;
  std::vector<std::string> left_out;
  AnswerFiles files;
  std::list<Side> sides;  // which stay where they are
  Library library(session.catalog);
  const auto add = [&](const std::string& name, Query query) {
    query.model = model;
    const Side& side = sides.emplace_back(session, options.triggers(), query, library);
    if (all.empty()) all.emplace_back();
    all.front().sides.push_back(contestant(name, {side.answer, 0}));
    files.read.insert(files.read.end(), side.answer.read.begin(), side.answer.read.end());
  };
  const Mode mode = mode_of(session, words, model);
  if (mode != Mode::results) take_model(session, mode, words, model);
  if (words.size() < 2)
    throw UsageError("compare needs two or more strategies, systems or saved answers",
                     "write paradl compare data data+filter resnet50 --on abci -p 64");
  switch (mode) {
    case Mode::results: {
      options.refuse_typed({"format"}, "saved results");
      if (!model.empty()) throw UsageError("--model says nothing about saved results", "leave it out");
      files.read = words;
      SavedComparison saved = read_saved(words);
      all = std::move(saved.comparisons);
      left_out = std::move(saved.left_out);
      break;
    }
    case Mode::strategies:
      for (const std::string& strategy : words) {
        options.set("strategy", strategy);
        add(strategy, options.query());
      }
      break;
    case Mode::systems:
      if (options.typed("on"))
        throw UsageError(fmt::format("--on {}: the systems are already named", options.get("on")),
                         "leave --on out, or name it with the other systems");
      for (const std::string& system : words) {
        Query query = options.query();
        query.system = system;
        add(system, std::move(query));
      }
      break;
  }

  // Strategies and systems differ in what the words say.
  const std::vector<std::string> differ =
      mode == Mode::results ? differences(all) : std::vector<std::string>{};
  std::vector<InputFile> inputs;
  for (const Side& side : sides)
    inputs.insert(inputs.end(), side.answer.inputs.begin(), side.answer.inputs.end());
  const auto text = [&](const Style& style) {
    std::string notes, plans, accuracy;
    std::size_t i = 0;
    for (const Side& side : sides) {
      notes += plan_notes_text(side.setting, side.answer.results);
      plans += plan_of(side);
      const std::string& name = all.front().sides[i++].name;
      if (side.best().timed())
        accuracy += fmt::format("Accuracy of {}: {}\n", name, accuracy_text(side.answer, side.best()));
    }
    return differences_text(differ, left_out) + to_text(comparison_table(all), style).text + "\n" +
           verdict(all) + notes + plans + basis(all) + accuracy;
  };
  const auto table = [&](ReadBy reader) {
    return reader == ReadBy::machines ? comparison_rows(all) : comparison_table(all);
  };
  const auto json = [&] {
    nlohmann::ordered_json out = comparison_json(session.arguments, inputs, all);
    if (!differ.empty()) out["differences"] = differ;
    if (!left_out.empty()) out["left_out"] = left_out;
    return out;
  };
  deliver(session, options, {.text = text, .table = table, .json = json}, files);
  const auto fits = [](const Comparison& one) {
    return std::ranges::any_of(one.sides, &Contestant::feasible);
  };
  return std::ranges::any_of(all, fits) ? answered : answered_no;
}

}  // namespace

void define_compare(const Arguments& root, Session& session, Action& action) {
  struct Words {
    std::vector<std::string> words;
    std::string model;
    Options options;
  };
  auto words = std::make_shared<Words>();
  const Arguments command =
      root.add_command("compare", "two or more strategies, systems or saved results, side by side");
  command.texts("WORDS", words->words,
                {.help = "strategies or systems, and a model; or result files", .required = true});
  command.text("--model", words->model, {.help = "the model, if it is not the last word", .meta = "NAME"});
  words->options.define(command, {"strategy", "grids", "columns", "sort"});
  command.footer(R"(Examples:
  paradl compare data data+spatial resnet50 --on abci -p 64
  paradl compare abci dgx-a100 resnet50 -p 64
  paradl compare old.json new.json)");
  command.runs(action,
               [&session, words] { return run(session, words->options, words->words, words->model); });
}

}  // namespace paradl
