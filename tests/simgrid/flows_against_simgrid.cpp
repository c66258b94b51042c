// Simulates one schedule with our flows and with SimGrid:
// `flows_against_simgrid TOPOLOGY SCHEDULE [SEATS [RANKS]]`. SCHEDULE is the name of an allreduce (of 100
// MiB), or `random:SEED`; SEATS are as in read_seats; by default there are as many RANKS as hosts. Prints
// both times and the CPU seconds of each; fails if the times differ by more than 2 %.

#include <cmath>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include <xbt/log.h>

#include "paradl/core/error.hpp"
#include "paradl/network/algorithm.hpp"
#include "paradl/network/fabric.hpp"
#include "paradl/network/timing.hpp"
#include "tests/simgrid/platform.hpp"
#include "tests/support/network.hpp"
#include "tests/support/temporary.hpp"

namespace {

using namespace paradl;
namespace sg = simgrid::s4u;

constexpr double tolerance = 0.02;
constexpr Bytes allreduced{100 * 0x1p20};

double cpu_seconds() { return double(std::clock()) / CLOCKS_PER_SEC; }

Schedule make_schedule(const std::string& word, const Topology& topology, int ranks) {
  Schedule out;
  if (word.starts_with("random:")) {
    std::mt19937 random(static_cast<unsigned>(std::stoul(word.substr(7))));
    out = test::random_schedule(random, ranks);
  } else {
    const Algorithm* algorithm = find_algorithm(word);
    if (!algorithm) throw UsageError("no algorithm is called `" + word + "`");
    const Job job{
        .ranks = ranks, .bytes = allreduced, .per_node = hosts_of_a_switch(topology), .topology = &topology};
    if (const std::string why = refusal(*algorithm, job); !why.empty()) throw UsageError(why);
    out = algorithm->schedule(job);
  }
  for (Flow& flow : out.flows)  // SimGrid counts whole bytes, at least one
    flow.bytes = Bytes{std::max(1.0, std::round(flow.bytes.base()))};
  return out;
}

/// A rank in SimGrid: in each step it posts its messages, then waits for all of them. Each pair of ranks has
/// a mailbox for each direction, which matches messages in the order in which they are posted.
class Program {
 public:
  explicit Program(const Schedule& schedule) : of_rank_(std::size_t(schedule.ranks)) {
    for (std::size_t s = 0; s < schedule.steps.size(); ++s)
      for (const Flow& flow : schedule.of(schedule.steps[s])) {
        if (flow.source == flow.target) continue;
        auto* box = sg::Mailbox::by_name(fmt::format("{} to {}", flow.source, flow.target));
        add(flow.source, s, schedule.steps[s].repeat).send.push_back({box, flow.bytes.base()});
        add(flow.target, s, schedule.steps[s].repeat).receive.push_back(box);
      }
  }

  void run(int rank) const {
    char* taken = nullptr;
    for (const Part& part : of_rank_[std::size_t(rank)])
      for (int r = 0; r < part.repeat; ++r) {
        std::vector<sg::CommPtr> posted;
        for (const auto& [box, bytes] : part.send)
          posted.push_back(box->put_async(const_cast<char*>(&payload), std::uint64_t(bytes)));
        for (sg::Mailbox* box : part.receive) posted.push_back(box->get_async<char>(&taken));
        for (const sg::CommPtr& comm : posted) comm->wait();
      }
  }

 private:
  static constexpr char payload = 0;
  struct Part {  // of a rank in one step
    std::size_t step = 0;
    int repeat = 1;
    std::vector<std::pair<sg::Mailbox*, double>> send;
    std::vector<sg::Mailbox*> receive;
  };
  Part& add(int rank, std::size_t step, int repeat) {
    auto& parts = of_rank_[std::size_t(rank)];
    if (parts.empty() || parts.back().step != step) parts.push_back({.step = step, .repeat = repeat});
    return parts.back();
  }
  std::vector<std::vector<Part>> of_rank_;
};

double run_in_simgrid(sg::Engine& engine, const Schedule& schedule, const Topology& topology,
                      const std::vector<int>& seats) {
  const test::TemporaryFolder folder;
  engine.load_platform(folder.write("platform.xml", test::platform_text(topology)));
  const Program program(schedule);
  for (int rank = 0; rank < schedule.ranks; ++rank)
    sg::Actor::create(fmt::format("rank {}", rank),
                      engine.host_by_name(fmt::format("n{}", seats[std::size_t(rank)])),
                      [&program, rank] { program.run(rank); });
  engine.run();
  return sg::Engine::get_clock();
}

}  // namespace

int main(int argc, char** argv) try {
  sg::Engine engine(&argc, argv);
  if (argc < 3) return std::puts("usage: flows_against_simgrid TOPOLOGY SCHEDULE [SEATS [RANKS]]"), 2;
  xbt_log_control_set("xbt_cfg.threshold:warning");  // otherwise it prints its settings
  test::keep_simgrid_clean();
  const std::string seating = argc > 3 ? argv[3] : "consecutive";
  const auto topology = read_topology(argv[1], test::wires_as_simgrid(), 64);
  const Schedule schedule =
      make_schedule(argv[2], *topology, argc > 4 ? std::stoi(argv[4]) : topology->hosts());
  const std::vector<int> seats = read_seats(seating, schedule.ranks, *topology);

  const double start = cpu_seconds();
  const double ours = simulate_flows(schedule, *topology, seats).time.base();
  const double between = cpu_seconds();
  const double theirs = run_in_simgrid(engine, schedule, *topology, seats);
  const double end = cpu_seconds();

  const double error = ours / theirs - 1;
  fmt::print("{} {} {}: ours {:.9g} s, SimGrid {:.9g} s, {:+.4f} %; CPU {:.3g} s and {:.3g} s\n", argv[1],
             argv[2], seating, ours, theirs, 100 * error, between - start, end - between);
  return std::abs(error) <= tolerance ? 0 : 1;
} catch (const std::exception& mistake) {
  fmt::print(stderr, "error: {}\n", mistake.what());
  return 2;
}
