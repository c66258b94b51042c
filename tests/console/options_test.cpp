#include "paradl/console/options.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/spec_text.hpp"

namespace paradl::test {

TEST_CASE("a configuration sets the triggers of limits and bottlenecks, each in its range") {
  const auto triggers = [](const std::string& text) {
    Options options;
    options.read_configuration({"paradl.yaml", text});
    return options.triggers();
  };
  const auto at = std::size_t(find_measure("gradient-exchange") - measures().data());
  CHECK(triggers("precision: fp16\n").value[at] == Triggers().value[at]);
  const Triggers set = triggers("bottlenecks:\n  gradient-exchange: 0.1\n  least-share: 0\n");
  CHECK(set.value[at] == 0.1);
  CHECK(set.least_share == 0);

  for (std::size_t i = 0; i < measures().size(); ++i) {  // only this one changes
    const Measure& m = measures()[i];
    const double other = m.trigger + (m.most - m.trigger) / 2;
    Triggers expected;
    expected.value[i] = other;
    CHECK_MESSAGE(triggers(fmt::format("bottlenecks:\n  {}: {}\n", m.key, other)).value == expected.value,
                  m.key);
  }
  CHECK(complaint([&] { triggers("bottlenecks:\n  gradient-exchnage: 0.1\n"); }) ==
        "error: unknown key `gradient-exchnage`\n --> paradl.yaml:2:3\n2 |   gradient-exchnage: 0.1\n"
        "  |   ^^^^^^^^^^^^^^^^^ did you mean `gradient-exchange`?\n");
  CHECK(complaint([&] {
          triggers("bottlenecks:\n  fragmentation: 1.5\n");
        }).find("`fragmentation` must be from 0 to 1") != std::string::npos);
  CHECK(complaint([&] { triggers("bottlenecks:\n  bubble: often\n"); }).find("paradl.yaml:2:11") !=
        std::string::npos);
  CHECK(complaint([&] { triggers("bottlenecks: 3\n"); }).starts_with("error: "));
}

}  // namespace paradl::test
