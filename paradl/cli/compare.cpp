// paradl compare: strategies, systems or saved results, side by side.
#include <algorithm>

#include <fmt/format.h>

#include "paradl/cli/command.hpp"
#include "paradl/core/format.hpp"
#include "paradl/feasibility/advice.hpp"
#include "paradl/report/comparison.hpp"
#include "paradl/report/explanation.hpp"
#include "paradl/report/json.hpp"
#include "paradl/report/out_of_core_plan.hpp"

namespace paradl {
namespace {

/// The best projection of one question.
Contestant ask_one(const Session& session, const Options& options, const std::string& name,
                   const std::string& model, const std::string& system, std::vector<Answer>& answers,
                   std::vector<std::unique_ptr<Ask>>& asks, std::vector<std::unique_ptr<Setting>>& settings) {
  asks.push_back(read_ask(session.catalog, options, model, system));
  Ask& ask = *asks.back();
  if (ask.question.gpus.size() != 1) throw UsageError("compare answers for one number of GPUs", "use -p 64");
  settings.push_back(std::make_unique<Setting>(ask.setting()));
  Answer answer = start_answer(session, ask);
  answer.setting = settings.back().get();
  auto results = ask.sweep();
  rank(results);
  answer.results = {results.front()};
  Examiner examiner = ask.examiner();
  examine(answer, examiner);
  answers.push_back(answer);
  return contestant(name, answers.back(), 0);
}

/// What a plan out of core gains over swapping or recomputing everything.
std::string plan_of(const Ask& ask, const Projection& p) {
  if (!p.feasible() || !p.out_of_core || !p.out_of_core->plans()) return {};
  const Evaluation e = ask.evaluator->evaluate(p);
  return fmt::format("{} on {}:\n{}", p.strategy->text, ask.machine.name,
                     plan_text(*e.out_of_core));
}

bool is_result_file(const std::string& word) { return word.ends_with(".json") || word.ends_with(".html"); }

bool is_strategy(const std::string& word) {
  const std::string first = word.substr(0, word.find_first_of("+/"));
  return first == "serial" || find_strategy(first);
}

/// How the words are meant: saved results, strategies of one model, or systems.
enum class Mode { results, strategies, systems };

Mode mode_of(const std::vector<std::string>& words, const std::string& model) {
  if (std::ranges::all_of(words, is_result_file)) return Mode::results;
  if (std::ranges::any_of(words, is_result_file))
    throw UsageError("saved results are compared with saved results", "give only .json files");
  return model.empty() || is_strategy(words.front()) ? Mode::strategies : Mode::systems;
}

int run(const Session& session, Options& options, std::vector<std::string> words, std::string model) {
  options.complete();
  std::vector<Contestant> sides;
  std::vector<Answer> answers;
  std::vector<std::unique_ptr<Ask>> asks;
  std::vector<std::unique_ptr<Setting>> settings;
  answers.reserve(words.size());
  switch (mode_of(words, model)) {
    case Mode::results:
      options.refuse_typed({"format"}, "saved results");
      if (!model.empty()) throw UsageError("--model says nothing about saved results", "leave it out");
      for (std::size_t file = 0; file < words.size(); ++file)
        for (Contestant& side : read_results(read_source(words[file]))) {
          side.file = file;
          sides.push_back(std::move(side));
        }
      if (sides.size() > words.size()) keep_common(sides, words.size());
      break;
    case Mode::strategies:
      if (model.empty()) {
        model = words.back();
        words.pop_back();
      }
      for (const std::string& strategy : words) {
        Options one = options;
        one.set("strategy", strategy);
        sides.push_back(ask_one(session, one, strategy, model, options.get("on"), answers, asks, settings));
      }
      break;
    case Mode::systems:
      for (const std::string& system : words)
        sides.push_back(ask_one(session, options, system, model, system, answers, asks, settings));
      break;
  }
  if (sides.size() < 2)
    throw UsageError("compare needs two or more",
                     "write paradl compare data data+filter resnet50 --on abci -p 64");

  std::vector<InputFile> inputs;
  for (const Answer& answer : answers)
    inputs.insert(inputs.end(), answer.inputs.begin(), answer.inputs.end());
  deliver(session, options, [&](const std::string& format, const Style& style) {
    if (format == "json") return comparison_json(session.arguments, inputs, sides);
    if (format == "jsonl") return result_lines(comparison_json(session.arguments, inputs, sides));
    if (format == "csv") return to_csv(comparison_rows(sides));
    const Table table = comparison_table(sides);
    if (format != "text") return render_table(format, table);
    std::string notes;
    for (const Answer& answer : answers) notes += plan_notes_text(*answer.setting, answer.results);
    for (std::size_t i = 0; i < answers.size(); ++i) notes += plan_of(*asks[i], answers[i].results.front());
    std::string accuracy;
    for (std::size_t i = 0; i < answers.size(); ++i)
      if (const Projection& p = answers[i].results.front(); p.timed())
        accuracy += fmt::format("Accuracy of {}: {}\n", sides[i].name, accuracy_text(answers[i], p));
    return to_text(table, style).text + "\n" + verdict(sides) + notes + basis(sides) + accuracy;
  });
  return std::ranges::any_of(sides, &Contestant::feasible) ? answered : answered_no;
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
