// Which hardware to buy: every row is the projection on a changed machine, with the best plan for it.
#include "paradl/judge/sensitivity.hpp"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "paradl/report/bottleneck_table.hpp"
#include "tests/support/asked.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

struct Tornado {
  std::vector<std::unique_ptr<Asked>> asked;  // strategies belong to a question
  std::vector<Swing> swings;

  Tornado(const std::string& model, const std::string& system, const std::string& words) {
    const Asked now(model, system, words);
    swings =
        sensitivity(levers(now.oracle.about().system_spec, now.oracle.about().training.precision),
                    now.projection, [&](const Override& change) -> std::optional<Projection> {
                      const std::string more = fmt::format(" --set {}={}", change.path, change.text());
                      asked.push_back(std::make_unique<Asked>(model, system, words + more));
                      const Projection& best = asked.back()->projection;
                      return best.feasible() ? std::optional(best) : std::nullopt;
                    });
  }
  const Swing& of(const std::string& path) const {
    const auto found = std::ranges::find(swings, path, [](const Swing& s) { return s.lever.path; });
    REQUIRE(found != swings.end());
    return *found;
  }
};

}  // namespace

TEST_CASE("a swing is the oracle's answer with its options, the largest first") {
  const Tornado tornado("vgg16", "abci", "-p 64 -b 32/gpu");
  const Asked now("vgg16", "abci", "-p 64 -b 32/gpu");
  for (const Swing& s : tornado.swings)
    for (const auto& outcome : {s.half, s.twice}) {
      if (!outcome || !outcome->fits) continue;
      CAPTURE(outcome->option);
      const Asked again("vgg16", "abci", "-p 64 -b 32/gpu " + outcome->option);
      CHECK(outcome->epoch == again.projection.epoch());
      CHECK(outcome->strategy == again.projection.strategy());
      CHECK(outcome->gain == doctest::Approx(1 - again.projection.epoch() / now.projection.epoch()));
    }
  CHECK(std::ranges::is_sorted(tornado.swings, std::greater{}, &Swing::size));
}

TEST_CASE("JSON has the grid of every lever as text and axis by axis, as in other results") {
  const Tornado tornado("vgg16", "abci", "-p 64 -b 32/gpu");
  int reported = 0;
  for (const auto& swing : sensitivity_json(tornado.swings))
    for (const char* way : {"half", "twice"}) {
      const auto& outcome = swing[way];
      if (outcome.is_null() || !outcome["feasible"]) continue;
      CAPTURE(outcome.dump());
      ++reported;
      std::string sizes, names;
      for (const auto& [axis, parts] : outcome["axes"].items()) {
        sizes += fmt::format("{}{}", sizes.empty() ? "" : "x", parts.get<int>());
        names += (names.empty() ? "" : "+") + axis;
      }
      CHECK(outcome["grid"] == sizes);
      CHECK(outcome["strategy"] == names);
    }
  CHECK(reported > 10);
}

TEST_CASE("better hardware never makes the best plan slower, and worse hardware never faster") {
  const Tornado tornado("resnet50", "dgx-a100", "-p 64 -b 32/gpu");
  for (const Swing& s : tornado.swings) {
    if (s.lever.path.ends_with(".size"))
      continue;  // GPUs of a node share its ports, so both signs are possible
    CAPTURE(s.lever.path);
    const auto& better = s.lever.less_is_better ? s.half : s.twice;
    const auto& worse = s.lever.less_is_better ? s.twice : s.half;
    if (better && better->fits) CHECK(better->gain >= -1e-9);
    if (worse && worse->fits) CHECK(worse->gain <= 1e-9);
  }
}

TEST_CASE("losing so much memory that no plan fits is the largest effect") {
  // 1.6 G weights of 16 bytes are 25 GB: one GPU of 40 GiB has room for them, none of 20 GiB.
  const Tornado tornado("gpt2-xl", "dgx-a100",
                        "-s data -p 8 -b 8 --optimizer adam --set device.memory=40GiB");
  const Swing& memory = tornado.of("device.memory");
  REQUIRE(memory.half);
  CHECK_FALSE(memory.half->fits);
  CHECK(std::isinf(memory.size));
  CHECK(tornado.swings.front().lever.path == "device.memory");
}

TEST_CASE("levers are the values of the system file") {
  const SystemSpec abci = shipped().system("abci");
  const auto all = levers(abci, Precision::fp32);
  const auto has = [&](const std::string& path) {
    return std::ranges::any_of(all, [&](const Lever& l) { return l.path == path; });
  };
  for (const char* path : {"device.peak.fp32", "device.memory", "levels.node.size", "levels.rack.bandwidth",
                           "levels.rack.latency", "levels.rack.ports", "levels.machine.oversubscription"})
    CHECK_MESSAGE(has(path), path);
  CHECK_FALSE(has("levels.machine.ports"));
  CHECK_FALSE(has("device.peak.fp16"));
}
