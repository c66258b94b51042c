// A verdict: what to do and what limits it, as one value.
#include "paradl/query/verdict.hpp"

#include <doctest/doctest.h>

#include "tests/support/asked.hpp"

namespace paradl::test {

TEST_CASE("a plan that fits is recommended as it is, with its bottlenecks") {
  const Oracle oracle = ask(query_of("resnet50", "abci", "-p 64 -b 32/gpu"), shipped());
  const std::vector<Projection> ranked = oracle.ranked();
  const Examiner examiner = examiner_of(oracle);
  const Verdict verdict = verdict_of(oracle, ranked.front(), examiner);
  CHECK(verdict.fitting.empty());
  CHECK(verdict.instead() == nullptr);
  CHECK(&verdict.shown() == &verdict.best);
  CHECK(verdict.best.iteration() == ranked.front().iteration());
  CHECK(verdict.found.size() == examiner.bottlenecks(ranked.front()).size());
  REQUIRE_FALSE(verdict.found.empty());
}

TEST_CASE("if only a plan out of core fits as asked, a faster change in core is recommended") {
  const Oracle oracle = ask(query_of("bert-large", "abci", "-p 8 -b 64/gpu"), shipped());
  const std::vector<Projection> ranked = oracle.ranked();
  REQUIRE(ranked.front().out_of_core);
  const Verdict verdict = fitting_verdict(oracle, ranked.front());
  CHECK(verdict.found.empty());
  REQUIRE(verdict.instead());
  CHECK(verdict.shown().feasible());
  CHECK_FALSE(verdict.shown().out_of_core);
  CHECK(verdict.shown().epoch() < verdict.best.epoch());
  for (std::size_t i = 1; i < verdict.fitting.size(); ++i)  // the fastest first
    CHECK(verdict.fitting[i - 1].projection.iteration() <= verdict.fitting[i].projection.iteration());
}

TEST_CASE("without a plan that fits, the verdict names no recommended change, only ways to fit") {
  const Oracle oracle = ask(query_of("gpt3-175b", "selene", "-s data -p 8 -b 8"), shipped());
  const std::vector<Projection> ranked = oracle.ranked();
  REQUIRE_FALSE(ranked.front().feasible());
  const Verdict verdict = verdict_of(oracle, ranked.front(), examiner_of(oracle));
  CHECK(verdict.instead() == nullptr);
  CHECK(verdict.found.empty());
  CHECK_FALSE(verdict.shown().feasible());
}

}  // namespace paradl::test
