#include "paradl/report/projection_table.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "paradl/judge/reason.hpp"
#include "paradl/report/result_fields.hpp"

namespace paradl {
namespace {

bool is_column(const ResultField& field) { return !field.column.title.empty(); }

const ResultField& column_field(const std::string& name) {
  if (const ResultField* field = find_result_field(name); field && is_column(*field)) return *field;
  const std::string near = did_you_mean(name, projection_columns());
  throw UsageError(fmt::format("no column is called `{}`", name),
                   near.empty() ? "`--columns help` lists them" : near);
}

/// Whether some results differ only in how they cut samples: strategy and grid do not distinguish them.
bool has_twins(const Answer& answer) {
  std::set<std::pair<std::string, std::string>> seen;
  return std::ranges::any_of(answer.results, [&](const Projection& p) {
    return !seen.emplace(p.strategy(), grid_text(p.plan.mesh, true)).second;
  });
}

bool is_default(Shown shown, Shown command, const Answer& answer) {
  switch (shown) {
    case Shown::by_name:
      return false;
    case Shown::project:
    case Shown::advise:
      return shown == command;
    case Shown::both:
      return true;
    case Shown::with_costs:
      return answer.costs;
    case Shown::with_cuts:
      return has_twins(answer);
    case Shown::with_intervals:
      return command == Shown::project && !from_ideal(answer);
  }
  return false;
}

}  // namespace

std::vector<std::string> projection_columns() {
  std::vector<std::string> ids;
  for (const ResultField& field : result_fields())
    if (is_column(field)) ids.push_back(field.column.id);
  return ids;
}

std::vector<std::string> default_columns(const Answer& answer, Shown command) {
  std::vector<std::string> ids;
  for (const ResultField& field : result_fields())
    if (is_default(field.shown, command, answer)) ids.push_back(field.column.id);
  return ids;
}

Table projection_table(const Answer& answer, const std::vector<std::string>& columns) {
  Table table;
  std::vector<const ResultField*> shown;
  for (const std::string& id : columns) {
    const ResultField& field = column_field(id);
    if (std::ranges::find(shown, &field) != shown.end())
      throw UsageError(fmt::format("--columns names `{}` twice", id), "name each column once");
    shown.push_back(&field);
    table.columns.push_back(shown.back()->column);
  }
  std::map<std::string, int> notes;
  int rank = 0;
  for (std::size_t i = 0; i < answer.results.size(); ++i) {
    const Projection& p = answer.results[i];
    Row row;
    for (const ResultField* field : shown) row.values.push_back(table_value(*field, {answer, i}));
    if (p.feasible() && answer.ranked) {
      row.mark = fmt::format("{}", ++rank);
      if (rank == 1) row.emphasis = Emphasis::best;
    }
    if (!p.feasible()) {
      row.emphasis = Emphasis::infeasible;
      const auto [note, fresh] =
          notes.emplace(footnote(p, answer.setting->work), int(table.notes.size()) + 1);
      if (fresh) table.notes.push_back(note->first);
      row.notes.push_back(note->second);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

void sort_results(Answer& answer, const std::string& column) {
  const ResultField& field = column_field(column);
  std::vector<std::pair<Value, Projection>> rows;
  bool timed = false, known = false;
  for (std::size_t i = 0; i < answer.results.size(); ++i) {
    rows.emplace_back(table_value(field, {answer, i}), answer.results[i]);
    timed |= answer.results[i].timed();
    known |= !std::holds_alternative<std::monostate>(rows.back().first);
  }
  if (timed && !known)
    throw UsageError(fmt::format("--sort {}: no row has a value there", column), field.cure);
  const Holds holds = field.column.holds;
  const bool descending = holds == Holds::rate || holds == Holds::share || holds == Holds::flops;
  std::ranges::stable_sort(rows, [&](const auto& a, const auto& b) {
    const auto &x = a.first, &y = b.first;
    if (x.index() != y.index()) return x.index() > y.index();  // rows without a value last
    return descending ? y < x : x < y;
  });
  for (std::size_t i = 0; i < rows.size(); ++i) answer.results[i] = std::move(rows[i].second);
}

}  // namespace paradl
