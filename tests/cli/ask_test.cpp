#include "paradl/cli/ask.hpp"

#include <doctest/doctest.h>

#include "tests/support/source_dir.hpp"

namespace paradl::test {
namespace {

std::string layers_of(const std::vector<std::pair<std::string, std::string>>& typed) {
  Options options;
  options.set("gpus", "4");
  for (const auto& [key, text] : typed) options.set(key, text);
  return read_ask(Catalog{{source_dir()}}, options, "resnet50", "abci")->level().layers;
}

}  // namespace

TEST_CASE("what layer times rest on: the best there is, or what was asked for") {
  CHECK(layers_of({}) == "modelled");  // a measured total is for runs like its own, and taken when named
  CHECK(layers_of({{"layer-times", "ideal"}}) == "ideal");
  CHECK(layers_of({{"profile", "v100-resnet50"}}) == "profile");
  CHECK(layers_of({{"fidelity", "paper"}}) == "ideal");
  CHECK_THROWS_AS(layers_of({{"layer-times", "profile"}}), UsageError);
  CHECK_THROWS_AS(layers_of({{"layer-times", "ideal"}, {"profile", "v100-resnet50"}}), UsageError);
}

}  // namespace paradl::test
