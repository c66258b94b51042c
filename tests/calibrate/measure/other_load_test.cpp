#include "calibrate/measure/other_load.hpp"

#include <doctest/doctest.h>

#include "calibrate/backend/threads.hpp"
#include "tests/support/approx.hpp"

namespace paradl::calibrate {
namespace {

TEST_CASE("other load: the busy cores of a machine beyond those of its ranks") {
  // On machine 7 two ranks use a core each and a third core is busy. Machine 8 has one rank and no other
  // load.
  CHECK(most_left({7, 7, 8}, {3, 3, 1}, {1, 1, 1}) == test::approx(1));
  CHECK(most_left({7, 7}, {2, 2}, {1, 1}) == 0);
  CHECK(most_left({7}, {1.9}, {2}) == 0);  // the kernel counts in hundredths
}

TEST_CASE("other load: all ranks get the same value") {
  std::vector<double> cores(3);
  run_threads(3, [&](Communicator& c) {
    const OtherLoad load(c);
    cores[std::size_t(c.rank())] = load.cores();
  });
  CHECK(cores[0] >= 0);
  CHECK(cores[1] == cores[0]);
  CHECK(cores[2] == cores[0]);
}

}  // namespace
}  // namespace paradl::calibrate
