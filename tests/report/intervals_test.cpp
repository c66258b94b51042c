// Intervals of answers: every projection has one, also far from any measured run.
#include <cmath>
#include <memory>
#include <tuple>

#include <doctest/doctest.h>

#include "paradl/cli/command.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/asked.hpp"
#include "tests/support/spec_text.hpp"

namespace paradl::test {
namespace {

/// A question with the answer that a command would print.
struct Answered {
  Asked asked;
  Setting setting = asked.oracle.setting();
  Answer answer = start_answer(Session{.catalog = shipped(), .arguments = {}}, asked.oracle.about());

  Answered(const std::string& model, const std::string& system, const std::string& words)
      : asked(model, system, words) {
    answer.setting = &setting;
    answer.results = {asked.projection};
  }
  std::optional<RecordedError> error() const { return recorded_error(answer, asked.projection); }
  std::string text() const { return record_text(answer, asked.projection); }
};

}  // namespace

TEST_CASE("closed forms have their own intervals, for any framework, and name their runs") {
  const Answered closed("resnet50", "abci", "-p 64 -s data --fidelity paper");
  const auto error = closed.error();
  REQUIRE(error);
  CHECK(error->level == closed.answer.level);
  CHECK(error->level.fidelity == Fidelity::paper);
  CHECK(error->level.links == LinkLevel::ideal);  // closed forms have no measured links
  // They are too fast, because they omit the costs of frameworks. The interval contains the projection
  // itself.
  CHECK(error->low <= 1);
  CHECK(error->high > 1 / error->low);
  CHECK(says(closed.text(), "ideal layer times, ideal links, closed forms of the paper"));
  CHECK_FALSE(says(closed.text(), "no measured run"));
  // Closed forms of the same layer times are the same under any framework.
  const Answered under("resnet50", "abci", "-p 64 -s data --fidelity paper --framework ddp");
  REQUIRE(under.error());
  CHECK(under.error()->high == error->high);
  CHECK(under.answer.framework == "ddp");
  // An option that no run had is named, and widens the interval.
  for (const auto& [system, words, said] :
       {std::tuple{"dgx-a100", "-p 64 -s data --precision fp32",
                   "no measured run on A100 SXM4 80GB; interval borrowed from runs on V100"},
        std::tuple{"abci", "-p 64 -s data --precision fp16",
                   "no measured run in fp16; interval borrowed from runs in fp32"},
        std::tuple{"abci", "-p 64 -s data --set levels.rack.ports=4",
                   "no measured run with --set; interval borrowed from runs without"}}) {
    const Answered other("resnet50", system, words + std::string(" --fidelity paper"));
    REQUIRE(other.error());
    CHECK(other.error()->high > error->high);
    CHECK(other.error()->low <= error->low);
    INFO(other.text());
    CHECK(says(other.text(), said));
  }
  CHECK(says(Answered("gpt2", "abci", "-p 8 -b 8 -s data --fidelity paper").text(),
             "no measured run of transformer networks; interval borrowed from runs of convolutional ones"));
  CHECK(says(Answered("resnet50", "abci", "-p 8 -s layer --fidelity paper").text(),
             "all strategies, because layer has none, "));
}

TEST_CASE("the out-of-core interval is that of the strategy in core, widened by the error of the host link") {
  for (const char* framework : {"chainermn", "ideal", "ddp"})
    for (const char* strategy : {"-b 2048 -s data", "-b 256 -s filter", "-b 512 -s layer"}) {
      CAPTURE(framework);
      CAPTURE(strategy);
      const std::string words = std::string("-p 4 --framework ") + framework + " " + strategy;
      const Answered within("resnet50", "abci", words), beyond("resnet50", "abci", words + "/ooc");
      REQUIRE(beyond.asked.projection.out_of_core);
      REQUIRE(beyond.error());
      const HostDoubt& host = beyond.asked.projection.out_of_core->doubt;
      CHECK(host.slow >= 1);
      CHECK(host.fast <= 1);
      // Three independent errors: the record, kernels (a fifth, see profiles/kernels/v100-cuda10.yaml), the
      // host link.
      const auto together = [](double record, double kernels, double link) {
        return std::hypot(std::log(record), std::log(kernels), std::log(link));
      };
      CHECK(std::log(beyond.error()->high) == approx(together(within.error()->high, 1.205, host.slow)));
      CHECK(-std::log(beyond.error()->low) == approx(together(within.error()->low, 0.795, host.fast)));
      CHECK(beyond.error()->strategy == within.error()->strategy);
      CHECK(says(beyond.text(), "no measured run"));
      CHECK(says(beyond.text(), "out of core"));
      CHECK(says(beyond.text(), "in core, widened"));
      CHECK(says(beyond.text(), "a host link half or twice as fast"));
      CHECK_FALSE(says(within.text(), "out of core"));
    }
  // Only a plan that waits for its copies depends on the host link.
  const Answered waits("resnet50", "abci", "-p 1 -b 800 -s serial/ooc");
  CHECK(waits.asked.projection.out_of_core->doubt.slow > 1.1);
  const Answered stays("resnet50", "abci", "-p 4 -b 32 -s data/ooc");
  CHECK(stays.asked.projection.out_of_core->doubt.slow == 1);
  CHECK(stays.asked.projection.out_of_core->doubt.fast == 1);
}

TEST_CASE("every projection with a time has an interval, which contains the projection") {
  const auto check = [](const std::string& model, const std::string& system, const std::string& words) {
    std::optional<Oracle> oracle;
    try {
      oracle = ask(query_of(model, system, words), shipped());
    } catch (const UsageError&) {
      return;  // no such profile, or no measured links
    }
    const Setting setting = oracle->setting();
    Answer answer = start_answer(Session{.catalog = shipped(), .arguments = {}}, oracle->about());
    answer.setting = &setting;
    answer.results = oracle->sweep();
    for (const Projection& p : answer.results) {
      if (!p.timed()) continue;
      CAPTURE(words);
      CAPTURE(p.strategy());
      const auto error = recorded_error(answer, p);
      REQUIRE(error);
      CHECK(error->low > 0);
      CHECK(error->low <= 1);
      CHECK(error->high > 1);
      CHECK_FALSE(interval_text(answer, p).empty());
      CHECK(says(record_text(answer, p), " measured run"));
      CHECK_FALSE(record_text(answer, p).starts_with("no measured run"));
    }
  };
  const std::string rows = " -s data,spatial,layer,filter,channel,data+filter,data+channel,data+spatial";
  for (const char* model : {"resnet50", "cosmoflow-512", "gpt2", "megatron-2.5b", "vit-b-16"})
    for (const char* system : {"abci", "abci-paper", "dgx-h100", "laptop", "summit"}) {
      CAPTURE(model);
      CAPTURE(system);
      const bool alone = std::string(system) == "laptop";
      for (const char* times :
           {"", " --layer-times ideal", " --layer-times modelled", " --layer-times profile"})
        check(model, system,
              (alone ? std::string("-p 1 -s serial") : "-p 8" + rows) + times + " --fidelity paper");
      for (const char* words :
           {"", " --links ideal", " --layer-times ideal --links measured", " --layer-times profile",
            " --framework chainermn", " --framework chainermn --links ideal", " --framework megatron"})
        check(model, system,
              (alone ? "-p 1 -s serial,serial/ooc" : "-p 8 -s data,tensor") + std::string(words));
    }
  for (const char* gpus : {"-p 128", "-p 1024"})  // at every scale
    check("resnet50", "abci", gpus + rows + " --fidelity paper");
}

}  // namespace paradl::test
