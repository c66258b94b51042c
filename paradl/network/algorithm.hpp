#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "paradl/network/curve.hpp"
#include "paradl/network/schedule.hpp"
#include "paradl/network/topology.hpp"

namespace paradl {

enum class Operation {
  allreduce,
  reduce_scatter,
  allgather,
  broadcast,
  reduce,
  scatter,
  all_to_all,
  halo,
  point_to_point
};

/// All of them, in report order.
std::span<const Operation> operations();
std::string_view text_of(Operation operation);                   // "reduce-scatter"
std::optional<Operation> find_operation(std::string_view name);  // as text_of() writes it

/// One collective to be done.
struct Job {
  Operation operation = Operation::allreduce;
  int ranks = 1;
  Bytes bytes{};  // of the whole buffer; all-to-all: of one rank's part; halo, point to point: of a message
  int per_node = 1;                    // ranks of one node are neighbours
  int segments = 0;                    // of a pipelined buffer; 0: the best number
  const Topology* topology = nullptr;  // for algorithms that depend on it: ring-2d, shd, multitree
  std::span<const int> seats = {};     // host of each rank; empty: rank r sits on host r

  // Of sparse buffers:
  double density = 1;          // share of the values that are not zero, on one rank
  double pair = 2;             // bytes of an index and its value, over those of the value: (4 + 4) / 4
  SecondsPerByte selection{};  // to find the top k by reading the buffer; zero: not counted
};

/// The links that a closed form sees. `outer.phi` is the number of flows that share a port when every rank of
/// a node sends at once; it does not slow down algorithms in which one rank per node sends.
struct Ways {
  Hop inner, outer;  // inner.size ranks a node, outer.size nodes
  std::optional<Seconds> next =
      {};  // the longest latency between neighbouring ranks, where it is known: a ring's
  /// By how much outer.phi is smaller in steps with messages in one direction only: up to 2 if the directions
  /// of a cable share its bandwidth.
  double both_ways = 1;
  double ports = 1;                 // wires on which a rank can send at once: 2d on a torus of d dimensions
  std::optional<Link> around = {};  // the measured link of a ring through all ranks, if there is one
};

/// One algorithm: everything that the program knows about it. All functions are pure, and are called only
/// if refusal() is "".
struct Algorithm {
  std::string_view name;     // as typed on the command line
  std::string_view summary;  // one line for --help
  std::string_view formula;  // of its first operation
  std::span<const Operation> operations;
  /// Why it cannot do the job, "" if it can. nullptr: it can do any job.
  std::string (*limit)(const Job&) = nullptr;
  Schedule (*schedule)(const Job&) = nullptr;
  /// Does not use Job::bytes: the curve is built once for many sizes.
  Curve (*closed_form)(const Job&, const Ways&) = nullptr;
  /// What the reader of an answer should know, or "". `steps` are those of its schedule, 0 if there is none.
  std::string (*remark)(const Job&, int steps) = nullptr;
  /// The operations for which it cuts the buffer into Job::segments.
  std::span<const Operation> pipelined = {};
  /// Steps until the farthest rank of a pipelined operation has its first segment.
  int (*rounds)(const Job&) = nullptr;
  bool tabulated = false;  // its times come from a library's own tables, not from its schedule
  bool sparse = false;     // sends only values that are not zero
  bool on_wires = false;   // is built from the wires of a topology; levels alone are not enough
  bool quadratic = false;  // its number of messages grows with the square of the ranks
  bool fitted = false;     // links are fitted with its formula, so its times are the measured ones

  bool serves(Operation operation) const;
  bool pipelines(Operation operation) const;
};

/// The largest number of segments of a pipeline: 256 KiB each of 1 GiB; more do not make it faster.
inline constexpr int most_segments = 1 << 12;

/// All algorithms, in report order.
std::span<const Algorithm* const> algorithms();
const Algorithm* find_algorithm(std::string_view name);  // nullptr if there is none

/// Time per byte to find the top k values of a sparse buffer, which is not part of any message. Zero for
/// algorithms that are not sparse.
SecondsPerByte selection_of(const Algorithm& algorithm, const Job& job);

/// Why the algorithm cannot do the job: "" if it can, else a sentence that says what to do instead.
std::string refusal(const Algorithm& algorithm, const Job& job);

}  // namespace paradl
