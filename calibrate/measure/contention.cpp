#include "calibrate/measure/contention.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "paradl/core/error.hpp"

namespace paradl::calibrate {
namespace {

/// The time of `work` on the slowest of the ranks that do it. All start together.
Seconds together(Communicator& ranks, bool takes_part, const std::function<void()>& work) {
  ranks.barrier();
  double mine = 0;
  if (takes_part) {
    const Seconds start = ranks.now();
    work();
    mine = (ranks.now() - start).base();
  }
  const auto all = ranks.gather(mine);
  return Seconds{*std::max_element(all.begin(), all.end())};
}

/// Continues from the samples of rank 0: other nodes may not have its file. All ranks call it.
Stopping resume(const StoppingRule& rule, Communicator& ranks, const std::vector<double>& samples) {
  Stopping out(rule);
  const auto first = [&](double mine) { return ranks.gather(mine).front(); };
  const auto count = std::size_t(first(double(samples.size())));
  for (std::size_t i = 0; i < count; ++i) out.restore(Seconds{first(i < samples.size() ? samples[i] : 0)});
  return out;
}

struct Cell {
  int flows = 1;
  std::size_t items = 0;
  Stopping stopping;

  Bytes bytes() const { return Bytes{4.0 * double(items)}; }
};

std::string name_of(int flows, std::size_t items) {
  return fmt::format("{} flow{} of {} B", flows, flows == 1 ? "" : "s", 4 * items);
}

std::optional<int> partner(const std::vector<Pair>& pairs, int flows, int rank) {
  for (int i = 0; i < flows; ++i) {
    const auto [a, b] = pairs[std::size_t(i)];
    if (rank == a) return b;
    if (rank == b) return a;
  }
  return {};
}

void check(const std::vector<Pair>& pairs, int ranks) {
  std::vector<int> seen;
  for (const auto& [a, b] : pairs)
    for (int rank : {a, b}) {
      if (rank < 0 || rank >= ranks || std::find(seen.begin(), seen.end(), rank) != seen.end())
        throw UsageError("contention needs pairs of different ranks", "start at least two ranks");
      seen.push_back(rank);
    }
  if (pairs.empty()) throw UsageError("contention needs pairs of ranks", "start at least two ranks");
}

}  // namespace

std::vector<Pair> crossing_pairs(const std::vector<int>& nodes) {
  std::vector<int> near, far;
  for (std::size_t r = 0; r < nodes.size(); ++r) {
    if (nodes[r] == 0) near.push_back(int(r));
    if (nodes[r] == 1) far.push_back(int(r));
  }
  if (near.size() < 2 || far.size() < 2) {
    near.clear();
    far.clear();
    for (std::size_t r = 0; r < nodes.size() / 2; ++r) {
      near.push_back(int(r));
      far.push_back(int(r + nodes.size() / 2));
    }
  }
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < std::min(near.size(), far.size()); ++i) pairs.emplace_back(near[i], far[i]);
  return pairs;
}

Contention measure_contention(Communicator& ranks, const std::vector<Pair>& pairs,
                              const ContentionOptions& options, Samples& kept) {
  check(pairs, ranks.size());
  std::vector<Cell> cells;
  for (double bytes = options.least.base(); bytes <= options.most.base() * (1 + 1e-9);
       bytes *= options.factor)
    for (int flows = 1; flows <= int(pairs.size()); ++flows) {
      const auto items = std::size_t(std::llround(bytes / 4));
      cells.push_back({flows, items, resume(options.rule, ranks, kept[name_of(flows, items)])});
    }
  const std::size_t largest = std::size_t(std::llround(options.most.base() / 4));
  const Buffer buffer = options.allocate(2 * largest);

  Contention out;
  const Seconds start = ranks.now();
  // In turns, so that a temporary slowdown of the machine affects all numbers of flows.
  bool any = true, in_time = true;
  for (bool first = true; any && in_time && !out.interrupted; first = false) {
    any = false;
    for (Cell& cell : cells) {
      if ((out.interrupted = on_any(ranks, options.stop && options.stop()))) break;
      if (cell.stopping.done()) continue;
      const auto peer = partner(pairs, cell.flows, ranks.rank());
      const Message send{peer.value_or(0), buffer.get(), cell.items};
      const Message receive{peer.value_or(0), buffer.get() + largest, cell.items};
      for (int i = 0; i < 1 + first * options.rule.warm_up && !cell.stopping.done(); ++i)
        cell.stopping.add(together(ranks, peer.has_value(), [&] {
          ranks.exchange({&send, 1}, {&receive, 1});
        }));
      any |= !cell.stopping.done();
    }
    in_time = ranks.gather((ranks.now() - start).base()).front() < options.time.base();
  }

  for (const Cell& cell : cells) kept[name_of(cell.flows, cell.items)] = cell.stopping.samples();
  if (out.interrupted) return out;
  for (const Cell& cell : cells)
    out.points.push_back({cell.flows, cell.bytes().base(), cell.stopping.result().lower_quartile.base()});
  out.fit = fit_sharing(out.points);
  return out;
}

std::vector<Slowdown> measure_shared_memory(Communicator& ranks, const SharedTask& task, Samples& kept) {
  const std::vector<int> nodes = ranks.nodes();
  const auto most = int(std::count(nodes.begin(), nodes.end(), 0));
  // The index of this rank on the first node; ranks of other nodes only wait.
  const int own = nodes[std::size_t(ranks.rank())] != 0
                      ? most
                      : int(std::count(nodes.begin(), nodes.begin() + ranks.rank(), 0));
  const auto name_of = [&](int active) { return fmt::format("{}, {} at once", task.name, active); };
  std::vector<Stopping> counts;
  for (int active = 1; active <= most; ++active)
    counts.push_back(resume(task.rule, ranks, kept[name_of(active)]));
  bool stopped = false;
  for (bool any = true; any && !stopped;) {
    any = false;
    for (int active = 1; active <= most; ++active) {
      Stopping& stopping = counts[std::size_t(active - 1)];
      if ((stopped = on_any(ranks, task.stop && task.stop()))) break;
      if (stopping.done()) continue;
      stopping.add(together(ranks, own < active, task.work));
      any |= !stopping.done();
    }
  }
  for (int active = 1; active <= most; ++active)
    kept[name_of(active)] = counts[std::size_t(active - 1)].samples();
  if (stopped) return {};
  std::vector<Slowdown> out;
  for (int active = 1; active <= most; ++active) {
    const Measured time = counts[std::size_t(active - 1)].result();
    out.push_back({active, time, active == 1 ? 1 : time.median / out.front().time.median});
  }
  return out;
}

}  // namespace paradl::calibrate
