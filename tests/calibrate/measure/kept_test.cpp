#include "calibrate/measure/kept.hpp"

#include <filesystem>
#include <limits>

#include <doctest/doctest.h>

#include "tests/support/temporary.hpp"

namespace paradl::calibrate {
namespace {

LinkPoint point(double bytes, double noise) {
  return {.operation = Collective::allgather,
          .level = GroupLevel::cluster,
          .ranks = 4,
          .bytes = Bytes{bytes},
          .seconds = Seconds{1e-5 + bytes / 3e9},
          .noise = noise};
}

TEST_CASE("kept: points with little noise are read to the last digit by the same tool on the same ranks") {
  const test::TemporaryFolder folder;
  const Kept kept(folder.path() + "/systems/lab.yaml.points", "tool, 4 ranks");
  CHECK(kept.points().empty());
  kept.write(
      std::vector{point(8, 0.01), point(64, 0.5), point(512, std::numeric_limits<double>::infinity())});
  const auto points = kept.points();
  REQUIRE(points.size() == 1);
  CHECK(points[0].operation == Collective::allgather);
  CHECK(points[0].level == GroupLevel::cluster);
  CHECK(points[0].ranks == 4);
  CHECK(points[0].bytes == Bytes{8});
  CHECK(points[0].seconds == point(8, 0).seconds);
  CHECK(points[0].noise == 0.01);
  CHECK(Kept(kept.path(), "tool, 2 ranks").points().empty());
  kept.remove();
  CHECK(!std::filesystem::exists(kept.path()));
}

TEST_CASE("kept: a damaged file counts as empty") {
  const test::TemporaryFolder folder;
  const Kept kept(folder.path() + "/lab.yaml.points", "tool");
  for (const char* text :
       {"", "[", "{}", R"({"tool": "tool"})", R"({"tool": "tool", "points": [{"operation": "gossip"}]})"}) {
    folder.write("lab.yaml.points", text);
    CHECK(kept.points().empty());
    CHECK(kept.samples().empty());
  }
}

TEST_CASE("kept: samples are read as they were written") {
  const test::TemporaryFolder folder;
  const Kept kept(folder.path() + "/lab.samples", "tool");
  CHECK(kept.samples().empty());
  const Samples samples{{"2 flows of 64 kB", {1.25e-4, 0.1 / 3}}, {"1 flow of 64 kB", {}}};
  kept.write(samples);
  CHECK(kept.samples() == Samples{{"2 flows of 64 kB", {1.25e-4, 0.1 / 3}}});
  CHECK(Kept(kept.path(), "another tool").samples().empty());
  CHECK(kept.points().empty());
}

}  // namespace
}  // namespace paradl::calibrate
