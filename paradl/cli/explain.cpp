// paradl explain: each term of one strategy: formula, symbols, values, share.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "paradl/cli/basis.hpp"
#include "paradl/cli/command.hpp"
#include "paradl/core/format.hpp"
#include "paradl/judge/advice.hpp"
#include "paradl/judge/fitting.hpp"
#include "paradl/judge/plan_notes.hpp"
#include "paradl/judge/reason.hpp"
#include "paradl/query/examiner.hpp"
#include "paradl/report/bottleneck_table.hpp"
#include "paradl/report/expense_text.hpp"
#include "paradl/report/explanation.hpp"
#include "paradl/report/input_lines.hpp"
#include "paradl/report/json.hpp"
#include "paradl/report/out_of_core_plan.hpp"
#include "paradl/report/timeline.hpp"

namespace paradl {
namespace {

using Json = nlohmann::ordered_json;

std::string summary_of(const StrategyName& strategy) {
  std::string out;
  for (const Strategy* axis : strategy.axes)
    out += fmt::format("{}{}", out.empty() ? "" : "; ", axis->summary);
  if (out.empty()) out = "one GPU does everything";
  return strategy.out_of_core ? out + "; blocks that do not fit are swapped to the host or recomputed" : out;
}

constexpr std::size_t few_ways = 4;

/// All limits and bottlenecks, including those that do not apply, with remedies.
std::string bottlenecks_page(const Session& session, const Style& style, const Oracle& oracle,
                             const Answer& answer, const std::vector<Finding>& findings) {
  const std::vector<Bottleneck>& found = answer.bottlenecks.front();
  const Printed printed = to_text(findings_table(findings), style);
  hint(session, printed.hint);
  std::string out = printed.text + "\n";
  for (const Bottleneck& b : found) out += bottleneck_text(b, 100);
  if (found.empty()) out += "No limit or bottleneck reaches its trigger.\n";
  out += fmt::format("Layer times: {}. Links: {}.{}\n", oracle.about().times.source,
                     links_text(oracle.about()), framework_text(oracle.about()));
  if (const Projection& p = answer.results.front(); p.timed())
    out += fmt::format("Accuracy: {}\n", accuracy_text(answer, p));
  return style.unicode ? out : ascii(out);
}

/// `x`: none if the plan was not priced.
std::string page(const Style& style, const Oracle& oracle, const Answer& answer,
                 const std::vector<Bottleneck>& found, const std::optional<Explanation>& x) {
  const Projection& p = answer.results.front();
  std::string out = fmt::format("{}: {}\n\n", p.strategy(), summary_of(strategy_of(p.plan)));
  if (!p.feasible()) out += fmt::format("Does not fit: {}.\n", reasons(p, oracle.about().work));
  if (!p.feasible() && (p.cost || !found.empty())) out += "\n";
  if (!x) {
    for (const Bottleneck& b : found) out += bottleneck_text(b, 3);
    return out;
  }
  if (p.timed()) out += to_text(with_bars(term_table(*x, p)), style).text + "\n";
  if (p.timed() && p.cost->hidden > Seconds{})
    out += fmt::format(" in addition, {} of exchanges overlap with {}\n\n",
                       text(p.iterations * p.cost->hidden), hides_behind({&p, 1}, oracle.about().work));
  out += symbols_text(oracle.setting(), p, *x) + "\n";
  out += input_lines(oracle.setting(), p);
  out += memory_text(oracle.setting(), p, x->paper);
  for (std::size_t i = 0; i < answer.fitting.size() && i < few_ways; ++i)
    out += fmt::format(" {}  {}\n", i == 0 ? "fits with" : "or with  ", text(answer.fitting[i], p));
  if (answer.fitting.empty() && !x->paper)
    if (const std::string nothing = nothing_fits_text(p, oracle.setting()); !nothing.empty())
      out += fmt::format(" {}\n", nothing);
  for (const std::string& note : x->notes) out += fmt::format(" {}\n", note);
  out += limits_text(p, oracle.about().work);
  if (p.congested) out += fmt::format(" with other jobs on the network  {}\n", band_text(p));
  if (const auto energy = network_joules(p, oracle.about().machine))
    out += fmt::format(" network energy  {} per epoch\n", joules(p.iterations * *energy));
  if (p.timed())
    out += fmt::format(" cost  {}\n", expense_text(expense_of(answer, p), oracle.about().machine));
  if (p.timed() && !x->paper) {
    if (x->out_of_core) {
      out += fmt::format("\n {}\n", out_of_core_text(p, oracle.about().machine));
      if (p.out_of_core->plans()) out += plan_text(*x->out_of_core);
      if (!stages_stay(p)) out += "\n" + to_text(plan_table(*x->out_of_core), style).text;
    }
    out += "\n" + to_text(exchange_table(p, *x), style).text;
    if (x->stages > 1) out += "\n exchanges are those of all stages together; a stage waits for its own\n";
    const std::string shared = contention_text(x->exchanges);
    if (!shared.empty()) out += "\n" + shared;
    if (!x->whole_layers_text.empty())
      out += fmt::format("\n layers that run whole on every GPU of an axis: {}\n", x->whole_layers_text);
    if (!found.empty()) out += "\n";
    for (const Bottleneck& b : found) out += bottleneck_text(b, 3);
    if (!x->layers.empty()) out += "\n" + to_text(layer_table(*x), style).text;
  }
  out += fmt::format("\n layer times: {}; links: {}; fidelity: {}\n", oracle.about().times.source,
                     links_text(oracle.about()), x->paper ? "paper (closed forms)" : "detailed");
  if (const std::string framework = framework_text(oracle.about()); !framework.empty())
    out += framework + "\n";
  if (const std::string allreduce = allreduce_basis({p}); !allreduce.empty())
    out += fmt::format(" {}\n", allreduce);
  out += fmt::format(" accuracy: {}\n", record_text(answer, p));
  if (const std::string range = interval_text(answer, p); !range.empty())
    out += fmt::format(" 90 % interval: {} per epoch\n", range);
  return style.unicode ? out : ascii(out);
}

bool is_picture(const std::string& file) { return file.ends_with(row_of(Format::svg).ending); }

/// The executed schedule as a picture or as a trace, by the file's extension.
std::string timeline_text(const std::string& file, const Oracle& oracle, const Projection& p,
                          const std::optional<Explanation>& explanation) {
  if (oracle.about().fidelity == Fidelity::paper)
    throw UsageError("--timeline is not available with --fidelity paper", "leave --fidelity paper out");
  if (!p.cost)
    throw UsageError(
        fmt::format("`{}` has no timeline: {}", p.strategy(), reasons(p, oracle.about().work)),
        "leave --timeline out");
  if (p.out_of_core && !stages_stay(p)) {
    if (!explanation->out_of_core)
      throw UsageError(
          fmt::format("`{}` has no timeline: {}", p.strategy(), reasons(p, oracle.about().work)),
          "leave --timeline out");
    const auto& events = explanation->out_of_core->events;
    const std::string plan =
        fmt::format("{} on {}: {}, mini-batch {}{}", oracle.about().work.name, oracle.about().machine.name,
                    p.strategy(), p.plan.batch, planned_stage(p));
    return is_picture(file) ? timeline_svg(events, plan) : timeline_json(events, plan);
  }
  const auto timeline = oracle.evaluator().timeline(p.plan);
  if (timeline.pipeline.stages == 1)
    throw UsageError(
        fmt::format("`{}` has no stages: a timeline shows the schedule of a pipeline", p.strategy()),
        "use layer or data+layer, on more than one GPU, or data/ooc");
  const Pipeline& pipeline = timeline.pipeline;
  const std::string name =
      fmt::format("{} on {}: {}, {} stages, {} micro-batch{}", oracle.about().work.name,
                  oracle.about().machine.name, schedule_text(p.plan), pipeline.stages,
                  pipeline.micro_batches, pipeline.micro_batches == 1 ? "" : "es");
  return is_picture(file) ? timeline_svg(timeline, name) : timeline_json(timeline, name);
}

/// The strategy comes first; with -s or --grid, a single word is the model.
void sort_words(const Options& options, std::string& strategy, std::string& model) {
  if (!model.empty()) return;
  if (options.typed("strategy") || options.typed("grid")) {
    std::swap(strategy, model);
    return;
  }
  if (names_strategy(strategy))
    throw UsageError(fmt::format("the model is missing after `{}`", strategy),
                     fmt::format("write the model after the strategy: paradl explain {} resnet50", strategy));
  throw UsageError(fmt::format("the strategy is missing before `{}`", strategy),
                   fmt::format("the strategy comes first: paradl explain data {}", strategy));
}

int run(const Session& session, Options& options, std::string strategy, std::string model, bool layers,
        bool all_bottlenecks, const std::vector<std::string>& timelines) {
  sort_words(options, strategy, model);
  options.complete();
  for (const std::string& file : timelines)
    if (!is_picture(file) && !file.ends_with(row_of(Format::json).ending))
      throw UsageError(
          fmt::format("--timeline {}: the file must end in .svg (a picture) or .json (a trace)", file),
          fmt::format("write --timeline {}", std::filesystem::path(file).replace_extension(".svg").string()));
  // The option of a remedy names strategy and grid. Appended to the command, it replaces the first word.
  const bool replaced = options.typed("strategy") && options.typed("grid");
  if (options.typed("strategy") && !replaced && !strategy.empty() && options.get("strategy") != strategy)
    throw UsageError(fmt::format("`{}` and -s {} are two strategies", strategy, options.get("strategy")),
                     "explain takes one; `paradl compare` takes several");
  if (!replaced && !strategy.empty()) options.set("strategy", strategy);
  Query query = options.query();
  query.model = model;
  const Oracle oracle = ask(query, session.catalog);
  if (oracle.question().gpus.size() != 1)
    throw UsageError("explain answers for one number of GPUs", "use -p 64");
  if (oracle.question().strategies.size() != 1)
    throw UsageError("explain takes one strategy", "`paradl compare` takes several");
  const Setting setting = oracle.setting();
  Answer answer = start_answer(session, oracle.about());
  answer.setting = &setting;
  answer.results = oracle.sweep();
  const Projection& p = answer.results.front();

  const bool paper = oracle.about().fidelity == Fidelity::paper;
  if (!paper) answer.fitting = ways_to_fit(p, oracle.evaluator(), &oracle.question());
  if (layers && paper)
    throw UsageError("--layers is not available with --fidelity paper", "leave --fidelity paper out");
  if (layers && all_bottlenecks)
    throw UsageError("--layers and --bottlenecks are two tables", "leave one of them out");
  AnswerFiles files{.read = answer.read};
  std::vector<std::optional<Explanation>> explanations;
  for (const Projection& one : answer.results) {
    std::optional<Explanation>& explanation = explanations.emplace_back();
    if (!one.cost) continue;
    explanation =
        paper ? explain_paper(setting, one) : explain(one, oracle.evaluator().evaluate(one.plan), layers);
  }
  const std::optional<Explanation>& explanation = explanations.front();
  for (const std::string& file : timelines)
    files.more.push_back({file, timeline_text(file, oracle, p, explanation)});
  const Examiner examiner = examiner_of(oracle, options.triggers());
  examine(answer, examiner);
  std::vector<Bottleneck>& found = answer.bottlenecks.front();
  for (Bottleneck& b : found) examiner.price(b, p);
  const std::vector<Finding> findings = all_bottlenecks ? examiner.findings(p) : std::vector<Finding>{};
  const auto json = [&] {
    Json out = explanation_json(answer, explanations);
    if (all_bottlenecks) out["results"][0]["measures"] = findings_json(findings);
    return out;
  };
  const auto text = [&](const Style& style) {
    return all_bottlenecks ? bottlenecks_page(session, style, oracle, answer, findings)
                           : page(style, oracle, answer, found, explanation);
  };
  const auto table = [&](ReadBy reader) {
    if (all_bottlenecks) return findings_table(findings, reader);
    if (!p.timed()) return limits_table(p, oracle.about().work);
    return layers ? layer_table(*explanation) : term_table(*explanation, p);
  };
  deliver(session, options, {.text = text, .table = table, .json = json}, files);
  if (!p.feasible() && options.format().prints == Prints::table)  // text and JSON say so themselves
    hint(session, fmt::format("`{}` does not fit: {}", p.strategy(), reasons(p, oracle.about().work)));
  return p.feasible() ? answered : answered_no;
}

}  // namespace

void define_explain(const Arguments& root, Session& session, Action& action) {
  struct Words {
    std::string strategy, model;
    std::vector<std::string> timelines;
    bool layers = false, bottlenecks = false;
    Options options;
  };
  auto words = std::make_shared<Words>();
  const Arguments command = root.add_command("explain", "each term: formula, symbols, values, share");
  command.text("STRATEGY", words->strategy,
               {.help = "data, data+filter ...; -s or --grid may name it instead", .required = true});
  command.text("MODEL", words->model, {.help = "name in models/, a path, or gpt:layers=24,hidden=..."});
  command.flag("--layers", words->layers,
               {.help = "also show every layer, largest first; in table formats, only the layers"});
  command.flag("--bottlenecks", words->bottlenecks,
               {.help = "all limits and bottlenecks with value and trigger, and remedies"});
  command.texts(
      "--timeline", words->timelines,
      {.help = "draw the schedule of a pipeline, or the plan of data/ooc: FILE.svg, or FILE.json for "
               "Chrome and Perfetto; repeatable",
       .meta = "FILE"});
  words->options.define(command, {"grids", "columns", "sort"});
  command.footer(R"(Examples:
  paradl explain data resnet50 --on abci -p 64
  paradl explain data+filter vgg16 --on abci --grid data=16,filter=4 --layers
  paradl explain data+filter resnet50 --on abci --grid data=16,filter=4 --framework chainermn --bottlenecks
  paradl explain layer gpt2 --on dgx-a100 -p 4 -b 16 --micro-batches 8 --schedule 1f1b --timeline steps.svg
  paradl explain data/ooc resnet50 --on abci -p 4 -b 512/gpu
  paradl explain filter resnet50 --on abci-paper -p 4 -b 64 --fidelity paper)");
  command.runs(action, [&session, words] {
      return run(session, words->options, words->strategy, words->model, words->layers, words->bottlenecks,
                 words->timelines);
    });
}

}  // namespace paradl
