// Pipelines: the buffer goes in S segments, so that a rank passes one on while it takes the next.
//
//   rounds  steps until the farthest rank has its first segment     S  segments     m  bytes of the buffer
//   T = (rounds + S - 1)(alpha + m/S beta); S large for long buffers, small for short ones
#include <algorithm>

#include "paradl/network/algorithm/phases.hpp"

namespace paradl {
namespace {

Linear pipelined(int rounds, int S, Link link) { return (rounds + S - 1) * message(link, 1.0 / S); }

}  // namespace

Curve pipeline(const Job& job, int rounds, double runs, Link link) {
  if (rounds < 1) return Linear{};
  if (job.segments > 0) return runs * pipelined(rounds, job.segments, link);
  Curve curve;
  for (int S = 1; S <= most_segments; S *= 2) curve.add({runs * pipelined(rounds, S, link)});
  return curve;
}

int segments_of(const Job& job, int rounds) {
  if (job.segments > 0) return job.segments;
  if (!job.topology || job.topology->wires().empty()) return 16;
  Link slow;
  for (const Wire& wire : job.topology->wires())
    slow = {std::max(slow.alpha, wire.link.alpha), std::max(slow.beta, wire.link.beta)};
  int best = 1;
  for (int S = 2; S <= most_segments; S *= 2)
    if (pipelined(rounds, S, slow)(job.bytes) < pipelined(rounds, best, slow)(job.bytes)) best = S;
  return best;
}

}  // namespace paradl
