// Two of the three views of advise: what to optimise, and what to buy. (What to run is in advise.cpp.)
#include "paradl/cli/views.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "paradl/cli/basis.hpp"
#include "paradl/core/format.hpp"
#include "paradl/judge/sensitivity.hpp"
#include "paradl/query/examiner.hpp"
#include "paradl/query/words.hpp"
#include "paradl/report/bottleneck_table.hpp"
#include "paradl/report/json.hpp"

namespace paradl {
namespace {

using Json = nlohmann::ordered_json;

constexpr double nothing = 5e-4;         // share of the epoch that counts as no effect
constexpr double worth_telling = 0.005;  // share of the epoch for the first line

std::string plan_line(const Oracle& oracle, const Projection& best) {
  return fmt::format("{} on {}, {} GPU{}: the best plan is {} {}, {} per epoch\n", oracle.about().work.name,
                     oracle.about().machine.name, best.gpus, best.gpus == 1 ? "" : "s", best.strategy(),
                     grid_text(best.plan.mesh, true), text(best.epoch()));
}

std::string basis(const Oracle& oracle, const Answer& answer) {
  return fmt::format("Layer times: {}. Links: {}.{}\nAccuracy: {}\n", oracle.about().times.source,
                     links_text(oracle.about()), framework_text(oracle.about()),
                     accuracy_text(answer, answer.results.front()));
}

/// The tables of these views have their own columns.
void refuse_columns(const Options& options) {
  for (const char* key : {"columns", "sort"})
    if (options.typed(key))
      throw UsageError(fmt::format("--{} applies only to the table of strategies", key),
                       "leave it out, or leave --for out");
}

/// The answer of `advise` with one more field.
void deliver_view(const Session& session, const Options& options, const Answer& answer, const char* view,
                  const char* field, const Json& value, const std::function<Table(ReadBy)>& table,
                  const std::function<std::string(const Style&)>& people) {
  const auto json = [&] {
    Json out = to_json(answer);
    out["view"] = view;
    out[field] = value;
    return out;
  };
  deliver(session, options, {.text = people, .table = table, .json = json}, {.read = answer.read});
}

}  // namespace

View read_view(const std::string& word) {
  constexpr std::array<std::string_view, 3> views{"user", "framework", "system"};
  static_assert(names_every(View::system, views), "name every View");
  if (const auto found = find_name<View>(views, word)) return *found;
  const std::string near = did_you_mean(word, {views.begin(), views.end()});
  throw UsageError(fmt::format("--for {}: unknown audience (user, framework, system)", word),
                   near.empty() ? "use --for user, framework or system" : near);
}

void tell_framework(const Session& session, const Options& options, const Oracle& oracle, Answer& answer) {
  refuse_columns(options);
  if (oracle.about().fidelity == Fidelity::paper)
    throw UsageError("--for is not available with --fidelity paper", "leave --fidelity paper out");
  const Projection& best = answer.results.front();
  const Examiner examiner = examiner_of(oracle, options.triggers());
  auto found = examiner.bottlenecks(best);
  for (Bottleneck& b : found) examiner.price(b, best);
  auto improvements = examiner.improvements(best, Owner::framework);
  std::erase_if(improvements, [](const Improvement& i) { return i.priced.gain < nothing; });
  if (options.wants(Prints::json)) {
    examine(answer, examiner);
    answer.bottlenecks.front() = found;
  }
  const bool worth = !improvements.empty() && improvements.front().priced.gain >= worth_telling;
  const auto table = [&](ReadBy reader) { return improvements_table(improvements, reader); };
  if (improvements.empty() && options.format().prints == Prints::table)
    hint(session, "no change of the framework makes the best plan faster");
  deliver_view(
      session, options, answer, "framework", "improvements", improvements_json(improvements), table,
      [&](const Style& style) {
        std::string out = !worth ? fmt::format("No change of the framework makes the best plan faster{}{}.\n",
                                               improvements.empty() ? "" : " by half a per cent",
                                               is_ideal(oracle.about().framework_spec.name)
                                                   ? ": it is the ideal one (name yours with --framework)"
                                                   : "")
                                 : fmt::format("Optimise first: {} ({}), a gain of {} of the epoch.\n",
                                               improvements.front().priced.change.text,
                                               improvements.front().priced.change.option,
                                               gain_text(improvements.front().priced.gain));
        out += "\n" + plan_line(oracle, best) + "\n";
        if (!improvements.empty()) {
          const Printed printed = to_text(table(ReadBy::people), style);
          hint(session, printed.hint);
          out += printed.text +
                 "\nGain: share of the epoch that is saved. Each change was projected alone, with its "
                 "option.\n";
        }
        for (const Bottleneck& b : found) out += bottleneck_text(b, 0);
        if (found.empty()) out += "No limit or bottleneck reaches its trigger.\n";
        return out + basis(oracle, answer);
      });
}

void tell_system(const Session& session, const Options& options, const Query& query, Library& library,
                 const Oracle& oracle, Answer& answer) {
  refuse_columns(options);
  Query same_training = query;
  // Nodes change but training does not, so a mini-batch per node is converted to the whole mini-batch.
  std::string same_batch;
  if (oracle.question().batch.per == BatchRule::Per::node) {
    same_training.batch = BatchRule{.per = BatchRule::Per::whole, .value = answer.results.front().plan.batch};
    same_batch = fmt::format("{:.0f}", answer.results.front().plan.batch);
  }
  auto swings = sensitivity(levers(oracle.about().system_spec, oracle.about().training.precision),
                            answer.results.front(), [&](const Override& change) -> std::optional<Projection> {
                              Query other = same_training;
                              add_change(other, change);
                              const auto results = ask(other, library).ranked();
                              if (results.empty() || !results.front().feasible()) return {};
                              return results.front();
                            });
  for (Swing& s : swings)
    for (auto* outcome : {&s.half, &s.twice})
      if (*outcome && !same_batch.empty()) (*outcome)->option += " -b " + same_batch;
  std::vector<Swing> shown;
  std::vector<std::string> idle;
  for (const Swing& s : swings) {
    if (s.size >= nothing)
      shown.push_back(s);
    else
      idle.push_back(s.lever.name);
  }
  if (options.wants(Prints::json)) examine(answer, examiner_of(oracle, options.triggers()));
  const auto table = [&](ReadBy reader) {
    return reader == ReadBy::machines ? sensitivity_table(swings, reader)
                                      : without_empty_columns(sensitivity_table(shown), {"parameter"});
  };
  deliver_view(
      session, options, answer, "system", "sensitivity", sensitivity_json(swings), table,
      [&](const Style& style) {
        const Projection& best = answer.results.front();
        const BestPlan* buy = nullptr;
        const Swing* of = nullptr;
        for (const Swing& s : swings)
          for (const auto* outcome : {&s.half, &s.twice})
            if (*outcome && (*outcome)->fits && (*outcome)->gain > (buy ? buy->gain : nothing))
              buy = &**outcome, of = &s;
        std::string out =
            buy ? fmt::format("Buy first: {} the {}, a gain of {} of the epoch.\n",
                              buy == &*of->twice ? "twice" : "half", of->lever.name, gain_text(buy->gain))
                : "No change of the machine makes the best plan faster.\n";
        out += "\n" + plan_line(oracle, best) + "\n";
        if (!shown.empty()) {
          const Printed printed = to_text(table(ReadBy::people), style);
          hint(session, printed.hint);
          out +=
              printed.text +
              "\nGain: share of this machine's epoch that is saved (below 0: lost), with the same mini-batch "
              "and the best strategy and grid each time.\n";
        }
        if (!idle.empty()) out += fmt::format("No effect, halved or doubled: {}.\n", fmt::join(idle, ", "));
        return out + basis(oracle, answer);
      });
}

}  // namespace paradl
