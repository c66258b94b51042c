// Published collective times (comm_measured.csv): every curve is fitted in ranges of its size, and the
// shipped system files contain the links that `paradl-calibrate fit links` writes for them.
#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "calibrate/files/published_links.hpp"
#include "paradl/machine/machine.hpp"
#include "paradl/network/measured_cost.hpp"
#include "paradl/spec/catalog.hpp"
#include "tests/support/source_dir.hpp"

namespace paradl::calibrate {
namespace {

std::vector<CurveFit> fits_of(const std::string& table, const std::vector<std::string>& systems) {
  std::vector<CurveFit> out;
  for (const PublishedCurve& curve : read_published_links(read_source(table)).curves) {
    const auto named = [&](const std::string& word) {
      return curve.source.find(word) != word.npos || curve.system.find(word) != word.npos;
    };
    if (!systems.empty() && std::ranges::none_of(systems, named)) continue;
    if (auto fit = fit_curve(curve)) out.push_back(*std::move(fit));
  }
  return out;
}
const std::string table = PARADL_REFERENCE_DATA "/comm_measured.csv";

SourceText shipped(const std::string& name) {
  return read_source(test::source_dir() + "/systems/" + name + ".yaml");
}

/// The engine's time for an operation on a group.
double seconds(const Machine& machine, Collective operation, double in_node, double nodes, double bytes) {
  Path path{.hop = {}, .hops = nodes > 1 ? 2 : 1, .in_node = in_node, .sisters = 1};
  for (std::size_t k = 0; k < std::size_t(path.hops); ++k) path.hop[k].link = machine.levels[k].link;
  path.hop[0].size = in_node;
  if (nodes > 1) path.hop[1].size = nodes, path.hop[1].phi = std::max(1.0, in_node / machine.levels[1].ports);
  return MeasuredCost(operation, path, machine)(Bytes{bytes}).base();
}

/// The median relative error of the engine's times.
double engine_error(const Machine& machine, const CurveFit& fit) {
  std::vector<double> errors;
  const MeasuredGroup& group = fit.curve.group;
  for (const Observation& o : fit.curve.points)
    errors.push_back(std::abs(
        seconds(machine, Collective::allreduce, group.per_node(), group.nodes, o.size) / o.seconds - 1));
  return median(errors);
}

}  // namespace

TEST_SUITE_BEGIN("reference");

TEST_CASE("every published curve of a collective is fitted with a median error of 8 % or less") {
  const auto fits = fits_of(table, {});
  CHECK(fits.size() >= 23);
  for (const CurveFit& fit : fits) {
    INFO(fit.curve.source, ", ", fit.curve.system, ", ", name_of(fit.curve));
    CHECK(fit.errors.median <= 0.08);
    for (std::size_t i = 0; i + 1 < fit.ranges.size(); ++i)
      CHECK(fit.ranges[i].below == fit.ranges[i + 1].from);
  }
}

TEST_CASE(
    "sizes that were left out of a fit are predicted too, if all timings of the curve are of one kind") {
  for (const CurveFit& fit : fits_of(table, {"2x p", "1x p5", "DGX H100"})) {
    INFO(fit.curve.system);
    CHECK(fit.left_out->median <= 0.08);
  }
}

TEST_CASE("the command writes the measured links that are shipped") {
  const auto same = [](const std::string& name, const std::vector<CurveFit>& fits) {
    CAPTURE(name);
    CHECK(with_published_links(read_system(shipped(name)), fits) == shipped(name).text);
  };
  same("dgx1-v100", fits_of(table, {"Aceso"}));
  same("dgx-h100", fits_of(table, {"DGX H100", "2x p5"}));
}

TEST_CASE("the engine gives the published times on the machine whose file has them") {
  const Catalog catalog({test::source_dir()});
  const Machine h100 = build_machine(catalog.system("dgx-h100"));
  for (const CurveFit& fit : fits_of(table, {"DGX H100", "2x p5"})) {
    INFO(fit.curve.system);
    CHECK(engine_error(h100, fit) <= 0.08);
  }
  // Another node of the same kind, not fitted.
  CHECK(engine_error(h100, fits_of(table, {"1x p5"}).front()) <= 0.08);
  const Machine v100 = build_machine(catalog.system("dgx1-v100"));
  for (const CurveFit& fit : fits_of(table, {"Aceso"}))
    if (fit.curve.operation == Collective::allreduce) CHECK(engine_error(v100, fit) <= 0.08);
}

TEST_SUITE_END();

TEST_CASE(
    "measured links of A100 give the times of the example's table, and times between them for groups "
    "between") {
  const auto fits = fits_of(test::source_dir() + "/examples/links/a100.csv", {});
  REQUIRE(fits.size() == 3);
  for (const CurveFit& fit : fits) CHECK(fit.errors.median <= 0.08);
  CHECK(with_published_links(read_system(shipped("dgx-a100")), fits) == shipped("dgx-a100").text);

  // Six GPUs were not fitted: VIA-Research/vTrain, trace/a100/AR_GPU6_1M_1024M_LUT, out of place.
  const Machine a100 = build_machine(Catalog({test::source_dir()}).system("dgx-a100"));
  std::vector<double> errors;
  for (const auto& [mib, us] : std::vector<std::pair<double, double>>{{1, 73.0},
                                                                      {2, 74.61},
                                                                      {4, 82.55},
                                                                      {8, 126.7},
                                                                      {16, 203.2},
                                                                      {32, 304.0},
                                                                      {64, 565.7},
                                                                      {128, 1120.8},
                                                                      {256, 2115.9}})
    errors.push_back(std::abs(seconds(a100, Collective::allreduce, 6, 1, mib * 0x1p20) / (us * 1e-6) - 1));
  CHECK(median(errors) <= 0.08);
  CHECK(std::ranges::max(errors) <= 0.2);
}

TEST_CASE("more GPUs are never much faster than fewer, and measured links never faster than the wires") {
  const Catalog catalog({test::source_dir()});
  for (const std::string name : {"dgx1-v100", "dgx-a100", "dgx-h100"}) {
    const Machine machine = build_machine(catalog.system(name));
    for (double bytes = 1 << 20; bytes <= 0x1p32; bytes *= 4) {
      CAPTURE(name);
      CAPTURE(bytes);
      // On a cube mesh, 2, 4 and 8 GPUs use more and more of its wires for large buffers.
      if (name != "dgx1-v100")
        for (double p = 3; p <= 8; ++p)
          CHECK(seconds(machine, Collective::allreduce, p, 1, bytes) >
                0.85 * seconds(machine, Collective::allreduce, p - 1, 1, bytes));
      for (double nodes = 2; nodes <= 64; nodes *= 2) {
        CAPTURE(nodes);
        CHECK(seconds(machine, Collective::allreduce, 8, nodes, bytes) >
              0.85 * seconds(machine, Collective::allreduce, 8, nodes / 2, bytes));
        // Bytes that leave a node pass through its ports, and bytes for a GPU through its links.
        const Level& between = machine.levels[1];
        const double port = between.link.beta.base() / between.ports,
                     wire = machine.levels[0].link.beta.base();
        CHECK(seconds(machine, Collective::allreduce, 8, nodes, bytes) >=
              2 * (nodes - 1) / nodes * bytes * port);
        CHECK(seconds(machine, Collective::allreduce, 8, nodes, bytes) >= bytes * wire);
        CHECK(seconds(machine, Collective::allgather, 8, nodes, bytes) >=
              (8 * nodes - 1) / (8 * nodes) * bytes * wire);
      }
    }
  }
}

}  // namespace paradl::calibrate
