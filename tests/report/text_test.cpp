#include <doctest/doctest.h>

#include "paradl/report/table.hpp"
#include "paradl/report/terminal.hpp"

using namespace paradl;

namespace {

Table advice() {
  constexpr double gib = 0x1p30;
  return {
      .columns = {{"strategy", "strategy", Holds::text, 9},
                  {"grid", "grid", Holds::shape, 5},
                  {"epoch", "epoch", Holds::seconds, 8},
                  {"compute", "compute", Holds::seconds, 1},
                  {"comm", "comm", Holds::seconds, 1},
                  {"memory", "memory", Holds::bytes, 3},
                  {"samples", "samples/s", Holds::rate, 2},
                  {"efficiency", "efficiency", Holds::share, 0}},
      .rows =
          {{{"data", "64", 83.1, 72.9, 10.1, 5.4 * gib, 15400.0, 0.88}, Emphasis::best, {}, "1"},
           {{"data+spatial", "16x4", 94.2, 72.9, 21.3, 5.4 * gib, 13600.0, 0.77}, Emphasis::none, {}, "2"},
           {{"filter", "64", 13500.0, 72.0, 13400.0, 331 * gib, 95.0, 0.01}, Emphasis::infeasible, {1}},
           {{"spatial", "64"}, Emphasis::infeasible, {1, 2}}},
      .notes = {"needs more than the device's 16 GiB", "p = 64 breaks p ≤ min(W H) = 49"}};
}

}  // namespace

TEST_CASE("text: numbers right, text left, footnotes at the end") {
  const Printed printed = to_text(advice());
  CHECK(printed.text ==
        "    strategy      grid     epoch  compute      comm    memory  samples/s  efficiency\n"
        " 1  data            64    83.1 s   72.9 s    10.1 s  5.40 GiB     15 400        88 %\n"
        " 2  data+spatial  16x4    94.2 s   72.9 s    21.3 s  5.40 GiB     13 600        77 %\n"
        " x  filter          64  13 500 s   72.0 s  13 400 s   331 GiB       95.0         1 %  [1]\n"
        " x  spatial         64         -        -         -         -          -           -  [1] [2]\n"
        "\n"
        " [1] needs more than the device's 16 GiB\n"
        " [2] p = 64 breaks p ≤ min(W H) = 49\n");
  CHECK(printed.hint.empty());
}

TEST_CASE("text: a table without marks and notes has no columns for them, and no line ends with a space") {
  const Table table{.columns = {{"gpus", "gpus", Holds::count}, {"best", "best", Holds::text}},
                    .rows = {{{4.0, "ring"}}, {{1024.0, "tree of trees"}}}};
  CHECK(to_text(table).text ==
        "  gpus  best\n"
        "     4  ring\n"
        " 1 024  tree of trees\n");
}

TEST_CASE("text: a table without titles has no heading") {
  const Table table{.columns = {{.id = "name"}, {.id = "summary"}}, .rows = {{{"data", "split the batch"}}}};
  CHECK(to_text(table).text == " data  split the batch\n");
}

TEST_CASE("text: in a narrow terminal the least important columns are left out") {
  // The whole table is 93 wide: 84 to the end of `efficiency`, and 9 for "  [1] [2]".
  const Table table = advice();
  const auto narrow = [&](int width) { return to_text(table, {.width = width}); };
  const std::string whole = to_text(table).text;

  CHECK(narrow(93).text == whole);
  CHECK(narrow(93).hint.empty());

  SUBCASE("efficiency (0) goes first, and frees 12") {
    CHECK(narrow(92).hint == "columns left out: efficiency (use --columns all)");
    CHECK(narrow(81).hint == narrow(92).hint);
  }
  SUBCASE("compute and comm (both 1) go together; names are listed in order") {
    CHECK(narrow(80).hint == "columns left out: compute, comm, efficiency (use --columns all)");
    CHECK(narrow(62).hint == narrow(80).hint);
    CHECK(narrow(61).hint == "columns left out: compute, comm, samples/s, efficiency (use --columns all)");
  }
  SUBCASE("one column always stays, and so do marks") {
    const Printed least = narrow(1);
    CHECK(least.hint ==
          "columns left out: grid, epoch, compute, comm, memory, samples/s, efficiency (use --columns all)");
    CHECK(least.text.starts_with("    strategy\n 1  data\n 2  data+spatial\n x  filter        [1]\n"));
  }
}

TEST_CASE("text: a column without a title is called by its id when it is left out") {
  const Table table{.columns = {{"term", "term", Holds::text, 1}, {"bar", "", Holds::text, 0}},
                    .rows = {{{"forward", "#########"}}}};
  CHECK(to_text(table, {.width = 12}).hint == "columns left out: bar (use --columns all)");
}

TEST_CASE("text: colour depends on the kind of a row and changes nothing else") {
  const Table table{
      .columns = {{.id = "name", .title = "name"}},
      .rows = {{{"a"}, Emphasis::best}, {{"b"}, Emphasis::infeasible, {1}}, {{"c"}, Emphasis::dim}, {{"d"}}},
      .notes = {"why"}};
  CHECK(to_text(table).text == "    name\n    a\n x  b     [1]\n    c\n    d\n\n [1] why\n");
  CHECK(to_text(table, {.colour = true}).text ==
        "    name\n"
        " \x1b[32m   a\x1b[0m\n"
        " \x1b[31mx  b     [1]\x1b[0m\n"
        " \x1b[2m   c\x1b[0m\n"
        "    d\n"
        "\n"
        " \x1b[2m[1] why\x1b[0m\n");
}

TEST_CASE("text: symbols are one column wide, and columns stay aligned in ASCII") {
  const Table table{
      .columns = {{"term", "term", Holds::text}, {"formula", "Σ", Holds::text}, {"t", "value", Holds::count}},
      .rows = {{{"forward", "D/p Σ FW", 24.0}}, {{"gradient", "I (α + β)", 10.0}, Emphasis::none, {1}}},
      .notes = {"δ = 4 B"}};
  CHECK(to_text(table).text ==
        " term      Σ          value\n"
        " forward   D/p Σ FW      24\n"
        " gradient  I (α + β)     10  [1]\n"
        "\n"
        " [1] δ = 4 B\n");
  CHECK(to_text(table, {.unicode = false}).text ==
        " term      sum               value\n"
        " forward   D/p sum FW           24\n"
        " gradient  I (alpha + beta)     10  [1]\n"
        "\n"
        " [1] delta = 4 B\n");
}

TEST_CASE("text: a table without rows shows its heading") {
  CHECK(to_text({.columns = {{"gpus", "gpus", Holds::count}, {"best", "best", Holds::text}}}).text ==
        " gpus  best\n");
  CHECK(to_text({}).text.empty());
}
