// Runs every schedule on numbers: in the end its ranks must have the result of the operation.
#include <algorithm>
#include <cmath>
#include <set>

#include <doctest/doctest.h>

#include "paradl/network/algorithm.hpp"

namespace paradl {
namespace {
using namespace literals;

constexpr double garbage = -1e9;

/// A number for each rank and piece, such that two different sums are never equal by accident.
double value(int rank, int piece) {
  return double((rank + 1) * (rank + 1)) + 0.001 * (piece + 1) * (rank + 2);
}

Buffers start(const Schedule& schedule) {
  Buffers buffer{std::size_t(schedule.ranks), std::vector<double>(std::size_t(schedule.pieces))};
  for (int r = 0; r < schedule.ranks; ++r)
    for (int i = 0; i < schedule.pieces; ++i) buffer[std::size_t(r)][std::size_t(i)] = value(r, i);
  return buffer;
}

std::vector<double> sums(const Schedule& schedule) {
  std::vector<double> sum(std::size_t(schedule.pieces), 0.0);
  for (int r = 0; r < schedule.ranks; ++r)
    for (int i = 0; i < schedule.pieces; ++i) sum[std::size_t(i)] += value(r, i);
  return sum;
}

bool same(double a, double b) { return std::abs(a - b) < 1e-6; }
bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(a, b, [](double x, double y) { return same(x, y); });
}

/// All jobs with P from 2 to 33 that the algorithm supports, with nodes of several sizes.
template <class Check>
void for_each_job(Operation operation, Check check) {
  int done = 0;
  for (const Algorithm* algorithm : algorithms())
    for (int p = 2; p <= 33; ++p)
      for (const int per_node : {1, 2, 3, 4, 8}) {
        const bool looks_at_nodes = algorithm->name.find('+') != std::string_view::npos ||
                                    algorithm->name == "leader" || algorithm->name == "shd";
        if (!algorithm->serves(operation) || (per_node > 1 && !looks_at_nodes)) continue;
        for (const int segments : {1, 2, 3, 8}) {
          const Job job{.operation = operation,
                        .ranks = p,
                        .bytes = Bytes{1e6},
                        .per_node = per_node,
                        .segments = segments,
                        .density = 0.01};
          if (!refusal(*algorithm, job).empty()) continue;
          CAPTURE(algorithm->name);
          CAPTURE(p);
          CAPTURE(per_node);
          CAPTURE(segments);
          check(*algorithm, job);
          ++done;
        }
      }
  CHECK(done > 0);
}

TEST_CASE("allreduce: every rank has every sum") {
  std::set<std::string_view> done;
  for_each_job(Operation::allreduce, [&](const Algorithm& algorithm, const Job& job) {
    const Schedule schedule = algorithm.schedule(job);
    const auto sum = sums(schedule);
    bool correct = true;
    for (const auto& mine : execute(schedule, start(schedule))) correct &= same(mine, sum);
    CHECK(correct);
    done.insert(algorithm.name);
  });
  CHECK(done.size() == 20);  // all except multitree, which needs a topology
}

/// The rank that has each piece after a reduce-scatter: every piece is complete on one rank, and all ranks
/// have equally many.
std::vector<int> owners(const Schedule& schedule, const Buffers& after) {
  std::vector<int> owner(std::size_t(schedule.pieces), -1);
  std::vector<int> owned(std::size_t(schedule.ranks));
  const auto sum = sums(schedule);
  for (int r = 0; r < schedule.ranks; ++r)
    for (std::size_t i = 0; i < sum.size(); ++i)
      if (same(after[std::size_t(r)][i], sum[i])) {
        CHECK(owner[i] == -1);
        owner[i] = r;
        ++owned[std::size_t(r)];
      }
  for (const int count : owned) CHECK(count == schedule.pieces / schedule.ranks);
  return owner;
}

TEST_CASE("reduce-scatter: every rank has its share of the sums; allgather: all ranks have all shares") {
  for_each_job(Operation::reduce_scatter, [](const Algorithm& algorithm, Job job) {
    if (algorithm.name == "auto" && job.per_node > 1) return;
    const Schedule scatter = algorithm.schedule(job);
    const auto owner = owners(scatter, execute(scatter, start(scatter)));

    job.operation = Operation::allgather;
    const Schedule gather = algorithm.schedule(job);
    REQUIRE(gather.pieces == scatter.pieces);
    Buffers buffer = start(gather);
    std::vector<double> whole;
    for (int i = 0; i < gather.pieces; ++i) {
      whole.push_back(value(owner[std::size_t(i)], i));
      for (int r = 0; r < gather.ranks; ++r)
        if (r != owner[std::size_t(i)]) buffer[std::size_t(r)][std::size_t(i)] = garbage;
    }
    bool correct = true;
    for (const auto& mine : execute(gather, buffer)) correct &= same(mine, whole);
    CHECK(correct);
  });
}

TEST_CASE("after a ring each rank has the share with its number") {
  const Schedule ring =
      find_algorithm("ring")->schedule({.operation = Operation::reduce_scatter, .ranks = 5, .bytes = 1.0_MB});
  const auto owner = owners(ring, execute(ring, start(ring)));
  for (int i = 0; i < 5; ++i) CHECK(owner[std::size_t(i)] == i);
}

TEST_CASE("broadcast: every rank has the data of rank 0") {
  for_each_job(Operation::broadcast, [](const Algorithm& algorithm, const Job& job) {
    const Schedule schedule = algorithm.schedule(job);
    Buffers buffer = start(schedule);
    for (std::size_t r = 1; r < buffer.size(); ++r) buffer[r].assign(buffer[r].size(), garbage);
    const auto root = buffer[0];
    bool correct = true;
    for (const auto& mine : execute(schedule, buffer)) correct &= same(mine, root);
    CHECK(correct);
  });
}

TEST_CASE("reduce: rank 0 has every sum") {
  for_each_job(Operation::reduce, [](const Algorithm& algorithm, const Job& job) {
    const Schedule schedule = algorithm.schedule(job);
    CHECK(same(execute(schedule, start(schedule))[0], sums(schedule)));
  });
}

TEST_CASE("scatter: each rank has its share of the data of rank 0") {
  for_each_job(Operation::scatter, [](const Algorithm& algorithm, const Job& job) {
    const Schedule schedule = algorithm.schedule(job);
    const auto before = start(schedule), after = execute(schedule, before);
    for (std::size_t r = 0; r < after.size(); ++r) CHECK(same(after[r][r], before[0][r]));
  });
}

TEST_CASE("all-to-all: each rank has its piece from every other rank") {
  for_each_job(Operation::all_to_all, [](const Algorithm& algorithm, const Job& job) {
    const Schedule schedule = algorithm.schedule(job);
    const auto before = start(schedule), after = execute(schedule, before);
    const auto p = std::size_t(job.ranks);
    bool correct = true;
    for (std::size_t i = 0; i < p; ++i)
      for (std::size_t j = 0; j < p; ++j) correct &= same(after[j][i * p + j], before[i][i * p + j]);
    CHECK(correct);
  });
}

TEST_CASE(
    "halo: each rank has its neighbours' borders; point to point: the last rank has the first one's data") {
  for_each_job(Operation::halo, [](const Algorithm& algorithm, const Job& job) {
    const Schedule schedule = algorithm.schedule(job);
    const auto before = start(schedule), after = execute(schedule, before);
    for (std::size_t r = 0; r + 1 < after.size(); ++r) {
      CHECK(same(after[r + 1][2 * r + 1], before[r][2 * r + 1]));
      CHECK(same(after[r][2 * (r + 1)], before[r + 1][2 * (r + 1)]));
    }
  });
  for_each_job(Operation::point_to_point, [](const Algorithm& algorithm, const Job& job) {
    const Schedule schedule = algorithm.schedule(job);
    const auto before = start(schedule);
    CHECK(same(execute(schedule, before).back(), before.front()));
  });
}

}  // namespace
}  // namespace paradl
