#include "paradl/report/result_fields.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/strategy/table.hpp"

namespace paradl {
namespace {

Value optional_value(const std::optional<double>& value) { return value ? Value{*value} : Value{}; }

template <std::size_t T>
Value term(const Result& r) {
  const Projection& p = r.projection();
  if (Term(T) == Term::io && p.input && !p.input->known) return {};
  return p.cost->exposed[T].base();
}

/// On a narrow terminal, small terms are dropped first, then computation, which is similar for all
/// strategies, then exchanges.
constexpr int term_importance(Term term) {
  if (term == Term::forward || term == Term::backward) return 3;
  return is_communication(term) || term == Term::bubble ? 4 : 2;
}

template <std::size_t T>
ResultField term_field() {
  const TermName& name = term_names[T];
  const bool io = Term(T) == Term::io;
  return {.column = {std::string(name.json), std::string(name.column), Holds::seconds,
                     term_importance(Term(T))},
          .json = fmt::format("time_s.terms.{}", name.json),
          .get = term<T>,
          .per_iteration = true,
          .in_json = InJson::positive,
          .shown = io ? Shown::both : Shown::project,
          .cure = io ? "add the read rate of `storage` to the system file" : ""};
}

template <std::size_t M>
ResultField memory_field() {
  const std::string name(memory_names[M].name);
  return {.column = {name, name, Holds::bytes, 1},
          .json = "memory_bytes." + name,
          .get = [](const Result& r) -> Value {
            return (r.projection().cost->memory.*memory_names[M].part).base();
          },
          .needs = Needs::memory};
}

template <std::size_t... I>
void add_terms(std::vector<ResultField>& out, std::index_sequence<I...>) {
  (out.push_back(term_field<I>()), ...);
}

template <std::size_t... I>
void add_memory(std::vector<ResultField>& out, std::index_sequence<I...>) {
  (out.push_back(memory_field<I>()), ...);
}

/// "gradient exchange, self-contention": largest share first. Nothing if bottlenecks were not examined.
Value limited_by(const Result& r) {
  if (r.index >= r.answer.bottlenecks.size()) return {};
  std::string out;
  for (const Bottleneck& b : r.answer.bottlenecks[r.index])
    out += fmt::format("{}{}", out.empty() ? "" : ", ", entry(b.kind).title);
  return out;
}

/// A bound of the epoch's 90 % interval.
template <double RecordedError::*Bound>
Value interval(const Result& r) {
  const auto error = recorded_error(r.answer, r.projection());
  return error ? Value{(*error).*Bound * r.projection().epoch().base()} : Value{};
}

/// The epoch with other jobs on the network.
template <Seconds Projection::Band::*Bound>
Value congested(const Result& r) {
  const Projection& p = r.projection();
  return p.congested ? Value{(p.iterations * (*p.congested).*Bound).base()} : Value{};
}

Expense expense(const Result& r) { return expense_of(r.answer, r.projection()); }

double achieved_flop_rate(const Result& r) {
  const Projection& p = r.projection();
  const Setting& setting = *r.answer.setting;
  return model_flop(setting, setting.work.D / p.iterations) / p.iteration().base() / p.gpus;
}

/// "2x2": the parts along each extent, if an axis splits space.
Value cut_of(const Result& r) {
  const int extents = std::max(1, r.answer.setting->work.input.dims);
  const Mesh& mesh = r.projection().plan.mesh;
  for (int a = 0; a < mesh.axes; ++a) {
    const auto& [strategy, parts] = mesh.axis[std::size_t(a)];
    if (strategy->input == Placement::split_space)
      return fmt::format("{}", fmt::join(std::span(parts.cut).first(std::size_t(extents)), "x"));
  }
  return {};
}

constexpr const char* unpriced = "add --price 2.5USD/h";
constexpr const char* uncongested = "add `congestion` to the system file";
constexpr const char* unrecorded = "no measured run is on record; use --sort epoch";

std::vector<ResultField> make_fields() {
  std::vector<ResultField> out{
      {.column = {"gpus", "gpus", Holds::count, 10},
       .json = "gpus",
       .get = [](const Result& r) -> Value { return r.projection().gpus; },
       .whole = true,
       .needs = Needs::nothing,
       .shown = Shown::project},
      {.column = {"strategy", "strategy", Holds::text, 11},
       .json = "strategy",
       .get = [](const Result& r) -> Value { return r.projection().strategy(); },
       .needs = Needs::nothing,
       .shown = Shown::both},
      {.column = {"grid", "grid", Holds::shape, 9},
       .get = [](const Result& r) -> Value { return grid_text(r.projection().plan.mesh, true); },
       .needs = Needs::nothing,
       .shown = Shown::both},
      {.column = {"cut", "cut", Holds::shape, 9},
       .get = cut_of,
       .needs = Needs::nothing,
       .shown = Shown::with_cuts},
      {.column = {"batch", "batch", Holds::count, 2},
       .json = "batch.global",
       .get = [](const Result& r) -> Value { return r.projection().plan.batch; },
       .needs = Needs::nothing},
      {.column = {"epoch", "epoch", Holds::seconds, 11},
       .json = "time_s.epoch",
       .get = [](const Result& r) -> Value { return r.projection().epoch().base(); },
       .shown = Shown::both},
      {.column = {"iteration", "iteration", Holds::seconds, 4},
       .json = "time_s.iteration",
       .get = [](const Result& r) -> Value { return r.projection().iteration().base(); }},
      {.column = {"compute", "compute", Holds::seconds, 6},
       .json = "time_s.compute",
       .get = [](const Result& r) -> Value { return r.projection().cost->compute().base(); },
       .per_iteration = true,
       .shown = Shown::advise},
      {.column = {"communication", "comm", Holds::seconds, 6},
       .json = "time_s.communication",
       .get = [](const Result& r) -> Value { return r.projection().cost->communication().base(); },
       .per_iteration = true,
       .shown = Shown::advise},
      {.column = {"hidden", "hidden", Holds::seconds, 5},  // epoch = compute + comm - hidden
       .get = [](const Result& r) -> Value { return r.projection().cost->hidden.base(); },
       .per_iteration = true,
       .shown = Shown::advise},
      {.column = {"exposed_communication", "exposed", Holds::seconds, 6},
       .json = "time_s.exposed_communication",
       .get = [](const Result& r) -> Value { return r.projection().cost->exposed_communication().base(); },
       .per_iteration = true},
  };
  add_terms(out, std::make_index_sequence<terms>{});
  out.push_back({.column = {"memory", "memory", Holds::bytes, 8},
                 .json = "memory_bytes.total",
                 .get = [](const Result& r) -> Value { return r.projection().cost->memory.total().base(); },
                 .needs = Needs::memory,
                 .shown = Shown::both});
  add_memory(out, std::make_index_sequence<memory_names.size()>{});
  const std::vector<ResultField> rest{
      {.column = {"samples", "samples/s", Holds::rate, 4},
       .json = "samples_per_s",
       .get = [](const Result& r) -> Value { return r.projection().samples_per_s(); },
       .shown = Shown::advise},
      {.column = {"tokens", "tokens/s", Holds::rate, 4},
       .json = "tokens_per_s",
       .get = [](const Result& r) -> Value {
         const double tokens = tokens_per_sample(r.answer.setting->work);
         return tokens > 0 ? Value{tokens * r.projection().samples_per_s()} : Value{};
       },
       .shown = Shown::advise,
       .cure = "samples of this network are not sequences; use --sort samples"},
      {.column = {"efficiency", "efficiency", Holds::share, 5},
       .json = "efficiency",
       .get = [](const Result& r) -> Value { return r.projection().efficiency(); },
       .shown = Shown::both},
      {.column = {"interval_low", "90 %: from", Holds::seconds, 6},
       .json = "interval_s.epoch_low",
       .get = interval<&RecordedError::low>,
       .shown = Shown::with_intervals,
       .cure = unrecorded},
      {.column = {"interval_high", "to", Holds::seconds, 6},
       .json = "interval_s.epoch_high",
       .get = interval<&RecordedError::high>,
       .shown = Shown::with_intervals,
       .cure = unrecorded},
      {.column = {"congested_low", "congested from", Holds::seconds, 6},
       .json = "congested_time_s.epoch_low",
       .get = congested<&Projection::Band::low>,
       .shown = Shown::project,
       .cure = uncongested},
      {.column = {"congested_typical", "typical", Holds::seconds, 6},
       .json = "congested_time_s.epoch_typical",
       .get = congested<&Projection::Band::typical>,
       .shown = Shown::project,
       .cure = uncongested},
      {.column = {"congested_high", "up to", Holds::seconds, 6},
       .json = "congested_time_s.epoch_high",
       .get = congested<&Projection::Band::high>,
       .shown = Shown::project,
       .cure = uncongested},
      {.column = {"network_energy", "network energy", Holds::joules, 4},
       .json = "network_energy_j.epoch",
       .get = [](const Result& r) -> Value {
         const auto joules = network_joules(r.projection(), r.answer.setting->machine);
         return joules ? Value{r.projection().iterations * *joules} : Value{};
       },
       .shown = Shown::project,
       .cure = "add `watts: {idle: 5, peak: 10}` to a level of the system file"},
      {.column = {"achieved", "flop/s per GPU", Holds::flops, 1},
       .json = "flops_per_s_per_gpu",
       .get = [](const Result& r) -> Value { return achieved_flop_rate(r); }},
      {.column = {"mfu", "mfu", Holds::share, 2},
       .json = "mfu",
       .get = [](const Result& r) -> Value {
         const Setting& setting = *r.answer.setting;
         return achieved_flop_rate(r) / peak(setting.machine, setting.training.precision).base();
       }},
      {.column = {"total_time", "total time", Holds::seconds, 7},
       .json = "total.time_s",
       .get = [](const Result& r) -> Value {
         const double epochs = r.answer.epochs;
         return epochs > 0 ? Value{epochs * r.projection().epoch().base()} : Value{};
       },
       .shown = Shown::both,
       .cure = "add --epochs 90"},
      {.column = {"gpu_hours", "GPU-hours", Holds::count, 7},
       .json = "cost.gpu_hours",
       .get = [](const Result& r) -> Value { return expense(r).gpu_hours; },
       .shown = Shown::with_costs},
      {.column = {"price", "price", Holds::count, 7},
       .json = "cost.price",
       .get = [](const Result& r) { return optional_value(expense(r).price); },
       .in_json = InJson::always,
       .shown = Shown::with_costs,
       .cure = unpriced},
      {.column = {"currency", "currency", Holds::text, 3},
       .json = "cost.currency",
       .get = [](const Result& r) -> Value {
         const auto& price = r.answer.setting->machine.price;
         return price ? Value{price->currency} : Value{};
       },
       .in_json = InJson::always,
       .shown = Shown::with_costs,
       .cure = unpriced},
      {.column = {"energy", "energy", Holds::joules, 6},
       .json = "cost.energy_joules",
       .get = [](const Result& r) { return optional_value(expense(r).joules()); },
       .in_json = InJson::always,
       .shown = Shown::with_costs,
       .cure = "add `watts: {idle: 50, peak: 300}` to the device of the system file"},
      {.column = {"energy_gpus", "", Holds::joules},
       .json = "cost.energy_parts_joules.gpus",
       .get = [](const Result& r) { return optional_value(expense(r).gpu_joules); },
       .in_json = InJson::always},
      {.column = {"energy_hosts", "", Holds::joules},
       .json = "cost.energy_parts_joules.hosts",
       .get = [](const Result& r) { return optional_value(expense(r).host_joules); },
       .in_json = InJson::always},
      {.column = {"energy_network", "", Holds::joules},
       .json = "cost.energy_parts_joules.network",
       .get = [](const Result& r) { return optional_value(expense(r).network_joules); },
       .in_json = InJson::always},
      {.column = {"bottlenecks", "limited by", Holds::text, 5},
       .get = limited_by,
       .needs = Needs::nothing,
       .cure = "bottlenecks have no order; use --sort epoch"},
  };
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

/// An out-of-core plan that does not fit has a memory need, but no times.
bool has(const Projection& p, Needs needs) {
  switch (needs) {
    case Needs::nothing:
      return true;
    case Needs::memory:
      return p.cost.has_value();
    case Needs::times:
      return p.timed();
  }
  return false;
}

}  // namespace

std::span<const ResultField> result_fields() {
  static const std::vector<ResultField> fields = make_fields();
  return fields;
}

Value json_value(const ResultField& field, const Result& result) {
  return has(result.projection(), field.needs) ? field.get(result) : Value{};
}

Value table_value(const ResultField& field, const Result& result) {
  Value value = json_value(field, result);
  if (double* number = std::get_if<double>(&value); number && field.per_iteration)
    *number *= result.projection().iterations;
  return value;
}

const ResultField* find_result_field(std::string_view name) {
  const auto found = std::ranges::find_if(result_fields(), [&](const ResultField& field) {
    return field.column.id == name || (!field.column.title.empty() && field.column.title == name);
  });
  return found == result_fields().end() ? nullptr : &*found;
}

}  // namespace paradl
