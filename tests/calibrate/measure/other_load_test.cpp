#include "calibrate/measure/other_load.hpp"

#include <doctest/doctest.h>

#include "calibrate/backend/threads.hpp"
#include "tests/support/approx.hpp"

namespace paradl::calibrate {
namespace {

TEST_CASE("other load: what ranks of a machine do not account for") {
  // Two ranks of machine 7 keep a core each, and a third core is busy; machine 8 has one rank and nothing
  // else.
  CHECK(most_left({7, 7, 8}, {3, 3, 1}, {1, 1, 1}) == test::approx(1));
  CHECK(most_left({7, 7}, {2, 2}, {1, 1}) == 0);
  CHECK(most_left({7}, {1.9}, {2}) == 0);  // the kernel counts in hundredths
}

TEST_CASE("other load: all ranks are told the same") {
  std::vector<double> told(3);
  run_threads(3, [&](Communicator& c) {
    const OtherLoad load(c);
    told[std::size_t(c.rank())] = load.cores();
  });
  CHECK(told[0] >= 0);
  CHECK(told[1] == told[0]);
  CHECK(told[2] == told[0]);
}

}  // namespace
}  // namespace paradl::calibrate
