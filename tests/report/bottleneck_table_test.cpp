#include "paradl/report/bottleneck_table.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "paradl/cli/help_topics.hpp"
#include "paradl/report/projection_table.hpp"
#include "tests/support/asked.hpp"

using namespace paradl;
using namespace paradl::test;

TEST_CASE("a bottleneck in JSON has the fields that other programs rely on") {
  const Asked asked("vgg16", "abci", "-s data -p 64 -b 32/gpu --framework chainermn");
  Examiner examiner = examiner_of(asked.oracle);
  auto found = examiner.bottlenecks(asked.projection);
  REQUIRE_FALSE(found.empty());
  REQUIRE(found.front().kind == BottleneckKind::gradient_exchange);
  const auto plain = bottleneck_json(found.front());
  CHECK(plain["kind"] == "gradient_exchange");
  CHECK(plain["type"] == "limit");
  CHECK(plain["share"].get<double>() ==
        doctest::Approx((*asked.projection.cost)[Term::gradient_exchange] / asked.projection.iteration()));
  CHECK(plain["value"] == plain["share"]);
  CHECK(plain["trigger"] == 0.2);
  CHECK(plain["message"].get<std::string>().starts_with(fmt::format(
      "the gradient exchange takes {:.0f} % of the iteration", 100 * plain["share"].get<double>())));
  CHECK(plain["cause"].get<std::string>().ends_with("level rack"));
  CHECK(plain["remedy"].get<std::string>().starts_with("--overlap on, or "));
  CHECK_FALSE(plain.contains("remedies"));

  examiner.price(found.front(), asked.projection);
  const auto priced = bottleneck_json(found.front());
  REQUIRE(priced["remedies"].size() > 1);
  for (const auto& remedy : priced["remedies"])
    for (const char* field : {"text", "option", "hands", "gain", "epoch_s", "memory_bytes"})
      CHECK_MESSAGE(remedy.contains(field), field);
  CHECK(priced["remedies"][0]["gain"] >= priced["remedies"][1]["gain"]);
}

TEST_CASE("text shows bottlenecks with their remedies, and JSON has the numbers") {
  const Asked asked("resnet50", "abci", "-s filter -p 128 -b 64");
  Examiner examiner = examiner_of(asked.oracle);
  auto found = examiner.bottlenecks(asked.projection);
  REQUIRE(found.size() == 1);
  examiner.price(found.front(), asked.projection);
  const std::string text = bottleneck_text(found.front(), 3);
  CHECK(text.starts_with("Limit: number of PEs: cannot split into 128 parts: layer conv1 has 64 filters.\n"));
  CHECK(says(text, "per epoch  data+filter on 32x4 (-s data+filter --grid data=32,filter=4)"));
  CHECK_FALSE(bottleneck_json(found.front())["remedies"][0].contains("gain"));  // no plan to compare with

  const auto findings = examiner.findings(asked.projection);
  CHECK(findings.size() == measures().size());
  CHECK(says(to_csv(findings_table(findings, ReadBy::machines)), "number of PEs,limit"));
  CHECK(says(to_csv(findings_table(findings, ReadBy::machines)), ",2,1,,conv1,yes\n"));
  CHECK(says(to_text(findings_table(findings)).text, "> 1 "));
}

TEST_CASE("a table has a column of bottlenecks on request") {
  const Asked asked("vgg16", "abci", "-s data,filter -p 128 -b 32/gpu --framework chainermn");
  const Setting setting = asked.oracle.setting();
  Answer answer;
  answer.setting = &setting;
  answer.results = asked.oracle.sweep();
  CHECK_FALSE(says(to_csv(projection_table(answer, {"bottlenecks"})), "gradient"));  // not examined
  Examiner examiner = examiner_of(asked.oracle);
  for (const Projection& p : answer.results) answer.bottlenecks.push_back(examiner.bottlenecks(p));
  const Table table = projection_table(answer, {"strategy", "bottlenecks"});
  CHECK(says(to_csv(table), "data,gradient exchange"));
  CHECK(says(to_csv(table), "filter,number of PEs"));
  CHECK(says(to_markdown(table), "limited by"));
}

TEST_CASE("the help has the default trigger of every measure") {
  std::string help;
  for (const HelpTopic& topic : help_topics())
    if (topic.name == "bottlenecks") help = topic.text;
  for (const Measure& m : measures())
    CHECK_MESSAGE(says(help, fmt::format("`{}: {:g}`", m.key, m.trigger)), m.key);
  CHECK(says(help, fmt::format("`{}: {:g}`", least_share_key, Triggers().least_share)));
}
