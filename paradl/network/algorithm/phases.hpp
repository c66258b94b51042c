#pragma once
#include <bit>
#include <functional>

#include "paradl/network/algorithm.hpp"

// The phases of algorithms. A phase appends its steps to a schedule, for several teams at once, such as the
// ranks of each node, or the ranks with the same place in every node.
namespace paradl {

struct Teams {
  int count = 1, size = 1;                 // teams, and members of each
  int team_stride = 0, member_stride = 1;  // rank = team * team_stride + member * member_stride
  int first_stride = 0;                    // a team works on the pieces from team * first_stride on
  int pieces = 1;                          // so many
  Bytes bytes{};                           // of these pieces together

  /// A message of `width` of the team's pieces, from its piece `first` on.
  Flow flow(int team, int from, int to, int first, int width, Arrival arrival) const {
    return {.source = team * team_stride + from * member_stride,
            .target = team * team_stride + to * member_stride,
            .first = team * first_stride + first,
            .width = width,
            .arrival = arrival,
            .bytes = bytes * width / pieces};
  }
};

/// All ranks as one team, on the whole buffer in `pieces`.
inline Teams everyone(const Job& job, int pieces) {
  return {.size = job.ranks, .pieces = pieces, .bytes = job.bytes};
}

inline Schedule empty_schedule(const Job& job, int pieces) {
  return {.ranks = job.ranks, .pieces = pieces, .flows = {}, .steps = {}};
}

constexpr bool is_power_of_two(int n) { return n > 0 && std::has_single_bit(unsigned(n)); }
constexpr int floor_log2(int n) { return std::bit_width(unsigned(n)) - 1; }
constexpr int ceil_log2(int n) { return std::bit_width(unsigned(n) - 1); }
/// The largest power of two that n holds.
constexpr int core_of(int n) { return int(std::bit_floor(unsigned(n))); }

// Around a ring. Member m ends with, and starts from, the m-th share of its team's pieces.
void ring_reduce_scatter(Schedule& schedule, const Teams& teams);
void ring_allgather(Schedule& schedule, const Teams& teams);

/// The bit of its rank that a member flips in a step to find its partner.
using Order = std::function<int(int member, int step)>;

// By halves: in every step a member keeps one half of what it had, and its partner the other half. Members
// beyond the largest power of two send all they have to a neighbour before, and receive the result after.
void fold(Schedule& schedule, const Teams& teams);
void halve(Schedule& schedule, const Teams& teams, const Order& bit);
void join(Schedule& schedule, const Teams& teams, const Order& bit);  // halve(), backwards
void unfold(Schedule& schedule, const Teams& teams);
/// Partners exchange all they have, so that every member gets the sum.
void exchange_all(Schedule& schedule, const Teams& teams);

// Along a binomial tree to and from member 0.
void tree_reduce(Schedule& schedule, const Teams& teams);
void tree_broadcast(Schedule& schedule, const Teams& teams);

// Their closed forms, as functions of the team's bytes.
Linear ring_half(int p, Link link);  // reduce-scatter or allgather
/// Folding and unfolding, which a power of two does not need.
Linear folding(int p, Link link);

/// The fastest pipeline of `rounds` + S - 1 steps of 1/S of the buffer: one choice for each S, or the one
/// that the job asks for.
Curve pipeline(const Job& job, int rounds, double runs, Link link);
/// Segments of a schedule: those of the job, else the best number for the topology's slowest wire, else 16.
int segments_of(const Job& job, int rounds);

}  // namespace paradl
