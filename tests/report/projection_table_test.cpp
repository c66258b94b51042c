#include "paradl/report/projection_table.hpp"

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"
#include "tests/support/pencil.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

/// Small buckets and a large mini-batch: most gradients are sent while the backward pass goes on.
Training hiding() {
  Training t;
  t.bucket = Bytes{2000};
  return t;
}

struct Answered {
  Bench bench{chain(8), two_level_machine(), hiding()};
  Setting setting = bench.setting();
  Answer answer;
  Answered() {
    answer.setting = &setting;
    answer.results = {bench.engine("data", "16", 1e6), bench.engine("data+spatial", "4x4", 1e6)};
  }
};

double number(const Table& table, std::size_t row, std::size_t column) {
  return std::get<double>(table.rows[row].values[column]);
}

}  // namespace

TEST_CASE("projection: an epoch is computation plus communication minus the hidden part") {
  Answered a;
  const Table table = projection_table(a.answer, {"epoch", "compute", "communication", "hidden"});
  CHECK(number(table, 0, 3) > 0);
  for (std::size_t r = 0; r < 2; ++r)
    CHECK(number(table, r, 0) ==
          paradl::test::approx(number(table, r, 1) + number(table, r, 2) - number(table, r, 3)));
}

TEST_CASE("projection: a narrow terminal shows forward and backward, or neither") {
  Answered a;
  const Table table = projection_table(a.answer, {"gpus", "strategy", "grid", "epoch", "forward", "backward",
                                                  "update", "gradient_exchange", "memory", "efficiency"});
  for (int width = 40; width < 110; ++width) {
    CAPTURE(width);
    const std::string text = to_text(table, {.width = width}).text;
    CHECK((text.find("forward") == text.npos) == (text.find("backward") == text.npos));
    CHECK((text.find("update") == text.npos ||
           text.find("forward") != text.npos));  // small terms are dropped first
  }
}
