#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/report/answer.hpp"
#include "paradl/report/table.hpp"

namespace paradl {

/// One result of an answer.
struct Result {
  const Answer& answer;
  std::size_t index;
  const Projection& projection() const { return answer.results[index]; }
};

/// What a projection must have for a field to have a value.
enum class Needs { nothing, memory, times };

/// When JSON has a field: if its value is known, if it is above zero, or always (null: unknown).
enum class InJson { known, positive, always };

/// Which tables show a column if --columns does not choose.
enum class Shown { by_name, project, advise, both, with_costs, with_intervals, with_cuts };

/// One number or word of a result. Tables, CSV, JSON, --columns, --sort and `compare` all read this list.
struct ResultField {
  Column column;     // without a title: `compare` and JSON have the field, but no table
  std::string json;  // path in a result: "time_s.epoch"; empty: JSON has it in another form, or not at all
  Value (*get)(const Result&) = nullptr;
  bool per_iteration = false;  // `get` and JSON give the time of an iteration, tables that of an epoch
  bool whole = false;          // an integer in JSON
  Needs needs = Needs::times;
  InJson in_json = InJson::known;
  Shown shown = Shown::by_name;
  const char* cure = "";  // how to get a value if no row has one
};

/// All fields, in report order.
std::span<const ResultField> result_fields();

/// The field as JSON has it; monostate if the projection has no such value.
Value json_value(const ResultField& field, const Result& result);
/// The field as tables show it: times per epoch, except `iteration`.
Value table_value(const ResultField& field, const Result& result);

/// A field by the id or title of its column; nullptr if there is none.
const ResultField* find_result_field(std::string_view name);

}  // namespace paradl
