#include "paradl/report/table.hpp"

#include <limits>

#include <doctest/doctest.h>

using namespace paradl;

namespace {

std::string shown(Holds holds, const Value& value) { return cell_text({.id = "id", .holds = holds}, value); }
std::string named(Holds holds) { return machine_name({.id = "id", .holds = holds}); }

std::vector<std::string> ids(const Table& table) {
  std::vector<std::string> result;
  for (const Column& column : table.columns) result.push_back(column.id);
  return result;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a cell carries the unit of its column") {
  CHECK(shown(Holds::text, "data+filter") == "data+filter");
  CHECK(shown(Holds::shape, "16x4") == "16x4");
  CHECK(shown(Holds::count, 1024.0) == "1 024");
  CHECK(shown(Holds::share, 0.883) == "88 %");
  CHECK(shown(Holds::seconds, 83.14) == "83.1 s");
  CHECK(shown(Holds::bytes, 5.4 * 0x1p30) == "5.40 GiB");
  CHECK(shown(Holds::message, 102e6) == "102 MB");
  CHECK(shown(Holds::bandwidth, 12.5e9) == "12.5 GB/s");
  CHECK(shown(Holds::rate, 15412.0) == "15 400");
  CHECK(shown(Holds::flops, 15.7e12) == "15.7 Tflop/s");
}

TEST_CASE("a cell may hold another kind of value than its column") {
  CHECK(shown(Holds::seconds, {}) == "-");
  CHECK(shown(Holds::text, {}) == "-");
  CHECK(shown(Holds::text, "") == "");
  CHECK(shown(Holds::text, 64.0) == "64");
  CHECK(shown(Holds::seconds, "+ 11.2 s") == "+ 11.2 s");
  CHECK(shown(Holds::seconds, std::numeric_limits<double>::infinity()) == "inf");
}

TEST_CASE("the CSV name of a column ends with the unit") {
  CHECK(named(Holds::text) == "id");
  CHECK(named(Holds::shape) == "id");
  CHECK(named(Holds::count) == "id");
  CHECK(named(Holds::share) == "id");
  CHECK(named(Holds::seconds) == "id_s");
  CHECK(named(Holds::bytes) == "id_bytes");
  CHECK(named(Holds::message) == "id_bytes");
  CHECK(named(Holds::bandwidth) == "id_bytes_per_s");
  CHECK(named(Holds::rate) == "id_per_s");
  CHECK(named(Holds::flops) == "id_flops_per_s");
}

TEST_CASE("empty columns are dropped") {
  const Table table{.columns = {{.id = "name", .holds = Holds::text},
                                {.id = "halo", .holds = Holds::seconds},    // zero or empty: dropped
                                {.id = "failed", .holds = Holds::count},    // zero is a valid count: stays
                                {.id = "remark", .holds = Holds::text},     // empty texts: dropped
                                {.id = "epoch", .holds = Holds::seconds}},  // the second row ends before it
                    .rows = {{.values = {"data", 0.0, 0.0, "", 83.1}, .notes = {1}},
                             {.values = {"filter", {}, {}, {}}, .mark = "x"}},
                    .notes = {"a note"}};
  using Ids = std::vector<std::string>;

  const Table lean = without_empty_columns(table);
  CHECK(ids(lean) == Ids{"name", "failed", "epoch"});
  CHECK(std::get<double>(lean.rows[0].values[2]) == 83.1);
  CHECK(std::holds_alternative<std::monostate>(lean.rows[1].values[2]));
  CHECK(lean.rows[0].notes == std::vector{1});
  CHECK(lean.rows[1].mark == "x");
  CHECK(lean.notes == table.notes);

  CHECK(ids(without_empty_columns(table, {"halo"})) == Ids{"name", "halo", "failed", "epoch"});
  CHECK(without_empty_columns({.columns = table.columns}).columns.size() ==
        5);  // no rows: nothing is dropped
}

TEST_CASE("the four formats of a table have the same contents") {
  const Table table{.columns = {{"strategy", "strategy", Holds::text},
                                {"gpus", "GPUs", Holds::count},
                                {"epoch", "epoch", Holds::seconds},
                                {"memory", "memory", Holds::bytes},
                                {"efficiency", "efficiency", Holds::share}},
                    .rows = {{.values = {"data", 64.0, 83.125, 5.5 * 0x1p30, 0.875}},
                             {.values = {"filter", 1024.0, 714.0, 20.75 * 0x1p30, {}}, .notes = {1}}},
                    .notes = {"needs more than the device has"}};
  struct Line {
    std::string text, csv, latex;
  };
  // 5.5 GiB = 5905580032 B, 20.75 GiB = 22280142848 B
  const Line data{" data         64  83.1 s  5.50 GiB        88 %", "data,64,83.125,5905580032,0.875,",
                  "data     &     64 &        83.1 &           5.50 &                88 &"};
  const Line filter{
      " filter    1 024   714 s  20.8 GiB           -  [1]",
      "filter,1024,714,22280142848,,needs more than the device has",
      "filter   &   1024 &         714 &           20.8 &              {--} & \\textsuperscript{1} \\\\"};
  const std::string text = to_text(table).text, markdown = to_markdown(table);
  for (const Line& line : {data, filter}) {
    CAPTURE(line.text);
    CHECK(contains(text, line.text + "\n"));
    CHECK(contains(to_csv(table), line.csv + "\n"));
    CHECK(contains(to_latex(table), line.latex));
  }
  for (const std::string cell : {"83.1 s", "714 s", "5.50 GiB", "20.8 GiB", "1 024", "88 %", "[1]"}) {
    CAPTURE(cell);
    CHECK(contains(text, cell));
    CHECK(contains(markdown, cell + " "));
  }
}
