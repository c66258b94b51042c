// The name of a profile, and which measurements of an existing profile are kept.
#include "calibrate/files/profile_file.hpp"

#include <doctest/doctest.h>

#include "calibrate/backend/threads.hpp"
#include "calibrate/measure/layer_rounds.hpp"
#include "calibrate/plain/plain.hpp"
#include "tests/support/layers.hpp"

namespace paradl::calibrate {
namespace {
using namespace test;

ProfileSpec of(const std::string& device, std::vector<ProfileSpec::Entry> entries = {}) {
  ProfileSpec p{.name = "p", .device = device, .libraries = "lib 1"};
  p.entries = std::move(entries);
  return p;
}
ProfileSpec::Entry entry(std::int64_t samples, double seconds, double noise) {
  return {fc(samples, 8, 8), {.forward = Seconds{seconds}, .noise = noise}};
}

TEST_CASE("a profile is named after its device and model, and after settings that are not the default") {
  CHECK(default_profile_name("AMD EPYC 7R13", "resnet50", Precision::fp32, Optimizer::momentum) ==
        "amd-epyc-7r13-resnet50");
  CHECK(default_profile_name("Intel(R) Xeon(R) CPU @ 2.20GHz", "vgg16", Precision::fp32,
                             Optimizer::momentum) == "intel-xeon-cpu-vgg16");
  CHECK(default_profile_name("NVIDIA A100-SXM4-80GB", "gpt:layers=2", Precision::bf16, Optimizer::adam) ==
        "nvidia-a100-sxm4-80gb-gpt-layers-2-bf16-adam");
  CHECK(plain_word("--") == "");
}

TEST_CASE("without a file everything is measured") {
  const Resumed r = resume({}, of("a"), {fc(1, 8, 8), fc(2, 8, 8)}, 0.02);
  CHECK(r.open.size() == 2);
  CHECK(r.kept.empty());
  CHECK(r.why_not.empty());
}

TEST_CASE("steady times in the file are not measured again, and its other entries stay") {
  const ProfileSpec old = of("a", {entry(1, 1, 0.01), entry(2, 1, 0.5), entry(64, 1, 0.01)});
  const Resumed r = resume(old, of("a"), {fc(1, 8, 8), fc(2, 8, 8), fc(4, 8, 8)}, 0.02);
  REQUIRE(r.open.size() == 2);
  CHECK(r.open[0].samples == 2);  // too noisy
  CHECK(r.open[1].samples == 4);  // not there
  CHECK(r.kept.size() == 3);
}

TEST_CASE("times of another device, library, precision or optimizer are not used") {
  const ProfileSpec now = of("a");
  ProfileSpec old = of("b", {entry(1, 1, 0.01)});
  CHECK(resume(old, now, {fc(1, 8, 8)}, 0.02).why_not == "on another device (b)");
  CHECK(resume(old, now, {fc(1, 8, 8)}, 0.02).open.size() == 1);
  CHECK(resume(old, now, {fc(1, 8, 8)}, 0.02).kept.empty());
  old.device = "a";
  old.libraries = "lib 2";
  CHECK(resume(old, now, {}, 0.02).why_not == "with other libraries (lib 2)");
  old.libraries = "lib 1";
  old.precision = Precision::fp16;
  CHECK(resume(old, now, {}, 0.02).why_not == "in another precision (fp16)");
  old.precision = Precision::fp32;
  old.optimizer = Optimizer::adam;
  CHECK(resume(old, now, {}, 0.02).why_not == "with another optimizer (adam)");
}

TEST_CASE("if a shape was measured twice, the steadier times stay") {
  const auto all =
      merged({entry(1, 1, 0.3), entry(2, 1, 0.1)}, {entry(1, 7, 0.2), entry(2, 7, 0.2), entry(3, 7, 1)});
  REQUIRE(all.size() == 3);
  CHECK(all[0].time.forward == Seconds{7});
  CHECK(all[1].time.forward == Seconds{1});
  CHECK(all[2].time.forward == Seconds{7});
}

TEST_CASE("rounds end when all times are steady, after the given number, or on request") {
  const auto device = make_plain_device();
  const auto alone = make_single_rank();
  const std::vector<LocalLayer> shapes{fc(2, 8, 8), same(Op::relu, 2, 8)};
  LayerRoundsOptions options{.rule = {.noise = 1e9, .least = Seconds{0}, .rounds = 5}};
  SUBCASE("steady: two rounds, because a machine has more than one speed") {
    const LayerRounds done = measure_layer_rounds(*device, *alone, shapes, options);
    CHECK(done.rounds == 2);
    REQUIRE(done.entries.size() == 2);
    CHECK(done.entries[0].layer == shapes[0]);
    CHECK(done.entries[0].time.forward > Seconds{0});
    CHECK(done.entries[0].time.noise < 1e9);
  }
  SUBCASE("never steady: the given number of rounds") {
    options.rule.noise = -1;
    CHECK(measure_layer_rounds(*device, *alone, shapes, options).rounds == 5);
  }
  SUBCASE("out of time: always one round") {
    options.rule.noise = -1;
    options.rule.time = Seconds{0};
    CHECK(measure_layer_rounds(*device, *alone, shapes, options).rounds == 1);
  }
  SUBCASE("interrupted: times measured so far are kept") {
    int asked = 0;
    options.stop = [&] { return ++asked > 1; };
    std::size_t kept = 0;
    options.keep = [&](const auto& entries) { kept = entries.size(); };
    const LayerRounds done = measure_layer_rounds(*device, *alone, shapes, options);
    CHECK(done.interrupted);
    CHECK(done.rounds == 0);
    CHECK(done.entries.size() == 1);
    CHECK(kept <= 1);
  }
}

TEST_CASE("all ranks get the same times, and stop together") {
  const std::vector<LocalLayer> shapes{fc(2, 8, 8)};
  std::array<double, 3> forward{};
  run_threads(3, [&](Communicator& ranks) {
    const auto device = make_plain_device();
    LayerRoundsOptions options{.rule = {.noise = -1, .least = Seconds{0}, .rounds = 3}};
    int asked = 0;
    options.stop = [&] { return ranks.rank() == 2 && ++asked > 2; };
    const LayerRounds done = measure_layer_rounds(*device, ranks, shapes, options);
    if (!done.entries.empty() && done.interrupted)
      forward[std::size_t(ranks.rank())] = done.entries[0].time.forward.base();
  });
  CHECK(forward[0] > 0);
  CHECK(forward[0] == forward[1]);
  CHECK(forward[0] == forward[2]);
}

}  // namespace
}  // namespace paradl::calibrate
