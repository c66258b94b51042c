#include "paradl/network/collective.hpp"

#include <vector>

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"

namespace paradl {
namespace {
using namespace literals;

// Round numbers: 1 us a message, 1 GB/s, so that a megabyte takes a millisecond.
const Link slow{.alpha = 1.0_us, .beta = 1.0 / 1.0_GBps};
const Link fast{.alpha = 0.5_us, .beta = 1.0 / 10.0_GBps};

const std::vector<Collective> all{Collective::allgather, Collective::reduce_scatter, Collective::allreduce,
                                  Collective::all_to_all, Collective::point_to_point};

Path path_of(const std::vector<Hop>& hops) {
  Path path;
  for (const Hop& hop : hops) path.hop[std::size_t(path.hops++)] = hop;
  return path;
}
Path flat(double p, Link link, double phi = 1) { return path_of({{p, link, phi, "flat"}}); }

doctest::Approx near(double value) { return paradl::test::approx(value).epsilon(1e-12); }

TEST_CASE("a ring allreduce of 4 ranks, by hand") {
  // 2(p-1) steps of m/p: 6 (1 us + 1 MB / 1 GB/s) = 6 * 1001 us
  CHECK(ring_allreduce(4, 4.0_MB, slow).base() == near(6006e-6));
  // (p-1) steps: 3 * 1001 us
  CHECK(ring_allgather(4, 4.0_MB, slow).base() == near(3003e-6));
  // one message: 1 us + 4 ms
  CHECK(point_to_point(4.0_MB, slow).base() == near(4001e-6));
}

TEST_CASE("each collective on one level, by hand") {
  const Path path = flat(4, slow);
  CHECK(cost(Collective::allgather, path)(4.0_MB).base() == near(3003e-6));
  CHECK(cost(Collective::reduce_scatter, path)(4.0_MB).base() == near(3003e-6));
  CHECK(cost(Collective::allreduce, path)(4.0_MB).base() == near(6006e-6));
  // p-1 messages of a quarter of one rank's 4 MB: 3 (1 us + 1 ms)
  CHECK(cost(Collective::all_to_all, path)(4.0_MB).base() == near(3003e-6));
  CHECK(cost(Collective::point_to_point, path)(4.0_MB).base() == near(4001e-6));
}

TEST_CASE("two levels, by hand: the outer ring carries the parts of the inner one") {
  // 4 ranks a node (0.5 us, 10 GB/s), 2 nodes (1 us, 1 GB/s); 8 MB.
  const Path path = path_of({{4, fast, 1, "node"}, {2, slow, 1, "machine"}});
  CHECK(path.size() == 8);
  // inside 3 (0.5 us + 2 MB / 10 GB/s) = 3 * 200.5 us; outside 1 (1 us + 1 MB / 1 GB/s) = 1001 us
  CHECK(cost(Collective::reduce_scatter, path)(8.0_MB).base() == near(1602.5e-6));
  CHECK(cost(Collective::allreduce, path)(8.0_MB).base() == near(3205e-6));
  // the outermost link determines all-to-all and a single message: 7 us + 7 MB; 1 us + 8 MB
  CHECK(cost(Collective::all_to_all, path)(8.0_MB).base() == near(7007e-6));
  CHECK(cost(Collective::point_to_point, path)(8.0_MB).base() == near(8001e-6));
}

TEST_CASE("flows that share a port slow down the bytes, not the start-up") {
  // phi = 2: 3 (1 us + 2 * 1 ms)
  CHECK(cost(Collective::allgather, flat(4, slow, 2))(4.0_MB).base() == near(6003e-6));
  CHECK(cost(Collective::point_to_point, flat(2, slow, 3))(1.0_MB).base() == near(3001e-6));
  for (const Collective operation : all) {
    const Linear one = cost(operation, flat(8, slow)), four = cost(operation, flat(8, slow, 4));
    CHECK(four.fixed == one.fixed);
    CHECK(four.per_byte.base() == near(4 * one.per_byte.base()));
  }
}

TEST_CASE("one rank communicates nothing") {
  CHECK(ring_allreduce(1, 4.0_MB, slow) == Seconds{});
  CHECK(ring_allgather(1, 4.0_MB, slow) == Seconds{});
  for (const Collective operation :
       {Collective::allgather, Collective::reduce_scatter, Collective::allreduce, Collective::all_to_all}) {
    CHECK(cost(operation, flat(1, slow))(4.0_MB) == Seconds{});
    CHECK(cost(operation, path_of({{1, fast, 1, ""}, {1, slow, 1, ""}}))(4.0_MB) == Seconds{});
    CHECK(cost(operation, Path{})(4.0_MB) == Seconds{});
  }
}

TEST_CASE("a path of one level is the flat ring") {
  for (const double p : {2.0, 3.0, 4.0, 17.0, 1024.0}) {
    CAPTURE(p);
    CHECK(cost(Collective::allreduce, flat(p, slow))(7.0_MB).base() ==
          near(ring_allreduce(p, 7.0_MB, slow).base()));
    CHECK(cost(Collective::allgather, flat(p, slow))(7.0_MB).base() ==
          near(ring_allgather(p, 7.0_MB, slow).base()));
  }
}

TEST_CASE("levels that a group does not use cost nothing") {
  const Path flat_path = flat(4, slow);
  const Path outer_only = path_of({{1, fast, 1, "node"}, {4, slow, 1, "machine"}});
  const Path inner_only = path_of({{4, slow, 1, "node"}, {1, fast, 1, "machine"}});
  for (const Collective operation : all) {
    CHECK(cost(operation, outer_only)(3.0_MB) == cost(operation, flat_path)(3.0_MB));
    CHECK(cost(operation, inner_only)(3.0_MB) == cost(operation, flat_path)(3.0_MB));
  }
  CHECK(outer_only.outermost().level == "machine");
  CHECK(inner_only.outermost().level == "node");
}

TEST_CASE("an allreduce is a reduce-scatter and an allgather") {
  for (const Path& path :
       {flat(6, slow), path_of({{4, fast, 1, ""}, {3, slow, 2, ""}, {5, slow, 1.5, ""}})}) {
    const Seconds parts =
        cost(Collective::reduce_scatter, path)(5.0_MB) + cost(Collective::allgather, path)(5.0_MB);
    CHECK(cost(Collective::allreduce, path)(5.0_MB).base() == near(parts.base()));
  }
}

TEST_CASE("doubling beta doubles the time of the bytes, and doubling alpha the rest") {
  const Link half_speed{slow.alpha, 2.0 * slow.beta}, late{2.0 * slow.alpha, slow.beta};
  for (const Collective operation : all) {
    const Linear base = cost(operation, flat(8, slow));
    CHECK(cost(operation, flat(8, half_speed)).per_byte.base() == near(2 * base.per_byte.base()));
    CHECK(cost(operation, flat(8, half_speed)).fixed == base.fixed);
    CHECK(cost(operation, flat(8, late)).fixed.base() == near(2 * base.fixed.base()));
    CHECK(cost(operation, flat(8, late)).per_byte == base.per_byte);
  }
}

TEST_CASE("costs are linear in the bytes, so that sums of bytes can be priced at once") {
  for (const Collective operation : all) {
    const Linear price = cost(operation, path_of({{4, fast, 1, ""}, {3, slow, 2, ""}}));
    CHECK((price(1.0_MB) + price(3.0_MB)).base() == near((price(4.0_MB) + price.fixed).base()));
    CHECK((3.0 * price)(2.0_MB).base() == near(3 * price(2.0_MB).base()));
  }
}

TEST_CASE("on equal links two levels move as many bytes as one ring, with fewer messages") {
  // (p-1)/p m bytes either way: 3/4 + 1/8 = 7/8; but 3 + 1 steps instead of 7
  const Linear one = cost(Collective::allgather, flat(8, slow));
  const Linear two = cost(Collective::allgather, path_of({{4, slow, 1, ""}, {2, slow, 1, ""}}));
  CHECK(two.per_byte.base() == near(one.per_byte.base()));
  CHECK(one.fixed.base() == near(7e-6));
  CHECK(two.fixed.base() == near(4e-6));
}

TEST_CASE("the bytes of a large ring cost at most twice the buffer") {
  // 2 (p-1)/p -> 2
  CHECK(cost(Collective::allreduce, flat(1e6, slow)).per_byte.base() ==
        paradl::test::approx(2e-9).epsilon(1e-5));
}

TEST_CASE("every collective has a name and a formula") {
  CHECK(formula_of(Collective::allreduce) == "2(p-1)(α + m/p φ β)");
  CHECK(all.size() == collectives);
  for (const Collective operation : all) CHECK_FALSE(formula_of(operation).empty());
}

}  // namespace
}  // namespace paradl
