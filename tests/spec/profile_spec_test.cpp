// Profile files: values are read as they were written, and mistakes are shown at their place.
#include "paradl/spec/profile_spec.hpp"

#include <fstream>

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/spec_text.hpp"

namespace paradl::test {
namespace {

const std::string small = R"(name: lab-net
device: V100
precision: fp16
optimizer: adam
layers:
  - {op: conv, samples: 16, x: 64x56x56, y: 128x28x28, kernel: 3x3, stride: 2x2, padding: 1x1, weights: 73728, forward: 1.5 ms, backward-data: 2 ms, backward-weights: 3 ms, update: 40 us, noise: 0.01}
)";

std::string with(const std::string& old, const std::string& fresh) {
  std::string out = small;
  return out.replace(out.find(old), old.size(), fresh);
}
std::string complaint_about(const std::string& text) {
  return complaint([&] { read_profile(source_of(text)); });
}

TEST_CASE("a profile names the measured times, the device and the tool") {
  const ProfileSpec p = read_profile(source_of(small));
  CHECK(p.name == "lab-net");
  CHECK(p.device == "V100");
  CHECK(p.precision == Precision::fp16);
  CHECK(p.optimizer == Optimizer::adam);
  REQUIRE(p.entries.size() == 1);
  const auto& [layer, time] = p.entries[0];
  CHECK(layer.op == Op::conv);
  CHECK(layer.samples == 16);
  CHECK(layer.x_channels == 64);
  CHECK(layer.y_extent == std::array<std::int64_t, 3>{28, 28, 1});
  CHECK(layer.stride == std::array<std::int64_t, 3>{2, 2, 1});
  CHECK(layer.weights == 73728);
  CHECK(time.forward.base() == approx(1.5e-3));
  CHECK(time.backward().base() == approx(5e-3));
  CHECK(time.update.base() == approx(40e-6));
  CHECK(time.noise == approx(0.01));
  CHECK(text_of(layer) == "conv 16 x 64x56x56 -> 128x28x28, kernel 3x3");
}

TEST_CASE("every kind of layer is read as it was written") {
  ProfileSpec p{
      .name = "all", .model = "net", .device = "a: b", .libraries = "lib 1, 2 threads", .date = "2026-01-02"};
  double n = 0;
  for (const NamedLayer& named : conformance_layers())
    p.entries.push_back(
        {named.layer, {.forward = Seconds{1e-6 * ++n}, .update = Seconds{2e-6}, .noise = 0.0125}});
  const ProfileSpec back = read_profile(source_of(profile_text(p)));
  CHECK(back.model == "net");
  CHECK(back.device == "a: b");
  CHECK(back.libraries == "lib 1, 2 threads");
  CHECK(back.date == "2026-01-02");
  REQUIRE(back.entries.size() == p.entries.size());
  for (std::size_t i = 0; i < p.entries.size(); ++i) {
    CAPTURE(text_of(p.entries[i].layer));
    CHECK(back.entries[i].layer == p.entries[i].layer);
    CHECK(back.entries[i].time.forward.base() == approx(p.entries[i].time.forward.base()));
    CHECK(back.entries[i].time.noise == approx(0.0125));
  }
}

TEST_CASE("mistakes are shown at their place") {
  CHECK(says(complaint_about(with("1.5 ms", "1.5")), "error: cannot read `forward`\n --> test.yaml:6:"));
  CHECK(says(complaint_about(with("op: conv", "op: convv")),
             "error: no op is called `convv`\n --> test.yaml:6:10\n"));
  CHECK(says(complaint_about(with("64x56x56", "64xx56")), "error: cannot read `x`"));
  CHECK(says(complaint_about(with("3x3", "3")), "`kernel` needs one number for each extent of x"));
  CHECK(says(complaint_about(with("fp16", "fp17")),
             "error: no precision is called `fp17`\n --> test.yaml:3:12\n"));
  CHECK(says(complaint_about(with("stride", "strides")), "did you mean `stride`?"));
  CHECK(says(complaint_about(with("device: V100\n", "")), "a profile has no `device`"));
  CHECK(says(complaint_about("name: a\ndevice: b\nprecision: fp32\noptimizer: sgd\nlayers: none\n"),
             "`layers` must be a list"));
}

TEST_CASE("the example of the manual is a profile") {
  std::ifstream in(source_dir() + "/paradl/help/profiles.md");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  const std::string fence = "```yaml\n";
  REQUIRE(page.find(fence) != page.npos);
  const std::size_t start = page.find(fence) + fence.size();
  const ProfileSpec p = read_profile(source_of(page.substr(start, page.find("```", start) - start)));
  CHECK(p.name == "lab-v100-resnet50");
  CHECK(p.entries.size() == 3);
}

}  // namespace
}  // namespace paradl::test
