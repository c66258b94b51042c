#include "paradl/query/algorithm_words.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/spec_text.hpp"

using namespace paradl;
using paradl::test::complaint;

TEST_CASE("all options read an algorithm in the same way") {
  for (const char* option : {"algorithm", "allreduce"}) {
    CAPTURE(option);
    const auto read = [&](const char* text, std::optional<double> density = {}) {
      return read_algorithm(option, text, Operation::allreduce, density);
    };
    CHECK(read("shd").algorithm->name == "shd");
    CHECK(read("shd").density == 1);
    CHECK(read("sparse-ring:0.0078").density == 0.0078);
    CHECK(read("sparse-ring", 0.5).density == 0.5);
    CHECK(read("sparse-ring:0.25", 0.5).density == 0.25);  // its own density counts
    CHECK(read("ring", 0.5).density == 1);                 // a ring ignores the density

    CHECK(complaint([&] { read("rign"); }) ==
          "usage: no algorithm is called `rign`\nhelp: did you mean `ring`?\n");
    CHECK(complaint([&] { read("ring:0.5"); }).find("only sparse algorithms have a density") !=
          std::string::npos);
    for (const char* text : {"sparse-ring:2", "sparse-ring:0", "sparse-ring:nan", "sparse-ring:"})
      CHECK(complaint([&] { read(text); }) ==
            fmt::format("usage: --{} {}: the density is not a number from 1e-09 to 1\nhelp: write "
                        "sparse-ring:0.01, with the share of values that are not zero\n",
                        option, text));
  }
  CHECK(complaint([] { read_algorithm("allreduce", "sparse-ring", Operation::allreduce); }) ==
        "usage: --allreduce sparse-ring: the density is missing\n"
        "help: write sparse-ring:0.01, with the share of values that are not zero\n");
  // Only algorithms for the operation are listed.
  CHECK(complaint([] { read_algorithm("algorithm", "zzz", Operation::all_to_all); }) ==
        "usage: no algorithm is called `zzz`\nhelp: for all-to-all there are: pairwise\n");
}

TEST_CASE("an error says what is wrong and then what to do") {
  CHECK(complaint([] { refuse("hd: needs a power of two; `ring` takes any number"); }) ==
        "usage: hd: needs a power of two\nhelp: `ring` takes any number\n");
  CHECK(complaint([] { refuse("cannot be"); }) == "usage: cannot be\nhelp: \n");
}
