// Double binary tree (Sanders, Speck and Träff; NCCL): two binary trees with half of the buffer each. A rank
// with children in one tree is a leaf of the other, so that each port carries two half segments a step, in
// and out: the whole bandwidth works, with the latency of a tree.
//
//   h  depth of the trees     S  segments of each half     m  bytes of the buffer
#include <algorithm>
#include <array>

#include "paradl/network/algorithm/levels.hpp"
#include "paradl/network/algorithm/phases.hpp"

namespace paradl {
namespace {

/// Rank 0 is the root and odd ranks are leaves: the height of a rank is its number of trailing zeros.
int parent_in_first(int rank, int p) {
  const int lowest = rank & -rank, up = (rank ^ lowest) | lowest << 1;
  return up < p ? up : rank ^ lowest;
}

/// The second tree is the first in a mirror, or moved by one where a mirror would keep odd ranks odd.
struct Tree {
  int p;
  bool second;
  int rank(int place) const { return !second ? place : p % 2 == 0 ? p - 1 - place : (place + 1) % p; }
};

int depth_of(int place, int p) { return place == 0 ? 0 : 1 + depth_of(parent_in_first(place, p), p); }

int height(int p) {
  int h = 0;
  for (int place = 0; place < p; ++place) h = std::max(h, depth_of(place, p));
  return h;
}

int rounds_of(const Job& job) { return height(job.ranks); }

Schedule schedule(const Job& job) {
  const int p = job.ranks, h = rounds_of(job), S = segments_of(job, h);
  Schedule out = empty_schedule(job, 2 * S);
  if (p < 2) return out;
  const Teams teams = everyone(job, 2 * S);
  for (const Arrival arrival : {Arrival::add, Arrival::replace})
    for (int t = 0; t < h + S - 1; ++t) {
      out.begin();
      for (const Tree tree : {Tree{p, false}, Tree{p, true}})
        for (int place = 1; place < p; ++place) {
          const int depth = depth_of(place, p);
          const int segment = arrival == Arrival::add ? t - (h - depth) : t - (depth - 1);
          if (segment < 0 || segment >= S) continue;
          const int child = tree.rank(place), parent = tree.rank(parent_in_first(place, p));
          const int first = segment + (tree.second ? S : 0);
          out.add(arrival == Arrival::add ? teams.flow(0, child, parent, first, 1, arrival)
                                          : teams.flow(0, parent, child, first, 1, arrival));
        }
    }
  return out;
}

/// Never less than the steps take: at the roots, where a single child sends, a step has half of the bytes.
/// Two ranks are both a root, so that all their steps are such.
Curve closed_form(const Job& job, const Ways& ways) {
  if (job.ranks == 2) {
    const Link link = slowest(ways);
    return pipeline(job, 1, 2, {link.alpha, 0.5 * link.beta});
  }
  return pipeline(job, rounds_of(job), 2, slowest(ways));
}

constexpr std::array served{Operation::allreduce};

}  // namespace

extern const Algorithm double_tree_algorithm{
    .name = "double-tree",
    .summary = "two binary trees, half of the buffer each, pipelined",
    .formula = "2(h + S - 1)(α + m/S β), h = ⌈log2 p⌉",
    .operations = served,
    .schedule = schedule,
    .closed_form = closed_form,
    .pipelined = served,
    .rounds = rounds_of};

}  // namespace paradl
