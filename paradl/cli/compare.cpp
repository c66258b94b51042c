// paradl compare: strategies, systems or saved results, side by side.
#include <algorithm>
#include <list>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/cli/command.hpp"
#include "paradl/core/format.hpp"
#include "paradl/judge/advice.hpp"
#include "paradl/query/verdict.hpp"
#include "paradl/report/comparison.hpp"
#include "paradl/report/explanation.hpp"
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
    Examiner examiner = examiner_of(oracle, triggers);
    examine(answer, examiner);
  }
  const Projection& best() const { return answer.results.front(); }

  Oracle oracle;
  Setting setting;
  Answer answer;
};

/// What a plan out of core gains over swapping or recomputing everything.
std::string plan_of(const Oracle& oracle, const Projection& p) {
  if (!p.feasible() || !p.out_of_core || !p.out_of_core->plans()) return {};
  const Evaluation e = oracle.evaluator().evaluate(p);
  return fmt::format("{} on {}:\n{}", p.strategy->text, oracle.about().machine.name,
                     plan_text(*e.out_of_core));
}

bool is_result_file(const std::string& word) { return word.ends_with(".json") || word.ends_with(".html"); }

bool is_strategy(const std::string& word) {
  const std::string first = word.substr(0, word.find_first_of("+/"));
  return first == "serial" || find_strategy(first);
}

/// How the words are meant: saved results, strategies of one model, or systems.
enum class Mode { results, strategies, systems };

Mode mode_of(const Session& session, const std::vector<std::string>& words, const std::string& model) {
  if (std::ranges::all_of(words, is_result_file)) return Mode::results;
  if (std::ranges::any_of(words, is_result_file))
    throw UsageError("saved results are compared with saved results", "give only .json files");
  if (is_strategy(words.front())) return Mode::strategies;
  if (!model.empty()) return Mode::systems;
  const auto systems = session.catalog.names("systems");
  const auto is_system = [&](const std::string& word) {
    return std::ranges::find(systems, word) != systems.end();
  };
  if (!is_system(words.front())) return Mode::strategies;
  if (is_system(words.back())) throw UsageError("compare systems with which model?", "add --model resnet50");
  throw UsageError(fmt::format("`{}` is a system: name the model with --model", words.front()),
                   fmt::format("write paradl compare {} --model {}",
                               fmt::join(words.begin(), words.end() - 1, " "), words.back()));
}

int run(const Session& session, Options& options, std::vector<std::string> words, std::string model) {
  options.complete();
  std::vector<Contestant> contestants;
  std::list<Side> sides;  // which stay where they are
  Library library(session.catalog);
  const auto add = [&](const std::string& name, Query query) {
    query.model = model;
    const Side& side = sides.emplace_back(session, options.triggers(), query, library);
    contestants.push_back(contestant(name, {side.answer, 0}));
  };
  switch (mode_of(session, words, model)) {
    case Mode::results:
      options.refuse_typed({"format"}, "saved results");
      if (!model.empty()) throw UsageError("--model says nothing about saved results", "leave it out");
      for (std::size_t file = 0; file < words.size(); ++file)
        for (Contestant& saved : read_results(read_source(words[file]))) {
          saved.file = file;
          contestants.push_back(std::move(saved));
        }
      if (contestants.size() > words.size()) keep_common(contestants, words.size());
      break;
    case Mode::strategies:
      if (model.empty()) {
        model = words.back();
        words.pop_back();
      }
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
  if (contestants.size() < 2)
    throw UsageError("compare needs two or more",
                     "write paradl compare data data+filter resnet50 --on abci -p 64");

  std::vector<InputFile> inputs;
  for (const Side& side : sides)
    inputs.insert(inputs.end(), side.answer.inputs.begin(), side.answer.inputs.end());
  const auto text = [&](const Style& style) {
    std::string notes, plans, accuracy;
    std::size_t i = 0;
    for (const Side& side : sides) {
      notes += plan_notes_text(side.setting, side.answer.results);
      plans += plan_of(side.oracle, side.best());
      const std::string& name = contestants[i++].name;
      if (side.best().timed())
        accuracy += fmt::format("Accuracy of {}: {}\n", name, accuracy_text(side.answer, side.best()));
    }
    return to_text(comparison_table(contestants), style).text + "\n" + verdict(contestants) + notes + plans +
           basis(contestants) + accuracy;
  };
  const auto table = [&](ReadBy reader) {
    return reader == ReadBy::machines ? comparison_rows(contestants) : comparison_table(contestants);
  };
  const auto json = [&] { return comparison_json(session.arguments, inputs, contestants); };
  deliver(session, options, {.text = text, .table = table, .json = json});
  return std::ranges::any_of(contestants, &Contestant::feasible) ? answered : answered_no;
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
  command.texts(
      "WORDS", words->words,
      {.help = "strategies and a model; or systems with --model; or result files", .required = true});
  command.text("--model", words->model, {.help = "the model, when systems are compared", .meta = "NAME"});
  words->options.define(command, {"strategy", "grids", "columns", "sort"});
  command.footer(R"(Examples:
  paradl compare data data+spatial resnet50 --on abci -p 64
  paradl compare abci dgx-a100 --model resnet50 -p 64
  paradl compare old.json new.json)");
  command.when_chosen([&session, &action, words] {
    action = [&session, words] { return run(session, words->options, words->words, words->model); };
  });
}

}  // namespace paradl
