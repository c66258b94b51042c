#include "calibrate/rehearse/weights.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "calibrate/backend/synthetic.hpp"
#include "paradl/core/error.hpp"

namespace paradl::calibrate {
namespace {

/// The meaning of a dimension of an array of weights.
enum class Of { nothing, filters, channels, rows };

/// How a layer's role on an axis splits a dimension.
bool cuts(Of dimension, Role role, bool keeps_slices, Op op) {
  const bool table = op == Op::embedding;
  switch (dimension) {
    case Of::filters:
      return role == Role::filter || keeps_slices;
    case Of::channels:
      return role == Role::channel && !table;
    case Of::rows:
      return role == Role::channel && table;
    case Of::nothing:
      break;
  }
  return false;
}

Box box_of(double first, double second, std::array<double, 3> taps) {
  Box box;
  box.end = {std::int64_t(first), std::int64_t(second), std::int64_t(taps[0]), std::int64_t(taps[1]),
             std::int64_t(taps[2])};
  return box;
}

/// An array and the meaning of its first two dimensions.
struct Array {
  Box whole{.begin = {}, .end = {}};
  std::array<Of, 2> of{Of::nothing, Of::nothing};
};

std::array<Array, 2> arrays_of(const Layer& l) {
  const double C = l.x.channels, F = l.y.channels;
  const Array per_filter{box_of(F, 1, {1, 1, 1}), {Of::filters, Of::nothing}};
  switch (l.op) {
    case Op::conv:
      return {
          {{box_of(F, C / l.groups, l.kernel), {Of::filters, Of::channels}}, l.bias ? per_filter : Array{}}};
    case Op::fc:
      return {{{box_of(F, C, {1, 1, 1}), {Of::filters, Of::channels}}, l.bias ? per_filter : Array{}}};
    case Op::embedding:
      return {{{box_of(l.rows, F, {1, 1, 1}), {Of::rows, Of::filters}}, {}}};
    case Op::position:
    case Op::tokens:
      return {{{box_of(l.rows, C, {1, 1, 1}), {Of::nothing, Of::filters}}, {}}};
    default:
      if (!is_norm(l.op) || !l.bias) return {};
      return {{per_filter, l.op == Op::rms_norm ? Array{} : per_filter}};
  }
}

/// Synthetic weights that keep the size of activations about the same.
Synthetic values_of(const Layer& layer, std::size_t index, std::size_t array) {
  Synthetic values{.seed = 100 + 2 * index + array};
  const double taps = layer.kernel[0] * layer.kernel[1] * layer.kernel[2];
  const double fan_in = layer.op == Op::conv ? layer.x.channels / layer.groups * taps : layer.x.channels;
  if (is_norm(layer.op)) {
    values.mean = array == 0 ? 1 : 0;
    values.spread = 0.2;
  } else if (traits(layer.op).product && array == 0) {
    values.spread = std::sqrt(3 / fan_in);
  } else {
    values.spread = 0.5;
  }
  return values;
}

}  // namespace

std::array<WeightShare, 2> weight_shares(const Layer& layer, std::size_t index, const Placements& placed,
                                         const Mesh& mesh, const Coordinates& at) {
  std::array<WeightShare, 2> out;
  const auto arrays = arrays_of(layer);
  for (std::size_t k = 0; k < 2; ++k) {
    out[k] = {arrays[k].whole, arrays[k].whole};
    for (std::size_t a = placed.axes(); a-- > 0;) {  // in the order of share_of()
      const AxisPlacement& on = placed.on(a);
      const bool slices = on.role[index] == Role::keep && on.x_wanted[index] == Placement::split_channel;
      for (std::size_t d = 0; d < 2; ++d) {
        if (!cuts(arrays[k].of[d], on.role[index], slices, layer.op)) continue;
        const Range part = part_of({out[k].own.begin[d], out[k].own.end[d]}, at[a], mesh.axis[a].parts.total);
        out[k].own.begin[d] = part.begin;
        out[k].own.end[d] = part.end;
      }
    }
  }
  return out;
}

Weights::Weights(const Workload& work, const Layout& layout, const Placements& placed, Seat& seat,
                 std::size_t first, std::size_t last, Optimizer optimizer, int micro_batches,
                 std::vector<AxisSet> sets)
    : seat_(seat),
      first_(first),
      optimizer_(optimizer),
      micro_batches_(micro_batches),
      layers_(last - first) {
  for (std::size_t g = 0; g < layout.gradients.size(); ++g) {
    Kind kind{.set = sets[g]};
    for (int a = 0; a < seat.mesh().axes; ++a)
      if (sets[g] & layout.gradients[g].alike & axis_bit(a) && seat.at()[std::size_t(a)] != 0)
        kind.counts = false;
    kinds_.push_back(std::move(kind));
  }
  kinds_.push_back({});
  for (std::size_t i = first; i < last; ++i) add_layer(work, layout, placed, i);
  for (Kind& kind : kinds_) kind.gradients = seat.device().allocate(kind.items);
}

void Weights::add_layer(const Workload& work, const Layout& layout, const Placements& placed, std::size_t i) {
  const Layer& layer = work.layers[i];
  Part& part = layers_[i - first_];
  part.share = weight_shares(layer, i, placed, seat_.mesh(), seat_.at());
  part.owner = layer.tied >= 0 ? std::size_t(layer.tied) : i;
  for (std::size_t a = 0; a < placed.axes(); ++a)
    if (placed.on(a).role[i] == Role::channel && seat_.at()[a] != 0) part.has_bias = false;
  if (part.owner != i) {
    const std::string& other = work.layers[part.owner].name;
    if (part.owner < first_)
      throw UsageError(
          fmt::format("`{}` shares the weights of `{}`, which is on another stage", layer.name, other),
          "rehearse a network without tied weights (tied=0)");
    if (layers_[part.owner - first_].share[0].own != part.share[0].own)
      throw UsageError(fmt::format("`{}` shares the weights of `{}`, but they are split in another way",
                                   layer.name, other),
                       "rehearse a network without tied weights (tied=0)");
    Part& owner = layers_[part.owner - first_];
    if (!owner.addend.items) owner.addend = seat_.device().allocate(owner.items);
  }
  for (std::size_t k = 0; k < 2; ++k) {
    const bool own = k == 0 ? part.owner == i : part.has_bias;
    part.array[k] = {.items = own ? part.share[k].own.items() : 0, .at = part.items};
    part.items += part.array[k].items;
  }
  const Cell& cell = layout.cells[std::size_t(layout.order[i])];
  const auto kind = std::ranges::find(layout.gradients, Layout::Gradients{cell.summed, cell.alike});
  part.kind = std::size_t(kind - layout.gradients.begin());
  part.at = kinds_[part.kind].items;
  kinds_[part.kind].items += part.items;
  Device& device = seat_.device();
  part.values = device.allocate(part.items);
  const auto slots = std::size_t(optimizer_slots(optimizer_));
  part.state = device.allocate(slots * part.items);
  device.fill(part.state.get(), slots * part.items, 0);
  if (micro_batches_ > 1 || part.owner != i)
    part.addend = device.allocate(part.items + (part.owner != i ? part.share[0].own.items() : 0));
  for (std::size_t k = 0; k < 2; ++k)
    if (part.array[k].items > 0)
      fill(device, {part.values.get() + part.array[k].at, part.share[k].own}, part.share[k].whole,
           values_of(layer, i, k));
}

const float* Weights::gradient(std::size_t layer, std::size_t k) const {
  const Part& part = layers_[layer - first_];
  return kinds_[part.kind].gradients.get() + part.at + part.array[k].at;
}

void Weights::lend(std::size_t layer, LayerData& data) const {
  const Part& part = layers_[layer - first_];
  const Part& owner = layers_[part.owner - first_];
  float* gradients = part.addend.items ? part.addend.get() : kinds_[part.kind].gradients.get() + part.at;
  for (std::size_t k = 0; k < 2; ++k)
    if (part.array[k].items > 0) {
      data.w[k] = part.values.get() + part.array[k].at;
      data.dw[k] = gradients + part.array[k].at;
    }
  if (&owner != &part) {
    data.w[0] = owner.values.get() + owner.array[0].at;
    data.dw[0] = part.addend.get() + part.items;
  }
}

void Weights::clear_gradients() {
  if (std::ranges::none_of(layers_, [](const Part& p) { return p.addend.items > 0; })) return;
  for (const Kind& kind : kinds_) seat_.device().fill(kind.gradients.get(), kind.items, 0);
}

void Weights::collect(std::size_t layer) {
  const Part& part = layers_[layer - first_];
  if (!part.addend.items) return;
  const auto add = [&](float* to, const float* from, std::size_t items) {
    Box box;
    box.end[4] = std::int64_t(items);
    if (items > 0) seat_.device().copy({to, box}, {const_cast<float*>(from), box}, box, Combine::add);
  };
  add(kinds_[part.kind].gradients.get() + part.at, part.addend.get(), part.items);
  const Part& owner = layers_[part.owner - first_];
  if (&owner != &part)
    add(kinds_[owner.kind].gradients.get() + owner.at, part.addend.get() + part.items, owner.array[0].items);
}

void Weights::sum_gradients() {
  for (const Kind& kind : kinds_) {
    if (!kind.set) continue;
    if (!kind.counts) seat_.device().fill(kind.gradients.get(), kind.items, 0);
    if (kind.items > 0) seat_.group(kind.set).allreduce(kind.gradients.get(), kind.items);
  }
}

void Weights::update() {
  for (const Part& part : layers_)
    if (part.items > 0)
      seat_.device().update(optimizer_, part.items, part.values.get(),
                            kinds_[part.kind].gradients.get() + part.at, part.state.get());
}

}  // namespace paradl::calibrate
