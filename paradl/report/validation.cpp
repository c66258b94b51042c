#include "paradl/report/validation.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "paradl/core/format.hpp"
#include "paradl/report/json.hpp"

namespace paradl {
namespace {

using Json = nlohmann::ordered_json;

std::string counted(double n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

Value gap(const std::optional<Judged::Part>& part) { return part ? Value{part->gap()} : Value{}; }

Table tally_table(const std::string& title, const std::vector<Tally>& tallies) {
  Table table{.columns = {{"name", title, Holds::text, 9},
                          {"runs", "runs", Holds::count, 8},
                          {"mean", "mean", Holds::share, 7},
                          {"median", "median", Holds::share, 6},
                          {"worst", "worst", Holds::share, 5}}};
  for (const Tally& t : tallies)
    table.rows.push_back({.values = {t.name, double(t.n), t.mean, t.median, t.worst}});
  return table;
}

/// Coverage of projections with parameters fitted without their runs. Nothing if the file's are of another
/// level.
std::optional<Coverage> unseen_coverage(const Validation& v) {
  for (std::size_t i = 0; i < v.runs.size(); ++i)
    if (v.runs[i].left_out && !v.judged[i].left_out) return {};
  return left_out_coverage(v.judged, v.levels);
}

/// How many runs the 90 % intervals hold.
std::string coverage_text(const Validation& v) {
  const Coverage known = coverage(v.judged, v.levels, v.recorded);
  const Coverage left_out = unseen_coverage(v).value_or(Coverage{});
  const bool unseen =
      std::ranges::all_of(v.judged, [](const Judged& run) { return run.left_out.has_value(); });
  std::string out;
  const bool own = std::ranges::all_of(v.levels, [&](const ParameterLevel& level) {
    return std::ranges::find(v.recorded, level, &RecordedError::level) != v.recorded.end();
  });
  if (known.n > 0)
    out += fmt::format("The recorded 90 % intervals{} hold {} of {} runs ({}).\n",
                       own ? "" : " of the nearest levels", known.inside, known.n, percent(known.share()));
  if (left_out.n > 0)
    out += fmt::format("Intervals recorded without the curve of a run hold {} of {} runs ({}){}.\n",
                       left_out.inside, left_out.n, percent(left_out.share()),
                       unseen ? ", projected with parameters fitted without it"
                              : ", projected with the parameters of the files");
  return out;
}

/// The mean error of each part, in per cent of the measured iteration.
std::string attribution_text(const std::vector<Judged>& runs) {
  double n = 0, compute = 0, communication = 0, unexplained = 0;
  for (const Judged& run : runs) {
    if (!run.unexplained()) continue;
    ++n;
    compute += run.compute->gap() / run.measured.base();
    communication += run.communication->gap() / run.measured.base();
    unexplained += *run.unexplained() / run.measured;
  }
  std::string out;
  if (n > 0)
    out += fmt::format(
        "Error ((projected - measured) / measured iteration; mean of {}): computation {:+.1f} %, "
        "communication {:+.1f} %, unexplained {:+.1f} %.\n",
        counted(n, "run"), 100 * compute / n, 100 * communication / n, 100 * unexplained / n);
  double with_memory = 0, memory = 0;
  for (const Judged& run : runs)
    if (run.memory) ++with_memory, memory += run.memory->gap() / run.memory->measured;
  if (with_memory > 0)
    out += fmt::format("Memory: {:+.1f} % of the measured memory, mean of {}.\n", 100 * memory / with_memory,
                       counted(with_memory, "run"));
  return out;
}

std::string partial_text(const std::vector<Judged>& runs) {
  const auto partial = std::ranges::count_if(runs, &Judged::partial);
  if (partial == 0) return "";
  return fmt::format(
      "For {} runs only some terms were measured: measured and projected are the sums of these terms.\n",
      partial);
}

std::string without_row_text(const std::map<std::string, int>& without_row) {
  if (without_row.empty()) return "";
  std::vector<std::string> listed;
  for (const auto& [strategy, runs] : without_row)
    listed.push_back(fmt::format("{} of {}", counted(runs, "run"), strategy));
  return fmt::format("Not counted, because the paper has no closed form for them: {}.\n",
                     fmt::join(listed, ", "));
}

Json number(const std::optional<Judged::Part>& part) {
  return part ? Json{{"measured", part->measured}, {"projected", part->projected}} : Json();
}

Json row_json(const Validation& validation, std::size_t i) {
  const MeasuredRun& run = validation.runs[i];
  const Judged& judged = validation.judged[i];
  Json out{{"model", run.model}, {"system", run.system}, {"strategy", run.strategy},
           {"grid", run.grid},   {"gpus", run.gpus},     {"batch", run.batch}};
  if (run.iteration) out["iteration_s"] = run.iteration->base();
  if (run.compute) out["compute_s"] = run.compute->base();
  if (run.communication) out["communication_s"] = run.communication->base();
  for (const auto& [term, time] : run.terms) out[term + "_s"] = time.base();
  if (run.memory) out["memory_bytes"] = run.memory->base();
  for (const auto& [key, value] : run.options) {
    std::string column = key;
    std::ranges::replace(column, '-', '_');
    out[column] = value;
  }
  if (!run.source.empty()) out["source"] = run.source;
  if (!run.notes.empty()) out["notes"] = run.notes;
  out["projected_s"] = judged.projected.base();
  out["accuracy"] = judged.accuracy();
  Json parts = Json::object();
  if (judged.compute) parts["compute_s"] = number(judged.compute);
  if (judged.communication) parts["communication_s"] = number(judged.communication);
  for (std::size_t t = 0; t < terms; ++t)
    if (judged.by_term[t]) parts[fmt::format("{}_s", term_names[t].json)] = number(judged.by_term[t]);
  if (judged.memory) parts["memory_bytes"] = number(judged.memory);
  if (judged.unexplained()) parts["unexplained_s"] = judged.unexplained()->base();
  if (!parts.empty()) out["parts"] = parts;
  if (run.left_out) out["left_out_s"] = run.left_out->base();
  const auto error = expected_error(validation.recorded, validation.levels[i], judged);
  if (error && !judged.partial) {
    const double low = error->low * judged.projected.base(), high = error->high * judged.projected.base();
    out["interval_s"] = {{"share", 0.9},
                         {"low", low},
                         {"high", high},
                         {"holds", judged.measured.base() >= low && judged.measured.base() <= high},
                         {"runs", error->runs}};
  }
  return out;
}

Json coverage_json(const Coverage& c) { return {{"inside", c.inside}, {"n", c.n}, {"share", c.share()}}; }

Json tallies_json(const std::vector<Tally>& tallies) {
  Json out = Json::object();
  for (const Tally& t : tallies)
    out[t.name] = {{"mean", t.mean}, {"n", t.n}, {"median", t.median}, {"worst", t.worst}};
  return out;
}

/// Whether some runs differ only in their grids, so that the table needs a column for them.
bool several_grids(const std::vector<MeasuredRun>& runs) {
  std::map<std::string, std::string> known;
  return std::ranges::any_of(runs, [&](const MeasuredRun& run) {
    const std::string key = fmt::format("{} {} {} {}", run.panel(), run.system, run.gpus, run.batch);
    return known.emplace(key, run.grid).first->second != run.grid;
  });
}

}  // namespace

Table validation_table(const Validation& validation) {
  Table table{.columns = {{"model", "model", Holds::text, 9},
                          {"system", "system", Holds::text, 5},
                          {"strategy", "strategy", Holds::text, 9},
                          {"grid", "grid", Holds::shape, 3},
                          {"gpus", "gpus", Holds::count, 9},
                          {"batch", "batch", Holds::shape, 4},
                          {"measured", "measured", Holds::seconds, 8},
                          {"projected", "projected", Holds::seconds, 8},
                          {"accuracy", "accuracy", Holds::share, 8},
                          {"compute_gap", "compute gap", Holds::seconds, 3},
                          {"communication_gap", "comm gap", Holds::seconds, 3},
                          {"gradient_gap", "gradient gap", Holds::seconds, 3},
                          {"activation_gap", "activation gap", Holds::seconds, 3},
                          {"halo_gap", "halo gap", Holds::seconds, 3},
                          {"transfer_gap", "transfer gap", Holds::seconds, 3},
                          {"unexplained", "unexplained", Holds::seconds, 2},
                          {"memory_gap", "memory gap", Holds::bytes, 2},
                          {"transport", "transport", Holds::text, 1}}};
  const bool systems = std::ranges::any_of(
      validation.judged, [&](const Judged& run) { return run.system != validation.judged.front().system; });
  const bool grids = several_grids(validation.runs);
  for (std::size_t i = 0; i < validation.judged.size(); ++i) {
    const Judged& run = validation.judged[i];
    const auto& options = validation.runs[i].options;
    const auto transport = options.find("transport");
    const std::string& grid = validation.runs[i].grid;
    table.rows.push_back(
        {.values = {run.model, systems ? Value{run.system} : Value{}, run.strategy,
                    grid.empty() || !grids ? Value{} : Value{grid}, double(run.gpus),
                    validation.runs[i].batch, run.measured.base(), run.projected.base(), run.accuracy(),
                    gap(run.compute), gap(run.communication), gap(run[Term::gradient_exchange]),
                    gap(run[Term::activation_exchange]), gap(run[Term::halo_exchange]),
                    gap(run[Term::stage_transfer]),
                    run.unexplained() && std::abs(run.unexplained()->base()) > 1e-3 * run.measured.base()
                        ? Value{run.unexplained()->base()}
                        : Value{},
                    gap(run.memory),
                    transport != options.end() && transport->second == "host" ? Value{transport->second}
                                                                              : Value{}}});
  }
  return without_empty_columns(std::move(table), {"model", "strategy", "gpus", "accuracy"});
}

std::string validation_text(const Validation& validation, const Style& style) {
  const std::vector<Judged>& runs = validation.judged;
  const Tally all = tally(runs, "");
  const auto worst = std::ranges::min_element(runs, {}, &Judged::accuracy);
  std::string out = fmt::format(
      "Accuracy (1 - |projected - measured| / measured): mean {:.1f} %, median {:.1f} %, worst {:.1f} % ({} "
      "{}, {}), {}.\n\n",
      100 * all.mean, 100 * all.median, 100 * all.worst, worst->model, worst->strategy,
      counted(worst->gpus, "GPU"), counted(double(all.n), "run"));
  out += to_text(validation_table(validation), style).text;
  out += "\n" + to_text(tally_table("strategy", by_strategy(runs)), style).text;
  out += "\n" + to_text(tally_table("model", by_model(runs)), style).text;
  out += "\n" + to_text(tally_table("gpus", by_gpus(runs)), style).text + "\n";
  if (const auto measured = by_term(runs); !measured.empty())
    out += to_text(tally_table("term", measured), style).text + "\n";
  out += partial_text(runs);
  out += without_row_text(validation.without_row);
  if (const Ranking order = ranking(runs); order.pairs > 0) {
    out += fmt::format(
        "Ranking: {} of {} pairs of strategies that differ by more than {:.0f} % are ordered as measured.\n",
        order.agree, order.pairs, 100 * clear_difference);
    for (const std::string& wrong : order.wrong) out += fmt::format("  ordered differently: {}\n", wrong);
  }
  out += attribution_text(runs);
  out += coverage_text(validation);
  return out + fmt::format("Based on {}.\n", fmt::join(validation.bases, "; "));
}

Json validation_json(const Validation& validation) {
  const std::vector<Judged>& runs = validation.judged;
  Json out = json_header("paradl.validation/1", validation.command, validation.inputs);
  out["results"] = Json::array();
  for (std::size_t i = 0; i < runs.size(); ++i) out["results"].push_back(row_json(validation, i));
  const Tally all = tally(runs, "");
  const Ranking order = ranking(runs);
  const std::optional<Coverage> left_out = unseen_coverage(validation);
  out["summary"] = {{"mean", all.mean},
                    {"median", all.median},
                    {"worst", all.worst},
                    {"n", all.n},
                    {"by_strategy", tallies_json(by_strategy(runs))},
                    {"by_model", tallies_json(by_model(runs))},
                    {"by_gpus", tallies_json(by_gpus(runs))},
                    {"by_term", tallies_json(by_term(runs))},
                    {"ranking", {{"pairs", order.pairs}, {"agree", order.agree}, {"wrong", order.wrong}}},
                    {"coverage",
                     {{"share", 0.9},
                      {"on_record", coverage_json(coverage(runs, validation.levels, validation.recorded))},
                      {"left_out", left_out && left_out->n > 0 ? coverage_json(*left_out) : Json()}}},
                    {"based_on", validation.bases}};
  if (!validation.without_row.empty()) out["summary"]["not_counted"] = validation.without_row;
  return out;
}

}  // namespace paradl
