// How much of the gradient exchange the backward pass hides.
#include <algorithm>
#include <cmath>

#include "paradl/cost/price.hpp"

namespace paradl {
namespace {

/// A stream that sends gradients while the backward pass goes on. Times count from the start of the backward
/// pass.
struct GradientStream {
  Seconds now;   // how far the backward pass has come
  Seconds free;  // when the stream has sent all it was given
  Seconds sent;  // how long it was busy
  void send(Seconds duration) {
    free = std::max(free, now) + duration;
    sent += duration;
  }
};

}  // namespace

/// Whether every kind of gradient in a block fills a bucket by itself.
bool Pricer::fills_buckets(const Layout& layout, const Run& run, Bytes bucket) const {
  std::array<Bytes, most_gradient_groups> sent{};
  for (int i = 0; i < run.period; ++i) {
    const auto id = std::size_t(layout.order[std::size_t(run.first + i)]);
    for (std::size_t g = 0; g < gradients_; ++g)
      if (gradient_[g].has(layout.cells[id])) sent[g] += cells_[id].gradient;
  }
  return std::ranges::all_of(sent, [&](Bytes part) { return part >= bucket || !(part > Bytes{}); });
}

/// How long gradients are still on their way when the backward pass is over.
Seconds Pricer::gradient_tail(const Layout& layout, Bytes bucket) const {
  GradientStream stream;
  std::array<Bytes, most_gradient_groups> waiting{};  // by gradient group

  const auto flush = [&](std::size_t g) {
    if (waiting[g] > Bytes{}) stream.send(gradient_[g].allreduce(waiting[g]));
    waiting[g] = Bytes{};
  };
  const auto step = [&](int layer) {
    const int id = layout.order[std::size_t(layer)];
    const CellCost& cost = cells_[std::size_t(id)];
    stream.now += cost.backward_pass();
    const Cell& cell = layout.cells[std::size_t(id)];
    if (!(cost.gradient > Bytes{}) || !cell.summed) return;
    for (std::size_t g = 0; g < gradients_; ++g)
      if (gradient_[g].has(cell)) {
        waiting[g] += cost.gradient;
        if (waiting[g] >= bucket) flush(g);
      }
  };
  const auto block = [&](const Run& run, int repeat) {
    for (int i = run.period - 1; i >= 0; --i) step(run.first + repeat * run.period + i);
  };

  for (std::size_t r = layout.runs.size(); r-- > 0;) {
    const Run& run = layout.runs[r];
    if (run.repeats < 4 || !fills_buckets(layout, run, bucket)) {
      for (int repeat = run.repeats - 1; repeat >= 0; --repeat) block(run, repeat);
      continue;
    }
    // Blocks that fill a bucket each: let none straddle two blocks. A block then takes (now, free) to
    // (now + t, max(free + a, now + b)), and n of them to (now + n t, max(free + n a, now + b + (n-1) max(a,
    // t))).
    for (std::size_t g = 0; g < gradients_; ++g) flush(g);
    const GradientStream before = stream;
    stream = {};
    block(run, 0);
    for (std::size_t g = 0; g < gradients_; ++g) flush(g);
    const Seconds t = stream.now, b = stream.free, a = stream.sent;
    const double n = run.repeats;
    stream = {.now = before.now + n * t,
              .free = std::max(before.free + n * a, before.now + b + (n - 1) * std::max(a, t)),
              .sent = before.sent + n * a};
  }
  for (std::size_t g = 0; g < gradients_; ++g) flush(g);
  return std::max(Seconds{}, stream.free - stream.now);
}

/// What a stage's gradients need after the backward pass of its last micro-batch: in n pieces they pay for n
/// messages, and the last can only follow that pass.
Seconds Pricer::hidden_tail(std::span<const Bytes> gradient, Seconds whole, Seconds backward) const {
  Seconds best = whole;
  for (double pieces = 1 << 10; pieces > 1; pieces /= 4) {
    Seconds all, last;
    for (std::size_t g = 0; g < gradients_; ++g) {
      if (!(gradient[g] > Bytes{})) continue;
      const double n = std::clamp(std::floor(gradient[g] / setting_.training.bucket), 1.0, pieces);
      all += n * gradient_[g].allreduce(gradient[g] / n);
      last = gradient_[g].allreduce(gradient[g] / n);
    }
    best = std::min(best, std::max(all - backward, last));
  }
  return best;
}

}  // namespace paradl
