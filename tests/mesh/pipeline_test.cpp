// Schedules are executed pass by pass. For equal stages the length is also known in closed form.
#include "paradl/mesh/pipeline.hpp"

#include <algorithm>
#include <functional>
#include <future>
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

/// A random pipeline.
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
    const double executed = execute_pipeline(pipeline, pieces).end.base(), work = V * S * (f + b);
    CHECK((executed - work) / executed == approx((p - 1) / (V * S + p - 1)).epsilon(1e-12));
    CHECK(clock.run(pipeline, pieces).end.base() == approx(executed).epsilon(1e-12));
  }
}

TEST_CASE("GPipe: the paper's formula for equal stages, a flow shop for others") {
  std::mt19937 random(12);
  PipelineClock clock;
  for (int round = 0; round < 300; ++round) {
    Pipeline pipeline = any_pipeline(random);
    pipeline.schedule = gpipe, pipeline.chunks = 1;
    const double p = pipeline.stages, S = pipeline.micro_batches;
    CHECK(execute_pipeline(pipeline, equal_pieces(pipeline, 2, 3, 1)).end.base() ==
          approx((p + S - 1) * 5 + (p > 1 ? 2 * (p + S - 2) : 0)));
    const auto pieces = any_pieces(random, pipeline);
    const PipelineTime executed = execute_pipeline(pipeline, pieces), closed = clock.run(pipeline, pieces);
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
  const auto lanes = pipeline_timeline(pipeline, equal_pieces(pipeline, 1, 2, 1));
  std::vector<double> ends;
  for (const auto& lane : lanes)
    for (const auto& event : lane) ends.push_back(event.end.base());
  CHECK(ends == std::vector<double>{1, 3, 8, 12, 3, 5, 7, 9});
  CHECK(clock.run(pipeline, equal_pieces(pipeline, 1, 2, 1)).end == Seconds{12});
}

TEST_CASE("the shortcut to the end of a schedule gives the same as executing all passes") {
  std::mt19937 random(13);
  PipelineClock clock;
  // Times are multiples of 1/64, so that sums are exact. Then the results are equal, except for rounds that
  // are skipped.
  const auto check = [&](const Pipeline& pipeline, const std::vector<PieceTime>& pieces) {
    const PipelineTime all = execute_pipeline(pipeline, pieces), found = clock.run(pipeline, pieces);
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
  SUBCASE("stages of few kinds, some without cost and some very expensive") {
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

namespace {

/// Runs of equal stages, and all their pieces in the order of the network.
struct Runs {
  std::vector<std::vector<PieceTime>> chunks;  // of each run
  std::vector<StageRun> run;
  std::vector<PieceTime> piece;

  Runs(const Pipeline& pipeline, std::vector<int> stages, std::vector<std::vector<PieceTime>> times)
      : chunks(std::move(times)), piece(std::size_t(pipeline.pieces())) {
    std::size_t s = 0;
    for (std::size_t r = 0; r < stages.size(); ++r) {
      run.push_back({stages[r], chunks[r]});
      for (int n = 0; n < stages[r]; ++n, ++s)
        for (std::size_t c = 0; c < chunks[r].size(); ++c)
          piece[c * std::size_t(pipeline.stages) + s] = chunks[r][c];
    }
  }
};

/// pipeline_end() gives the same as executing all passes. Times are whole numbers, so that sums are exact.
void check_runs(const Pipeline& pipeline, const Runs& runs, PipelineScratch& scratch) {
  std::vector<Seconds> found(runs.run.size()), first;
  const PipelineEnd end = pipeline_end(pipeline, runs.run, found, scratch);
  const PipelineTime executed = execute_pipeline(pipeline, runs.piece);
  std::vector<PieceTime> silent = runs.piece;
  for (PieceTime& piece : silent) piece.sent = {};
  CAPTURE(pipeline.stages);
  CAPTURE(pipeline.micro_batches);
  CAPTURE(pipeline.chunks);
  CAPTURE(int(pipeline.schedule));
  CHECK(end.end == executed.end);
  CHECK(end.silent == execute_pipeline(pipeline, silent).end);
  for (std::size_t s = 0; const StageRun& run : runs.run) {
    first.push_back(executed.stage_end[s]);
    s += std::size_t(run.stages);
  }
  CHECK(found == first);
  CHECK(std::ranges::is_sorted(executed.stage_end, std::greater{}));  // so a run's first stage ends last
}

template <class Random>
Seconds whole(Random& random, std::mt19937::result_type most) {
  return Seconds{double(random() % most)};
}

}  // namespace

TEST_CASE("a run of equal stages takes as long as its stages listed one by one") {
  std::mt19937 random(16);
  PipelineScratch scratch;
  for (int round = 0; round < 4000; ++round) {
    Pipeline pipeline = any_pipeline(random, round % 3 ? 12 : 60);
    if (pipeline.schedule != interleaved) pipeline.stages = 1 + int(random() % 20);
    std::vector<int> stages;
    std::vector<std::vector<PieceTime>> times;
    const auto longest = 1 + random() % unsigned(pipeline.stages), forward = 1 + random() % 50,
               backward = 1 + random() % 100, sent = 1 + random() % 20;
    for (int left = pipeline.stages; left > 0; left -= stages.back()) {
      stages.push_back(std::min(left, 1 + int(random() % longest)));
      times.emplace_back(std::size_t(pipeline.chunks));
      for (PieceTime& time : times.back())
        time = {whole(random, forward), whole(random, backward), whole(random, sent)};
    }
    check_runs(pipeline, {pipeline, stages, times}, scratch);
  }
}

TEST_CASE("interleaved pieces that are equal except for the first and the last one") {
  std::mt19937 random(17);
  PipelineScratch scratch;
  for (int round = 0; round < 20'000; ++round) {
    Pipeline pipeline{.stages = 2 + int(random() % (round % 4 ? 5 : 12)),
                      .chunks = 2 + int(random() % 4),
                      .schedule = interleaved};
    pipeline.micro_batches = pipeline.stages * (1 + int(random() % 5));
    const auto forward = 1 + random() % 40, backward = 1 + random() % 80;
    const PieceTime usual{whole(random, forward), whole(random, backward),
                          round % 3 ? whole(random, 20) : Seconds{}};
    std::vector<std::vector<PieceTime>> times(3, std::vector(std::size_t(pipeline.chunks), usual));
    const auto change = [&](PieceTime& time) {
      if (random() % 3) time.forward += whole(random, forward);
      if (random() % 3) time.backward += whole(random, backward);
      if (random() % 8 == 0) time.forward = whole(random, forward);
    };
    if (random() % 2) change(times.front().front());
    if (random() % 2) change(times.back().back());
    std::vector<int> stages{1, pipeline.stages - 2, 1};
    if (pipeline.stages == 2) stages = {1, 1}, times.erase(times.begin() + 1);
    check_runs(pipeline, {pipeline, stages, times}, scratch);
  }
}

TEST_CASE("pipeline_end: earlier uses of its scratch memory change nothing, also with several threads") {
  std::mt19937 random(18);
  struct Case {
    Pipeline pipeline;
    Runs runs;
  };
  std::vector<Case> cases;
  for (int i = 0; i < 60; ++i) {
    const Pipeline pipeline = any_pipeline(random);
    std::vector<std::vector<PieceTime>> times(std::size_t(pipeline.stages));
    for (auto& stage : times)
      for (int c = 0; c < pipeline.chunks; ++c)
        stage.push_back({whole(random, 50), whole(random, 90), whole(random, 9)});
    cases.push_back({pipeline, {pipeline, std::vector(std::size_t(pipeline.stages), 1), times}});
  }
  const auto all = [&](bool fresh) {
    std::vector<Seconds> out;
    PipelineScratch kept;
    for (const Case& one : cases) {
      std::vector<Seconds> ends(one.runs.run.size());
      PipelineScratch own;
      const PipelineEnd end = pipeline_end(one.pipeline, one.runs.run, ends, fresh ? own : kept);
      out.insert(out.end(), {end.end, end.silent});
      out.insert(out.end(), ends.begin(), ends.end());
    }
    return out;
  };
  const std::vector<Seconds> expected = all(true);
  CHECK(all(false) == expected);
  std::vector<std::future<std::vector<Seconds>>> threads;
  for (int i = 0; i < 4; ++i) threads.push_back(std::async(std::launch::async, all, false));
  for (auto& thread : threads) CHECK(thread.get() == expected);
}

TEST_CASE(
    "an executed schedule: no pass starts before its input, no stage runs two at once, each runs once") {
  std::mt19937 random(14);
  for (int round = 0; round < 200; ++round) {
    const Pipeline pipeline = any_pipeline(random, 20);
    const auto pieces = any_pieces(random, pipeline);
    const auto lanes = pipeline_timeline(pipeline, pieces);
    std::map<std::tuple<bool, int, int>, PipelineEvent> seen;  // by pass, piece and micro-batch
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
  for (int round = 0; round < 300; ++round) {
    const Pipeline pipeline = any_pipeline(random, 30);
    const auto lanes = pipeline_timeline(pipeline, any_pieces(random, pipeline));
    for (int s = 0; s < pipeline.stages; ++s) {
      int kept = 0, most = 0, expected = 0;
      for (const auto& event : lanes[std::size_t(s)])
        most = std::max(most, kept += event.pass.backward ? -1 : 1);
      for (int c = 0; c < pipeline.chunks; ++c) expected += pipeline.in_flight(s, c);
      CAPTURE(s);
      CHECK(expected == most);
      const int p = pipeline.stages, S = pipeline.micro_batches, V = pipeline.chunks;
      if (pipeline.schedule == gpipe) CHECK(expected == S);
      if (pipeline.schedule == alternate) CHECK(expected == std::min(S, p - s));
      if (pipeline.schedule == interleaved)
        CHECK(expected == std::min(V * S, 2 * (p - 1 - s) + (V - 1) * p + 1));
    }
  }
}

TEST_CASE("in flight by chunk: the last chunk of the last stage runs backward at once") {
  const Pipeline pipeline{.stages = 4, .micro_batches = 8, .chunks = 3, .schedule = interleaved};
  CHECK(pipeline.in_flight(3, 0) == 4);
  CHECK(pipeline.in_flight(3, 1) == 4);
  CHECK(pipeline.in_flight(3, 2) == 1);
  CHECK(pipeline.in_flight(0, 0) == 7);  // 2 * 3 + 2 * 4 + 1 = 15 = 7 + 4 + 4
  CHECK(pipeline.in_flight(0, 2) == 4);
}
