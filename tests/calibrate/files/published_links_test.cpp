// Tables of published collective times: reading, fitting and writing, checked by hand.
#include "calibrate/files/published_links.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/approx.hpp"
#include "tests/support/spec_text.hpp"

namespace paradl::calibrate {
namespace {

const std::string header = "source,system,interconnect,collective,gpus,nodes,bytes,time_us\n";

/// Messages of 10 us and 1 GB/s around a ring: on 2 GPUs an allreduce of m bytes takes 2 (10 us + m/2 ns).
std::string ring_of_two(const std::string& system, const std::vector<int>& sizes) {
  std::string out;
  for (const int m : sizes) out += fmt::format("us,{},wire,all_reduce,2,1,{},{}\n", system, m, 20 + m * 1e-3);
  return out;
}
PublishedLinks read(const std::string& rows) { return read_published_links({"t.csv", header + rows}); }

const std::string lab = R"(name: lab
device: {name: d, memory: 1 GB, memory-bandwidth: 1 GB/s, peak: {fp32: 1 Tflop/s}}
levels:
  - {name: node, size: 4, latency: 5 us, bandwidth: 2 GB/s}  # ours
  - {name: cluster, size: 4, latency: 5 us, bandwidth: 1 GB/s}
)";

}  // namespace

TEST_CASE(
    "source, system, operation and group make a curve; the bytes of an all_gather are those of one rank") {
  const auto links = read(
      "a,s,w,all_gather,4,1,1000,5\n"
      "a,s,w,all_reduce,4,1,1000,7\n"
      "a,s,w,all_gather,4,1,2000,6\n"
      "a,s,w,alpha_beta,4,,,\n"
      "b,\"s, too\",w,all_reduce,4,,1000,8\n");
  REQUIRE(links.curves.size() == 3);
  CHECK(links.skipped == 1);
  CHECK(links.curves[0].points.size() == 2);
  CHECK(links.curves[0].points[1].size == 8000);  // of the whole buffer
  CHECK(links.curves[1].points[0].seconds == test::approx(7e-6));
  CHECK(links.curves[2].system == "s, too");
  CHECK(links.curves[2].group.nodes == 0);  // not given
}

TEST_CASE("a wrong heading or cell is reported") {
  CHECK_THROWS_AS(read_published_links({"t.csv", ""}), SpecError);
  CHECK_THROWS_AS(read_published_links({"t.csv", "a,b\n1,2\n"}), SpecError);
  CHECK_THROWS_AS(read_published_links({"t.csv", header}), SpecError);
  CHECK_THROWS_AS(read("a,s,w,all_reduce,4,1,1000,fast\n"), SpecError);
  CHECK_THROWS_AS(read("a,s,w,all_reduce,1,1,1000,5\n"), SpecError);
  CHECK_THROWS_AS(read("a,s,w,all_reduce,4,1,1000\n"), SpecError);
}

TEST_CASE("a fit finds the parameters behind a curve, and predicts sizes that were left out") {
  const auto fit = fit_curve(read(ring_of_two("lab", {1000, 2000, 4000, 8000, 16000, 32000})).curves[0]);
  REQUIRE(fit);
  REQUIRE(fit->ranges.size() == 1);
  CHECK(fit->ranges[0].line.alpha.value == test::approx(10e-6).epsilon(1e-3));
  CHECK(1 / fit->ranges[0].line.beta.value == test::approx(1e9).epsilon(1e-3));
  CHECK(fit->errors.median < 1e-3);
  CHECK(fit->left_out->median < 1e-3);
  CHECK_FALSE(fit_curve(read(ring_of_two("lab", {1000})).curves[0]));
  CHECK_FALSE(fit_curve(read(ring_of_two("lab", {1000, 2000})).curves[0]));
  CHECK_FALSE(fit_curve(read(ring_of_two("lab", {1000, 2000, 3000})).curves[0])->left_out);
}

TEST_CASE("two kinds of timings in one table do not make ranges in which larger buffers are far faster") {
  // The second of every four sizes took twice as long, and so did several sizes in a row in the middle.
  std::string rows;
  for (int k = 0; k < 40; ++k)
    rows += fmt::format("us,lab,wire,all_reduce,2,1,{},{}\n", 100000 * (k + 1),
                        (k % 4 == 1 || (k > 14 && k < 20) ? 2 : 1) * (20 + 100 * (k + 1)));
  const auto fit = fit_curve(read(rows).curves[0]);
  for (std::size_t i = 0; i + 1 < fit->ranges.size(); ++i) {
    const Observation at =
        observation({.operation = Collective::allreduce, .bytes = Bytes{fit->ranges[i].below}});
    CHECK(fit->ranges[i + 1].line(at) >= 0.7 * fit->ranges[i].line(at));
  }
}

TEST_CASE(
    "`measured` is written to the level of its group; specified values stay, and writing again changes "
    "nothing") {
  std::vector<CurveFit> fits{*fit_curve(read(ring_of_two("lab", {1000, 2000, 4000})).curves[0])};
  fits.push_back(fits.front());
  fits.back().curve.group = {.gpus = 8, .nodes = 2};
  const std::string text = with_published_links(read_system({"lab.yaml", lab}), fits);
  const SystemSpec spec = test::system_of(text);
  CHECK(spec.levels[0].latency.base() == test::approx(5e-6));
  CHECK(spec.levels[0].bandwidth.base() == test::approx(2e9));
  REQUIRE(spec.levels[0].measured.size() == 1);
  CHECK(spec.levels[0].measured[0].group == MeasuredGroup{2, 1});
  CHECK(spec.levels[0].measured[0].latency.base() == test::approx(10e-6).epsilon(1e-3));
  REQUIRE(spec.levels[1].measured.size() == 1);
  CHECK(spec.levels[1].measured[0].group == MeasuredGroup{8, 2});
  CHECK(text.find("# ours") != text.npos);
  CHECK(with_published_links(read_system({"lab.yaml", text}), fits) == text);
}

TEST_CASE("links that do not fit the system are refused") {
  CurveFit fit = *fit_curve(read(ring_of_two("lab", {1000, 2000, 4000})).curves[0]);
  const auto write = [&](std::vector<CurveFit> fits) {
    return with_published_links(read_system({"lab.yaml", lab}), fits);
  };
  CHECK_THROWS_AS(write({fit, fit}), UsageError);  // twice the same group
  fit.curve.group = {.gpus = 8, .nodes = 1};
  CHECK_THROWS_AS(write({fit}), UsageError);  // more than a node has
  fit.curve.group = {.gpus = 2, .nodes = 0};
  CHECK_THROWS_AS(write({fit}), UsageError);  // number of nodes not given
  fit.curve.group = {.gpus = 3, .nodes = 2};
  CHECK_THROWS_AS(write({fit}), UsageError);  // nodes with different numbers of GPUs
}

}  // namespace paradl::calibrate
