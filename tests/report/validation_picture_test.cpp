// The picture of measured runs stays readable for any runs.
#include "paradl/report/validation_picture.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace paradl::test {
namespace {

Judged run(const std::string& strategy, double measured, double projected) {
  return {.model = "m",
          .system = "s",
          .strategy = strategy,
          .gpus = 4,
          .batch = 64,
          .measured = Seconds{measured},
          .projected = Seconds{projected}};
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("there are few ticks: in percent, or factors if errors are large") {
  const std::string close = validation_svg({run("data", 1, 0.9), run("filter", 1, 1.3)});
  CHECK(count(close, "+20 %") == 1);
  CHECK(count(close, "-40 %") == 1);
  for (const double off : {5.0, 1e3, 1e6, 1e9}) {
    CAPTURE(off);
    const std::string far = validation_svg({run("data", 1, 0.9), run("filter", 1, off)});
    CHECK(count(far, "<text") < 70);
    CHECK(count(far, " %</text>") == 1);  // the legend of the grey band
    CHECK(count(far, ">x 1</text>") == 1);
  }
  CHECK(count(validation_svg({run("data", 1e-9, 1e9)}), "<text") < 70);
}

TEST_CASE("a legend of many strategies takes more lines and stays inside the picture") {
  std::vector<Judged> runs;
  for (int i = 0; i < 30; ++i) runs.push_back(run(fmt::format("data+strategy{}", i), 1, 1.1));
  const std::string svg = validation_svg(runs);
  const auto box = svg.find("viewBox=\"0 0 ") + 13;
  const double width = std::stod(svg.substr(box)), height = std::stod(svg.substr(svg.find(' ', box)));
  CHECK(height > 500);
  for (std::size_t at = svg.find("<text x=\""); at != svg.npos; at = svg.find("<text x=\"", at + 1)) {
    const double x = std::stod(svg.substr(at + 9)), y = std::stod(svg.substr(svg.find(" y=\"", at) + 4));
    CHECK(x < width - 20);
    CHECK(y < height);
  }
}

}  // namespace paradl::test
