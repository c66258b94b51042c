// Tables: what a line means, and where mistakes are reported.
#include "paradl/spec/csv.hpp"

#include <doctest/doctest.h>

#include "tests/support/spec_text.hpp"

namespace paradl::test {

TEST_CASE("a cell is what stands between commas, without the spaces around it; quotes keep all") {
  const auto cells = csv_cells(R"( a b ,,"c, ""d"" ",e)", 7);
  REQUIRE(cells.size() == 4);
  CHECK(cells[0].text == "a b");
  CHECK(cells[1].text.empty());
  CHECK(cells[2].text == "c, \"d\" ");
  CHECK(cells[3].text == "e");
  CHECK(cells[2].spot.line == 7);
  CHECK(cells[2].spot.column == 8);
  CHECK(cells[2].spot.width == 11);
  CHECK(csv_cells("", 1).size() == 1);
  CHECK(csv_cells("a,", 1).size() == 2);
  CHECK(csv_cells("a,\"b", 1).back().open);
}

TEST_CASE("a cell is written in quotes only where it needs them, and read as it was") {
  CHECK(csv_text("V100 16GB") == "V100 16GB");
  for (const char* text : {"a,b", "a\"b", " a", "a ", "\"", ""})
    CHECK(csv_cells(csv_text(text), 1).front().text == text);
}

TEST_CASE("the first line that is no comment names the columns; mistakes have their place") {
  const SourceText source{"t.csv", "\xef\xbb\xbf# one\r\na,b\r\n\r\n1,2\r\n# two\r\n3\r\n"};
  Problems none(source);
  const CsvFile file = read_csv(source.text, none);
  CHECK_FALSE(none.any());
  CHECK(file.header.number == 2);
  CHECK(file.header.cells[1].text == "b");
  REQUIRE(file.lines.size() == 2);
  CHECK(file.lines[1].number == 6);
  CHECK(file.lines[1].cells.size() == 1);
  REQUIRE(file.comments.size() == 2);
  CHECK(file.comments[1] == "# two");
  const auto found = [](const std::string& text) {
    return complaint([&] {
      const SourceText broken{"t.csv", text};
      Problems problems(broken);
      read_csv(broken.text, problems);
      problems.raise();
    });
  };
  CHECK(found("a,b\n1,\"2\n").find("t.csv:2:3") != std::string::npos);
  CHECK(found("a,\"b\n1,2,3\n").find("the closing quote is missing") != std::string::npos);
  CHECK(found("a,b\n1,2,3\n").find("3 cells, but the first line names 2 columns") != std::string::npos);
}

}  // namespace paradl::test
