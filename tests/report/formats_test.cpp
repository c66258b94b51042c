#include "paradl/report/formats.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "paradl/cli/help_topics.hpp"
#include "tests/support/spec_text.hpp"

using namespace paradl;
using namespace paradl::test;

TEST_CASE("formats: each is found by name and by file extension, and is documented") {
  const auto topics = help_topics();
  const std::string_view page = std::ranges::find(topics, "formats", &HelpTopic::name)->text;
  for (const FormatRow& row : formats()) {
    CAPTURE(row.name);
    CHECK(read_format(std::string(row.name), true).format == row.format);
    CHECK(format_of_file("a" + std::string(row.ending), true).format == row.format);
    CHECK(page.find("`" + std::string(row.ending) + "`") != page.npos);
  }
}

TEST_CASE("formats: an error names the option and what is supported") {
  CHECK(complaint([] { read_format("xml"); }) ==
        "usage: -f xml: not a format\nhelp: use text, markdown, csv, json, jsonl or latex\n");
  CHECK(complaint([] { format_of_file("x.svg"); }) ==
        "usage: -o x.svg: this command draws no picture\nhelp: use .txt, .md, .csv, .json, .jsonl or .tex\n");
  CHECK(complaint([] { format_of_file("x.html", true); }) ==
        "usage: -o x.html: no format goes with `.html`\n"
        "help: use .txt, .md, .csv, .json, .jsonl, .tex or .svg\n");
}

TEST_CASE("formats: --json is one way to type a format, and the other must agree") {
  CHECK(typed_format("", false).format == Format::text);
  CHECK(typed_format("latex", false).format == Format::latex);
  CHECK(typed_format("json", true).format == Format::json);
  CHECK(complaint([] { typed_format("csv", true); }) ==
        "usage: --json and -f csv contradict each other\nhelp: leave one of them out\n");
  for (const FormatRow& row : formats()) CHECK(&row_of(row.format) == &row);
}

TEST_CASE("formats: each prints the answer in its own form") {
  const Table table{.columns = {{"a", "A", Holds::count, 1}}, .rows = {{.values = {2.0}}}};
  const Output output{.text = [](const Style&) { return std::string("text"); },
                      .table = [&](ReadBy) { return table; },
                      .json = [] { return nlohmann::ordered_json{{"results", {1, 2}}}; },
                      .picture = [] { return std::string("<svg/>"); }};
  const auto printed = [&](const char* name) { return read_format(name, true).print(output, {}); };
  CHECK(printed("text") == "text");
  CHECK(printed("csv") == "a\n2\n");
  CHECK(printed("jsonl") == "1\n2\n");
  CHECK(printed("svg") == "<svg/>");
}
