#include "paradl/report/result_fields.hpp"

#include <set>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "paradl/cli/help_topics.hpp"
#include "paradl/report/json.hpp"
#include "paradl/report/projection_table.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/pencil.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

using Json = nlohmann::ordered_json;

/// Everything that gives a result more fields: a price, power, epochs and other jobs on the network.
struct Answered {
  Bench bench;
  Setting setting = bench.setting();
  Answer answer;
  static Machine machine() {
    Machine out = two_level_machine();
    out.price = Price{2.5, "USD"};
    return out;
  }
  Answered() : bench(chain(8), machine()) {
    answer.setting = &setting;
    answer.epochs = 90;
    answer.results = {bench.engine("data", "16", 1e6), bench.engine("data+spatial", "4x4", 1e6),
                      bench.engine("filter", "512", 1e6)};
    answer.results.front().congested = Projection::Band{Seconds{1}, Seconds{2}, Seconds{3}};
  }
};

std::string_view formats_page() {
  return std::ranges::find(help_topics(), "formats", &HelpTopic::name)->text;
}

bool documented(const std::string& name) {
  return formats_page().find('`' + name + '`') != std::string_view::npos;
}

void check_keys(const Json& value) {
  if (!value.is_structured()) return;
  for (const auto& [key, item] : value.items()) {
    CAPTURE(key);
    if (value.is_object()) CHECK(documented(key));
    if (key != "grid") check_keys(item);  // keys of a grid are strategies
  }
}

}  // namespace

TEST_CASE("fields: `paradl help formats` has every name of JSON and CSV") {
  for (const ResultField& field : result_fields()) {
    CAPTURE(field.column.id);
    if (!field.column.title.empty()) CHECK(documented(machine_name(field.column)));
    for (std::size_t start = 0; start < field.json.size();) {
      const std::size_t dot = std::min(field.json.find('.', start), field.json.size());
      CHECK(documented(field.json.substr(start, dot - start)));
      start = dot + 1;
    }
  }
  const Answered a;
  check_keys(to_json(a.answer));
}

TEST_CASE("fields: names and paths are unique") {
  std::set<std::string> seen;
  for (const ResultField& field : result_fields()) {
    CAPTURE(field.column.id);
    CHECK(seen.insert(field.column.id).second);
    if (!field.json.empty()) CHECK(seen.insert("json " + field.json).second);
  }
}

TEST_CASE("fields: JSON and tables have the same numbers") {
  const Answered a;
  const Table table = projection_table(a.answer, projection_columns());
  for (std::size_t row = 0; row < a.answer.results.size(); ++row) {
    const Json result = result_json({a.answer, row});
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const ResultField& field = *find_result_field(table.columns[c].id);
      const Json* value = field.json.empty() ? nullptr : find_json(result, field.json);
      if (!value || !value->is_number()) continue;
      CAPTURE(field.json);
      const double per_epoch = field.per_iteration ? a.answer.results[row].iterations : 1;
      CHECK(std::get<double>(table.rows[row].values[c]) == approx(per_epoch * value->get<double>()));
    }
  }
}

TEST_CASE("fields: a plan that breaks a limit has no times in JSON") {
  const Answered a;
  const Json result = result_json({a.answer, 2});
  CHECK(result["feasible"] == false);
  CHECK(result["gpus"] == 512);
  for (const char* key : {"time_s", "cost", "total", "samples_per_s"}) CHECK_FALSE(result.contains(key));
}
