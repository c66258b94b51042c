// Modelled layer times against measurements by others (see the README of the reference data).
#include "calibrate/kernels/kernel_fit.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "calibrate/fit/bounded.hpp"
#include "calibrate/kernels/aceso.hpp"
#include "calibrate/kernels/benchmarks.hpp"
#include "calibrate/kernels/pipedream.hpp"
#include "paradl/cost/modelled_times.hpp"
#include "paradl/spec/catalog.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/source_dir.hpp"

namespace paradl::calibrate {
namespace {

const std::string data = PARADL_REFERENCE_DATA;

KernelDevice shipped(const std::string& system, Precision precision, ConvolutionPolicy policy = {}) {
  const Catalog catalog({test::source_dir()});
  return *kernel_device(catalog.system(system).device, precision, Optimizer::momentum,
                        {.convolutions = policy});
}

/// Median errors in per cent: matrix product, forward, backward-data, backward-weights.
void check_errors(const ErrorsByClass& errors, const std::array<double, 4>& most, double last_rank = 0.92) {
  for (std::size_t kind = 0; kind < most.size(); ++kind) {
    CAPTURE(kernel_class_names[kind]);
    CHECK(100 * errors[kind].median <= most[kind]);
    CHECK(errors[kind].rank_correlation >= (kind == 3 ? last_rank : 0.92));
  }
}

double forward_and_backward(const std::string& model, double batch, std::vector<std::int64_t> input = {}) {
  const Catalog catalog({test::source_dir()});
  ModelSpec spec = catalog.model(model);
  if (!input.empty()) spec.input = std::move(input);
  const Workload work = build_workload(spec);
  const auto kernels = std::make_shared<KernelDevice>(shipped("abci", Precision::fp32, {.winograd = false}));
  const Machine machine = build_machine(catalog.system("abci"));
  const LayerTimes times = modelled_times(layer_times(work, machine, Precision::fp32, Optimizer::momentum),
                                          work, kernels, "", batch);
  double sum = 0;
  for (const LayerTime& t : times.layer) sum += (t.FW + t.BW).base();
  return sum;
}

}  // namespace

TEST_CASE("a bounded fit finds the parameters behind the data, and stops at a bound") {
  // y = exp(a) + exp(b) x with a = log 3, b = log 2, and one point that is far off.
  const Eigen::VectorXd x = Eigen::VectorXd::LinSpaced(20, 0, 10);
  const Residuals residuals = [&](const Eigen::VectorXd& p) {
    Eigen::VectorXd out(x.size());
    for (Eigen::Index i = 0; i < x.size(); ++i)
      out[i] = std::log((std::exp(p[0]) + std::exp(p[1]) * x[i]) / (3 + 2 * x[i]) / (i == 7 ? 10 : 1));
    return out;
  };
  const Eigen::VectorXd weights = Eigen::VectorXd::Ones(20), start = Eigen::VectorXd::Zero(2);
  const Eigen::VectorXd least = Eigen::VectorXd::Constant(2, -3), most = Eigen::VectorXd::Constant(2, 3);
  const BoundedFit fit = fit_bounded(residuals, weights, 0.1, start, least, most);
  CHECK(std::exp(fit.parameters[0]) == test::approx(3).epsilon(0.02));
  CHECK(std::exp(fit.parameters[1]) == test::approx(2).epsilon(0.02));
  const BoundedFit held =
      fit_bounded(residuals, weights, 0.1, start, least, Eigen::VectorXd::Constant(2, 0.5));
  CHECK(held.parameters[1] == test::approx(0.5));
}

TEST_CASE("errors by hand: median, bias, ranks") {
  const KernelErrors e = errors_of({1.1, 2.0, 3.6}, {1, 2, 3});
  CHECK(e.median == test::approx(0.1));
  CHECK(e.bias == test::approx(std::log(1.1)));
  CHECK(e.rank_correlation == test::approx(1));
  CHECK(errors_of({3, 2, 1}, {1, 2, 3}).rank_correlation == test::approx(-1));
}

TEST_SUITE("reference") {
  TEST_CASE("the shipped parameters, fitted to DeepBench, give its times closely") {
    const auto errors = [](const char* system, std::size_t device, std::size_t set) {
      const auto& [precision, timings] = benched_devices()[device].sets[set];
      return kernel_errors(shipped(system, precision), read_deepbench(data, timings));
    };
    check_errors(errors("dgx1-v100", 0, 0), {7, 12, 15, 21});
    check_errors(errors("dgx1-v100", 0, 1), {12, 15, 19, 21}, 0.85);
    check_errors(errors("tsubame3", 1, 0), {7, 18, 19, 18});
  }

  TEST_CASE("Aceso's convolutions, unsplit and split in two, are predicted without a fit") {
    const KernelDevice v100 = shipped("dgx1-v100", Precision::fp32);
    const NodeCollectives node(data);
    const auto operators = read_aceso(data);
    for (const int ways : {1, 2})
      for (const ChannelSplit split : {ChannelSplit::filters, ChannelSplit::channels}) {
        std::vector<double> forward, backward, measured_forward, measured_backward;
        for (const OperatorTiming& t : operators) {
          if (t.ways != ways || t.split != split) continue;
          const OperatorTime time = modelled_operator(v100, node, t);
          forward.push_back(time.forward), backward.push_back(time.backward);
          measured_forward.push_back(t.forward), measured_backward.push_back(t.backward);
        }
        CAPTURE(ways);
        CHECK(forward.size() > 100);
        CHECK(errors_of(forward, measured_forward).median <= 0.08);
        CHECK(errors_of(backward, measured_backward).median <= 0.12);
      }
  }

  TEST_CASE("PipeDream's networks are predicted with one scale, because the GPU is not stated") {
    const KernelDevice v100 = shipped("dgx1-v100", Precision::fp32, {.workspace = Bytes{1e9}});
    const auto networks = read_pipedream(data);
    REQUIRE(networks.size() == 4);
    double logs = 0;
    for (const ProfiledNetwork& n : networks) logs += std::log(modelled_network(v100, n) / n.measured());
    const double scale = std::exp(-logs / double(networks.size()));
    CHECK(scale == test::approx(1).epsilon(0.2));  // a V100 or near it
    for (const ProfiledNetwork& n : networks) {
      CAPTURE(n.name);
      CHECK(scale * modelled_network(v100, n) / n.measured() == test::approx(1).epsilon(0.12));
    }
  }
}

TEST_CASE("times of a sample, forward and backward, are those of the report without Winograd's algorithm") {
  // ParaDL technical report: 3.12 ms and 8.25 ms on ABCI with Chainer.
  CHECK(forward_and_backward("resnet50", 64) == test::approx(3.12e-3).epsilon(0.10));
  CHECK(forward_and_backward("vgg16", 32, {3, 226, 226}) == test::approx(8.25e-3).epsilon(0.10));
}

TEST_SUITE("slow") {
  TEST_CASE("kernel times of shapes that were left out of the fit are predicted") {
    if (data.empty()) {
      MESSAGE("skipped: no reference data");
      return;
    }
    const Catalog catalog({test::source_dir()});
    const auto validated = [&](std::size_t device, std::size_t set) {
      const BenchedDevice& benched = benched_devices()[device];
      const auto& [precision, name] = benched.sets[set];
      KernelDevice start =
          *kernel_device(catalog.system(benched.system).device, precision, Optimizer::momentum);
      start.fitted = {};
      return cross_validate(start, read_deepbench(data, name));
    };
    check_errors(validated(0, 0), {8, 14, 20, 23});
    check_errors(validated(0, 1), {13, 18, 23, 23}, 0.85);
    check_errors(validated(1, 0), {8, 20, 23, 20});
  }
}

}  // namespace paradl::calibrate
