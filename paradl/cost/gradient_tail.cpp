// How much of the gradient exchange of a single stage the backward pass hides.
#include <algorithm>
#include <array>
#include <cmath>

#include "paradl/cost/price.hpp"

namespace paradl {
namespace {

/// A stream that sends gradients while the backward pass goes on. Times count from the start of the backward
/// pass.
struct GradientStream {
  Seconds now;   // the progress of the backward pass
  Seconds free;  // when the stream has sent everything so far
  Seconds sent;  // how long the stream was busy
  void send(Seconds duration) {
    free = std::max(free, now) + duration;
    sent += duration;
  }
};

/// Whether the gradients of each group in a block fill at least one bucket.
bool fills_buckets(const Tables& t, const Run& run, Bytes bucket) {
  std::array<Bytes, most_gradient_groups> sent{};
  for (int i = 0; i < run.period; ++i) {
    const auto id = std::size_t(t.layout.order[std::size_t(run.first + i)]);
    if (const int g = t.layout.cells[id].gradients; g >= 0)
      sent[std::size_t(g)] += t.passes.cells[id].gradient;
  }
  return std::ranges::all_of(sent, [&](Bytes part) { return part >= bucket || !(part > Bytes{}); });
}

}  // namespace

Seconds gradient_tail(const Tables& t, Bytes bucket) {
  GradientStream stream;
  std::array<Bytes, most_gradient_groups> waiting{};  // by gradient group
  const std::size_t groups = t.gradients.groups.size();

  const auto flush = [&](std::size_t g) {
    if (waiting[g] > Bytes{}) stream.send(t.gradients.groups[g].allreduce(waiting[g]));
    waiting[g] = Bytes{};
  };
  const auto step = [&](int layer) {
    const auto id = std::size_t(t.layout.order[std::size_t(layer)]);
    const CellCost& cost = t.passes.cells[id];
    stream.now += cost.backward_pass();
    const Cell& cell = t.layout.cells[id];
    if (!(cost.gradient > Bytes{}) || cell.gradients < 0) return;
    const auto g = std::size_t(cell.gradients);
    waiting[g] += cost.gradient;
    if (waiting[g] >= bucket) flush(g);
  };
  const auto block = [&](const Run& run, int repeat) {
    for (int i = run.period - 1; i >= 0; --i) step(run.first + repeat * run.period + i);
  };

  for (std::size_t r = t.layout.runs.size(); r-- > 0;) {
    const Run& run = t.layout.runs[r];
    if (run.repeats < 4 || !fills_buckets(t, run, bucket)) {
      for (int repeat = run.repeats - 1; repeat >= 0; --repeat) block(run, repeat);
      continue;
    }
    // Each block fills a bucket: assume that no bucket spans two blocks. One block then changes (now, free)
    // to (now + t, max(free + a, now + b)), and n blocks to
    // (now + n t, max(free + n a, now + b + (n-1) max(a, t))).
    for (std::size_t g = 0; g < groups; ++g) flush(g);
    const GradientStream before = stream;
    stream = {};
    block(run, 0);
    for (std::size_t g = 0; g < groups; ++g) flush(g);
    const Seconds once = stream.now, b = stream.free, a = stream.sent;
    const double n = run.repeats;
    stream = {.now = before.now + n * once,
              .free = std::max(before.free + n * a, before.now + b + (n - 1) * std::max(a, once)),
              .sent = before.sent + n * a};
  }
  for (std::size_t g = 0; g < groups; ++g) flush(g);
  return std::max(Seconds{}, stream.free - stream.now);
}

}  // namespace paradl
