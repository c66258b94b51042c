// What a rank needs for its part of an iteration: boxes, buffers, kernels. All of it is prepared before the
// first iteration.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "calibrate/backend/synthetic.hpp"
#include "calibrate/rehearse/worker.hpp"
#include "paradl/core/error.hpp"
#include "paradl/strategy/local.hpp"

namespace paradl::calibrate {
namespace {

int stage_of(std::size_t layer, const std::vector<int>& first_layer) {
  return int(std::ranges::upper_bound(first_layer, int(layer)) - first_layer.begin()) - 1;
}

}  // namespace

Worker::Worker(const Script& script, Device& device, const Communicator& world)
    : script_(script),
      seat_(device, world, script_.plan.mesh),
      placed_(script_.work, script_.plan.mesh, script_.training.placing(script_.plan)),
      layout_(place(script_.work, script_.plan.mesh, script_.training.placing(script_.plan))),
      tensors_(script_.work.layers.size() + 1) {
  const Plan& plan = script_.plan;
  samples_ = std::int64_t(plan.samples());
  if (double(samples_) != plan.samples())
    throw UsageError(fmt::format("a mini-batch of {} cannot be split into {} equal micro-batches",
                                 plan.batch, plan.micro_batches),
                     "use a mini-batch that is a multiple of it");
  if (plan.chunks > 1)
    throw UsageError("a rehearsal supports the schedules gpipe and 1f1b, not an interleaved one",
                     "use --schedule 1f1b");
  // All ranks create all groups together, in one order, even if their own stage does not need them.
  for (int a = 0; a < script_.plan.mesh.axes; ++a) {
    seat_.group_on(std::size_t(a));
    if (layout_.role[std::size_t(a)].front() == Role::stage) stage_axis_ = a;
  }
  for (const AxisSet set : script_.gradient_sets) seat_.group(set);
  for (const Cell& cell : layout_.cells)
    if (cell.samples) seat_.group(cell.samples);
  if (stage_axis_ >= 0) stage_ = seat_.at()[std::size_t(stage_axis_)];
  first_ = std::size_t(script_.first_layer[std::size_t(stage_)]);
  last_ = is_last_stage() ? script_.work.layers.size()
                          : std::size_t(script_.first_layer[std::size_t(stage_) + 1]);
  build();
}

void Worker::build() {
  for (std::size_t i = 0; i < last_; ++i) {
    const auto readers = placed_.readers(int(i));
    const int last_reader = readers.empty() ? -1 : stage_of(readers.back(), script_.first_layer);
    if (i < first_ && last_reader >= stage_) incoming_.push_back(int(i));
    if (last_reader > stage_) outgoing_.push_back(int(i));
  }
  const auto reads_input = [&](std::size_t reader) { return reader >= first_ && reader < last_; };
  if (std::ranges::any_of(placed_.readers(-1), reads_input)) build_tensor(-1);
  for (const int t : incoming_) build_tensor(t);
  parts_.resize(last_ - first_);
  for (std::size_t i = first_; i < last_; ++i) {
    build_tensor(int(i));
    build_part(i);
  }
  for (std::size_t i = first_; i < last_; ++i)
    for (Input& input : part(i).inputs) {
      const Tensor& t = tensor(input.tensor);
      const auto here = std::ranges::count_if(placed_.readers(input.tensor), reads_input);
      const bool alone = here == 1 && std::ranges::find(outgoing_, input.tensor) == outgoing_.end();
      input.writes_in_place = alone && input.counts && !input.halo && input.box == t.gradient.box;
      if (!input.writes_in_place) input.dx = seat_.device().allocate(input.box.items());
    }
  weights_.emplace(script_.work, layout_, placed_, seat_, first_, last_, script_.training.optimizer,
                   script_.plan.micro_batches, script_.gradient_sets);
  fill_data();
}

TensorPlacement Worker::wanted(std::size_t i) const {
  TensorPlacement placement{};
  for (std::size_t a = 0; a < placed_.axes(); ++a) {
    placement[a] = placed_.on(a).x_wanted[i];
    // An embedding that is split by rows reads all ids.
    if (layer(i).op == Op::embedding && placement[a] == Placement::split_channel)
      placement[a] = Placement::replicated;
  }
  return placement;
}

void Worker::build_tensor(int i) {
  Tensor& t = tensors_[std::size_t(i + 1)].emplace();
  Device& device = seat_.device();
  t.whole = whole_box(i < 0 ? script_.work.input : layer(std::size_t(i)).y, samples_);
  const bool made_here = i >= int(first_);
  const Relayout relayout = i < 0 ? Relayout{placed_.input(), {}} : placed_.forward(i);
  t.placement = relayout.given;
  for (const PlacementChange& change : relayout.changes) t.placement[change.axis] = change.to;
  t.held = seat_.share(t.whole, t.placement);
  for (std::size_t m = 0; m < micro_batches(); ++m) {
    const Box given = seat_.share(t.whole, made_here ? relayout.given : t.placement);
    t.given.push_back(device.allocate(given.items()));
    if (made_here) t.passage.emplace_back(seat_, t.whole, relayout);
    t.data.push_back(t.given.back().get());
  }
  if (placed_.readers(i).empty()) return;
  const Relayout back = placed_.backward(i);
  t.gradient_placement = back.given;
  t.gradient.box = seat_.share(t.whole, t.gradient_placement);
  t.gradient_memory = device.allocate(t.gradient.box.items());
  t.gradient.data = t.gradient_memory.get();
  if (made_here || i < 0) t.back.emplace(seat_, t.whole, back);
}

void Worker::build_part(std::size_t i) {
  Part& p = part(i);
  TensorPlacement given{};
  for (std::size_t a = 0; a < placed_.axes(); ++a) given[a] = placed_.on(a).y_given[i];
  p.y = seat_.share(tensor(int(i)).whole, given);
  for (const int t : layer(i).inputs) p.inputs.push_back(build_input(i, t, p.y));
  check_slices(i);
  p.work = &prepare(i);
  for (std::size_t m = 0; m < micro_batches(); ++m)
    p.kept.push_back(seat_.device().allocate(p.work->kept_items()));
  if (layer(i).op == Op::batch_norm) {
    const Cell& cell = layout_.cells[std::size_t(layout_.order[i])];
    p.summed = cell.samples;
    p.statistics = seat_.device().allocate(2 * std::size_t(p.y.length(4)));
    p.counted = double(samples_) * layer(i).x.positions();
  }
}

/// Layers that read and write slices of channels need slices that fit together.
void Worker::check_slices(std::size_t i) {
  const Layer& l = layer(i);
  const Part& p = part(i);
  const TensorPlacement placement = wanted(i);
  bool slices = false;
  for (std::size_t a = 0; a < placed_.axes(); ++a)
    slices |= placed_.on(a).role[i] == Role::keep && placement[a] == Placement::split_channel;
  if (!slices) return;
  if (l.op == Op::concat)
    throw UsageError(fmt::format("`{}` joins slices of channels, which cannot be rehearsed", l.name),
                     "rehearse this network with data, spatial or layer");
  const Box& x = p.inputs.front().box;
  const auto C = std::int64_t(l.x.channels), F = std::int64_t(l.y.channels);
  // Heads and groups of channels are not split.
  const auto units = std::int64_t(l.heads > 0 ? l.heads : l.groups > 1 ? l.groups : l.x.channels);
  const bool fits = x.begin[4] * F == p.y.begin[4] * C && x.end[4] * F == p.y.end[4] * C &&
                    x.begin[4] * units % C == 0 && x.end[4] * units % C == 0;
  if (!fits)
    throw UsageError(fmt::format("the channels of `{}` cannot be split into equal parts", l.name),
                     "rehearse with a number of ranks that divides them");
}

/// The rows that the windows of `y` read, if space is split; otherwise a rank has all rows.
Box Worker::window(std::size_t i, Box own, const Box& y) const {
  const Layer& l = layer(i);
  if (!traits(l.op).window) return own;
  for (std::size_t a = 0; a < placed_.axes(); ++a) {
    if (placed_.on(a).role[i] != Role::spatial) continue;
    for (std::size_t d = 0; d < 3; ++d) {
      if (script_.plan.mesh.axis[a].parts.cut[d] < 2) continue;
      const auto stride = std::int64_t(l.stride[d]), padding = std::int64_t(l.padding[d]);
      const auto reach = std::int64_t(l.dilation[d] * (l.kernel[d] - 1) + 1);
      own.begin[1 + d] = y.begin[1 + d] * stride - padding;
      own.end[1 + d] = (y.end[1 + d] - 1) * stride - padding + reach;
    }
  }
  return own;
}

Worker::Input Worker::build_input(std::size_t i, int from, const Box& y) {
  const Tensor& t = tensor(from);
  const TensorPlacement placement = wanted(i);
  Input in{.tensor = from, .own = seat_.share(t.whole, placement)};
  in.box = window(i, in.own, y);
  in.in_place = in.box == t.held;
  if (!in.in_place) {
    // The padding is never written: zeros there would be wrong for a maximum.
    const float padding = layer(i).op == Op::max_pool ? std::numeric_limits<float>::lowest() : 0.0f;
    for (std::size_t m = 0; m < micro_batches(); ++m) {
      in.x.push_back(seat_.device().allocate(in.box.items()));
      seat_.device().fill(in.x.back().get(), in.box.items(), padding);
    }
  }
  for (std::size_t a = 0; a < placed_.axes(); ++a) {
    const AxisPlacement& on = placed_.on(a);
    in.counts &= !(t.gradient_placement[a] == Placement::partial && on.dx_given[i] == Placement::replicated &&
                   seat_.at()[a] != 0);
    if (on.role[i] != Role::spatial || !traits(layer(i).op).window) continue;
    in.fetches = t.placement[a] == Placement::split_space;
    TensorPlacement given{};
    for (std::size_t b = 0; b < placed_.axes(); ++b) given[b] = placed_.on(b).y_given[i];
    in.halo.emplace(seat_, t.whole, placement, a, [&](int k) {
      const Box theirs = seat_.share(tensor(int(i)).whole, given, a, k);
      return common(window(i, seat_.share(t.whole, placement, a, k), theirs), t.whole);
    });
  }
  return in;
}

/// The layer as this rank runs it, from its boxes: parts may differ by a row.
LocalLayer Worker::local(std::size_t i) {
  const Part& p = part(i);
  const Box& x = p.inputs.front().box;
  const Cell& cell = layout_.cells[std::size_t(layout_.order[i])];
  LocalLayer l = local_layer(layer(i), cut_of(layout_, cell, script_.plan.mesh), double(samples_));
  l.samples = p.y.length(0);
  for (std::size_t d = 0; d < 3; ++d) {
    l.x_extent[d] = x.length(1 + d);
    l.y_extent[d] = p.y.length(1 + d);
  }
  l.y_channels = p.y.length(4);
  l.x_channels = l.op == Op::concat ? l.y_channels : x.length(4);
  if (l.op == Op::embedding)
    l.rows = weight_shares(layer(i), i, placed_, script_.plan.mesh, seat_.at())[0].own.length(0);
  return l;
}

LayerWork& Worker::prepare(std::size_t i) {
  auto& work = works_[local(i)];
  if (!work) work = seat_.device().prepare(local(i));
  if (!work)
    throw UsageError(
        fmt::format("this back end cannot run `{}` ({})", layer(i).name, traits(layer(i).op).name));
  return *work;
}

/// Inputs of the network, and gradients of tensors without readers, for each micro-batch.
void Worker::fill_data() {
  Device& device = seat_.device();
  for (std::size_t m = 0; m < micro_batches(); ++m) {
    if (tensors_[0]) {
      const auto reads_ids = [&](std::size_t i) { return layer(i).op == Op::embedding; };
      const auto reader = std::ranges::find_if(placed_.readers(-1), reads_ids);
      const bool ids = reader != placed_.readers(-1).end();
      fill(device, {tensor(-1).data[m], tensor(-1).held}, tensor(-1).whole,
           {.seed = m, .integers = ids ? layer(*reader).rows : 0});
    }
    for (std::size_t i = first_; i < last_; ++i) {
      if (!placed_.readers(int(i)).empty()) continue;
      TensorPlacement placement{};
      for (std::size_t a = 0; a < placed_.axes(); ++a) placement[a] = placed_.on(a).dy_wanted[i];
      const Box box = seat_.share(tensor(int(i)).whole, placement);
      part(i).dy.push_back(device.allocate(box.items()));
      fill(device, {part(i).dy.back().get(), box}, tensor(int(i)).whole, {.seed = 50 + m});
    }
  }
}

}  // namespace paradl::calibrate
