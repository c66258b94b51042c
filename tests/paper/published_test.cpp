// The authors' published numbers to every printed digit: their tool's results for their own files, recomputed
// (shared reference, section d, "Tool regression targets"). Epoch seconds; iterations rounded up; system
// abci-paper.
#include <doctest/doctest.h>

#include "paradl/spec/catalog.hpp"
#include "paradl/spec/foreign.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/pencil.hpp"
#include "tests/support/source_dir.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

Bench authors(const std::string& file) {
  const Imported imported = import_file(read_source(std::string(PARADL_REFERENCE_DATA) + "/authors/" + file));
  const ModelSpec spec = read_model({file, imported.yaml},
                                    [](const std::string&) -> SourceText { throw UsageError("no base"); });
  Training t;
  t.ceil_iterations = true;
  t.overlap = false;
  return Bench(build_workload(spec), build_machine(Catalog({source_dir()}).system("abci-paper")), t);
}

struct Published {
  const char* file;
  const char* strategy;
  int p;
  double batch, compute, communication;  // 0: not published, or counted in the wrong part (X18)
};

constexpr const char* resnet = "RESNET50_ImageNet_profall.net_sc";
constexpr const char* vgg = "VGG_ImageNet_profall.net_sc";

constexpr Published published[] = {
    {resnet, "data", 16, 64 * 16, 249.56016, 18.562137},
    {resnet, "data", 64, 64 * 64, 62.39004, 6.0726664},
    {resnet, "data", 256, 64 * 256, 15.59751, 2.79602608},
    {resnet, "data", 1024, 64 * 1024, 3.8993775, 1.96761283},
    {vgg, "data", 16, 32 * 16, 659.64712, 257.725362},
    {vgg, "data", 1024, 32 * 1024, 10.30698625, 7.69647421},
    {resnet, "filter", 4, 64, 0, 2175.15738},
    {resnet, "filter", 8, 64, 0, 10609.87425},
    {resnet, "filter", 16, 64, 0, 12256.55791},
    {resnet, "filter", 32, 64, 0, 14502.03654},
    {resnet, "filter", 64, 64, 0, 18469.04946},
    {resnet, "channel", 64, 64, 0, 18469.04946},
    {vgg, "filter", 4, 32, 0, 3253.71168},
    {vgg, "filter", 64, 32, 0, 20822.52312},
};

}  // namespace

TEST_SUITE("reference") {
  TEST_CASE("the authors' published times are reproduced to every printed digit") {
    for (const Published& row : published) {
      CAPTURE(row.file);
      CAPTURE(row.strategy);
      CAPTURE(row.p);
      Bench bench = authors(row.file);
      const Projection p = bench.paper(row.strategy, std::to_string(row.p), row.batch);
      REQUIRE(p.cost);
      if (row.compute > 0)
        CHECK((p.iterations * p.cost->compute()).base() == paradl::test::approx(row.compute).epsilon(1e-9));
      // printed with five to nine decimals: half a unit of the last one
      CHECK(std::abs((p.iterations * p.cost->communication()).base() - row.communication) < 0.51e-5);
    }
  }

  TEST_CASE("the authors' published memory is reproduced to the byte") {
    CHECK(authors(resnet).paper("data", "16", 64 * 16).cost->memory.total().base() == 15434845696.0);
    CHECK(authors(vgg).paper("data", "16", 32 * 16).cost->memory.total().base() == 9360484864.0);
    CHECK(authors("ALEXNET_ImageNet_profall.net_sc")
              .paper("data", "16", 512 * 16)
              .cost->memory.total()
              .base() == 7507837184.0);
  }
}
