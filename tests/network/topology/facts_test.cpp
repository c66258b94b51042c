#include <doctest/doctest.h>
#include <fmt/format.h>

#include "paradl/core/error.hpp"
#include "paradl/network/topology.hpp"
#include "paradl/report/topology_picture.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/temporary.hpp"

using namespace paradl;

namespace {

const WireSpec edr{.link = {Seconds{500e-9}, 1.0 / Bandwidth{12.5e9}}};

TopologyFacts facts(std::string_view text) { return facts_of(*read_topology(text, edr, 8)); }

/// The error and the help for a word that is refused.
std::string refusal(std::string_view text, const WireSpec& wires = edr) {
  try {
    read_topology(text, wires, 8);
  } catch (const UsageError& error) {
    return std::string(error.what()) + " | " + error.help();
  }
  return "none";
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("facts: textbook values") {
  // A k-ary n-cube cut across one dimension loses 2 k^(n-1) cables, a mesh half of that.
  CHECK(facts("torus:8,8").bisection == 16);
  CHECK(facts("torus:4,4,4").bisection == 32);
  CHECK(facts("mesh:8,8").bisection == 8);
  CHECK(facts("torus:8,8").diameter == 8);
  CHECK(facts("mesh:8,8").diameter == 14);
  CHECK(facts("torus:8,8").cables == 128);

  // Full bisection, and a third of it.
  CHECK(facts("fattree:2;16,4;1,16;1,1").bisection == 32);
  CHECK(facts("fattree:2;24,4;1,8;1,1").bisection == 16);
  CHECK(facts("fattree:2;24,4;1,8;1,1").switches == 4 + 8);
  CHECK(facts("fattree:3;4,4,4;1,4,4;1,1,1").diameter == 6);

  CHECK(facts("crossbar:8").diameter == 2);
  CHECK(facts("crossbar:1").diameter == 0);
  CHECK(facts("dragonfly:4,2;2,1;4,1;2").bisection == 8);  // 2 by 2 groups, two cables each
  CHECK(facts("bigraph:4,8").cables == 32 + 16);
}

TEST_CASE("facts: the bisection in bytes a second, by hand") {
  const auto GBps = [](std::string_view text, const WireSpec& wires = edr) {
    return facts_of(*read_topology(text, wires, 8)).bisection_bandwidth->base() / 1e9;
  };
  using paradl::test::approx;
  CHECK(GBps("crossbar:8") == approx(4 * 12.5));                // four hosts on either side, a cable each
  CHECK(GBps("torus:8,8") == approx(16 * 12.5));                // two borders of 8
  CHECK(GBps("torus:4,4,4") == approx(32 * 12.5));              // two borders of 16
  CHECK(GBps("mesh:8,8") == approx(8 * 12.5));                  // one border of 8
  CHECK(GBps("fattree:2;16,4;1,16;1,1") == approx(32 * 12.5));  // all that 32 hosts can send
  CHECK(GBps("fattree:2;24,4;1,8;1,1") == approx(16 * 12.5));   // a third: 8 uplinks of each of two leaves
  CHECK(GBps("fattree:2;24,4;1,8;1,2") == approx(32 * 12.5));   // two cables an uplink
  CHECK(GBps("dragonfly:4,2;2,1;4,1;2") == approx(8 * 12.5));   // 2 by 2 pairs of groups, two cables each
  CHECK(GBps("bigraph:4,8") == approx(16 * 12.5));              // 4 by 4 switches
  // Loop of 16 switches cut in two: 2 of the cables to the next switch cross, 4 of those two further, 8 of
  // those four further, and all 8 that go across.
  CHECK(GBps("dln:4,2") == approx((2 + 4 + 8 + 8) * 12.5));

  // 4 x 4 ports, two a node: nodes 0 to 3 have the first two rows, and two borders of 4 separate them from
  // the others.
  WireSpec nodes = edr;
  nodes.inside = Link{Seconds{}, 1.0 / Bandwidth{50e9}};
  CHECK(GBps("torus:4,4/nvlink:4,2", nodes) == approx(8 * 12.5));
  // If the wires to the ports are slow, these are the narrowest cut: 16 GPUs with one each.
  nodes.inside = Link{Seconds{}, 1.0 / Bandwidth{1e9}};
  CHECK(GBps("torus:4,4/nvlink:4,2", nodes) == approx(16 * 1));
  CHECK(facts_of(*read_topology("torus:4,4/nvlink:4,2", nodes, 8)).bisection == 8);

  WireSpec half = edr;
  half.half_duplex = true;
  CHECK(GBps("torus:8,8", half) == approx(16 * 12.5));  // both directions together
  CHECK(GBps("crossbar:1") == 0);
  CHECK_FALSE(facts("torus:300,300").bisection_bandwidth);

  // Each cable has its own bandwidth: the one between the leaves has 100 GB/s, those of hosts have less.
  const test::TemporaryFolder folder;
  const std::string leaves = "hosts 4\nswitches 2\n0 4\n1 4\n2 5\n3 5\n";
  CHECK(GBps("graph:" + folder.write("fast.txt", leaves + "4 5 100GB/s 1us\n")) == approx(2 * 12.5));
  CHECK(GBps("graph:" + folder.write("slow.txt", leaves + "4 5 3GB/s 1us\n4 5 4GB/s 1us\n")) ==
        approx(3 + 4));
}

TEST_CASE("facts: values that would take too long to compute are left out") {
  const TopologyFacts large = facts("torus:300,300");
  CHECK(large.cables == 180000);
  CHECK_FALSE(large.diameter);
  CHECK_FALSE(large.bisection);
}

TEST_CASE("a wrong topology is refused, and the wrong part is named") {
  CHECK(refusal("torus:8,x") ==
        "topology `torus:8,x` has `x` where a whole number from 1 up should be | "
        "write `torus:8,8`: the size of each dimension");
  CHECK(contains(refusal("torus:8,0"), "has `0` where"));
  CHECK(contains(refusal("torus:8,"), "lacks a number"));
  CHECK(contains(refusal("torus"), "lacks its numbers"));
  CHECK(contains(refusal("torrus:8,8"), "did you mean `torus`?"));
  CHECK(contains(refusal("hypercube:5"), "there are"));
  CHECK(contains(refusal("fattree:3;1,2;1,1,1;1,1,1"), "says 3 levels but gives 2 numbers in part 2"));
  CHECK(contains(refusal("dragonfly:4,1;2,1;4"), "has 3 parts, not 4"));
  CHECK(contains(refusal("dragonfly:4;2,1;4,1;2"), "has 1 number in part 1, not 2"));
  CHECK(contains(refusal("bigraph:4,1"), "needs 2 switches or more"));
  CHECK(contains(refusal("crossbar:4/nvlnk:4"), "has unknown nodes `nvlnk:4`"));
  CHECK(contains(refusal("crossbar:4/nvlink:2,4"), "has more ports (4) than GPUs (2) in a node"));
  CHECK(contains(refusal("crossbar:5/nvlink:4,2"), "cannot share 5 hosts among nodes of 2 ports"));

  WireSpec simgrid = edr;
  simgrid.routing = Routing::simgrid;
  CHECK(contains(refusal("dragonfly:5,1;2,1;4,1;2", simgrid), "at least as many routers as groups"));
}

TEST_CASE("a topology that is too large to route is refused at once") {
  for (const std::string text :
       {"torus:5000,5000", "torus:99999999999999", "crossbar:2000000000", "dln:60,60", "dln2d:2000000000,1,1",
        "fattree:2;50000,50000;50000,50000;1,1", "dragonfly:9999,1;9999,1;9999,1;9", "bigraph:1,100000",
        "dln-random:2000000000,2,2,1", "crossbar:1000/nvlink:5000", "tsubame3-authors:100000"}) {
    CAPTURE(text);
    CHECK(refusal(text) != "none");
  }
}

TEST_CASE("a topology from a file") {
  const test::TemporaryFolder folder;
  const auto written = [&](const std::string& text) { return "graph:" + folder.write("network.txt", text); };
  SUBCASE("two leaves and a faster cable between them") {
    const auto network = read_topology(
        written("# four hosts\nhosts 4\nswitches 2\n0 4\n1 4\n2 5\n3 5\n4 5 100GB/s 1us\n"), edr, 8);
    CHECK(facts_of(*network).diameter == 3);
    std::vector<int> wires;
    network->route(0, 3, wires);
    REQUIRE(wires.size() == 3);
    CHECK(network->wires()[std::size_t(wires[1])].link.alpha.base() == 1e-6);
    CHECK((1.0 / network->wires()[std::size_t(wires[1])].link.beta).base() == paradl::test::approx(100e9));
  }
  SUBCASE("not connected") {
    const std::string text = written("hosts 4\nswitches 2\n0 4\n1 4\n2 5\n3 5\n");
    CHECK_THROWS_WITH_AS(read_topology(text, edr, 8),
                         doctest::Contains("is not connected: no route from host 2 to host 0"), SpecError);
  }
  SUBCASE("mistakes are shown with their line") {
    const auto line = [&](const std::string& text) {
      try {
        read_topology(written(text), edr, 8);
      } catch (const SpecError& error) {
        return error.problems().front().where.line;
      }
      return 0;
    };
    CHECK(line("hosts 4\n0 9\n") == 2);
    CHECK(line("0 1\n") == 1);
    CHECK(line("hosts 2\n\n0 0\n") == 3);
    CHECK(line("hosts 2\n0 1 fast 1us\n") == 2);
    CHECK(line("hosts 2\n0 1 1GB/s\n") == 2);
    CHECK(line("hosts 2\nhosts 3\n0 1\n") == 2);
    CHECK(line("hosts 2\n0 1\nswitches 3\n") == 3);
    CHECK(line("switches 1\nhosts 2\n0 1\n") == 2);  // not connected
  }
  SUBCASE("nodes on it") {
    CHECK(read_topology(written("hosts 2\n0 1\n") + "/nvlink:4", edr, 8)->hosts() == 8);
  }
}

TEST_CASE("seats: the hosts of a job's ranks") {
  const auto network = read_topology("crossbar:12", edr, 12);
  using Seats = std::vector<int>;
  CHECK(read_seats("consecutive", 4, *network) == Seats{0, 1, 2, 3});
  CHECK(read_seats("round-robin:4", 7, *network) == Seats{0, 4, 8, 1, 5, 9, 2});
  CHECK(read_seats("round-robin:5", 12, *network) ==
        Seats{0, 5, 10, 1, 6, 11, 2, 7, 3, 8, 4, 9});  // a unit of two
  // without a number: nodes, or the hosts of a switch
  const auto two_switches = read_topology("bigraph:3,2", edr, 0),
             two_nodes = read_topology("crossbar:2/nvlink:2", edr, 0);
  CHECK(read_seats("round-robin", 6, *two_switches) == Seats{0, 3, 1, 4, 2, 5});
  CHECK(read_seats("round-robin", 4, *two_nodes) == Seats{0, 2, 1, 3});
  // The same on every platform, so these numbers must never change.
  CHECK(read_seats("random:1", 12, *network) == Seats{5, 3, 10, 4, 6, 2, 7, 11, 9, 0, 1, 8});
  CHECK(read_seats("random:1", 12, *network) != read_seats("random:2", 12, *network));

  const test::TemporaryFolder folder;
  const auto refused = [&](const std::string& text) {
    try {
      read_seats(folder.write("seats.txt", text), 2, *network);
    } catch (const SpecError& error) {
      return fmt::format("line {}: {}", error.problems().front().where.line, error.what());
    }
    return std::string("none");
  };
  CHECK(refused("7 # the last but four\n\n3\n") == "none");
  CHECK(read_seats(folder.path() + "/seats.txt", 2, *network) == Seats{7, 3});
  CHECK(contains(refused("7\n7\n"), "line 2: host `7` has a rank already"));
  CHECK(contains(refused("12\n1\n"), "line 1: `12` is not a host from 0 to 11"));
  CHECK(contains(refused("1\n"), "places 1 rank, not 2"));
  CHECK(contains(refused("1\n2\n3\n"), "places 3 ranks, not 2"));
  CHECK(contains(refused("1\n2\nnonsense\n"), "line 3: `nonsense` is not a host"));
  CHECK(contains(refused(std::string("1\n2\0\n", 5)), "line 2: this is not text"));
  // The ranks of a smaller job are the first ones of the largest.
  CHECK(read_seats(SourceText{"seats", "7\n3\n5\n"}, 2, *network, 3) == Seats{7, 3});

  CHECK_THROWS_AS(read_seats("consecutive", 13, *network), UsageError);
  CHECK_THROWS_AS(read_seats("round-robin:0", 2, *network), UsageError);
  CHECK_THROWS_AS(read_seats("round-robin", 2, *network), UsageError);  // one switch: no units
  CHECK_THROWS_AS(read_seats("random", 2, *network), UsageError);
  CHECK_THROWS_AS(read_seats("random:x", 2, *network), UsageError);
  CHECK_THROWS_AS(read_seats("no-such-file", 2, *network), UsageError);
}

TEST_CASE("a picture shows every host and every switch once") {
  const auto count = [](const std::string& text, std::string_view what) {
    int found = 0;
    for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
    return found;
  };
  for (const std::string text :
       {"crossbar:8", "fattree:2;4,3;1,2;1,2", "torus:3,3,3", "mesh:7", "dragonfly:4,1;2,1;4,1;2",
        "bigraph:2,5", "dln:4,1", "dln2d:2,2,1", "dln-random:16,4,2,1", "torus:2,2/nvlink:4,2",
        "crossbar:4/pcie:4,2", "tsubame3-authors:4"}) {
    CAPTURE(text);
    const auto network = read_topology(text, edr, 8);
    const std::string svg = topology_svg(*network);
    CHECK(count(svg, "<circle") == network->hosts());
    CHECK(count(svg, "<rect") == network->switches());
    CHECK(count(svg, "<script") == 0);
    CHECK(count(svg, "\"nan") == 0);
    CHECK(svg.ends_with("</svg>\n"));
  }
  CHECK_THROWS_AS(topology_svg(*read_topology("torus:100,100", edr, 8)), UsageError);
}
