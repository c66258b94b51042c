#include "paradl/cost/price.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace paradl {
namespace {

/// A cut of n parts: inner ones trade rows with two neighbours, one after the other; with two parts each has
/// one.
Seconds halo_time(int n, Halo rows, Bytes row, const Linear& message) {
  if (n < 2) return {};
  if (n == 2) {
    const double most = std::max(rows.before, rows.after);
    return most > 0 ? message(most * row) : Seconds{};
  }
  Seconds time;
  if (rows.before > 0) time += message(rows.before * row);
  if (rows.after > 0) time += message(rows.after * row);
  return time;
}

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

void Pricer::price_mesh(const Layout& layout, const Mesh& mesh) {
  parts_[0] = 1;
  cut_ = {1, 1, 1};
  halo_phi_ = 1;
  for (int a = 0; a < mesh.axes; ++a) {
    const auto i = std::size_t(a);
    const Axis& axis = mesh.axis[i];
    const AxisSet bit = axis_bit(a);
    for (std::size_t set = 0; set < bit; ++set) parts_[set | bit] = parts_[set] * axis.parts.total;
    axis_path_[i] = group_path(mesh, bit, setting_.machine);
    for (std::size_t op = 0; op < collectives; ++op) cost_[i][op] = cost(Collective(op), axis_path_[i]);
    if (axis.strategy->input == Placement::split_space) {
      cut_ = axis.parts.cut;
      for (int d = 0; d < 3; ++d) {
        if (cut_[std::size_t(d)] < 2) continue;
        const Path path = neighbour_path(mesh, a, d, setting_.machine);
        halo_message_[std::size_t(d)] = cost(Collective::point_to_point, path);
        halo_phi_ = std::max(halo_phi_, path.outermost().phi);
      }
    }
    if (layout.role[i].front() == Role::stage) {
      stage_path_ = neighbour_path(mesh, a, -1, setting_.machine);
      stage_message_ = cost(Collective::point_to_point, stage_path_);
    }
  }
  gradients_ = 0;
  for (const Layout::Gradients& kind : layout.gradients) {
    assert(gradients_ < gradient_.size());
    const auto group = [&](AxisSet set) -> GradientGroup {
      const Path path = group_path(mesh, set, setting_.machine);
      return {kind, set, path, cost(Collective::allreduce, path)};
    };
    GradientGroup chosen = group(kind.summed);
    if (parts_[kind.alike] > 1 && parts_[kind.summed] > 1) {
      const GradientGroup all = group(AxisSet(kind.summed | kind.alike));
      if (all.allreduce(setting_.training.bucket) < chosen.allreduce(setting_.training.bucket)) chosen = all;
    }
    gradient_[gradients_++] = chosen;
  }
}

const Linear& Pricer::gradient_cost(const Cell& cell) const {
  for (std::size_t i = 0; i < gradients_; ++i)
    if (gradient_[i].has(cell)) return gradient_[i].allreduce;
  static constexpr Linear nothing{};
  return nothing;
}

Seconds Pricer::price_halo(const Cell& cell, double samples, bool forward) const {
  const Layer& layer = setting_.work.layers[std::size_t(cell.layer)];
  const Bytes item = item_bytes(setting_.training.precision).activation;
  const Shape& shape = forward ? layer.x : layer.y;
  Seconds time;
  for (int d = 0; d < shape.dims; ++d) {
    const auto i = std::size_t(d);
    if (cut_[i] < 2) continue;
    double row = shape.channels * samples /
                 parts_[forward ? cell.halo_divided : cell.dy_divided];  // items of one row, one plane in 3-D
    for (std::size_t o = 0; o < 3; ++o)
      if (o != i) row *= shape.extent[o] / cut_[o];
    time += halo_time(cut_[i], forward ? x_halo(layer, d) : dy_halo(layer, d), row * item, halo_message_[i]);
  }
  return time;
}

CellCost Pricer::price_cell(const Cell& cell, double samples) const {
  const Layer& layer = setting_.work.layers[std::size_t(cell.layer)];
  const LayerTime& time = setting_.times.layer[std::size_t(cell.layer)];
  const ItemBytes bytes = item_bytes(setting_.training.precision);

  CellCost out;
  const double share = samples / parts_[cell.work];
  out.forward = share * time.FW;
  out.backward = share * time.BW;
  out.update = time.WU / parts_[cell.weights];
  out.gradient = layer.weights / parts_[cell.weights] * bytes.sent_gradient;
  for (const Exchange& e : cell.forward) out.forward_exchange += time_of(e, samples);
  for (const Exchange& e : cell.backward) out.backward_exchange += time_of(e, samples);
  if (cell.halo_axis >= 0) {
    out.forward_halo = price_halo(cell, samples, true);
    out.backward_halo = price_halo(cell, samples, false);
  }
  if (setting_.training.synchronised_batch_norm && cell.samples) {
    // Mean and variance forward, their gradients backward: two numbers a channel.
    const Seconds statistics = gradient_cost(cell)(2 * layer.channels() / parts_[cell.weights] * Bytes{4});
    out.forward_exchange += statistics;
    out.backward_exchange += statistics;
  }
  return out;
}

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

void Pricer::price_single(const Layout& layout, Breakdown& out) const {
  const double S = setting_.training.micro_batches;
  CellCost sum;
  std::array<Bytes, most_gradient_groups> gradient{};
  for (std::size_t i = 0; i < layout.cells.size(); ++i) {
    const Cell& cell = layout.cells[i];
    const CellCost& cost = cells_[i];
    sum.forward += cell.count * cost.forward;
    sum.backward += cell.count * cost.backward;
    sum.forward_exchange += cell.count * (cost.forward_exchange + cost.backward_exchange);
    sum.forward_halo += cell.count * (cost.forward_halo + cost.backward_halo);
    sum.update += cell.count * cost.update;
    for (std::size_t g = 0; g < gradients_; ++g)
      if (gradient_[g].has(cell)) gradient[g] += cell.count * cost.gradient;
  }
  out[Term::forward] = S * sum.forward;
  out[Term::backward] = S * sum.backward;
  out[Term::update] = sum.update;
  out[Term::activation_exchange] = S * sum.forward_exchange;
  out[Term::halo_exchange] = S * sum.forward_halo;

  Seconds whole;
  for (std::size_t g = 0; g < gradients_; ++g)
    if (gradient[g] > Bytes{}) whole += gradient_[g].allreduce(gradient[g]);
  if (!setting_.training.overlap || !(whole > Seconds{})) {
    out[Term::gradient_exchange] = whole;
    return;
  }
  // Sent in pieces, gradients hide behind the backward pass but pay for more messages: where small pieces
  // cost more than they hide, larger ones are tried, up to one for all.
  Bytes total, bucket = setting_.training.bucket;
  for (const Bytes part : gradient) total += part;
  Seconds tail = gradient_tail(layout, bucket);
  while (tail >= whole && bucket < total) tail = gradient_tail(layout, bucket *= 4);
  out[Term::gradient_exchange] = std::min(tail, whole);
  out.hidden = whole - out[Term::gradient_exchange];
}

Pricer::Transfer Pricer::transfer(const StageKind& kind, double samples) const {
  if (kind.sent.empty()) return {};
  Bytes sent;
  for (const Kept& tensor : kind.sent)
    sent +=
        tensor.items * samples / parts_[tensor.divided] * item_bytes(setting_.training.precision).activation;
  const Hop& hop = stage_path_.outermost();
  return {sent, stage_message_(sent), hop.phi, hop.level};
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

void Pricer::price_pipeline(const Layout& layout, const StagePlan& plan, double samples,
                            Breakdown& out) const {
  const double S = setting_.training.micro_batches;
  const bool together = setting_.training.schedule == Schedule::one_forward_one_backward;

  struct Pass {
    Seconds work, exchange, halo, transfer;
    Seconds total() const { return work + exchange + halo + transfer; }
    void add(double k, const Pass& p) {
      work += k * p.work, exchange += k * p.exchange, halo += k * p.halo, transfer += k * p.transfer;
    }
  };
  Pass sum_forward, sum_backward, longest_forward, longest_backward;
  Seconds update, all_updates, gradient_exposed, gradient_whole;
  for (const StageKind& kind : plan.kinds) {
    Pass forward, backward;
    Seconds own_update;
    std::array<Bytes, most_gradient_groups> gradient{};
    for (const auto& [id, count] : kind.cells) {
      const CellCost& cost = cells_[std::size_t(id)];
      forward.add(count, {cost.forward, cost.forward_exchange, cost.forward_halo, {}});
      backward.add(count, {cost.backward, cost.backward_exchange, cost.backward_halo, {}});
      own_update += count * cost.update;
      for (std::size_t g = 0; g < gradients_; ++g)
        if (gradient_[g].has(layout.cells[std::size_t(id)])) gradient[g] += count * cost.gradient;
    }
    forward.transfer = backward.transfer = transfer(kind, samples).time;
    sum_forward.add(kind.count, forward);
    sum_backward.add(kind.count, backward);
    const bool longer =
        together ? forward.total() + backward.total() > longest_forward.total() + longest_backward.total()
                 : forward.total() > longest_forward.total();
    if (longer) longest_forward = forward;
    if (together ? longer : backward.total() > longest_backward.total()) longest_backward = backward;
    update = std::max(update, own_update);
    all_updates += kind.count * own_update;

    Seconds whole;
    for (std::size_t g = 0; g < gradients_; ++g)
      if (gradient[g] > Bytes{}) whole += gradient_[g].allreduce(gradient[g]);
    gradient_whole = std::max(gradient_whole, whole);
    gradient_exposed = std::max(
        gradient_exposed, setting_.training.overlap ? hidden_tail(gradient, whole, backward.total()) : whole);
  }

  // The first micro-batch climbs through all stages, the other S-1 follow at the pace of the slowest: for
  // equal stages this is the paper's (p + S - 1) passes and p + S - 2 transfers.
  Pass forward = sum_forward, backward = sum_backward;
  forward.add(S - 1, longest_forward);
  backward.add(S - 1, longest_backward);
  out[Term::forward] = S * longest_forward.work;
  out[Term::backward] = S * longest_backward.work;
  out[Term::bubble] = forward.work + backward.work - out[Term::forward] - out[Term::backward];
  out[Term::activation_exchange] = forward.exchange + backward.exchange;
  out[Term::halo_exchange] = forward.halo + backward.halo;
  out[Term::stage_transfer] = forward.transfer + backward.transfer;
  // Without micro-batches nothing overlaps: one stage works at a time, in its update too (the paper's pure
  // form).
  out[Term::update] = S > 1 ? update : all_updates;
  out[Term::gradient_exchange] = gradient_exposed;
  out.hidden = gradient_whole - gradient_exposed;
}

Memory Pricer::memory_of(const Layout& layout, std::span<const StageKind::Share> shares, double samples,
                         double in_flight) const {
  const Training& training = setting_.training;
  const ItemBytes bytes = item_bytes(training.precision);
  double weights = 0, kept = 0, masks = 0, paper = 0, largest = 0;
  for (const auto& [id, count] : shares) {
    const Cell& cell = layout.cells[std::size_t(id)];
    const Layer& layer = setting_.work.layers[std::size_t(cell.layer)];
    weights += count * layer.weights / parts_[cell.weights];
    for (const Kept& k : cell.kept) kept += count * k.items / parts_[k.divided];
    masks += count * cell.mask.items / parts_[cell.mask.divided];
    if (is_view(layer.op)) continue;
    const double both = cell.x.items / parts_[cell.x.divided] + cell.y.items / parts_[cell.y.divided];
    paper += count * both;
    largest = std::max(largest, both);
  }
  Memory memory;
  memory.weights = weights * bytes.weight;
  memory.gradients = weights * bytes.gradient;
  memory.optimizer = weights * (bytes.master + optimizer_slots(training.optimizer) * Bytes{4});
  if (training.gamma) {
    // The paper's accounting: values and gradients of x, y and w, times gamma.
    memory.weights *= *training.gamma;
    memory.gradients *= *training.gamma;
    memory.activations = *training.gamma * 2 * paper * samples * in_flight * bytes.activation;
    return memory;
  }
  memory.activations = samples * in_flight * (kept * bytes.activation + masks * Bytes{1});
  // Two gradients of activations are alive at a time, and the buckets that are being filled and sent.
  memory.workspace = largest * samples * bytes.activation;
  const auto sends = [](const GradientGroup& group) { return group.path.size() > 1; };
  if (std::ranges::any_of(gradient_groups(), sends))
    memory.workspace += std::min(2.0 * training.bucket, 2.0 * weights * bytes.sent_gradient);
  return memory;
}

Breakdown Pricer::price(const Layout& layout, const StagePlan& plan, const Mesh& mesh, double batch) {
  price_mesh(layout, mesh);
  const double samples =
      batch / setting_.training.micro_batches;  // of one micro-batch, before any axis cuts it
  cells_.resize(layout.cells.size());
  for (std::size_t i = 0; i < layout.cells.size(); ++i) cells_[i] = price_cell(layout.cells[i], samples);

  Breakdown out;
  if (plan.stages == 1)
    price_single(layout, out);
  else
    price_pipeline(layout, plan, samples, out);

  for (const StageKind& kind : plan.kinds) {
    const double S = setting_.training.micro_batches;
    // GPipe keeps all micro-batches; 1F1B only those that later stages have not yet sent back. One stage
    // alone runs each micro-batch to its end before the next.
    double in_flight = plan.stages == 1 ? 1 : S;
    if (setting_.training.schedule == Schedule::one_forward_one_backward)
      in_flight = std::min(in_flight, double(plan.stages - kind.first));
    const Memory memory = memory_of(layout, kind.cells, samples, in_flight);
    if (memory.total() > out.memory.total()) {
      out.memory = memory;
      out.worst_stage = kind.first;
    }
  }
  return out;
}

}  // namespace paradl
