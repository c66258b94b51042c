#include <doctest/doctest.h>

#include "paradl/network/fabric.hpp"
#include "tests/support/approx.hpp"

namespace paradl {
namespace {
using namespace literals;

const Link link{.alpha = 1.0_us, .beta = 1.0 / 1.0_GBps};
const Link fast{.alpha = 0.5_us, .beta = 1.0 / 10.0_GBps};

double time(std::string_view name, const Job& job, const Ways& ways) {
  return find_algorithm(name)->closed_form(job, ways)(job.bytes).base();
}
Ways flat(int p) { return {.inner = {}, .outer = {double(p), link, 1, ""}}; }

TEST_CASE("a sparse ring of 4 ranks, by hand") {
  // d = 0.1: sums of 1, 2, 3, 4 ranks have 0.1, 0.19, 0.271, 0.3439 of the values, twice that in bytes;
  // 4 MB: 3 messages of 0.2, 0.38, 0.542 MB, then 3 of 0.6878 MB = 1.122 + 2.0634 MB; 6 us
  const Job job{.ranks = 4, .bytes = 4.0_MB, .density = 0.1};
  CHECK(time("sparse-ring", job, flat(4)) == paradl::test::approx(6e-6 + 3.1854e-3).epsilon(1e-9));
  // all values to all ranks: 6 (1 us + 0.8 MB)
  CHECK(time("sparse-pairwise", job, flat(4)) == paradl::test::approx(6e-6 + 4.8e-3).epsilon(1e-9));
}

TEST_CASE("a sparse ring on 2 nodes of 2, by hand") {
  // d = 0.1, 4 MB; inside, 2 MB halves: 0.2 there, 0.6878 back; between, 1 MB quarters: 0.38 and 0.6878
  const Ways ways{.inner = {2, fast, 1, ""}, .outer = {2, link, 2, ""}};
  const Job job{.ranks = 4, .bytes = 4.0_MB, .per_node = 2, .density = 0.1};
  const double inside = 2 * 0.5e-6 + (0.4 + 1.3756) * 0.1e-3;
  const double between = 2 * 1e-6 + 2 * (0.38 + 0.6878) * 1e-3;
  CHECK(time("sparse-ring+ring", job, ways) == paradl::test::approx(inside + between).epsilon(1e-9));
}

TEST_CASE("with density 1 the sparse rings are the dense ones") {
  for (const int p : {2, 5, 16}) {
    const Job job{.ranks = p, .bytes = 4.0_MB};
    CHECK(time("sparse-ring", job, flat(p)) ==
          paradl::test::approx(time("ring", job, flat(p))).epsilon(1e-12));
  }
  const Ways ways{.inner = {4, fast, 1, ""}, .outer = {3, link, 2, ""}};
  const Job job{.ranks = 12, .bytes = 4.0_MB, .per_node = 4};
  CHECK(time("sparse-ring+ring", job, ways) ==
        paradl::test::approx(time("ring+ring", job, ways)).epsilon(1e-12));
}

TEST_CASE("a sparse ring is never slower than the dense one, and slower the denser its values") {
  double before = 0;
  for (const double d : {0.001, 0.01, 0.1, 0.3, 0.6, 1.0}) {
    const Job job{.ranks = 32, .bytes = 100.0_MB, .density = d};
    const double now = time("sparse-ring", job, flat(32));
    CHECK(now >= before);
    CHECK(now <= time("ring", job, flat(32)) * (1 + 1e-12));
    before = now;
  }
}

TEST_CASE("dense steps of a sparse ring are stored as one repeated step") {
  // 2 (1 - 0.5^n) is already 1 in the first step: all 1023 steps are equal, and so are the next 1023
  CHECK(find_algorithm("sparse-ring")
            ->schedule({.ranks = 1024, .bytes = 1.0_MB, .density = 0.5})
            .steps.size() == 2);
}

TEST_CASE("selecting the top k values reads the buffer once") {
  Job job{.ranks = 4, .bytes = 4.0_MB, .density = 0.1};
  const double without = time("sparse-ring", job, flat(4));
  job.selection = 1.0 / 100.0_GBps;  // 4 MB: 40 us
  CHECK(time("sparse-ring", job, flat(4)) == paradl::test::approx(without + 40e-6).epsilon(1e-9));
  job.ranks = 1;
  CHECK(time("sparse-ring", job, flat(1)) == 0);
}

TEST_CASE("selecting the top k values is not a message, and is counted at every fidelity") {
  const std::shared_ptr<const Topology> switched = read_topology("crossbar:4", {.link = link}, 4);
  const Fabric fabric{switched, {0, 1, 2, 3}};
  for (const char* name : {"sparse-ring", "sparse-pairwise", "sparse-ring+ring", "ring"})
    for (const auto fidelity :
         {NetworkFidelity::closed_form, NetworkFidelity::link_load, NetworkFidelity::flows}) {
      CAPTURE(name);
      Job job{.ranks = 4, .bytes = 4.0_MB, .density = 0.1};
      const auto seconds = [&] {
        return time_of(*find_algorithm(name), job, fabric, fidelity).timing.time.base();
      };
      const double without = seconds();
      job.selection = 1.0 / 100.0_GBps;  // 4 MB: 40 us; a dense ring selects nothing
      CHECK(seconds() ==
            paradl::test::approx(without + (std::string_view(name) == "ring" ? 0 : 40e-6)).epsilon(1e-9));
    }
}

}  // namespace
}  // namespace paradl
