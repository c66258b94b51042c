#include "paradl/report/projection_table.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "paradl/judge/reason.hpp"
#include "paradl/strategy/table.hpp"

namespace paradl {
namespace {

using Get = Value (*)(const Projection&, const Answer&);

struct Field {
  Column column;
  Get get;
  const char* cure = "";  // how to get a value if no row has one
};

Value epoch_of(const Projection& p, Seconds per_iteration) { return (p.iterations * per_iteration).base(); }

template <std::size_t T>
Value term(const Projection& p, const Answer&) {
  if (Term(T) == Term::io && p.input && !p.input->known) return {};
  return epoch_of(p, p.cost->exposed[T]);
}

/// On a narrow terminal, small terms are dropped first, then computation, which is similar for all
/// strategies, then exchanges.
constexpr int term_importance(Term term) {
  if (term == Term::forward || term == Term::backward) return 3;
  return is_communication(term) || term == Term::bubble ? 4 : 2;
}

template <std::size_t... T>
std::vector<Field> term_fields(std::index_sequence<T...>) {
  std::vector<Field> out;
  (out.push_back({{std::string(term_names[T].json), std::string(term_names[T].column), Holds::seconds,
                   term_importance(Term(T))},
                  term<T>,
                  Term(T) == Term::io ? "add the read rate of `storage` to the system file" : ""}),
   ...);
  return out;
}

template <Bytes Memory::*Part>
Value part(const Projection& p, const Answer&) {
  return (p.cost->memory.*Part).base();
}

/// "gradient exchange, self-contention": largest share first. Nothing if bottlenecks were not examined.
Value limited_by(const Projection& p, const Answer& answer) {
  const auto row = std::size_t(&p - answer.results.data());
  if (row >= answer.bottlenecks.size()) return {};
  std::string out;
  for (const Bottleneck& b : answer.bottlenecks[row])
    out += fmt::format("{}{}", out.empty() ? "" : ", ", entry(b.kind).title);
  return out;
}

constexpr const char* unpriced = "add --price 2.5USD/h";
constexpr const char* uncongested = "add `congestion` to the system file";
constexpr const char* unrecorded = "no measured run is on record; use --sort epoch";

/// Fields that have a value even if a grid breaks a limit.
constexpr std::size_t always = 4;

const std::vector<Field>& fields() {
  static const std::vector<Field> table = [] {
    std::vector<Field> f{
        {{"gpus", "gpus", Holds::count, 10},
         [](const Projection& p, const Answer&) -> Value { return p.gpus; }},
        {{"strategy", "strategy", Holds::text, 11},
         [](const Projection& p, const Answer&) -> Value { return p.strategy->text; }},
        {{"grid", "grid", Holds::shape, 9},
         [](const Projection& p, const Answer&) -> Value { return grid_text(p.mesh, true); }},
        {{"batch", "batch", Holds::count, 2},
         [](const Projection& p, const Answer&) -> Value { return p.batch; }},
        {{"epoch", "epoch", Holds::seconds, 11},
         [](const Projection& p, const Answer&) -> Value { return p.epoch().base(); }},
        {{"iteration", "iteration", Holds::seconds, 4},
         [](const Projection& p, const Answer&) -> Value { return p.iteration().base(); }},
        {{"compute", "compute", Holds::seconds, 6},
         [](const Projection& p, const Answer&) { return epoch_of(p, p.cost->compute()); }},
        {{"communication", "comm", Holds::seconds, 6},
         [](const Projection& p, const Answer&) { return epoch_of(p, p.cost->communication()); }},
        {{"hidden", "hidden", Holds::seconds, 5},  // epoch = compute + comm - hidden
         [](const Projection& p, const Answer&) { return epoch_of(p, p.cost->hidden); }},
        {{"exposed_communication", "exposed", Holds::seconds, 6},
         [](const Projection& p, const Answer&) { return epoch_of(p, p.cost->exposed_communication()); }},
    };
    for (Field& field : term_fields(std::make_index_sequence<terms>{})) f.push_back(std::move(field));
    const std::vector<Field> rest{
        {{"memory", "memory", Holds::bytes, 8},
         [](const Projection& p, const Answer&) -> Value { return p.cost->memory.total().base(); }},
        {{"weights", "weights", Holds::bytes, 1}, part<&Memory::weights>},
        {{"gradients", "gradients", Holds::bytes, 1}, part<&Memory::gradients>},
        {{"optimizer", "optimizer", Holds::bytes, 1}, part<&Memory::optimizer>},
        {{"activations", "activations", Holds::bytes, 1}, part<&Memory::activations>},
        {{"workspace", "workspace", Holds::bytes, 1}, part<&Memory::workspace>},
        {{"buffers", "buffers", Holds::bytes, 1}, part<&Memory::buffers>},
        {{"reserve", "reserve", Holds::bytes, 1}, part<&Memory::reserve>},
        {{"samples", "samples/s", Holds::rate, 4},
         [](const Projection& p, const Answer&) -> Value { return p.samples_per_s(); }},
        {{"tokens", "tokens/s", Holds::rate, 4},
         [](const Projection& p, const Answer& a) -> Value {
           const double tokens = tokens_per_sample(a.setting->work);
           return tokens > 0 ? Value{tokens * p.samples_per_s()} : Value{};
         },
         "samples of this network are not sequences; use --sort samples"},
        {{"efficiency", "efficiency", Holds::share, 5},
         [](const Projection& p, const Answer&) -> Value { return p.efficiency(); }},
        {{"interval_low", "90 %: from", Holds::seconds, 6},
         [](const Projection& p, const Answer& a) -> Value {
           const auto error = recorded_error(a, p);
           return error ? Value{error->low * p.epoch().base()} : Value{};
         },
         unrecorded},
        {{"interval_high", "to", Holds::seconds, 6},
         [](const Projection& p, const Answer& a) -> Value {
           const auto error = recorded_error(a, p);
           return error ? Value{error->high * p.epoch().base()} : Value{};
         },
         unrecorded},
        {{"congested_low", "congested from", Holds::seconds, 6},
         [](const Projection& p, const Answer&) -> Value {
           return p.congested ? epoch_of(p, p.congested->low) : Value{};
         },
         uncongested},
        {{"congested_typical", "typical", Holds::seconds, 6},
         [](const Projection& p, const Answer&) -> Value {
           return p.congested ? epoch_of(p, p.congested->typical) : Value{};
         },
         uncongested},
        {{"congested_high", "up to", Holds::seconds, 6},
         [](const Projection& p, const Answer&) -> Value {
           return p.congested ? epoch_of(p, p.congested->high) : Value{};
         },
         uncongested},
        {{"network_energy", "network energy", Holds::joules, 4},
         [](const Projection& p, const Answer& a) -> Value {
           const auto joules = network_joules(p, a.setting->machine);
           return joules ? Value{p.iterations * *joules} : Value{};
         },
         "add `watts: {idle: 5, peak: 10}` to a level of the system file"},
        {{"achieved", "flop/s per GPU", Holds::flops, 1},
         [](const Projection& p, const Answer& a) -> Value {
           return model_flop(*a.setting, a.setting->work.D / p.iterations) / p.iteration().base() / p.gpus;
         }},
        {{"mfu", "mfu", Holds::share, 2},
         [](const Projection& p, const Answer& a) -> Value {
           return model_flop(*a.setting, a.setting->work.D / p.iterations) / p.iteration().base() / p.gpus /
                  peak(a.setting->machine, a.setting->training.precision).base();
         }},
        {{"total_time", "total time", Holds::seconds, 7},
         [](const Projection& p, const Answer& a) -> Value {
           return a.epochs > 0 ? Value{a.epochs * p.epoch().base()} : Value{};
         },
         "add --epochs 90"},
        {{"gpu_hours", "GPU-hours", Holds::count, 7},
         [](const Projection& p, const Answer& a) -> Value { return expense_of(a, p).gpu_hours; }},
        {{"price", "price", Holds::count, 7},
         [](const Projection& p, const Answer& a) -> Value {
           const auto price = expense_of(a, p).price;
           return price ? Value{*price} : Value{};
         },
         unpriced},
        {{"currency", "currency", Holds::text, 3},
         [](const Projection&, const Answer& a) -> Value {
           const auto& price = a.setting->machine.price;
           return price ? Value{price->currency} : Value{};
         },
         unpriced},
        {{"energy", "energy", Holds::joules, 6},
         [](const Projection& p, const Answer& a) -> Value {
           const auto joules = expense_of(a, p).joules();
           return joules ? Value{*joules} : Value{};
         },
         "add `watts: {idle: 50, peak: 300}` to the device of the system file"},
        {{"bottlenecks", "limited by", Holds::text, 5},
         limited_by,
         "bottlenecks have no order; use --sort epoch"},
    };
    f.insert(f.end(), rest.begin(), rest.end());
    return f;
  }();
  return table;
}

std::size_t find_field(const std::string& id) {
  for (std::size_t i = 0; i < fields().size(); ++i)
    if (fields()[i].column.id == id || fields()[i].column.title == id) return i;
  const std::string near = did_you_mean(id, projection_columns());
  throw UsageError(fmt::format("no column is called `{}`", id),
                   near.empty() ? "`--columns help` lists them" : near);
}

/// An out-of-core plan that does not fit has a memory need, but no times.
Value value_of(std::size_t field, const Projection& p, const Answer& answer) {
  const Column& column = fields()[field].column;
  const bool has_value =
      p.timed() || (p.cost && column.holds == Holds::bytes) || field < always || column.id == "bottlenecks";
  return has_value ? fields()[field].get(p, answer) : Value{};
}

}  // namespace

std::vector<std::string> projection_columns() {
  std::vector<std::string> ids;
  for (const Field& field : fields()) ids.push_back(field.column.id);
  return ids;
}

Table projection_table(const Answer& answer, const std::vector<std::string>& columns) {
  Table table;
  std::vector<std::size_t> shown;
  for (const std::string& id : columns) {
    shown.push_back(find_field(id));
    table.columns.push_back(fields()[shown.back()].column);
  }
  std::map<std::string, int> notes;
  int rank = 0;
  for (const Projection& p : answer.results) {
    Row row;
    for (const std::size_t field : shown) row.values.push_back(value_of(field, p, answer));
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

namespace {

/// UsageError if no row has a value to sort by.
void demand_values(std::size_t field, const Answer& answer, const std::string& column) {
  const auto timed = [](const Projection& p) { return p.timed(); };
  const auto has_value = [&](const Projection& p) {
    return !std::holds_alternative<std::monostate>(value_of(field, p, answer));
  };
  if (std::ranges::any_of(answer.results, timed) && std::ranges::none_of(answer.results, has_value))
    throw UsageError(fmt::format("--sort {}: no row has a value there", column), fields()[field].cure);
}

}  // namespace

void sort_results(Answer& answer, const std::string& column) {
  const std::size_t field = find_field(column);
  demand_values(field, answer, column);
  const Holds holds = fields()[field].column.holds;
  const bool descending = holds == Holds::rate || holds == Holds::share || holds == Holds::flops;
  std::ranges::stable_sort(answer.results, [&](const Projection& a, const Projection& b) {
    const Value x = value_of(field, a, answer), y = value_of(field, b, answer);
    if (x.index() != y.index()) return x.index() > y.index();  // rows without a value last
    return descending ? y < x : x < y;
  });
}

}  // namespace paradl
