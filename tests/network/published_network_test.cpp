// Published results about collectives and networks, compared with ours. If a result cannot be reproduced
// because its settings are unknown, both are printed (`paradl_tests -ts=reference -s` or `ctest -V` shows
// them); nothing is tuned to agree.
#include <cmath>
#include <map>
#include <tuple>

#include <Eigen/Dense>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "paradl/network/algorithm.hpp"
#include "paradl/network/timing.hpp"
#include "tests/support/approx.hpp"
#include "tests/support/simgrid.hpp"

namespace paradl {
namespace {
using namespace literals;
using test::in_order;

constexpr Bytes large{100 * 0x1p20};

double simulated_ms(std::string_view algorithm, const Topology& topology, Bytes bytes, int ranks) {
  const Job job{.ranks = ranks, .bytes = bytes, .topology = &topology};
  REQUIRE(refusal(*find_algorithm(algorithm), job) == "");
  return 1e3 *
         simulate_flows(find_algorithm(algorithm)->schedule(job), topology, in_order(ranks)).time.base();
}
double on_platform(std::string_view algorithm, const std::string& name, int ranks) {
  return simulated_ms(algorithm, *test::platform(name, ranks), large, ranks);
}

std::string four_digits(double ms) { return fmt::format("{:.2f}", ms); }

TEST_CASE("shifted halving-doubling on DLN(4,2) against the others, 100 MiB: flows as SimGrid gives them") {
  const double shd = on_platform("shd", "dln_4_2", 64), hd = on_platform("hd", "dln_4_2", 64);
  const double ring = on_platform("ring", "dln_4_2", 64);
  CHECK(four_digits(hd) == "28.33");
  CHECK(four_digits(ring) == "16.70");
  CHECK(four_digits(shd) == "16.53");
  CHECK(shd < ring);
  CHECK(shd < hd);

  for (const char* tree : {"ft2full", "ft2over3"}) {
    CAPTURE(tree);
    CHECK(four_digits(on_platform("ring", tree, 64)) == "16.77");
    CHECK(shd < on_platform("ring", tree, 64));
  }
  CHECK(four_digits(on_platform("hd", "ft2over3", 64)) == "18.10");
  CHECK(four_digits(on_platform("hd", "ft2full", 64)) == "16.53");
  // The talk states -25 % over halving-doubling on DLN, for message sizes and a p that it does not name.
  MESSAGE(fmt::format("DLN(4,2): hd {:.2f} ms, shd {:.2f} ms: {:+.1f} % (published: about -25 %)", hd, shd,
                      100 * (shd / hd - 1)));
}

TEST_CASE("eight hosts on four chords: shifted halving-doubling on DLN(4,3) loses to the ring") {
  CHECK(four_digits(on_platform("shd", "dln_4_3", 128)) == "18.63");
  CHECK(four_digits(on_platform("ring", "dln_4_3", 128)) == "17.03");
}

TEST_CASE("MULTITREE over ring and 2-D ring on its authors' 8 x 8 torus, by flows") {
  const auto torus = read_topology("torus:8,8", {.link = {Seconds{150e-9}, 1.0 / 16.0_GBps}}, 64);
  std::string table = "\nMULTITREE on torus:8,8 is so many times faster (published: average over DNNs)\n";
  double over_ring = 0, over_2d = 0;
  for (const double MiB : {0.03125, 0.5, 4.0, 64.0}) {
    const Bytes bytes{MiB * 0x1p20};
    const double trees = simulated_ms("multitree", *torus, bytes, 64);
    over_ring = simulated_ms("ring", *torus, bytes, 64) / trees;
    over_2d = simulated_ms("ring-2d", *torus, bytes, 64) / trees;
    table += fmt::format("{:8.3f} MiB  over ring {:.2f} (2.2 to 2.3)  over ring-2d {:.2f} (1.51 to 1.56)\n",
                         MiB, over_ring, over_2d);
  }
  MESSAGE(table);
  // 64 MiB is bound by the wires: 63/17 and 0.875 / (2 * 17/64). The published ratios are less because
  // BookSim also counts packet headers, injection and the waiting of lockstep; our steps have none of these.
  CHECK(over_ring == paradl::test::approx(63.0 / 17).epsilon(0.02));
  CHECK(over_2d == paradl::test::approx(0.875 * 64 / 34).epsilon(0.02));
}

/// A network as SMPI models it. SMPI multiplies the latency of a message by a factor that depends on its
/// size, and limits its rate to a share of its slowest wire. Both are modelled by an extra wire at the end of
/// the message's route. SimGrid's defaults do the rest: all messages on a wire together get 0.97 of it, and a
/// twentieth of each flows back, here on the same half-duplex wires. (Not modelled: SimGrid's sharing does
/// not depend on latency alone.)
class SeenBySmpi : public Topology {
 public:
  SeenBySmpi(const Topology& network, const Schedule& schedule)
      : Topology(network.text(), network.hosts(), network.switches(), network.half_duplex()),
        network_(network) {
    wires_ = network.wires();
    for (Wire& wire : wires_) wire.link.beta = 1.05 / 0.97 * wire.link.beta;
    for (const Flow& flow : schedule.flows) {
      const auto [place, is_new] =
          own_.try_emplace({flow.source, flow.target, is_large(flow.bytes)}, int(wires_.size()));
      if (is_new) wires_.push_back({.link = own_link(flow)});
    }
  }

  using Topology::route;
  void route(int from, int to, std::vector<int>& wires) const override { network_.route(from, to, wires); }
  void route(int from, int to, Bytes bytes, std::vector<int>& wires) const override {
    network_.route(from, to, wires);
    wires.push_back(own_.at({from, to, is_large(bytes)}));
  }

 private:
  static bool is_large(Bytes bytes) { return bytes.base() >= 65472; }

  /// SMPI has more classes for smaller messages; 15,424 B is less than any message of the table.
  Link own_link(const Flow& flow) const {
    CHECK(flow.bytes.base() >= 15424);
    const double slower = is_large(flow.bytes) ? 11.6436 : 3.48845;
    const double share = is_large(flow.bytes) ? 0.940694 : 0.697866;
    std::vector<int> wires;
    network_.route(flow.source, flow.target, wires);
    Link out{};
    for (const int w : wires) {
      const Link& link = network_.wires()[std::size_t(w)].link;
      out.alpha += (slower - 1) * link.alpha;
      out.beta = std::max(out.beta, link.beta / share);
    }
    return out;
  }

  const Topology& network_;
  std::map<std::tuple<int, int, bool>, int> own_;  // by source, target and class
};

Schedule on_nodes_of_four(std::string_view algorithm, int ranks, double bytes) {
  return find_algorithm(algorithm)->schedule({.ranks = ranks, .bytes = Bytes{bytes}, .per_node = 4});
}
double seconds_seen_by_smpi(const Topology& network, const Schedule& schedule) {
  return simulate_flows(schedule, SeenBySmpi(network, schedule), in_order(schedule.ranks)).time.base();
}

/// The joules of all links, used or not, during a schedule. Power above idle is proportional to the use of a
/// link.
double joules_of_links(const Topology& network, const Schedule& schedule, double seconds) {
  std::vector<double> busy(network.wires().size());
  std::vector<int> wires;
  for (const Step& step : schedule.steps)
    for (const Flow& flow : schedule.of(step)) {
      wires.clear();
      network.route(flow.source, flow.target, wires);
      for (const int w : wires)
        busy[std::size_t(w)] += step.repeat * (flow.bytes * network.wires()[std::size_t(w)].link.beta).base();
    }
  double joules = 0;
  for (std::size_t w = 0; w < busy.size(); ++w) {
    const Wire& wire = network.wires()[w];
    joules += wire.idle * seconds + (wire.peak - wire.idle) * busy[w];
  }
  return joules;
}

TEST_CASE("ring to ring+ring on the authors' TSUBAME3, 256 GPUs, 32 MiB: -44.9 %") {
  const auto network = read_topology("tsubame3-authors", {}, 0);
  const Schedule ring = on_nodes_of_four("ring", 256, 0x1p25);
  const Schedule rings = on_nodes_of_four("ring+ring", 256, 0x1p25);
  const double before = seconds_seen_by_smpi(*network, ring), after = seconds_seen_by_smpi(*network, rings);
  const double change = 100 * (after / before - 1);
  const double energy_before = joules_of_links(*network, ring, before);
  const double energy_after = joules_of_links(*network, rings, after);
  MESSAGE(fmt::format("ring {:.3f} ms (published 14.262), ring+ring {:.3f} ms (7.864): {:+.1f} % (-44.9 %)",
                      1e3 * before, 1e3 * after, change));
  // Only the sum of their joules is known. Links that are idle for the same time draw 13.9 kW.
  MESSAGE(fmt::format("links: {:.1f} J and {:.1f} J: {:+.1f} % (published 94 757 and 72 993 J: -23 %)",
                      energy_before, energy_after, 100 * (energy_after / energy_before - 1)));
  CHECK(std::abs(change + 44.9) <= 5);
  CHECK(energy_after < energy_before);
}

/// Latency and bandwidth inside and between nodes, fitted to dense rings only.
struct FittedLinks {
  Link inside, between;
  double shared = 1;  // slowdown of bytes between nodes when all ranks of a node send
};

/// Times of dense rings as linear functions of five unknowns, each row weighted by its time:
///   ring       2(p-1) a_e + 2(p-1)/p m b_e
///   ring+ring  2(g-1) a_i + 2(g-1)/g m b_i + 2(M-1) a_e + 2(M-1)/(gM) m (phi b_e)
struct DenseRow {
  bool two_levels = false;
  int ranks = 1;
  double bytes = 0, seconds = 0;
};
FittedLinks fit_links(const std::vector<DenseRow>& rows, int per_node) {
  Eigen::MatrixXd A = Eigen::MatrixXd::Zero(Eigen::Index(rows.size()), 5);
  for (Eigen::Index i = 0; i < A.rows(); ++i) {
    const DenseRow& row = rows[std::size_t(i)];
    const double p = row.ranks, g = per_node, M = p / g, m = row.bytes;
    if (row.two_levels)
      A.row(i) << 2 * (g - 1), 2 * (g - 1) / g * m, 2 * (M - 1), 0, 2 * (M - 1) / (g * M) * m;
    else
      A.row(i) << 0, 0, 2 * (p - 1), 2 * (p - 1) / p * m, 0;
    A.row(i) /= row.seconds;
  }
  const Eigen::VectorXd scale = A.colwise().norm().transpose();
  const Eigen::VectorXd x = (A * scale.cwiseInverse().asDiagonal())
                                .colPivHouseholderQr()
                                .solve(Eigen::VectorXd::Ones(A.rows()))
                                .cwiseQuotient(scale);
  return {.inside = {Seconds{x[0]}, SecondsPerByte{x[1]}},
          .between = {Seconds{x[2]}, SecondsPerByte{x[3]}},
          .shared = x[4] / x[3]};
}

TEST_SUITE("reference") {
  TEST_CASE("the authors' table of hierarchical allreduces on their TSUBAME3") {
    static const std::map<std::string, std::string_view> ours_for{{"lr", "ring"},
                                                                  {"ntt_lr_lr", "ring+ring"},
                                                                  {"ntt_lr_rab", "ring+hd"},
                                                                  {"rab", "hd"},
                                                                  {"ntt_lr_rdb", "ring+doubling"},
                                                                  {"rdb", "doubling"},
                                                                  {"ntt_binominal_lr", "leader"}};
    const auto network = read_topology("tsubame3-authors", {}, 0);
    std::string table = "\nalgorithm      GPUs     MiB   ours ms  theirs ms    error\n";
    std::map<std::string_view, std::pair<double, int>> errors;
    for (const auto& row : test::read_table(PARADL_REFERENCE_DATA "/allreduce_authors_simgrid.csv")) {
      const auto algorithm = ours_for.find(row.at("algorithm"));
      if (row.at("platform") != "Tsubame3" || algorithm == ours_for.end()) continue;
      const int ranks = std::stoi(row.at("ranks"));
      const double bytes = std::stod(row.at("bytes")), theirs = std::stod(row.at("time_ms_as_logged"));
      const double ours =
          1e3 * seconds_seen_by_smpi(*network, on_nodes_of_four(algorithm->second, ranks, bytes));
      const double error = 100 * (ours / theirs - 1);
      table += fmt::format("{:13} {:5} {:7.0f} {:9.3f} {:10.3f} {:+7.1f} %\n", algorithm->second, ranks,
                           bytes / 0x1p20, ours, theirs, error);
      // The largest error is the ring of 65,536 B messages (16 MiB), where SMPI changes its protocol.
      CHECK(std::abs(error) < (bytes / ranks == 65536 && algorithm->second == "ring" ? 10 : 3.1));
      errors[algorithm->second].first += std::abs(error);
      ++errors[algorithm->second].second;
    }
    for (const auto& [name, sum] : errors) {
      table +=
          fmt::format("mean error of {}: {:.1f} % on {} rows\n", name, sum.first / sum.second, sum.second);
      CHECK(sum.first / sum.second < 2);
    }
    MESSAGE(table);
    CHECK(errors.size() == ours_for.size());
  }

  TEST_CASE("the authors' table of sparse allreduces, from links fitted on the dense ones") {
    static const std::map<std::string, int> per_node{{"ABCI", 4}, {"DGX1", 8}, {"DGX2", 16}};
    static const std::map<std::string, std::string_view> ours_for{{"Sparse Ring", "sparse-ring"},
                                                                  {"Sparse Ring Ring", "sparse-ring+ring"}};
    const auto rows = test::read_table(PARADL_REFERENCE_DATA "/sparse_allreduce_authors.csv");
    const auto bytes_of = [](const auto& row) {
      return 4 * std::stod(row.at("elements_or_bytes"));
    };  // floats

    for (const auto& [platform, g] : per_node) {
      CAPTURE(platform);
      std::vector<DenseRow> dense;
      for (const auto& row : rows) {
        const bool two_levels = row.at("algorithm") == "Dense Ring Ring";
        const int ranks = std::stoi(row.at("ranks"));
        if (row.at("platform") != platform || (row.at("algorithm") != "Dense Ring" && !two_levels)) continue;
        if (ranks > g) dense.push_back({two_levels, ranks, bytes_of(row), std::stod(row.at("median_s"))});
      }
      const FittedLinks links = fit_links(dense, g);
      std::string table = fmt::format(
          "\n{}: inside {:.1f} us, {:.1f} GB/s; between {:.1f} us, {:.1f} GB/s, {:.2f} times slower "
          "when shared\nalgorithm         ranks      MiB   density   ours ms  theirs ms    error\n",
          platform, 1e6 * links.inside.alpha.base(), 1e-9 / links.inside.beta.base(),
          1e6 * links.between.alpha.base(), 1e-9 / links.between.beta.base(), links.shared);
      std::map<std::string_view, std::pair<double, int>> errors;
      for (const auto& row : rows) {
        const auto algorithm = ours_for.find(row.at("algorithm"));
        if (row.at("platform") != platform || algorithm == ours_for.end()) continue;
        const int ranks = std::stoi(row.at("ranks"));
        if (ranks <= g) continue;  // inside one node, on another link
        const Job job{.ranks = ranks,
                      .bytes = Bytes{bytes_of(row)},
                      .per_node = g,
                      .density = std::stod(row.at("density"))};
        const Ways ways{.inner = {double(g), links.inside, 1, ""},
                        .outer = {double(ranks) / g, links.between, links.shared, ""}};
        const double ours = find_algorithm(algorithm->second)->closed_form(job, ways)(job.bytes).base();
        const double theirs = std::stod(row.at("median_s")), error = 100 * (ours / theirs - 1);
        table += fmt::format("{:17} {:5} {:8.0f} {:9.4f} {:9.2f} {:10.2f} {:+7.1f} %\n", algorithm->second,
                             ranks, job.bytes.base() / 0x1p20, job.density, 1e3 * ours, 1e3 * theirs, error);
        errors[algorithm->second].first += std::abs(error);
        ++errors[algorithm->second].second;
      }
      for (const auto& [name, sum] : errors) {
        const double mean = sum.first / sum.second;
        table += fmt::format("mean error of {}: {:.1f} % on {} rows\n", name, mean, sum.second);
        if (platform == "ABCI") CHECK(mean < 10);
      }
      MESSAGE(table);
      CHECK(errors.size() == ours_for.size());
    }
  }
}

}  // namespace
}  // namespace paradl
