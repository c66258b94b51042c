// paradl project: a table of strategies and numbers of GPUs.
#include <algorithm>

#include <fmt/format.h>

#include "paradl/cli/basis.hpp"
#include "paradl/cli/command.hpp"
#include "paradl/judge/plan_notes.hpp"
#include "paradl/query/examiner.hpp"
#include "paradl/report/input_lines.hpp"
#include "paradl/report/projection_table.hpp"

namespace paradl {
namespace {

/// If one strategy and one number of GPUs were requested, a mini-batch that is too small is a usage error; in
/// a sweep it is an answer.
void refuse_starved(const Oracle& oracle, const std::vector<Projection>& results) {
  if (!oracle.question().named || oracle.question().strategies.size() != 1 ||
      oracle.question().gpus.size() != 1)
    return;
  const auto starved = [](const Limit& limit) { return !limit.holds() && limit.rule == LimitRule::samples; };
  const auto unfed = [&](const Projection& p) { return std::ranges::any_of(p.limits.all(), starved); };
  if (results.empty() || !std::ranges::all_of(results, unfed)) return;
  const Projection& p = results.front();
  const Limit& limit = *std::ranges::find_if(p.limits.all(), starved);
  throw UsageError(
      fmt::format("a mini-batch of {} is too small for {} GPUs under `{}`", p.plan.batch, limit.value,
                  p.strategy()),
      fmt::format("use --batch {0} or more, --batch 1/gpu, or another strategy (-s filter)", limit.value));
}

/// The cost of the fastest plan that fits; the table has the times of all.
std::string input_text(const Oracle& oracle, const std::vector<Projection>& results) {
  const auto best = std::ranges::min_element(results, better);
  if (best == results.end() || !best->input) return {};
  return input_sentence(oracle.setting(), *best) + "\n";
}

/// What the text says after the table: sources of the numbers, their accuracy, and notes on plans.
std::string closing(const Oracle& oracle, const Answer& answer) {
  const std::string allreduce = allreduce_basis(answer.results);
  const std::string on_record = records_text(answer);
  const bool judged = !from_ideal(answer) && std::ranges::any_of(answer.results, [&](const Projection& p) {
    return recorded_error(answer, p).has_value();
  });
  return fmt::format("Layer times: {}. Links: {}.{}{}{}{}\n", oracle.about().times.source,
                     links_text(oracle.about()), allreduce.empty() ? "" : " ", allreduce,
                     framework_text(oracle.about()),
                     judged ? " Intervals contain nine of ten runs (profiles/accuracy/recorded.csv)." : "") +
         (on_record.empty() ? "" : fmt::format("Accuracy: {}.\n", on_record)) +
         plan_notes_text(oracle.setting(), answer.results) + input_text(oracle, answer.results);
}

int run(const Session& session, Options& options, const std::string& model) {
  options.complete();
  hint(session, session.verbosity > 0 ? options.origins() : "");
  Query query = options.query();
  query.model = model;
  const Oracle oracle = ask(query, session.catalog);
  const Setting setting = oracle.setting();
  Answer answer = start_answer(session, oracle.about());
  answer.setting = &setting;
  answer.results = oracle.sweep();
  refuse_starved(oracle, answer.results);
  sort_as_asked(answer, options);
  if (options.wants_bottlenecks()) examine(answer, examiner_of(oracle, options.triggers()));
  TextAround around;
  if (options.wants(Prints::text)) around.after = "\n" + closing(oracle, answer);
  deliver_projections(session, options, answer, default_columns(answer, Shown::project), around);
  return answered;
}

}  // namespace

void define_project(const Arguments& root, Session& session, Action& action) {
  struct Words {
    std::string model;
    Options options;
  };
  auto words = std::make_shared<Words>();
  const Arguments command = root.add_command("project", "the table: time and memory for strategies x GPUs");
  command.text("MODEL", words->model,
               {.help = "name in models/, a path, or gpt:layers=24,hidden=...", .required = true});
  words->options.define(command);
  command.footer(R"(Examples:
  paradl project resnet50 --on abci -p 16..256
  paradl project vgg16 --on dgx-a100 -p 64 -s data,data+filter --grids all
  paradl project gpt3-175b --on selene -p 1024 -b 1024 --framework megatron --json)");
  command.runs(action, [&session, words] { return run(session, words->options, words->model); });
}

}  // namespace paradl
