#include <doctest/doctest.h>

#include "paradl/report/table.hpp"

using namespace paradl;

TEST_CASE("csv: names include base units, numbers have all digits, and cells that do not apply are empty") {
  const Table table{.columns = {{"gpus", "GPUs", Holds::count},
                                {"epoch", "epoch", Holds::seconds},
                                {"memory", "memory", Holds::bytes},
                                {"samples", "samples/s", Holds::rate},
                                {"efficiency", "efficiency", Holds::share}},
                    .rows = {{{64.0, 0.1, 16 * 0x1p30, 1.0 / 3, 0.875}}, {{1281167.0, 1e-7, {}, {}}}}};
  CHECK(to_csv(table) ==
        "gpus,epoch_s,memory_bytes,samples_per_s,efficiency\n"
        "64,0.1,17179869184,0.3333333333333333,0.875\n"
        "1281167,1e-07,,,\n");
}

TEST_CASE("csv: plans that do not fit are marked, footnotes become a column, and rank is the order of rows") {
  const Table table{.columns = {{"strategy", "strategy", Holds::text}},
                    .rows = {{{"data"}, Emphasis::best, {}, "1"}, {{"layer"}, Emphasis::infeasible, {1, 2}}},
                    .notes = {"too large", "p > G"}};
  CHECK(to_csv(table) ==
        "mark,strategy,notes\n"
        ",data,\n"
        "x,layer,too large; p > G\n");
  const Table ranked{.columns = {{"strategy", "strategy", Holds::text}},
                     .rows = {{{"data"}, Emphasis::best, {}, "1"}}};
  CHECK(to_csv(ranked) == "strategy\ndata\n");
}

TEST_CASE("csv: ambiguous text is quoted") {
  const Table table{
      .columns = {{"a", "", Holds::text}, {"b", "", Holds::text}},
      .rows = {{{"data=16,filter=4", "plain"}}, {{"say \"p\"", "two\nlines"}}, {{"carriage\r", " spaced "}}}};
  CHECK(to_csv(table) ==
        "a,b\n"
        "\"data=16,filter=4\",plain\n"
        "\"say \"\"p\"\"\",\"two\nlines\"\n"
        "\"carriage\r\",\" spaced \"\n");
}
