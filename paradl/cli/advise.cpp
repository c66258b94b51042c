// paradl advise: which strategy should I use?
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/cli/basis.hpp"
#include "paradl/cli/command.hpp"
#include "paradl/cli/views.hpp"
#include "paradl/core/format.hpp"
#include "paradl/core/text.hpp"
#include "paradl/judge/advice.hpp"
#include "paradl/judge/fitting.hpp"
#include "paradl/judge/plan_notes.hpp"
#include "paradl/judge/reason.hpp"
#include "paradl/query/verdict.hpp"
#include "paradl/query/words.hpp"
#include "paradl/report/bottleneck_table.hpp"
#include "paradl/report/expense_text.hpp"
#include "paradl/report/explanation.hpp"
#include "paradl/report/input_lines.hpp"
#include "paradl/report/out_of_core_plan.hpp"
#include "paradl/report/projection_table.hpp"

namespace paradl {
namespace {

std::string headline(const Oracle& oracle, const Answer& answer, const Verdict& verdict) {
  const Bytes device = oracle.about().machine.device.memory;
  const Projection& best = verdict.best;
  const auto use = [&](const std::string& what, const Projection& p) {
    const std::string margin = margin_text(p);
    return fmt::format("Use {}: {} per epoch, {} of {}{}{}.\n", what, text(p.epoch()),
                       text(p.cost->memory.total()), text(device), margin.empty() ? "" : "; ", margin);
  };
  if (const Remedy* remedy = verdict.instead())
    return use(fmt::format("{} with {}", remedy->of, remedy->words), remedy->projection) +
           fmt::format("As typed, only {} {} fits: {} per epoch, {:.2f} times as long.\n",
                       best.strategy(), grid_text(best.plan.mesh, true), text(best.epoch()),
                       best.epoch() / remedy->projection.epoch());
  if (best.feasible()) return use(best.strategy(), best);
  const Projection* smallest = nullptr;
  for (const Projection& p : answer.results)
    if (p.cost && (!smallest || p.cost->memory.total() < smallest->cost->memory.total())) smallest = &p;
  if (!smallest) return "Nothing fits: every strategy breaks a limit.\n";
  if (smallest->cost->memory.total() <= device && !storage_cure(oracle.setting(), best).empty())
    return fmt::format("Nothing fits: {}.\n", reasons(best, oracle.about().work));
  return fmt::format("As typed nothing fits: at least {} are needed ({}); the device has {}.\n",
                     text(smallest->cost->memory.total()), smallest->strategy(), text(device));
}

/// "resnet50 on abci, 64 GPUs, mini-batch 2048 (32/gpu), epoch of 1.28 M samples".
std::string subject(const Oracle& oracle, const Projection& best) {
  const BatchRule& rule = oracle.question().batch;
  const bool whole = rule.per == BatchRule::Per::whole;
  return fmt::format("{} on {}, {} GPU{}, mini-batch {}{}, epoch of {} samples", oracle.about().work.name,
                     oracle.about().machine.name, best.gpus, best.gpus == 1 ? "" : "s", best.plan.batch,
                     whole ? "" : fmt::format(" ({})", text_of(rule)), count(oracle.about().work.D));
}

bool exposes_input(const Projection& p) { return p.cost && (*p.cost)[Term::io] > Seconds{}; }

/// The bottlenecks of the best plan, with remedies.
std::string bottlenecks_text(const Verdict& verdict) {
  constexpr std::size_t most_remedies = 2;
  const std::vector<Bottleneck>& found = verdict.found;
  if (found.empty())
    return fmt::format("No limit or bottleneck: computation takes {} of the epoch.\n",
                       percent(verdict.best.cost->compute() / verdict.best.iteration()));
  std::string out;
  for (std::size_t i = 0; i < std::min(most_bottlenecks, found.size()); ++i)
    out += bottleneck_text(found[i], most_remedies);
  if (found.size() > most_bottlenecks)
    out += fmt::format("{} more: add --bottlenecks to the next command.\n", found.size() - most_bottlenecks);
  return out;
}

/// Repeats the typed options about machine and training, so that the next command asks about the same case.
std::string closing(const Oracle& oracle, const Answer& answer, const Verdict& verdict, const Query& query,
                    const Options& options) {
  const std::string again = options.repeated();
  std::string out;
  const std::string_view behind = hides_behind(answer.results, oracle.about().work);
  if (!behind.empty())
    out += fmt::format("Hidden exchanges overlap with {}: epoch = compute + comm - hidden{}.\n", behind,
                       std::ranges::any_of(answer.results, exposes_input) ? " + io" : "");
  const Remedy* instead = verdict.instead();
  const Projection& best = verdict.shown();
  if (best.feasible() && !instead) {
    out += bottlenecks_text(verdict);
    if (!verdict.whole_layers.empty())
      out += fmt::format("Layers that run whole on every GPU of an axis: {}.\n", verdict.whole_layers);
  }
  for (const std::string& note : plan_notes(oracle.setting(), best.plan))
    if (best.feasible()) out += fmt::format("{}: {}.\n", best.strategy(), note);
  if (best.input) out += input_sentence(oracle.setting(), best) + "\n";
  if (answer.costs && best.cost)
    out += fmt::format("Cost: {}.\n", expense_text(expense_of(answer, best), oracle.about().machine));
  if (const Projection& first = verdict.best;
      first.feasible() && first.out_of_core && first.out_of_core->plans()) {
    out += out_of_core_text(first, oracle.about().machine) + "\n";
    if (!instead && !answer.fitting.empty())
      out += fmt::format("In core, {}.\n", whole_text(answer.fitting.front(), first));
  }
  if (best.congested) out += fmt::format("With other jobs on the network: {}.\n", band_text(best));
  out += fmt::format(
      "Layer times: {}. Links: {}{}.{}\n", oracle.about().times.source, links_text(oracle.about()),
      !query.batch ? fmt::format("; mini-batch {} per GPU, from the model file", oracle.about().work.batch)
                   : "",
      framework_text(oracle.about()));
  if (const std::string allreduce = allreduce_basis(answer.results); !allreduce.empty())
    out += allreduce + "\n";
  if (best.timed()) out += fmt::format("Accuracy: {}\n", accuracy_text(answer, best));
  if (instead)
    out += fmt::format("Next: paradl explain {} --on {}{}{} {}\n", shell_word(*query.model),
                       shell_word(*query.system), best.plan.mesh.axes > 0 ? "" : " -p 1", again,
                       instead->option);
  else if (best.feasible())
    out += fmt::format("Next: paradl explain {} {} --on {} {}{}\n", best.strategy(),
                       shell_word(*query.model), shell_word(*query.system),
                       query.grid ? "--grid " + exact_grid(best.plan.mesh, oracle.about().work.input.dims)
                       : best.plan.mesh.axes > 1 ? "--grid " + grid_text(best.plan.mesh, false)
                                                 : fmt::format("-p {}", best.gpus),
                       again);
  return out;
}

/// The bottlenecks of every result, if a format shows them; those of the first one with remedies.
void add_bottlenecks(Answer& answer, const Examiner& examiner, const Options& options) {
  if (!options.wants_bottlenecks()) return;
  examine(answer, examiner);
  for (Bottleneck& b : answer.bottlenecks.front()) examiner.price(b, answer.results.front());
}

/// What to try if nothing fits.
std::string help_to_fit(const Oracle& oracle, const Answer& answer, const Verdict& verdict) {
  if (std::string cure = storage_cure(oracle.setting(), verdict.best); !cure.empty()) return cure;
  if (oracle.about().fidelity == Fidelity::paper)
    return "try a smaller --batch, more GPUs, or leave --fidelity paper out";
  return answer.fitting.empty() ? fitting_hint(answer.results, oracle.setting())
                                : text(answer.fitting.front());
}

int run(const Session& session, Options& options, const std::string& model, const std::string& audience) {
  const View view = read_view(audience);
  options.complete();
  hint(session, session.verbosity > 0 ? options.origins() : "");
  Query query = options.query();
  query.model = model;
  Library library(session.catalog);
  const Oracle oracle = ask(query, library);
  if (oracle.question().gpus.size() != 1)
    throw UsageError("advise answers for one number of GPUs", "use -p 64; `paradl project` takes ranges");

  const Setting setting = oracle.setting();
  Answer answer = start_answer(session, oracle.about());
  answer.setting = &setting;
  answer.results = oracle.ranked();  // plans with their costs, best first
  answer.ranked = true;
  if (answer.results.empty())
    throw UsageError("no strategy suits that number of GPUs", "try another -p, or leave -s out");
  const bool fits = answer.results.front().feasible();
  if (fits && view == View::framework) return tell_framework(session, options, oracle, answer), answered;
  if (fits && view == View::system)
    return tell_system(session, options, query, library, oracle, answer), answered;

  const Examiner examiner = examiner_of(oracle, options.triggers());
  const Projection& best = answer.results.front();
  const Verdict verdict =
      options.wants(Prints::text) ? verdict_of(oracle, best, examiner) : fitting_verdict(oracle, best);
  answer.fitting = verdict.fitting;
  sort_as_asked(answer, options);
  add_bottlenecks(answer, examiner, options);

  TextAround around;
  if (options.wants(Prints::text))
    around = {.before = headline(oracle, answer, verdict) + "\n" + subject(oracle, verdict.best) + "\n\n",
              .after = "\n" + closing(oracle, answer, verdict, query, options)};
  deliver_projections(session, options, answer, default_columns(answer, Shown::advise), around);
  if (!fits) hint(session, "help: " + help_to_fit(oracle, answer, verdict));
  return fits ? answered : answered_no;
}

}  // namespace

void define_advise(const Arguments& root, Session& session, Action& action) {
  struct Words {
    std::string model, audience = "user";
    Options options;
  };
  auto words = std::make_shared<Words>();
  const Arguments command = root.add_command("advise", "which strategy should I use? (start here)");
  command.text("MODEL", words->model,
               {.help = "name in models/, a path, or gpt:layers=24,hidden=...", .required = true});
  command.text(
      "--for", words->audience,
      {.help = "user (what to run; default), framework (what to optimise first), system (what to buy)",
       .meta = "WHOM"});
  words->options.define(command, {"grids"});
  command.footer(R"(Examples:
  paradl advise resnet50 --on abci -p 64
  paradl advise cosmoflow-512 --on abci -p 128 -b 1/node
  paradl advise vgg16 --on abci -p 64 --for framework
  paradl advise gpt2-xl --on dgx-a100 -p 32 -b 8/gpu --precision bf16 --optimizer adam)");
  command.runs(action,
               [&session, words] { return run(session, words->options, words->model, words->audience); });
}

}  // namespace paradl
