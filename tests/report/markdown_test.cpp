#include <doctest/doctest.h>

#include "paradl/report/table.hpp"

using namespace paradl;

TEST_CASE("markdown: a pipe table with numbers to the right and notes in a list") {
  const Table table{.columns = {{"strategy", "strategy", Holds::text}, {"epoch", "epoch", Holds::seconds}},
                    .rows = {{{"data", 83.1}, Emphasis::best, {}, "1"},
                             {{"filter", 714.0}, Emphasis::infeasible, {1}},
                             {{"spatial", {}}, Emphasis::infeasible, {1, 2}}},
                    .notes = {"too large", "p > 49"}};
  CHECK(to_markdown(table) ==
        "|     | strategy |  epoch |         |\n"
        "| --: | -------- | -----: | ------- |\n"
        "|   1 | data     | 83.1 s |         |\n"
        "|   x | filter   |  714 s | [1]     |\n"
        "|   x | spatial  |      - | [1] [2] |\n"
        "\n"
        "- [1] too large\n"
        "- [2] p > 49\n");
}

TEST_CASE("markdown: a pipe in a text does not end its cell") {
  const Table table{.columns = {{"memory", "|m|", Holds::text}}, .rows = {{{"2δ Σ |w|"}}}};
  CHECK(to_markdown(table) ==
        "| \\|m\\|      |\n"
        "| ---------- |\n"
        "| 2δ Σ \\|w\\| |\n");
}
