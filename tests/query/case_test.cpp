#include "paradl/query/case.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "paradl/cost/nearest_record.hpp"
#include "tests/support/asked.hpp"
#include "tests/support/spec_text.hpp"

namespace paradl::test {
namespace {

std::string_view layers_of(const Typed& typed) {
  return layer_source_names[std::size_t(load(query_of("resnet50", "abci", typed), shipped()).level().layers)];
}

}  // namespace

TEST_CASE("layer times come from the best source there is, or from the requested one") {
  CHECK(layers_of({}) == "modelled");  // profiles of another framework must be requested
  CHECK(layers_of({{"framework", "chainermn"}}) == "profile");
  CHECK(layers_of({{"framework", "chainermn"}, {"layer-times", "modelled"}}) == "modelled");
  CHECK(layers_of({{"framework", "chainermn"}, {"precision", "fp16"}}) == "modelled");
  CHECK(layers_of({{"layer-times", "profile"}}) == "profile");  // requested; the answer names the profile
  CHECK(layers_of({{"layer-times", "ideal"}}) == "ideal");
  CHECK(layers_of({{"profile", "v100-resnet50"}}) == "profile");
  CHECK(layers_of({{"fidelity", "paper"}}) == "ideal");
  CHECK_THROWS_AS(layers_of({{"layer-times", "profile"}, {"precision", "fp16"}}), UsageError);
  CHECK_THROWS_AS(layers_of({{"layer-times", "ideal"}, {"profile", "v100-resnet50"}}), UsageError);
}

TEST_CASE("efficiency does not depend on how the mini-batch was typed, and is 1 on one GPU") {
  const auto efficiency = [](const std::string& words) {
    return Asked("resnet50", "abci", words).projection.efficiency();
  };
  const double whole = efficiency("-s data -p 4 -b 128");
  CHECK(efficiency("-s data -p 4 -b 32/gpu") == doctest::Approx(whole).epsilon(1e-9));
  CHECK(efficiency("-s data -p 4 -b 128/node") == doctest::Approx(whole).epsilon(1e-9));
  CHECK(whole < 1);
  CHECK(efficiency("-s serial -p 1 -b 32") == doctest::Approx(1).epsilon(1e-9));
}

TEST_CASE("a profile from another device names its origin") {
  const auto source = [](const std::string& words) {
    return Asked("resnet50", "abci", "-p 4 -s data " + words).oracle.about().times.source;
  };
  CHECK(source("--framework chainermn") ==
        "profile v100-resnet50 (a measured total, spread by the kernel-time model)");
  CHECK(source("--layer-times profile").ends_with(", measured under chainermn"));
  CHECK(Asked("resnet50", "dgx1-v100", "-p 4 -s data --profile v100-resnet50")
            .oracle.about()
            .times.source.find(", measured on V100 SXM2 16GB") != std::string::npos);
}

TEST_CASE("a profile belongs to the device of the file: with a faster device, times are faster too") {
  const auto epoch = [](const char* model, const std::string& change) {
    return Asked(model, "abci", "-p 4 -s data -b 16/gpu --framework chainermn" + change).projection.epoch();
  };
  for (const char* model : {"resnet50", "vgg16", "alexnet"}) {
    CAPTURE(model);
    const Seconds now = epoch(model, "");
    for (const char* what : {"device.peak.fp32", "device.memory-bandwidth"}) {
      CAPTURE(what);
      CHECK(epoch(model, fmt::format(" --set {}=x2", what)) < now);
      CHECK(epoch(model, fmt::format(" --set {}=x0.5", what)) > now);
    }
    CHECK(epoch(model, " --set device.memory=x2") == now);
  }
}

TEST_CASE("a record applies to the same device, precision and kind of network, and to unchanged files") {
  const std::vector<RecordedError> recorded =
      read_recorded_errors(shipped().find(SpecKind::accuracy, "recorded")).errors;
  const auto on_record = [&](const char* model, const char* system, const std::string& words) {
    const Asked asked(model, system, words);
    return find_recorded(recorded, asked.oracle.about().level(), asked.projection.strategy(),
                         asked.projection.gpus) != nullptr;
  };
  const std::string chainer = "-p 8 -s data --framework chainermn";
  CHECK(on_record("resnet50", "abci", chainer));
  CHECK_FALSE(on_record("resnet50", "abci", "-p 8 -s data --framework megatron"));
  CHECK_FALSE(on_record("resnet50", "abci", chainer + " --precision fp16"));
  CHECK_FALSE(on_record("gpt2", "abci", chainer + " -b 8"));
  CHECK_FALSE(on_record("resnet50", "dgx1-v100", chainer));
  CHECK_FALSE(on_record("resnet50", "abci", chainer + " --set framework.overlap=on"));
  CHECK_FALSE(on_record("resnet50", "abci", chainer + " --overlap on"));
  CHECK_FALSE(on_record("resnet50", "abci", chainer + " --set levels.rack.bandwidth=x10"));
  CHECK(on_record("resnet50", "abci",
                  chainer + " --set device.memory=32GiB"));  // memory size does not change times
  CHECK_FALSE(on_record("resnet50", "abci", chainer + " --input node"));
  CHECK(on_record("gpt2", "selene", "-p 8 -s data -b 8 --framework megatron"));
  // Without a framework's name.
  CHECK(on_record("resnet50", "abci", "-p 8 -s data"));
  CHECK(on_record("resnet50", "abci", "-p 8 -s data --layer-times profile"));
  CHECK(on_record("gpt2", "selene", "-p 8 -s data -b 8 --precision fp16"));
  CHECK(on_record("gpt2", "selene", "-p 8 -s data -b 8 --precision fp16 --optimizer adam"));
  CHECK_FALSE(on_record("gpt2", "selene", "-p 8 -s data -b 8 --precision fp16 --optimizer sgd"));
  CHECK_FALSE(on_record("resnet50", "abci", "-p 8 -s data --optimizer adam"));
}

TEST_CASE("layer times may be off by the worst kind of kernel, and peak rates not at all") {
  const auto error = [](const char* system, const std::string& words) {
    return Asked("resnet50", system, "-p 8 -s data " + words).oracle.about().layer_error();
  };
  CHECK(error("abci", "") == 0.205);                           // profiles/kernels/v100-cuda10.yaml, in fp32
  CHECK(error("abci", "--precision fp16") == 0.206);           // and in fp16
  CHECK(error("dgx-h100", "") == 0.39);                        // a data sheet
  CHECK(error("selene", "--precision fp16") == std::nullopt);  // fitted on runs alone
  CHECK(error("abci", "--layer-times ideal --links ideal") == 0);
}

TEST_CASE("--set framework changes one value of the framework for one question") {
  const auto terms = [](const std::string& change) {
    Query query{.model = "resnet50", .system = "abci", .framework = "chainermn"};
    if (!change.empty()) add_change(query, read_change(change));
    return load(query, shipped()).training.framework;
  };
  const FrameworkTerms as_written = terms("");
  REQUIRE(as_written.halos == Transport::host);
  CHECK(terms("framework.halos=gpu").halos == Transport::gpu);
  CHECK(terms("framework.costs.split-layer=x0.5").split_layer.base() ==
        doctest::Approx(as_written.split_layer.base() / 2));
  CHECK(complaint([&] { terms("framework.halos=wire"); }) ==
        "usage: --set framework.halos=wire: `halos` cannot be `wire`\nhelp: write gpu or host\n");
  CHECK(complaint([&] { terms("framework.halo=gpu"); }) ==
        "usage: --set framework.halo=gpu: unknown key `halo`\nhelp: did you mean `halos`?\n");
}

TEST_CASE("options without effect, or that contradict each other, are refused by name") {
  const auto refused = [](const std::string& strategy, const Typed& more) {
    Typed all{{"gpus", "8"}, {"batch", "64"}, {"strategy", strategy}};
    all.insert(all.end(), more.begin(), more.end());
    return complaint([&] { ask(query_of("gpt2", "dgx-a100", all), shipped()); });
  };
  CHECK(refused("data", {}).empty());
  CHECK(refused("data", {{"recompute", "none:3"}}) ==
        "usage: --recompute none:3: none takes no number of blocks\nhelp: write none, or full:3\n");
  CHECK(refused("data+layer", {{"schedule", "interleaved:2"}, {"micro-batches", "4"}}).empty());
  CHECK(says(refused("tensor", {{"sequence-parallel", "on"}, {"reduction", "allreduce"}}),
             "which contradicts --reduction allreduce"));
  CHECK(refused("tensor", {{"sequence-parallel", "on"}}).empty());
  CHECK(says(refused("data", {{"reserve", "1e33 TB"}}), "must be less than the device's memory (80.0 GiB)"));
  CHECK(refused("data", {{"reserve", "2GiB"}}).empty());
  CHECK(says(refused("data", {{"batch", "10000000000"}}), "more than 1000000000 samples"));
}

TEST_CASE("levels whose links were measured can have another size with specified links") {
  const auto loaded = [](const Typed& typed) {
    return load(query_of("resnet50", "dgx-a100", typed), shipped());
  };
  const Typed smaller{{"set", "levels.node.size=4"}};
  CHECK(complaint([&] { loaded(smaller); }) ==
        "usage: --set levels.node.size=4: a link was measured on 8 GPUs, but its level has 4\nhelp: add "
        "--links "
        "ideal to use the specified links, or give it another value\n");
  const Case c = loaded({{"set", "levels.node.size=4"}, {"links", "ideal"}, {"set", "device.memory=x2"}});
  const Case shipped_size = loaded({{"links", "ideal"}});
  CHECK(c.machine.gpus_per_node() == 4);
  CHECK(c.machine.device.memory == 2 * shipped_size.machine.device.memory);
  CHECK(bool(c.system_spec.device.kernels) == bool(shipped_size.system_spec.device.kernels));
  CHECK(c.machine_with({read_change("levels.node.size=2")}).gpus_per_node() == 2);
}

TEST_CASE("a grid splits only the extents that the framework splits") {
  const auto refused = [](const std::string& grid, const std::string& more = "") {
    return complaint([&] {
      Asked("resnet50", "abci", "-s data+spatial -b 64 --framework chainermn --grid " + grid + more);
    });
  };
  CHECK(refused("data=2,spatial=2x2") ==
        "usage: --grid data=2,spatial=2x2: framework chainermn splits samples only along their first "
        "extent\nhelp: write spatial=4, or add --set framework.spatial-cut=any\n");
  CHECK(says(refused("data=2,spatial=1x4"), "only along their first extent"));
  CHECK(refused("data=2,spatial=4x1").empty());
  CHECK(refused("data=2,spatial=4").empty());
  CHECK(refused("data=2,spatial=2x2", " --set framework.spatial-cut=any").empty());
}

}  // namespace paradl::test
