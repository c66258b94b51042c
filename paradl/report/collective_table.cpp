#include "paradl/report/collective_table.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "paradl/report/json.hpp"

namespace paradl {
namespace {

using Json = nlohmann::ordered_json;

std::string_view fidelity_name(NetworkFidelity fidelity) { return network_fidelities[std::size_t(fidelity)]; }

/// Results of one number of GPUs and one size, in the order of algorithms.
using Question = std::pair<int, double>;
std::vector<std::pair<Question, std::vector<const CollectiveResult*>>> by_question(
    const std::vector<CollectiveResult>& results) {
  std::vector<std::pair<Question, std::vector<const CollectiveResult*>>> groups;
  for (const CollectiveResult& r : results) {
    const Question question{r.gpus, r.bytes.base()};
    const auto known = std::ranges::find(groups, question, [](const auto& group) { return group.first; });
    if (known == groups.end())
      groups.push_back({question, {&r}});
    else
      known->second.push_back(&r);
  }
  return groups;
}

/// Fastest first, without algorithms that cannot do the operation.
std::vector<const CollectiveResult*> ranked(std::vector<const CollectiveResult*> group) {
  std::erase_if(group, [](const CollectiveResult* r) { return !r->refused.empty(); });
  std::ranges::stable_sort(group, {}, [](const CollectiveResult* r) { return r->cost.timing.time; });
  return group;
}

/// The number of the footnote with this reason; equal reasons share one.
int note_of(Table& table, const std::string& reason) {
  const auto known = std::ranges::find(table.notes, reason);
  if (known == table.notes.end()) {
    table.notes.push_back(reason);
    return int(table.notes.size());
  }
  return int(known - table.notes.begin()) + 1;
}

/// The algorithms with too many messages to be compared.
std::string left_out(const std::vector<const CollectiveResult*>& group) {
  std::vector<std::string> names;
  for (const CollectiveResult* r : group)
    if (r->too_large) names.push_back(r->algorithm_text());
  if (names.empty()) return "";
  return fmt::format(
      "left out because {} ranks have too many messages to route: {}; --fidelity closed-form compares "
      "formulas",
      group.front()->gpus, fmt::join(names, ", "));
}

std::string name_of(const CollectiveResult& r) {
  return r.chosen.empty() ? r.algorithm_text() : fmt::format("{} ({})", r.algorithm_text(), r.chosen);
}

/// Rounded to twelve digits, because a sum of shares has rounding errors: 63, not 63.00000000000004.
double without_noise(double phi) { return std::stod(fmt::format("{:.12g}", phi)); }

/// Not next to a closed form whose schedule is too large to build.
bool knows_steps(const CollectiveResult& r) { return r.cost.steps > 0 || r.gpus == 1; }
void add_steps(const CollectiveResult& r, Row& row) {
  row.values.resize(row.values.size() + 2);
  if (!knows_steps(r)) return;
  row.values.end()[-2] = without_noise(r.cost.timing.phi);
  row.values.back() = double(r.cost.steps);
}

/// The last columns of a row: times with other jobs, and the energy of cables.
const std::vector<Column> last_columns{{"congested_low", "congested from", Holds::seconds, 6},
                                       {"congested_typical", "typical", Holds::seconds, 6},
                                       {"congested_high", "up to", Holds::seconds, 6},
                                       {"energy", "energy", Holds::joules, 6}};
void add_last(const CollectiveResult& r, Row& row) {
  const std::size_t first = row.values.size();
  row.values.resize(first + last_columns.size());  // empty by default
  if (r.congested)
    for (std::size_t i = 0; const Seconds time : {r.congested->low, r.congested->typical, r.congested->high})
      row.values[first + i++] = time.base();
  if (r.cost.joules) row.values.back() = *r.cost.joules;
}

Json result(const CollectiveResult& r) {
  Json out{{"operation", r.operation_text()},
           {"algorithm", r.algorithm_text()},
           {"topology", r.topology},
           {"gpus", r.gpus},
           {"bytes", std::llround(r.bytes.base())},
           {"fidelity", fidelity_name(r.fidelity)},
           {"links", r.measured_links() ? "measured" : "specified"}};
  if (!r.stands_in.empty()) out["links_of"] = r.stands_in;
  if (!r.refused.empty()) {
    out["refused"] = r.refused;
    return out;
  }
  out["time_s"] = r.cost.timing.time.base();
  if (r.cost.closed_form) out["closed_form_s"] = r.cost.closed_form->base();
  if (r.cost.link_load) out["link_load_s"] = r.cost.link_load->base();
  if (r.congested) {
    const auto& [low, typical, high] = *r.congested;
    out["congested_time_s"] = {{"low", low.base()}, {"typical", typical.base()}, {"high", high.base()}};
  }
  if (knows_steps(r)) {
    out["phi"] = without_noise(r.cost.timing.phi);
    out["steps"] = r.cost.steps;
  }
  out["bus_bandwidth_bytes_per_s"] = r.bus_bandwidth.base();
  if (r.cost.joules) out["energy_j"] = *r.cost.joules;
  if (!r.chosen.empty()) out["chosen"] = r.chosen;
  if (!r.wire.empty()) out["wire"] = r.wire;
  if (!r.remark.empty()) out["remark"] = r.remark;
  if (!r.left_out.empty()) out["left_out"] = r.left_out;
  return out;
}

}  // namespace

Table collective_table(const std::vector<CollectiveResult>& results) {
  Table table{.columns = {{"operation", "operation", Holds::text, 1},
                          {"algorithm", "algorithm", Holds::text, 9},
                          {"topology", "topology", Holds::text, 0},
                          {"gpus", "gpus", Holds::count, 9},
                          {"size", "size", Holds::message, 9},
                          {"fidelity", "fidelity", Holds::text, 1},
                          {"time", "time", Holds::seconds, 9},
                          {"closed_form", "closed form", Holds::seconds, 6},
                          {"phi", "phi", Holds::count, 7},
                          {"steps", "steps", Holds::count, 7},
                          {"bus_bandwidth", "bus bandwidth", Holds::bandwidth, 8}}};
  table.columns.insert(table.columns.end(), last_columns.begin(), last_columns.end());
  for (const CollectiveResult& r : results) {
    Row row{.values = {r.operation_text(), name_of(r), r.topology, double(r.gpus), r.bytes.base(),
                       std::string(fidelity_name(r.fidelity))}};
    if (r.refused.empty()) {
      row.values.emplace_back(r.cost.timing.time.base());
      row.values.push_back(r.cost.closed_form ? Value{r.cost.closed_form->base()} : Value{});
      add_steps(r, row);
      row.values.emplace_back(r.bus_bandwidth.base());
      add_last(r, row);
      if (!r.remark.empty())
        row.notes.push_back(note_of(table, fmt::format("{}: {}", r.algorithm_text(), r.remark)));
    } else {
      row.emphasis = Emphasis::infeasible;
      row.notes.push_back(note_of(table, r.refused));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table collective_comparison(const std::vector<CollectiveResult>& results) {
  Table table{.columns = {{"gpus", "gpus", Holds::count, 9}, {"size", "size", Holds::message, 9}}};
  const auto groups = by_question(results);
  if (groups.empty()) return table;
  for (const CollectiveResult* r : groups.front().second)
    table.columns.push_back({r->algorithm_text(), r->algorithm_text(), Holds::seconds, 5});
  table.columns.push_back({"best", "best", Holds::text, 9});
  table.columns.push_back({"bus_bandwidth", "bus bandwidth", Holds::bandwidth, 8});
  table.columns.insert(table.columns.end(), last_columns.begin(), last_columns.end());
  for (const auto& [question, group] : groups) {
    Row row{.values = {double(question.first), question.second}};
    for (const CollectiveResult* r : group) {
      if (r->refused.empty()) {
        row.values.emplace_back(r->cost.timing.time.base());
        if (!r->remark.empty())
          row.notes.push_back(note_of(table, fmt::format("{}: {}", r->algorithm_text(), r->remark)));
      } else {
        row.values.emplace_back();
        row.notes.push_back(note_of(table, r->refused));
      }
    }
    if (const auto order = ranked(group); !order.empty()) {
      row.values.emplace_back(name_of(*order.front()));
      row.values.emplace_back(order.front()->bus_bandwidth.base());
      add_last(*order.front(), row);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::vector<CollectiveResult> best_of(const std::vector<CollectiveResult>& results) {
  std::vector<CollectiveResult> out;
  for (const auto& [question, group] : by_question(results))
    if (const auto order = ranked(group); !order.empty()) {
      out.push_back(*order.front());
      for (const CollectiveResult* r : group)
        if (r->too_large) out.back().left_out.push_back(r->algorithm_text());
    }
  return out;
}

Table best_collectives(const std::vector<CollectiveResult>& results) {
  Table table{.columns = {{"gpus", "gpus", Holds::count, 9},
                          {"size", "size", Holds::message, 9},
                          {"best", "best", Holds::text, 9},
                          {"time", "time", Holds::seconds, 9},
                          {"phi", "phi", Holds::count, 5},
                          {"steps", "steps", Holds::count, 5},
                          {"bus_bandwidth", "bus bandwidth", Holds::bandwidth, 8},
                          {"next", "next best", Holds::text, 6},
                          {"behind", "slower by", Holds::share, 6}}};
  table.columns.insert(table.columns.end(), last_columns.begin(), last_columns.end());
  for (const auto& [question, group] : by_question(results)) {
    const auto order = ranked(group);
    Row row{.values = {double(question.first), question.second}};
    if (!order.empty()) {
      const CollectiveResult& best = *order.front();
      row.values.emplace_back(name_of(best));
      row.values.emplace_back(best.cost.timing.time.base());
      add_steps(best, row);
      row.values.emplace_back(best.bus_bandwidth.base());
      row.values.resize(row.values.size() + 2);  // empty if there is no next best
      if (order.size() > 1) {
        row.values.end()[-2] = name_of(*order[1]);
        if (best.cost.timing.time > Seconds{})
          row.values.back() = order[1]->cost.timing.time / best.cost.timing.time - 1;
      }
      add_last(best, row);
      if (!best.remark.empty())
        row.notes.push_back(note_of(table, fmt::format("{}: {}", best.algorithm_text(), best.remark)));
    }
    if (const std::string absent = left_out(group); !absent.empty())
      row.notes.push_back(note_of(table, absent));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Json collective_json(const std::vector<std::string>& command, const std::vector<InputFile>& inputs,
                     const std::vector<CollectiveResult>& results) {
  Json out = json_header("paradl.collective/1", command, inputs);
  out["results"] = Json::array();
  for (const CollectiveResult& r : results) out["results"].push_back(result(r));
  return out;
}

}  // namespace paradl
