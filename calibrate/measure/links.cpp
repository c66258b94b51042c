#include "calibrate/measure/links.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>

namespace paradl::calibrate {
namespace {

/// The ranks that measure a level; other ranks wait.
struct Group {
  GroupLevel level = GroupLevel::node;
  std::unique_ptr<Communicator> members;  // for a rank that only waits: all waiting ranks
  bool takes_part = false;
  int size = 0;
};

std::vector<Group> make_groups(Communicator& ranks) {
  const std::vector<int> nodes = ranks.nodes();
  const int me = ranks.rank(), mine = nodes[std::size_t(me)];
  const int count = 1 + *std::max_element(nodes.begin(), nodes.end());
  const auto on = [&](int node) { return int(std::count(nodes.begin(), nodes.end(), node)); };
  int busy = 0;  // the first node with several ranks
  while (busy < count && on(busy) < 2) ++busy;
  const bool first = std::find(nodes.begin(), nodes.end(), mine) - nodes.begin() == std::ptrdiff_t(me);

  std::vector<Group> groups;
  const auto add = [&](GroupLevel level, bool takes_part, int size) {
    groups.push_back({level, ranks.split(takes_part, me), takes_part, size});
  };
  if (busy < count) add(GroupLevel::node, mine == busy, on(busy));
  if (count > 1) add(GroupLevel::cluster, first, count);
  if (count > 1 && busy < count) add(GroupLevel::all, true, ranks.size());
  return groups;
}

/// A buffer that grows with the size of messages.
class Room {
 public:
  explicit Room(const std::function<Buffer(std::size_t)>& allocate) : allocate_(allocate) {}
  float* items(std::size_t count) {
    if (buffer_.items < count || !buffer_.get()) {
      buffer_ = {};  // freed first: two of the largest might not fit
      buffer_ = allocate_(std::max<std::size_t>(1, count));
    }
    return buffer_.get();
  }

 private:
  const std::function<Buffer(std::size_t)>& allocate_;
  Buffer buffer_;
};

std::vector<std::size_t> even_parts(std::size_t items, std::size_t p) {
  std::vector<std::size_t> parts(p);
  for (std::size_t r = 0; r < p; ++r) parts[r] = items * (r + 1) / p - items * r / p;
  return parts;
}

/// Every rank sends a part to every other rank, the nearest first, so that no receiver is overloaded.
void all_to_all(Communicator& group, float* data, std::size_t items) {
  const auto p = std::size_t(group.size()), me = std::size_t(group.rank());
  const std::size_t part = items / p;
  std::vector<Message> sends, receives;
  for (std::size_t step = 1; step < p; ++step) {
    const std::size_t to = (me + step) % p, from = (me + p - step) % p;
    sends.push_back({int(to), data + to * part, part});
    receives.push_back({int(from), data + items + from * part, part});
  }
  group.exchange(sends, receives);
}

/// A round trip between ranks 0 and 1; one message takes half of it.
void ping_pong(Communicator& group, float* data, std::size_t items) {
  if (group.rank() > 1) return;
  const Message message{1 - group.rank(), data, items};
  const std::span<const Message> one{&message, 1}, none;
  group.rank() == 0 ? group.exchange(one, none) : group.exchange(none, one);
  group.rank() == 0 ? group.exchange(none, one) : group.exchange(one, none);
}

void run(Collective operation, Communicator& group, float* data, std::size_t items) {
  switch (operation) {
    case Collective::allreduce:
      return group.allreduce(data, items);
    case Collective::allgather:
      return group.allgather(data, even_parts(items, std::size_t(group.size())));
    case Collective::reduce_scatter:
      return group.reduce_scatter(data, even_parts(items, std::size_t(group.size())));
    case Collective::all_to_all:
      return all_to_all(group, data, items);
    case Collective::point_to_point:
      return ping_pong(group, data, items);
  }
}

/// One operation on one group with one size, and its samples so far.
struct Cell {
  Collective operation = Collective::point_to_point;
  Group* group = nullptr;
  std::size_t items = 0;
  Stopping stopping;
  std::optional<LinkPoint> known = {};  // from an earlier run
  int repetitions = 0;                  // in one sample; zero: not run yet
  bool left_out = false;

  bool open() const { return !known && !left_out && !stopping.done(); }
  int ranks() const { return operation == Collective::point_to_point ? 2 : group->size; }
  Bytes bytes() const { return Bytes{4.0 * double(items)}; }
  std::optional<LinkPoint> point() const {
    if (known) return known;
    const Measured result = stopping.result();
    if (result.samples == 0) return std::nullopt;
    return LinkPoint{.operation = operation,
                     .level = group->level,
                     .ranks = ranks(),
                     .bytes = bytes(),
                     .seconds = result.median,
                     .noise = result.noise};
  }
};

std::optional<LinkPoint> find_known(const std::vector<LinkPoint>& known, const Cell& cell) {
  for (const LinkPoint& p : known)
    if (p.operation == cell.operation && p.level == cell.group->level && p.ranks == cell.ranks() &&
        p.bytes == cell.bytes())
      return p;
  return std::nullopt;
}

std::vector<Cell> make_cells(std::vector<Group>& groups, const LinkOptions& options) {
  std::vector<Cell> cells;
  std::size_t last = 0;
  for (double bytes = options.least.base(); bytes <= options.most.base() * (1 + 1e-9);
       bytes *= options.factor) {
    const auto items = std::max<std::size_t>(1, std::size_t(std::llround(bytes / 4)));
    if (items == last) continue;
    last = items;
    for (Group& group : groups)
      for (Collective operation : options.operations)
        cells.push_back({operation, &group, items, Stopping(options.rule)});
  }
  for (Cell& cell : cells) cell.known = find_known(options.known, cell);
  return cells;
}

class Session {
 public:
  Session(Communicator& ranks, const LinkOptions& options)
      : ranks_(ranks), options_(options), room_(options.allocate) {}

  /// Takes one sample, which all ranks get.
  void sample(Cell& cell) {
    constexpr double most = 100;
    const bool first = cell.repetitions == 0;
    if (first) {
      const double once = timed(cell, 1);
      cell.repetitions =
          int(std::clamp(std::ceil(options_.sample.base() / std::max(once, 1e-12)), 1.0, most));
      if (cell.repetitions > 1) return;  // that was another warm-up
      cell.stopping.add(Seconds{once});
    } else {
      cell.stopping.add(Seconds{timed(cell, cell.repetitions)});
    }
  }

 private:
  /// Seconds of one operation on the slowest rank.
  double timed(const Cell& cell, int repetitions) {
    float* data = room_.items(2 * cell.items);
    ranks_.barrier();
    double mine = 0;
    if (cell.group->takes_part) {
      const Seconds start = ranks_.now();
      for (int i = 0; i < repetitions; ++i) run(cell.operation, *cell.group->members, data, cell.items);
      mine = (ranks_.now() - start).base() / repetitions;
    }
    const auto all = ranks_.gather(mine);
    const double slowest = *std::max_element(all.begin(), all.end());
    return cell.operation == Collective::point_to_point ? slowest / 2 : slowest;
  }

  Communicator& ranks_;
  const LinkOptions& options_;
  Room room_;
};

/// Leaves out sizes so much larger than `cell` that they would exceed their part of the time.
void leave_out_larger(std::vector<Cell>& cells, const Cell& cell, const LinkOptions& options,
                      std::size_t series) {
  const double part = options.time.base() / double(series) / 2;
  const auto point = cell.point();
  if (!point) return;
  const double seconds = point->seconds.base();
  const double needed = seconds * options.factor * (options.rule.warm_up + options.rule.least);
  if (needed <= part) return;
  for (Cell& other : cells)
    if (other.operation == cell.operation && other.group == cell.group && other.items > cell.items)
      other.left_out = true;
}

}  // namespace

Buffer host_memory(std::size_t items) {
  auto memory = std::make_shared<std::vector<float>>(items);
  return {std::shared_ptr<float>(memory, memory->data()), items};
}

LinkMeasurement measure_links(Communicator& ranks, const LinkOptions& options) {
  constexpr int samples_a_round = 3;
  std::vector<Group> groups = make_groups(ranks);
  std::vector<Cell> cells = make_cells(groups, options);
  const std::size_t series = groups.size() * options.operations.size();
  Session session(ranks, options);
  const Seconds start = ranks.now();
  const auto spent = [&] {
    return ranks.gather((ranks.now() - start).base()).front();
  };  // of rank 0, the same on all ranks

  LinkMeasurement out;
  bool first_round = true, in_time = true;
  for (bool any = true; any && in_time && !out.interrupted; first_round = false) {
    any = false;
    for (Cell& cell : cells) {
      if ((out.interrupted = on_any(ranks, options.stop && options.stop()))) break;
      for (int i = 0; i < samples_a_round + first_round && cell.open(); ++i) session.sample(cell);
      any |= cell.open();
      if (first_round) leave_out_larger(cells, cell, options, series);
      if (!first_round && !(in_time = spent() < options.time.base())) break;
    }
    if (options.progress && ranks.rank() == 0) {
      const auto open = std::count_if(cells.begin(), cells.end(), [](const Cell& c) { return c.open(); });
      options.progress(1 - double(open) / double(std::max<std::size_t>(1, cells.size())));
    }
  }

  for (const Cell& cell : cells)
    if (const auto point = cell.point()) out.points.push_back(*point);
  return out;
}

}  // namespace paradl::calibrate
