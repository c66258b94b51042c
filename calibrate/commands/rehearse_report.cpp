#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "calibrate/commands/rehearse.hpp"
#include "calibrate/measure/layer_plan.hpp"
#include "calibrate/measure/layers.hpp"
#include "paradl/core/format.hpp"
#include "paradl/report/json.hpp"

namespace paradl::calibrate {
namespace {

using Json = nlohmann::ordered_json;

/// The measured and the projected time of a term. A clock cannot separate the time that a stage waits from
/// the time of the transfer, so the bubble includes both.
struct TermPair {
  Term term;
  Seconds measured, projected;
};

std::vector<TermPair> terms_of(const Rehearsed& r) {
  std::vector<TermPair> out;
  for (std::size_t t = 0; t < terms; ++t) {
    const Term term = Term(t);
    if (term == Term::stage_transfer) continue;
    TermPair pair{term, r.spent[t], (*r.projection->cost)[term]};
    if (term == Term::bubble) {
      pair.measured += r.spent[std::size_t(Term::stage_transfer)];
      pair.projected += (*r.projection->cost)[Term::stage_transfer];
    }
    // Terms without projected time and with hardly any measured time are left out.
    if (pair.projected > Seconds{} || pair.measured > 1e-3 * r.measured) out.push_back(pair);
  }
  return out;
}

std::vector<const Rehearsed*> timed(const Rehearsal& rehearsal) {
  std::vector<const Rehearsed*> out;
  for (const Rehearsed& r : rehearsal.results)
    if (r.timed()) out.push_back(&r);
  return out;
}

struct Summary {
  const Rehearsed *worst_of = nullptr, *fastest = nullptr, *projected_fastest = nullptr;
};

Summary summary_of(const Rehearsal& rehearsal) {
  Summary out;
  const auto results = timed(rehearsal);
  for (const Rehearsed* r : results) {
    if (!out.worst_of || r->accuracy() < out.worst_of->accuracy()) out.worst_of = r;
    if (!out.fastest || r->measured < out.fastest->measured) out.fastest = r;
    if (!out.projected_fastest || r->projection->iteration() < out.projected_fastest->projection->iteration())
      out.projected_fastest = r;
  }
  return out;
}

Table results_table(const Rehearsal& rehearsal) {
  Table table{.columns = {{"strategy", "strategy", Holds::text, 9},
                          {"grid", "grid", Holds::shape, 8},
                          {"measured", "measured", Holds::seconds, 9},
                          {"projected", "projected", Holds::seconds, 9},
                          {"accuracy", "accuracy", Holds::share, 9},
                          {"result", "result", Holds::text, 9},
                          {"difference", "difference", Holds::text, 5}}};
  for (const Rehearsed& r : rehearsal.results) {
    Row row{.values = {r.candidate.strategy.text, grid_text(r.candidate.mesh, true)}};
    if (!r.refused.empty()) {
      row.emphasis = Emphasis::infeasible;
      table.notes.push_back(r.refused);
      row.notes.push_back(int(table.notes.size()));
      table.rows.push_back(std::move(row));
      continue;
    }
    if (r.timed())
      row.values.insert(row.values.end(),
                        {r.measured.base(), r.projection->iteration().base(), r.accuracy()});
    else
      row.values.resize(5);
    row.values.emplace_back(std::string(r.correct ? "right" : "WRONG"));
    row.values.emplace_back(fmt::format("{:.1e}", r.difference.largest));
    if (!r.correct) {
      row.emphasis = Emphasis::infeasible;
      table.notes.push_back(
          fmt::format("differs from the run on one rank most in the {}", r.difference.where));
      row.notes.push_back(int(table.notes.size()));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table terms_table(const Rehearsal& rehearsal) {
  Table table{.columns = {{"strategy", "strategy", Holds::text, 9},
                          {"term", "term", Holds::text, 9},
                          {"measured", "measured", Holds::seconds, 9},
                          {"projected", "projected", Holds::seconds, 9}}};
  for (const Rehearsed* r : timed(rehearsal)) {
    std::string name = r->candidate.strategy.text;
    for (const TermPair& pair : terms_of(*r)) {
      table.rows.push_back({.values = {name, std::string(term_names[std::size_t(pair.term)].title),
                                       pair.measured.base(), pair.projected.base()}});
      name.clear();
    }
  }
  return table;
}

std::string first_line(const Rehearsal& rehearsal) {
  const auto wrong = std::ranges::count_if(
      rehearsal.results, [](const Rehearsed& r) { return r.refused.empty() && !r.correct; });
  const auto run =
      std::ranges::count_if(rehearsal.results, [](const Rehearsed& r) { return r.refused.empty(); });
  if (wrong > 0) return fmt::format("{} of {} strategies gave a wrong result.\n", wrong, run);
  if (run == 0) return "No strategy could be run.\n";
  const Summary s = summary_of(rehearsal);
  if (!s.fastest)
    return run == 1 ? "The strategy gave the result of one rank.\n"
                    : fmt::format("All {} strategies gave the result of one rank.\n", run);
  std::string out =
      fmt::format("{} is fastest: {} per iteration, {} projected", s.fastest->candidate.strategy.text,
                  text(s.fastest->measured), text(s.fastest->projection->iteration()));
  if (timed(rehearsal).size() > 1)
    out += s.fastest == s.projected_fastest
               ? ", as projected"
               : fmt::format("; projected to be fastest: {}", s.projected_fastest->candidate.strategy.text);
  return out + ".\n";
}

std::string last_lines(const RehearsalJob& job, const Rehearsal& rehearsal) {
  const Summary s = summary_of(rehearsal);
  if (!s.worst_of) return "";
  const std::string links = job.how.machine ? job.how.machine->name : "measured together with the runs";
  return fmt::format(
      "\nAccuracy (1 - |projected - measured| / measured): mean {}, worst {} ({}). The ranking {}.\n"
      "Layer times: {}. Links: {}.\n",
      percent(mean_accuracy(rehearsal)), percent(s.worst_of->accuracy()), s.worst_of->candidate.strategy.text,
      ranking_agrees(rehearsal.results) ? "agrees" : "does NOT agree", rehearsal.times.source, links);
}

Json result_json(const Rehearsed& r, const RehearsalJob& job) {
  Json out{{"model", job.work.name}, {"strategy", r.candidate.strategy.text}, {"grid", Json::object()}};
  const Mesh& mesh = r.candidate.mesh;
  for (int a = 0; a < mesh.axes; ++a)
    out["grid"][std::string(mesh.axis[std::size_t(a)].strategy->name)] =
        mesh.axis[std::size_t(a)].parts.total;
  out["ranks"] = job.ranks;
  out["batch"] = std::int64_t(job.how.plan.batch);
  if (!r.refused.empty()) {
    out["refused"] = r.refused;
    return out;
  }
  if (r.timed()) {
    out["measured_s"] = r.measured.base();
    out["projected_s"] = r.projection->iteration().base();
    out["accuracy"] = r.accuracy();
  }
  out["correct"] = r.correct;
  out["max_relative_difference"] = r.difference.largest;
  if (!r.correct) out["differs_in"] = r.difference.where;
  if (r.timed())
    for (const TermPair& pair : terms_of(r))
      out["terms"][std::string(term_names[std::size_t(pair.term)].json)] = {
          {"measured_s", pair.measured.base()}, {"projected_s", pair.projected.base()}};
  return out;
}

Json rehearsal_json(const Session& session, const RehearsalJob& job, const Rehearsal& rehearsal) {
  Json out = json_header("paradl.rehearsal/1", session.arguments, {});
  out["results"] = Json::array();
  for (const Rehearsed& r : rehearsal.results) out["results"].push_back(result_json(r, job));
  out["summary"] = Json::object();
  if (summary_of(rehearsal).worst_of)
    out["summary"] = {{"mean", mean_accuracy(rehearsal)},
                      {"worst", worst_accuracy(rehearsal)},
                      {"ranking_agrees", ranking_agrees(rehearsal.results)}};
  return out;
}

std::string ranks_and_batch(const RehearsalJob& job) {
  return fmt::format("{} rank{}, mini-batch {}", job.ranks, job.ranks == 1 ? "" : "s", job.how.plan.batch);
}

}  // namespace

Output rehearsal_answer(const Session& session, const RehearsalJob& job, const Rehearsal& rehearsal) {
  const auto table = [&](ReadBy) { return without_empty_columns(results_table(rehearsal)); };
  const auto text = [&, table](const Style& style) {
    std::string out = fmt::format("{}\n{}, {}\n\n{}", first_line(rehearsal), job.work.name,
                                  ranks_and_batch(job), to_text(table(ReadBy::people), style).text);
    if (summary_of(rehearsal).worst_of) out += "\n" + to_text(terms_table(rehearsal), style).text;
    return out + last_lines(job, rehearsal);
  };
  return {.text = text, .table = table, .json = [&] { return rehearsal_json(session, job, rehearsal); }};
}

std::string rehearsal_plan(const RehearsalJob& job, const DeviceFacts& facts, const Rates& rates) {
  const RehearsalOptions& how = job.how;
  const auto turn_of = [&](const std::set<LocalLayer>& shapes) {
    Seconds sum;
    for (const LocalLayer& layer : shapes) sum += guessed_turn(layer, rates);
    return sum;
  };
  std::vector<Mesh> meshes{{}};
  const Seconds alone = turn_of(shapes_on(job.work, meshes, how.training, how.plan));
  for (const Candidate& c : job.candidates) meshes.push_back(without_ones(c.mesh));
  const auto shapes = shapes_on(job.work, meshes, how.training, how.plan);
  const double n = double(job.candidates.size());
  Seconds time = (n + 1) * alone;  // the check
  if (how.timed)
    time += how.rounds * ((how.turns + 1) * turn_of(shapes) + n * (how.iterations + 1) * alone +
                          (job.ranks > 1 && !how.machine ? how.link_time : Seconds{}));
  double flop = 0;
  for (const Layer& layer : job.work.layers) flop += 6 * layer.macs * how.plan.batch;
  std::string out = fmt::format("Would rehearse {} on {}, {}, {}:\n", job.work.name, device_text(facts),
                                ranks_and_batch(job), about(time));
  for (const Candidate& c : job.candidates)
    out += fmt::format("  {:14} {}\n", c.strategy.text, grid_text(c.mesh, false));
  if (!how.timed)
    return out + fmt::format("once ({} flop), and compare the result with one rank.\n", count(flop));
  return out +
         fmt::format(
             "in {} round{} of {} iterations each ({} flop an iteration), and measure {} layer shapes and "
             "the links in every round.\n",
             how.rounds, how.rounds == 1 ? "" : "s", how.iterations, count(flop), shapes.size());
}

}  // namespace paradl::calibrate
