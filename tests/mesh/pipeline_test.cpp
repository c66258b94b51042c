// Schedules are executed pass by pass; where stages are equal their length is known in closed form.
#include "paradl/mesh/pipeline.hpp"

#include <algorithm>
#include <map>
#include <random>

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"

using namespace paradl;
using paradl::test::approx;

namespace {

constexpr auto gpipe = PipelineSchedule::gpipe;
constexpr auto alternate = PipelineSchedule::one_forward_one_backward;
constexpr auto interleaved = PipelineSchedule::interleaved;

std::vector<PieceTime> equal_pieces(const Pipeline& pipeline, double forward, double backward, double sent) {
  std::vector<PieceTime> out(std::size_t(pipeline.pieces()),
                             {Seconds{forward}, Seconds{backward}, Seconds{sent}});
  out.back().sent = {};
  return out;
}

/// A pipeline of any kind that there can be.
template <class Random>
Pipeline any_pipeline(Random& random, int most_micro_batches = 40) {
  Pipeline out{.stages = 1 + int(random() % 8),
               .micro_batches = 1 + int(random() % unsigned(most_micro_batches))};
  out.schedule = std::array{gpipe, alternate, interleaved}[random() % 3];
  if (out.schedule == interleaved) {
    out.chunks = 2 + int(random() % 4);
    out.micro_batches = (1 + out.micro_batches / out.stages) * out.stages;
  }
  return out;
}

template <class Random>
std::vector<PieceTime> any_pieces(Random& random, const Pipeline& pipeline, bool sends = true) {
  std::vector<PieceTime> out(std::size_t(pipeline.pieces()));
  const auto time = [&](unsigned most) { return Seconds{double(random() % most) / 64}; };  // sums are exact
  for (PieceTime& p : out) p = {time(100), time(200), sends ? time(50) : Seconds{}};
  out.back().sent = {};
  return out;
}

}  // namespace

TEST_CASE("equal stages: the bubble is (p-1)/(S+p-1) of the whole, interleaved (p-1)/(V S+p-1)") {
  std::mt19937 random(11);
  PipelineClock clock;
  for (int round = 0; round < 600; ++round) {
    const Pipeline pipeline = any_pipeline(random);
    const double f = double(1 + random() % 100), b = double(1 + random() % 200);
    const double p = pipeline.stages, S = pipeline.micro_batches, V = pipeline.chunks;
    CAPTURE(p);
    CAPTURE(S);
    CAPTURE(V);
    const auto pieces = equal_pieces(pipeline, f, b, 0);
    const double executed = clock.run_all(pipeline, pieces).end.base(), work = V * S * (f + b);
    CHECK((executed - work) / executed == approx((p - 1) / (V * S + p - 1)).epsilon(1e-12));
    CHECK(clock.run(pipeline, pieces).end.base() == approx(executed).epsilon(1e-12));
  }
}

TEST_CASE("GPipe: the paper's passes and transfers for equal stages, a flow shop for others") {
  std::mt19937 random(12);
  PipelineClock clock;
  for (int round = 0; round < 300; ++round) {
    Pipeline pipeline = any_pipeline(random);
    pipeline.schedule = gpipe, pipeline.chunks = 1;
    const double p = pipeline.stages, S = pipeline.micro_batches;
    CHECK(clock.run_all(pipeline, equal_pieces(pipeline, 2, 3, 1)).end.base() ==
          approx((p + S - 1) * 5 + (p > 1 ? 2 * (p + S - 2) : 0)));
    const auto pieces = any_pieces(random, pipeline);
    const PipelineTime executed = clock.run_all(pipeline, pieces), closed = clock.run(pipeline, pieces);
    CHECK(closed.end.base() == approx(executed.end.base()).epsilon(1e-12));
    for (std::size_t s = 0; s < executed.stage_end.size(); ++s)
      CHECK(closed.stage_end[s].base() == approx(executed.stage_end[s].base()).epsilon(1e-12));
  }
}

TEST_CASE("1F1B of two stages, by hand") {
  // F 1, B 2, T 1, at     0    1   2    3   4         6    8     10   12
  // stage 0               F0   T   F1   T   (waits)   B0   (waits) B1
  // stage 1  waits until 2: F0 3 B0 5 T 6 F1 7 B1 9 T 10
  const Pipeline pipeline{.stages = 2, .micro_batches = 2, .schedule = alternate};
  PipelineClock clock;
  const auto lanes = clock.timeline(pipeline, equal_pieces(pipeline, 1, 2, 1));
  std::vector<double> ends;
  for (const auto& lane : lanes)
    for (const auto& event : lane) ends.push_back(event.end.base());
  CHECK(ends == std::vector<double>{1, 3, 8, 12, 3, 5, 7, 9});
  CHECK(clock.run(pipeline, equal_pieces(pipeline, 1, 2, 1)).end == Seconds{12});
}

TEST_CASE("what is found without looking at each pass is what executing all of them gives") {
  std::mt19937 random(13);
  PipelineClock clock;
  // Times are multiples of 1/64, so that sums are exact: so is the agreement, but for rounds that are
  // skipped.
  const auto check = [&](const Pipeline& pipeline, const std::vector<PieceTime>& pieces) {
    const PipelineTime all = clock.run_all(pipeline, pieces), found = clock.run(pipeline, pieces);
    CAPTURE(pipeline.stages);
    CAPTURE(pipeline.micro_batches);
    CAPTURE(pipeline.chunks);
    CAPTURE(int(pipeline.schedule));
    CHECK(found.end.base() == approx(all.end.base()).epsilon(1e-13));
    for (std::size_t s = 0; s < all.stage_end.size(); ++s)
      CHECK(found.stage_end[s].base() == approx(all.stage_end[s].base()).epsilon(1e-13));
  };
  SUBCASE("uneven stages, more micro-batches than stages") {
    for (int round = 0; round < 500; ++round) {
      const Pipeline pipeline = any_pipeline(random, 500);
      check(pipeline, any_pieces(random, pipeline));
    }
  }
  SUBCASE("deep pipelines with few micro-batches") {
    for (int round = 0; round < 2000; ++round) {
      Pipeline pipeline = any_pipeline(random, 12);
      if (pipeline.schedule != interleaved) pipeline.stages = 1 + int(random() % 16);
      check(pipeline, any_pieces(random, pipeline));
    }
  }
  SUBCASE("stages of few kinds, some of which cost nothing or very much") {
    for (int round = 0; round < 2000; ++round) {
      const Pipeline pipeline = any_pipeline(random);
      auto pieces = any_pieces(random, pipeline);
      const std::array kinds{PieceTime{Seconds{1}, Seconds{2}, Seconds{0.25}}, PieceTime{},
                             PieceTime{Seconds{40}, Seconds{1}, Seconds{}},
                             PieceTime{Seconds{1}, Seconds{60}, Seconds{8}}};
      for (PieceTime& piece : pieces) piece = kinds[random() % kinds.size()];
      pieces.back().sent = {};
      check(pipeline, pieces);
    }
  }
}

TEST_CASE(
    "an executed schedule: nothing starts before its input, no stage does two things, all is done once") {
  std::mt19937 random(14);
  PipelineClock clock;
  for (int round = 0; round < 200; ++round) {
    const Pipeline pipeline = any_pipeline(random, 20);
    const auto pieces = any_pieces(random, pipeline);
    const auto lanes = clock.timeline(pipeline, pieces);
    std::map<std::tuple<bool, int, int>, PipelineClock::Event> seen;  // by pass, piece and micro-batch
    for (const auto& lane : lanes) {
      REQUIRE(int(lane.size()) == 2 * pipeline.passes());
      Seconds free;
      for (const auto& event : lane) {
        CHECK(event.begin >= free);
        free = event.sent;
        seen[{event.pass.backward, event.pass.chunk * pipeline.stages + event.stage,
              event.pass.micro_batch}] = event;
      }
    }
    REQUIRE(int(seen.size()) == 2 * pipeline.pieces() * pipeline.micro_batches);
    for (const auto& [key, event] : seen) {
      const auto& [backward, piece, m] = key;
      const PieceTime& takes = pieces[std::size_t(piece)];
      CHECK(event.end - event.begin == (backward ? takes.backward : takes.forward));
      if (!backward && piece > 0) CHECK(event.begin >= seen.at({false, piece - 1, m}).sent);
      if (backward && piece + 1 < pipeline.pieces()) CHECK(event.begin >= seen.at({true, piece + 1, m}).sent);
      if (backward) CHECK(event.begin >= seen.at({false, piece, m}).end);
    }
  }
}

TEST_CASE("micro-batches in flight are those that the executed schedule keeps") {
  std::mt19937 random(15);
  PipelineClock clock;
  for (int round = 0; round < 300; ++round) {
    const Pipeline pipeline = any_pipeline(random, 30);
    const auto lanes = clock.timeline(pipeline, any_pieces(random, pipeline));
    for (int s = 0; s < pipeline.stages; ++s) {
      int kept = 0, most = 0, told = 0;
      for (const auto& event : lanes[std::size_t(s)])
        most = std::max(most, kept += event.pass.backward ? -1 : 1);
      for (int c = 0; c < pipeline.chunks; ++c) told += pipeline.in_flight(s, c);
      CAPTURE(s);
      CHECK(told == most);
      const int p = pipeline.stages, S = pipeline.micro_batches, V = pipeline.chunks;
      if (pipeline.schedule == gpipe) CHECK(told == S);
      if (pipeline.schedule == alternate) CHECK(told == std::min(S, p - s));
      if (pipeline.schedule == interleaved) CHECK(told == std::min(V * S, 2 * (p - 1 - s) + (V - 1) * p + 1));
    }
  }
}

TEST_CASE("in flight by chunk: the last one of the last stage goes back at once") {
  const Pipeline pipeline{.stages = 4, .micro_batches = 8, .chunks = 3, .schedule = interleaved};
  CHECK(pipeline.in_flight(3, 0) == 4);
  CHECK(pipeline.in_flight(3, 1) == 4);
  CHECK(pipeline.in_flight(3, 2) == 1);
  CHECK(pipeline.in_flight(0, 0) == 7);  // 2 * 3 + 2 * 4 + 1 = 15 = 7 + 4 + 4
  CHECK(pipeline.in_flight(0, 2) == 4);
}
