#include "paradl/cost/pass_table.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

#include "paradl/cost/layer_exchanges.hpp"
#include "paradl/cost/modelled_times.hpp"

namespace paradl {
namespace {

bool is_window_wider_than_one(const Layer& layer) {
  return traits(layer.op).window && std::ranges::any_of(layer.kernel, [](double k) { return k > 1; });
}

/// Finds the work of cells. All that it reads of a plan is in LocalTimes::Shapes.
class WorkPricer {
 public:
  WorkPricer(const Layout& layout, const MeshTable& mesh, const Plan& plan)
      : t_(mesh),
        training_(mesh.setting.training),
        bytes_(training_.bytes()),
        splits_samples_(layout.samples),
        samples_(plan.samples() / mesh.parts[layout.samples]),
        in_products_(adds_in_products(training_, plan)) {
    const auto& kernels = t_.setting.times.kernels;
    stream_ = (kernels ? kernels->fitted.stream : 1.0) * t_.setting.machine.device.memory_bandwidth;
  }

  CellWork work(const Cell& cell, const std::optional<PassTimes>& local) const {
    const Layer& layer = t_.layer_of(cell);
    CellWork out;
    add_computation(cell, layer, local, out);
    add_items(cell, layer, out);
    add_host(cell, layer, out);
    return out;
  }

  /// Forward and backward.
  Seconds computation(const Cell& cell, const std::optional<PassTimes>& local) const {
    CellWork work;
    add_computation(cell, t_.layer_of(cell), local, work);
    return work.forward + work.backward;
  }

 private:
  void add_computation(const Cell& cell, const Layer& layer, const std::optional<PassTimes>& local,
                       CellWork& out) const {
    if (local) {
      out.forward = local->forward;
      out.backward = local->backward();
      out.update = local->update;
    } else {
      const LayerTime& time = t_.setting.times.layer[std::size_t(cell.layer)];
      const double wider = t_.growth_of(cell);
      const double share = samples_ / t_.parts[cell.work & ~splits_samples_] * wider;
      out.forward = share * time.FW;
      out.backward = share * time.BW;
      out.update = wider * time.WU / t_.parts[cell.weights];
    }
    out.weights = t_.weights_of(cell);
    out.gradient = out.weights * bytes_.sent_gradient;
    add_framework(cell, layer, out);
    if (cell.recomputed) {
      out.recompute = out.forward;
      out.backward += out.forward;
    }
  }

  /// The overhead of a split layer: one third counts as forward, two thirds as backward, as with measured
  /// totals.
  void add_framework(const Cell& cell, const Layer& layer, CellWork& out) const {
    const FrameworkTerms& framework = training_.framework;
    const bool by_channels = traits(layer.op).product && t_.parts[cell.weights] > 1;
    const bool by_space = cell.halo_axis >= 0 && is_window_wider_than_one(layer);
    if (by_channels || by_space) {
      out.forward += framework.split_layer / 3;
      out.backward += 2 * framework.split_layer / 3;
    }
    if (!in_products_ && layer.weights > 0)
      out.backward += out.weights * framework.accumulation / stream_;
  }

  void add_items(const Cell& cell, const Layer& layer, CellWork& out) const {
    for (const Kept& kept : cell.kept)
      if (kept.items > 0) out.kept += items_of(kept);
    if (cell.mask.items > 0) out.masks = items_of(cell.mask);
    if (!is_view(layer.op)) out.both = items_of(cell.x) + items_of(cell.y);
  }

  /// For one sample that this GPU has.
  double items_of(Kept kept) const {
    assert((kept.divided & splits_samples_) == splits_samples_);
    kept.divided &= AxisSet(~splits_samples_);
    return t_.items_of(kept);
  }

  void add_host(const Cell& cell, const Layer& layer, CellWork& out) const {
    const FrameworkTerms& framework = training_.framework;
    if (is_view(layer.op)) return;
    out.forward_host = framework.host;
    out.backward_host = framework.host_backward * framework.host;
    if (cell.recomputed) out.backward_host += out.forward_host;
  }

  const MeshTable& t_;
  const Training& training_;
  ItemBytes bytes_;
  AxisSet splits_samples_;
  double samples_;    // that one GPU has before other axes split them
  bool in_products_;  // products add to their gradients
  Bandwidth stream_;  // of kernels that only read and write memory
};

/// Adds to the work of cells what depends on other GPUs.
class CellPricer {
 public:
  CellPricer(const Links& links, const Layout& layout, const MeshTable& mesh, const GradientTable& gradients,
             const Plan& plan)
      : links_(links),
        t_(mesh),
        exchanges_(mesh, gradients, plan),
        per_sample_(1 / mesh.parts[layout.samples]) {}

  void price(const Cell& cell, const CellWork& work, CellCost& out) const {
    static_cast<CellWork&>(out) = work;
    out.kept *= per_sample_, out.masks *= per_sample_, out.both *= per_sample_;
    if (out.weights > 0) {
      const double shards = t_.shards(cell);
      out.sharded_update = out.update / shards;
      out.sharded_weights = out.weights / shards;
    }
    exchanges_.each(cell, work, [&](const LayerExchange& e) { add(e, cell.recomputed, out); });
    if (t_.layer_of(cell).kv_share > 0 && t_.copies(cell) > 1)
      out.copies = links_.cost_of(Collective::allreduce, t_.copies_path(cell))(t_.copied_gradient(cell));
    if (cell.recomputed) {
      out.backward_exchange += out.forward_exchange;
      out.backward_halo += out.forward_halo;
      out.backward_traffic += out.forward_traffic;
    }
  }

 private:
  static void add(const LayerExchange& e, bool recomputed, CellCost& out) {
    const Seconds exposed = e.count * (e.each - e.hidden);
    const Bytes traffic = e.count * e.bytes;
    if (e.pass != Pass::backward) {
      (e.is_halo() ? out.forward_halo : out.forward_exchange) += exposed;
      out.forward_traffic += traffic;
    }
    if (e.pass != Pass::forward) {
      (e.is_halo() ? out.backward_halo : out.backward_exchange) += exposed;
      out.backward_traffic += traffic;
    }
    out.hidden += e.passes(recomputed ? 2 : 1, 1) * e.count * e.hidden;
  }

  const Links& links_;
  const MeshTable& t_;
  LayerExchanges exchanges_;
  double per_sample_;  // items per sample of the mini-batch, for one item per sample that a GPU has
};

}  // namespace

bool adds_in_products(const Training& training, const Plan& plan) {
  return plan.sequence_parallel || !(training.framework.accumulation > Bytes{});
}

std::size_t LocalTimes::Hash::operator()(const Key& key) const {
  std::size_t hash = std::size_t(key.shape_class);
  const auto mix = [&](std::size_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15u; };
  for (const double value : {key.samples, key.cut.samples, key.cut.filters, key.cut.channels, key.cut.both})
    mix(std::bit_cast<std::size_t>(value) >> 32);
  for (const int parts : key.cut.space) mix(std::size_t(parts));
  return hash ^ hash >> 29;
}

LocalTimes::Key LocalTimes::key_of(const Layout& layout, const Cell& cell, const MeshTable& mesh,
                                   double samples) const {
  const Layer& layer = mesh.layer_of(cell);
  Key key{samples, cut_of(layout, cell, mesh.mesh), layer.shape_class};
  // Twice the samples on twice the GPUs give the same local shapes.
  key.samples = std::ceil(samples / std::exchange(key.cut.samples, 1.0) * (1 - 1e-12));
  if (const double wider = mesh.growth_of(cell); wider > 1 && layer.vocabulary > 0)
    key.cut.words = std::round(wider * layer.vocabulary);
  return key;
}

std::optional<PassTimes> LocalTimes::time(const Layer& layer, const Key& key) const {
  const LayerTimes& times = setting_.times;
  const LocalLayer local = local_layer(layer, key.cut, key.samples);
  std::optional<PassTimes> out;
  if (times.profile) out = times.profile->find(local, times.shapes.get());
  if (!out && times.kernels) out = corrected(modelled_passes(*times.kernels, layer, local), times.correction);
  return out;
}

LocalTimes::Shapes LocalTimes::shapes_of(const Layout& layout, const MeshTable& mesh, const Plan& plan) {
  Shapes out{&layout, plan.samples() / mesh.parts[layout.samples], {},
             adds_in_products(mesh.setting.training, plan)};
  for (int a = 0; a < mesh.mesh.axes; ++a) {
    if ((layout.samples | layout.stages) & axis_bit(a)) continue;
    const Parts& parts = mesh.mesh.axis[std::size_t(a)].parts;
    out.parts[4 * std::size_t(a)] = parts.total;
    for (std::size_t d = 0; d < 3; ++d) out.parts[4 * std::size_t(a) + 1 + d] = parts.cut[d];
  }
  return out;
}

const std::vector<CellWork>& LocalTimes::work(const Layout& layout, const MeshTable& mesh,
                                              const Plan& plan) const {
  return work_.get(shapes_of(layout, mesh, plan), [&] {
    const WorkPricer pricer(layout, mesh, plan);
    std::vector<CellWork> out;
    out.reserve(layout.cells.size());
    for (const Cell& cell : layout.cells)
      out.push_back(pricer.work(cell, find(layout, cell, mesh, plan.samples())));
    return out;
  });
}

const std::optional<PassTimes>& LocalTimes::find(const Layout& layout, const Cell& cell,
                                                 const MeshTable& mesh, double samples) const {
  static constexpr std::optional<PassTimes> unknown;
  if (!setting_.times.profile && !setting_.times.kernels) return unknown;
  const Key local = key_of(layout, cell, mesh, samples);
  return times_.get(local, [&] { return time(mesh.layer_of(cell), local); });
}

PassTable::PassTable(const Links& links, const LocalTimes& times, const Layout& layout, const MeshTable& mesh,
                     const GradientTable& gradients, const Plan& plan, std::pmr::memory_resource* memory)
    : samples(plan.samples()), cells(memory) {
  const std::vector<CellWork>& work = times.work(layout, mesh, plan);
  const CellPricer pricer(links, layout, mesh, gradients, plan);
  cells.reserve(layout.cells.size());
  for (std::size_t i = 0; i < layout.cells.size(); ++i)
    pricer.price(layout.cells[i], work[i], cells.emplace_back());
}

Seconds sum_passes(const Links& links, const LocalTimes& times, const Layout& layout, const MeshTable& mesh,
                   const GradientTable& gradients, const Plan& plan, Seconds enough) {
  const WorkPricer local(layout, mesh, plan);
  const CellPricer pricer(links, layout, mesh, gradients, plan);
  Seconds out;
  for (std::size_t i = 0; i < layout.cells.size() && out <= enough; ++i) {
    const Cell& cell = layout.cells[i];
    CellCost cost;
    pricer.price(cell, local.work(cell, times.find(layout, cell, mesh, plan.samples())), cost);
    out += cell.count * (cost.forward_pass() + cost.backward_pass());
  }
  return out;
}

Seconds sum_computation(const LocalTimes& times, const Layout& layout, const MeshTable& mesh,
                        const Plan& plan) {
  const WorkPricer local(layout, mesh, plan);
  Seconds out;
  for (const Cell& cell : layout.cells)
    out += cell.count * local.computation(cell, times.find(layout, cell, mesh, plan.samples()));
  return out;
}

}  // namespace paradl
