// Measures on real ranks and checks the results.
//
//   measure_on_mpi links             a short run: every operation is measured and fitted, with equal results
//   on
//                                    all ranks
//   measure_on_mpi contention PHI    two flows on one route have this phi, within 10 %
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "calibrate/measure/contention.hpp"
#include "calibrate/measure/links.hpp"
#include "calibrate/mpi/mpi.hpp"
#include "paradl/core/format.hpp"

namespace {

using namespace paradl;
using namespace paradl::calibrate;

bool links(Communicator& ranks) {
  LinkOptions options{.most = Bytes{256e3}, .factor = 8, .time = Seconds{3}};
  options.rule.time = Seconds{0.05};
  options.rule.most = 12;
  const auto points = measure_links(ranks, options).points;
  double sum = 0;
  for (const LinkPoint& point : points) sum += point.seconds.base();
  bool right = true;
  for (double other : ranks.gather(sum)) right &= other == sum;  // all ranks have the same result
  const auto fits = fit_links(points, {.most = 2});
  right &= fits.size() == options.operations.size();
  for (const LinkFit& fit : fits)
    for (const RangeFit& range : fit.ranges) {
      const LineFit& line = range.line;
      right &= line.alpha.value + line.beta.value > 0 && line.alpha.value < 1;
      if (ranks.rank() == 0)
        fmt::print("{} on {}: from {} B, alpha {}, beta {}, {:.1f} % off\n",
                   collective_names[std::size_t(fit.operation)], name_of(fit.level), range.from,
                   text(Seconds{line.alpha.value}), text(SecondsPerByte{line.beta.value}),
                   100 * line.mean_error);
    }
  return right;
}

bool contention(Communicator& ranks, double phi) {
  const ContentionOptions options{
      .least = Bytes{128e3}, .most = Bytes{1024e3}, .factor = 2, .time = Seconds{20}};
  Samples samples;
  const auto found = measure_contention(ranks, crossing_pairs(ranks.nodes()), options, samples);
  const SharingFit& fit = found.fit;
  if (ranks.rank() == 0)
    fmt::print("alpha {}, beta {}, phi {:.3f} +- {:.3f} for 2 flows, {:.1f} % off; expected {}\n",
               text(Seconds{fit.alpha.value}), text(SecondsPerByte{fit.beta.value}), fit.phi.at(1).phi.value,
               1.96 * fit.phi.at(1).phi.error, 100 * fit.mean_error, phi);
  return std::abs(fit.phi.at(1).phi.value / phi - 1) <= 0.1;
}

bool run(Communicator& ranks, int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "links") return links(ranks);
  if (what == "contention" && argc > 2) return contention(ranks, std::atof(argv[2]));
  throw std::runtime_error("measure_on_mpi links | contention PHI");
}

}  // namespace

int main(int argc, char** argv) {
  const auto ranks = make_mpi_communicator(argc, argv);
  try {
    return run(*ranks, argc, argv) ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "rank {}: {}\n", ranks->rank(), error.what());
    end_all_ranks(2);
  }
}
