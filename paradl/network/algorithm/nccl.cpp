// What NCCL would do: its tuning model, with the numbers of src/graph/tuning.cc in NCCL 2.20
// (github.com/NVIDIA/nccl). For every algorithm and protocol it has a latency and a bandwidth, and takes the
// least latency + m / bandwidth.
//
//   n  ranks     N  nodes     m  bytes of the buffer
// Left out: CollNet and NVLS, which need their switches; processors other than Intel's.
#include "paradl/network/algorithm/nccl.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "paradl/network/algorithm/levels.hpp"
#include "paradl/network/algorithm/phases.hpp"

namespace paradl {
namespace {

enum Family : std::size_t { tree, ring };
enum Protocol : std::size_t { ll, ll128, simple };
enum Wiring : std::size_t { nvlink, pcie, network };
enum Generation : std::size_t { volta, ampere, hopper };

constexpr std::array<std::string_view, 2> family_names{"double-tree", "ring"};
constexpr std::array<std::string_view, 3> protocol_names{"LL", "LL128", "Simple"};
static_assert(names_every(ring, family_names) && names_every(simple, protocol_names));

using Three = std::array<double, 3>;
// Microseconds, by protocol.
constexpr std::array<Three, 2> base_latency{{{6.8, 14.0, 0}, {6.6, 14.0, 8.4}}};  // tree, ring
constexpr std::array<std::array<Three, 2>, 3> hop_latency{
    {{{{0.6, 1.25, 28}, {0.6, 1.9, 3.4}}},     // NVLink: tree, ring
     {{{1.0, 1.90, 28}, {1.0, 2.5, 5.7}}},     // PCIe
     {{{5.0, 8.50, 28}, {2.7, 4.0, 14.0}}}}};  // network
constexpr Three net_overhead{1, 1, 3};         // of posting a message

// GB/s on one node, on two, on more; by generation.
constexpr std::array<Three, 3> ll_bandwidth{{{39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {87.7, 22.5, 19.0}}};
constexpr std::array<Three, 3> channel_ring_ll128{
    {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 36.7}}};
constexpr std::array<Three, 3> channel_tree_ll128{
    {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 29.0}}};
constexpr std::array<Three, 3> channel_tree{{{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}}};

// What trees reach of their bandwidth, from 64 B on, one number for each doubling.
constexpr std::array<std::array<double, 23>, 3> tree_correction{
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}}};

/// The machine as NCCL sees it.
struct Host {
  double n = 1, N = 1;
  Wiring inside = nvlink;
  Generation generation = volta;
  std::size_t span = 0;  // 0: one node, 1: two, 2: more
  double bandwidth = 0;  // GB/s of all channels
  double channels = 1;
};

double gigabytes(SecondsPerByte beta) { return 1e-9 / beta.base(); }

/// The system file does not name the GPU's generation; it follows from NVLink (150, 300, 450 GB/s; PCIe below
/// 16).
Host host_of(const Job& job, const Ways& ways) {
  Host host;
  host.n = job.ranks;
  host.N = std::max(1.0, host.n / job.per_node);
  const bool alone = job.per_node < 2;
  const double inner = gigabytes(inside(ways).beta);
  host.inside = !alone && inner < 16 ? pcie : nvlink;
  host.generation = alone || inner <= 160 ? volta : inner <= 310 ? ampere : hopper;
  host.span = host.N > 2 ? 2 : host.N > 1 ? 1 : 0;
  if (host.N > 1) {
    // A channel for each port; all ranks of a node together have per_node / phi of them.
    host.channels = std::max(1.0, job.per_node / std::max(1.0, ways.outer.phi));
    host.bandwidth = host.channels * gigabytes(ways.outer.link.beta);
    if (!alone) host.bandwidth = std::min(host.bandwidth, inner);
  } else {
    host.bandwidth = inner;
    host.channels = std::max(1.0, std::floor(inner / (host.generation == hopper ? 30 : 20)));  // GB/s of each
  }
  return host;
}

bool sums(Operation operation) { return operation == Operation::allreduce || operation == Operation::reduce; }

/// GB/s with which a buffer gets through; 0: the protocol is not used.
double bandwidth_of(const Host& host, Operation operation, Family family, Protocol protocol) {
  if (protocol == ll128 && host.inside != nvlink) return 0;
  const auto limit = [&](const std::array<Three, 3>& table) { return table[host.generation][host.span]; };
  // On several nodes LL is bound by the processor rather than the GPU; Intel's is the first row.
  const double most_ll = ll_bandwidth[host.N > 1 ? std::size_t(volta) : host.generation][host.span];
  double bus = host.bandwidth;
  if (family == ring) {
    if (protocol == ll) bus = std::min(most_ll, bus * (host.N > 1 || sums(operation) ? 1 / 4.0 : 1 / 3.0));
    // 120 of 128 bytes are data; one rank a node sends and takes through the same card.
    if (protocol == ll128)
      bus = std::min(bus * (host.n / host.N < 2 ? 0.7 : 0.92), host.channels * limit(channel_ring_ll128));
    const double steps = operation == Operation::allreduce ? 2 * (host.n - 1)
                         : operation == Operation::allgather || operation == Operation::reduce_scatter
                             ? host.n - 1
                             : host.n;
    return bus * host.n / steps;
  }
  bus = std::min(0.92 * bus, host.channels * limit(channel_tree));
  if (protocol == ll) bus = std::min(bus / 3.8, most_ll);
  if (protocol == ll128)
    bus = std::min(bus * (host.N > 1 ? 120 / 128.0 : 7 / 9.0), host.channels * limit(channel_tree_ll128));
  return bus / 2;  // up and down
}

/// Microseconds before the first byte is through.
double latency_of(const Host& host, Operation operation, Family family, Protocol protocol) {
  const double base = base_latency[family][protocol];
  double in = hop_latency[host.inside][family][protocol];
  const double out = hop_latency[network][family][protocol];
  if (family == tree) return base + 2 * ((host.n / host.N - 1) * in + std::floor(std::log2(host.N)) * out);
  if (operation == Operation::broadcast || operation == Operation::reduce)
    return base + (host.N > 1 ? out : in);
  const double halves = operation == Operation::allreduce ? 2 : 1;
  const double steps = halves * (host.n - 1);
  const double between = host.N < 2 ? 0 : operation == Operation::allreduce ? 2 * host.N : host.N - 1;
  if (host.N > 1) in = std::max(in, net_overhead[protocol]);
  return base + (steps - between) * in + between * out;
}

Linear time_of(double latency, double bandwidth) {
  return {Seconds{latency * 1e-6}, SecondsPerByte{1e-9 / bandwidth}};
}

/// The choices of one algorithm and protocol: a tree has one for each size of its correction, and a ring of
/// several nodes starts more slowly from 64 bytes a rank and channel on.
void add_choices(Curve& curve, const Job& job, const Host& host, Family family, Protocol protocol) {
  const double bandwidth = bandwidth_of(host, job.operation, family, protocol);
  const double latency = latency_of(host, job.operation, family, protocol);
  if (bandwidth == 0) return;
  if (family == tree) {
    const auto& correction = tree_correction[protocol];
    for (std::size_t k = 0; k < correction.size(); ++k)
      curve.add({time_of(latency, bandwidth * correction[k]), Bytes{k == 0 ? 0 : std::ldexp(64, int(k))},
                 Bytes{std::ldexp(128, int(k))}});
    curve.add({time_of(latency, bandwidth), Bytes{std::ldexp(64, int(correction.size()))}});
  } else if (protocol == simple && host.N > 1 && job.operation == Operation::allreduce) {
    const Bytes plateau{64 * host.channels * host.n};
    curve.add({time_of(latency, bandwidth), Bytes{0}, plateau});
    curve.add({time_of((host.generation == volta ? 1.9 : 1.4) * latency, bandwidth), plateau});
  } else {
    curve.add({time_of(latency, bandwidth)});
  }
}

/// A machine to choose for when a schedule is asked for: the slowest wire between nodes, NVLink inside.
Ways usual_ways(const Job& job) {
  Ways ways;
  ways.inner.size = job.per_node;
  ways.inner.link.beta = SecondsPerByte{1 / 150e9};
  ways.outer.size = double(job.ranks) / job.per_node;
  ways.outer.link.beta = SecondsPerByte{1 / 12.5e9};
  if (!job.topology) return ways;
  SecondsPerByte slow;
  for (const Wire& wire : job.topology->wires()) slow = std::max(slow, wire.link.beta);
  if (slow > SecondsPerByte{}) ways.outer.link.beta = slow;
  return ways;
}

template <class Visit>
void each_pair(Operation operation, Visit visit) {
  for (const Family family : {tree, ring}) {
    if (family == tree && operation != Operation::allreduce) continue;
    for (const Protocol protocol : {ll, ll128, simple}) visit(family, protocol);
  }
}

Schedule schedule(const Job& job) {
  return find_algorithm(nccl_choice(job, usual_ways(job)).algorithm)->schedule(job);
}

Curve closed_form(const Job& job, const Ways& ways) {
  if (job.ranks < 2) return Linear{};
  Curve curve;
  each_pair(job.operation, [&, host = host_of(job, ways)](Family family, Protocol protocol) {
    add_choices(curve, job, host, family, protocol);
  });
  return curve;
}

std::string remark(const Job&, int) {
  return "its closed form is NCCL's own model; link-load and flows use the messages of the algorithm that "
         "NCCL chooses on these wires";
}

constexpr std::array served{Operation::allreduce, Operation::reduce_scatter, Operation::allgather,
                            Operation::broadcast};

}  // namespace

NcclChoice nccl_choice(const Job& job, const Ways& ways) {
  NcclChoice best{family_names[ring], protocol_names[simple], Seconds{}};
  if (job.ranks < 2) return best;
  best.time = Seconds{std::numeric_limits<double>::infinity()};
  const Host host = host_of(job, ways);
  each_pair(job.operation, [&](Family family, Protocol protocol) {
    Curve curve;
    add_choices(curve, job, host, family, protocol);
    if (curve.choices().empty() || curve(job.bytes) >= best.time) return;
    best = {family_names[family], protocol_names[protocol], curve(job.bytes)};
  });
  return best;
}

std::string text_of(const NcclChoice& choice) {
  return fmt::format("{}, {}", choice.algorithm, choice.protocol);
}

extern const Algorithm auto_algorithm{
    .name = "auto",
    .summary = "the choice of NCCL's tuning model: ring or double tree; LL, LL128 or Simple",
    .formula = "min over algorithm and protocol of latency + m / bandwidth",
    .operations = served,
    .schedule = schedule,
    .closed_form = closed_form,
    .remark = remark,
    .tabulated = true};

}  // namespace paradl
