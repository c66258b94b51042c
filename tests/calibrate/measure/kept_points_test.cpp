#include "calibrate/measure/kept_points.hpp"

#include <filesystem>
#include <limits>

#include <doctest/doctest.h>

#include "tests/support/temporary.hpp"

namespace paradl::calibrate {
namespace {

LinkPoint point(double bytes, double noise) {
  return {.operation = LinkOperation::allgather,
          .level = "cluster",
          .ranks = 4,
          .bytes = Bytes{bytes},
          .seconds = Seconds{1e-5 + bytes / 3e9},
          .noise = noise};
}

TEST_CASE("kept points: the same tool on the same ranks reads what was well known, to the last digit") {
  const test::TemporaryFolder folder;
  const KeptPoints kept(folder.path() + "/systems/lab.yaml", "tool, 4 ranks");
  CHECK(kept.read().empty());
  kept.write({point(8, 0.01), point(64, 0.5), point(512, std::numeric_limits<double>::infinity())});
  const auto points = kept.read();
  REQUIRE(points.size() == 1);
  CHECK(points[0].operation == LinkOperation::allgather);
  CHECK(points[0].level == "cluster");
  CHECK(points[0].ranks == 4);
  CHECK(points[0].bytes == Bytes{8});
  CHECK(points[0].seconds == point(8, 0).seconds);
  CHECK(points[0].noise == 0.01);
  CHECK(KeptPoints(folder.path() + "/systems/lab.yaml", "tool, 2 ranks").read().empty());
  kept.remove();
  CHECK(!std::filesystem::exists(kept.path()));
}

TEST_CASE("kept points: a file that is none of ours is left out, and measured anew") {
  const test::TemporaryFolder folder;
  const KeptPoints kept(folder.path() + "/lab.yaml", "tool");
  for (const char* text :
       {"", "[", "{}", R"({"tool": "tool"})", R"({"tool": "tool", "points": [{"operation": "gossip"}]})"}) {
    folder.write("lab.yaml.points", text);
    CHECK(kept.read().empty());
  }
}

}  // namespace
}  // namespace paradl::calibrate
