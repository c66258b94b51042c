#include "paradl/cost/price.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <numeric>
#include <utility>

#include "paradl/cost/modelled_times.hpp"
#include "paradl/mesh/routed.hpp"
#include "paradl/network/algorithm/nccl.hpp"
#include "paradl/network/measured_cost.hpp"

namespace paradl {
namespace {

/// A cut of n parts: inner ones trade rows with two neighbours, one after the other; with two parts each has
/// one.
Seconds halo_time(int n, Halo rows, Bytes row, const MessageCost& message) {
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

/// A mesh, a set of its axes and an extent as numbers.
std::array<int, 4 * most_axes + 3> key_of(const Mesh& mesh, AxisSet set, int dim) {
  std::array<int, 4 * most_axes + 3> key{};
  std::size_t at = 0;
  key[at++] = mesh.axes, key[at++] = set, key[at++] = dim;
  for (int a = 0; a < mesh.axes; ++a) {
    const Parts& parts = mesh.axis[std::size_t(a)].parts;
    key[at++] = parts.total;
    for (const int n : parts.cut) key[at++] = n;
  }
  return key;
}

/// How the groups of a set lie: so many neighbouring GPUs are in different groups, so many of these in one,
/// and so on in turn. Zero ends it.
std::array<int, most_axes + 1> spread_of(const Mesh& mesh, AxisSet set) {
  std::array<int, most_axes + 1> out{};
  std::size_t at = 0;
  bool in = false;
  out[0] = 1;
  for (int a = mesh.axes - 1; a >= 0; --a) {
    if (bool(set & axis_bit(a)) != in) {
      in = !in;
      out[++at] = 1;
    }
    out[at] *= mesh.axis[std::size_t(a)].parts.total;
  }
  return out;
}

constexpr double most_followed = 1 << 17;  // GPUs of a machine whose levels are followed as a tree

}  // namespace

Pricer::Pricer(const Setting& setting)
    : setting_(setting), links_are_measured_(has_measured_links(setting.machine)) {
  const auto& kernels = setting.times.kernels;
  stream_ = (kernels ? kernels->fitted.stream : 1.0) * setting.machine.device.memory_bandwidth;
  if (setting.training.allreduce && !setting.topology && setting.machine.gpus() <= most_followed)
    levels_ = levels_topology(setting.machine);
}

int network_hop(const Setting& setting) {
  return setting.topology && setting.machine.levels.size() == 1 ? 0 : 1;
}

Job job_of(const Path& path, const Setting& setting) {
  const bool nodes = network_hop(setting) == 1;
  const int ranks = int(path.size());
  // Algorithms on two levels want as many ranks in each node: where the last node is less full, fewer in all.
  Job job{.operation = Operation::allreduce,
          .ranks = ranks,
          .per_node = nodes ? std::gcd(ranks, int(path.hop[0].size)) : 1};
  job.topology = setting.topology;
  job.density = setting.training.density;
  job.selection = 1.0 / setting.machine.device.memory_bandwidth;  // the top k are found in one read
  return job;
}

bool takes_trees(const Training& training) { return !training.framework.flat_rings; }

bool can_sum(const Path& path, const Setting& setting) {
  const Algorithm* algorithm = setting.training.allreduce;
  return !algorithm || path.size() <= 1 || refusal(*algorithm, job_of(path, setting)).empty();
}

void Pricer::price_mesh(const Layout& layout, const Mesh& mesh) {
  parts_[0] = 1;
  cut_ = {1, 1, 1};
  sharing_ = tensor_axis_ = 0;
  tensor_ = 1;
  for (int a = 0; a < mesh.axes; ++a) {
    const auto i = std::size_t(a);
    const Axis& axis = mesh.axis[i];
    const AxisSet bit = axis_bit(a);
    for (std::size_t set = 0; set < bit; ++set) parts_[set | bit] = parts_[set] * axis.parts.total;
    axis_path_[i] = group(mesh, bit);
    for (std::size_t op = 0; op < collectives; ++op)
      cost_[i][op] = axis_cost(Collective(op), axis, axis_path_[i]);
    skew_[i] = axis.parts.total > 1 ? setting_.training.framework.sync : Seconds{};
    if (is_split(axis.strategy->input)) sharing_ |= bit;
    if (axis.strategy->pairs) tensor_axis_ |= bit, tensor_ *= axis.parts.total;
    if (axis.strategy->input == Placement::split_space) {
      ring_message_[i] = cost_of(Collective::point_to_point, neighbours(mesh, a, -1));
      cut_ = axis.parts.cut;
      for (int d = 0; d < 3; ++d) {
        if (cut_[std::size_t(d)] < 2) continue;
        Path& path = halo_path_[std::size_t(d)];
        path = neighbours(mesh, a, d);
        halo_message_[std::size_t(d)] = axis_cost(Collective::point_to_point, axis, path);
      }
    }
    if (layout.role[i].front() == Role::stage) {
      stage_path_ = neighbours(mesh, a, -1);
      stage_message_ = axis_cost(Collective::point_to_point, axis, stage_path_);
    }
  }
  leaders_ = through_leaders(mesh);
  gradients_ = 0;
  for (const Layout::Gradients& kind : layout.gradients) {
    assert(gradients_ < gradient_.size());
    const bool scattered = setting_.training.zero > 0;
    const auto group_of = [&](AxisSet set, const Path& path) -> GradientGroup {
      // Who scatters the sums has no leader: each PE keeps its own part. Gradients are packed in any case.
      if (scattered) {
        MessageCost sum = cost_of(Collective::reduce_scatter, path);
        if (path.size() > 1) sum.copies = setting_.training.framework.packing;
        const MessageCost gather = gathers_by_tensor()
                                       ? MessageCost{cost(Collective::allgather, one_port(mesh, set))}
                                       : cost_of(Collective::allgather, path);
        return {kind, set, path, sum, asked_sum(mesh, set, path), gather};
      }
      return {kind,
              set,
              path,
              leaders_ ? leader_cost(kind, path, mesh) : gradient_cost(path),
              asked_sum(mesh, set, path),
              cost_of(Collective::allgather, path),
              {},
              leaders_ ? 1 + different_in_node(kind, mesh) : 1};
    };
    GradientGroup chosen = group_of(kind.summed, group(mesh, kind.summed));
    if (!scattered && setting_.training.wide_sums && !leaders_ && parts_[kind.alike] > 1 &&
        parts_[kind.summed] > 1) {
      const auto wider = AxisSet(kind.summed | kind.alike);
      if (const Path path = group(mesh, wider); can_sum(path, setting_)) {
        const GradientGroup all = group_of(wider, path);
        if (all.allreduce(setting_.training.bucket) < chosen.allreduce(setting_.training.bucket))
          chosen = all;
      }
    }
    if (setting_.training.synchronised_batch_norm)
      chosen.statistics = cost_of(Collective::allreduce, chosen.path);
    gradient_[gradients_++] = chosen;
  }
}

MessageCost Pricer::cost_of(Collective operation, const Path& path) {
  const bool trees = operation == Collective::allreduce && takes_trees(setting_.training);
  MessageCost out{.specified = cost(operation, path)};
  if (links_are_measured_)
    out.measured = &curve_of(operation, path, trees);
  else if (trees)
    out.trees = tree_allreduce(path);
  return out;
}

const Curve& Pricer::curve_of(Collective operation, const Path& path, bool trees) {
  std::array<double, 19> key{double(operation), path.in_node, path.sisters};
  for (std::size_t k = 0; k < std::size_t(path.hops); ++k) {
    key[3 + 2 * k] = path.hop[k].size;
    key[4 + 2 * k] = path.hop[k].phi;
  }
  const auto known = measured_.find(key);
  if (known != measured_.end()) return known->second;
  return measured_.emplace(key, measured_cost(operation, path, setting_.machine, trees)).first->second;
}

Path Pricer::group(const Mesh& mesh, AxisSet set) {
  if (!setting_.topology)
    return setting_.training.framework.flat_rings ? flat_path(mesh, set, setting_.machine)
                                                  : group_path(mesh, set, setting_.machine);
  const auto key = key_of(mesh, set, -2);
  const auto known = routed_.find(key);
  if (known != routed_.end()) return known->second;
  const Path counted = group_path(mesh, set, setting_.machine);
  return routed_.emplace(key, route_groups(counted, mesh, set, *setting_.topology, network_hop(setting_)))
      .first->second;
}

Path Pricer::neighbours(const Mesh& mesh, int axis, int dim) {
  if (!setting_.topology) return neighbour_path(mesh, axis, dim, setting_.machine);
  const auto key = key_of(mesh, axis_bit(axis), dim);
  const auto known = routed_.find(key);
  if (known != routed_.end()) return known->second;
  const Path counted = neighbour_path(mesh, axis, dim, setting_.machine);
  return routed_
      .emplace(key, route_neighbours(counted, mesh, axis, dim, *setting_.topology, network_hop(setting_)))
      .first->second;
}

/// What the algorithm that was asked for costs: found once for all meshes that spread its groups alike.
const AskedSum* Pricer::asked_sum(const Mesh& mesh, AxisSet set, const Path& path) {
  if (!setting_.training.allreduce || path.size() <= 1) return nullptr;
  const auto key = spread_of(mesh, set);
  if (const auto known = asked_.find(key); known != asked_.end()) return &known->second;
  return &asked_.emplace(key, find_sum(mesh, set, path)).first->second;
}

/// Message by message if they can be followed. Else by its closed form: nodes inside, and all beyond them as
/// one level.
AskedSum Pricer::find_sum(const Mesh& mesh, AxisSet set, const Path& path) const {
  const Algorithm& algorithm = *setting_.training.allreduce;
  const Job job = job_of(path, setting_);
  if (const Topology* topology = wires())
    if (auto routed = route_exchange(algorithm, job, mesh, set, *topology)) return {*std::move(routed)};
  Ways ways{.inner = path.hop[0], .outer = path.outermost()};
  if (network_hop(setting_) == 0) ways.inner = {.size = 1};
  ways.inner.size = job.per_node;
  ways.outer.size = path.size() / ways.inner.size;
  if (setting_.topology) ways.ports = ports_of(*setting_.topology);
  AskedSum sum{
      {.time = algorithm.closed_form(job, ways), .phi = path.outermost().phi, .wire = path.outermost().wire},
      NetworkFidelity::closed_form};
  if (algorithm.tabulated) sum.tabulated.emplace(job, ways);
  return sum;
}

std::string AskedSum::chosen(Bytes m) const {
  if (!tabulated) return "";
  auto [job, ways] = *tabulated;
  job.bytes = m;
  return text_of(nccl_choice(job, ways));
}

Bytes Pricer::gradients_of(const GradientGroup& group, const Layout& layout) const {
  Bytes whole;
  for (std::size_t i = 0; i < layout.cells.size(); ++i)
    if (group.has(layout.cells[i])) whole += layout.cells[i].count * cells_[i].gradient;
  return whole;
}

Seconds Pricer::statistics_cost(const Cell& cell, Bytes m) const {
  for (std::size_t i = 0; i < gradients_; ++i)
    if (const GradientGroup& group = gradient_[i]; group.has(cell)) {
      const bool any_sum =
          group.asked && setting_.training.zero == 0 && !is_sparse(*setting_.training.allreduce);
      return any_sum ? group.asked->exchange.time(m) : group.statistics(m);
    }
  return {};
}

/// Of x forward, of dy backward.
Seconds Pricer::price_halo(const Cell& cell, double samples, bool of_x) const {
  const Layer& layer = setting_.work.layers[std::size_t(cell.layer)];
  const Bytes item = setting_.training.bytes().activation;
  const Shape& shape = of_x ? layer.x : layer.y;
  Seconds time;
  for (int d = 0; d < shape.dims; ++d) {
    const auto i = std::size_t(d);
    if (cut_[i] < 2) continue;
    double row = shape.channels * samples /
                 parts_[of_x ? cell.halo_divided : cell.dy_divided];  // items of one row, one plane in 3-D
    for (std::size_t o = 0; o < 3; ++o)
      if (o != i) row *= shape.extent[o] / cut_[o];
    time += halo_time(cut_[i], of_x ? x_halo(layer, d) : dy_halo(layer, d), row * item, halo_message_[i]);
  }
  return time;
}

std::size_t Pricer::CutLayer::Hash::operator()(const CutLayer& key) const {
  std::size_t hash = std::size_t(key.shape_class);
  const auto mix = [&](std::size_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15u; };
  for (const double value : {key.samples, key.cut.samples, key.cut.filters, key.cut.channels, key.cut.both})
    mix(std::bit_cast<std::size_t>(value) >> 32);
  for (const int parts : key.cut.space) mix(std::size_t(parts));
  return hash ^ hash >> 29;
}

std::optional<PassTimes> Pricer::local_passes(const Layout& layout, const Cell& cell, const Mesh& mesh,
                                              double samples) {
  const auto& profile = setting_.times.profile;
  const auto& kernels = setting_.times.kernels;
  if (!profile && !kernels) return {};
  const Layer& layer = setting_.work.layers[std::size_t(cell.layer)];
  // Twice the samples on twice the PEs are the same shapes.
  CutLayer key{layer.shape_class, samples, cut_of(layout, cell, mesh)};
  key.samples = std::ceil(samples / std::exchange(key.cut.samples, 1.0) * (1 - 1e-12));
  if (const double wider = growth_of(cell); wider > 1 && layer.vocabulary > 0)
    key.cut.words = std::round(wider * layer.vocabulary);
  const auto known = passes_.find(key);
  if (known != passes_.end()) return known->second;
  const LocalLayer local = local_layer(layer, key.cut, key.samples);
  std::optional<PassTimes> time;
  if (profile) time = profile->find(local, setting_.times.shapes.get());
  if (!time && kernels) time = corrected(modelled_passes(*kernels, layer, local), setting_.times.correction);
  return passes_.emplace(key, time).first->second;
}

CellCost Pricer::price_cell(const Layout& layout, const Cell& cell, const Mesh& mesh, double samples) {
  const Layer& layer = setting_.work.layers[std::size_t(cell.layer)];
  const LayerTime& time = setting_.times.layer[std::size_t(cell.layer)];
  const ItemBytes bytes = setting_.training.bytes();

  CellCost out;
  const double wider = growth_of(cell);
  const double share = samples / parts_[cell.work] * wider;
  out.forward = share * time.FW;
  out.backward = share * time.BW;
  out.update = wider * time.WU / parts_[cell.weights];
  if (const auto passes = local_passes(layout, cell, mesh, samples)) {
    out.forward = passes->forward;
    out.backward = passes->backward();
    out.update = passes->update;
  }
  add_framework(layout, cell, out);
  if (setting_.training.zero > 0) out.update = out.update / shards(cell);
  out.gradient = weights_of(layout, cell) * bytes.sent_gradient;
  for (const Exchange& e : cell.forward) out.forward_exchange += time_of(e, samples);
  for (const Exchange& e : cell.backward) out.backward_exchange += time_of(e, samples);
  if (copies(cell) > 1) out.copies = cost_of(Collective::allreduce, copies_path(cell))(copied_gradient(cell));
  hide_sums(cell, samples, out);
  if (cell.halo_axis >= 0) {
    out.forward_halo = price_halo(cell, samples, true);
    out.backward_halo = price_halo(cell, samples, setting_.training.halos_of_dx);
  }
  if (setting_.training.synchronised_batch_norm && cell.samples) {
    // Mean and variance forward, their gradients backward: two numbers a channel.
    const Seconds statistics = statistics_cost(cell, 2 * layer.channels() / parts_[cell.weights] * Bytes{4});
    out.forward_exchange += statistics;
    out.backward_exchange += statistics;
  }
  if (cell.ring_axis >= 0) price_ring(cell, samples, out);
  add_host(cell, out);
  if (cell.recomputed) {
    out.recompute = out.forward;
    out.backward += out.forward;
    out.backward_exchange += out.forward_exchange;
    out.backward_halo += out.forward_halo;
  }
  return out;
}

Breakdown Pricer::price(const Layout& layout, const StagePlan& plan, const Mesh& mesh, double batch) {
  price_cells(layout, mesh, batch);
  return price_plan(layout, plan, batch);
}

void Pricer::price_cells(const Layout& layout, const Mesh& mesh, double batch) {
  price_mesh(layout, mesh);
  samples_ = batch / setting_.training.micro_batches;
  cells_.resize(layout.cells.size());
  for (std::size_t i = 0; i < layout.cells.size(); ++i)
    cells_[i] = price_cell(layout, layout.cells[i], mesh, samples_);
}

std::size_t Pricer::fingerprint() const {
  std::size_t hash = std::bit_cast<std::size_t>(samples_ / parts_[sharing_]);
  const auto mix = [&](double value) {
    hash = (hash ^ std::bit_cast<std::size_t>(value)) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  };
  for (const CellCost& cell : cells_) {
    const LayerLoad load = load_of(cell);
    for (const double value : {load.forward, load.backward, load.forward_host, load.backward_host})
      mix(value);
  }
  for (const GradientGroup& group : gradient_groups())
    for (const double bytes : {1e4, 1e8}) mix(group.allreduce(Bytes{bytes}).base());
  return hash;
}

Breakdown Pricer::price_plan(const Layout& layout, const StagePlan& plan, double batch) {
  const double samples = batch / setting_.training.micro_batches;
  Breakdown out;
  if (plan.stages == 1)
    price_single(layout, out);
  else
    price_pipeline(layout, plan, samples, out);
  out[Term::gradient_exchange] += copies_sum(plan);
  show_recomputation(plan, out);
  if (setting_.training.zero > 0) add_weight_gathers(layout, plan, out);
  for (std::size_t i = 0; i < cells_.size(); ++i)  // one PE of a pipeline has its share of the layers
    out.hidden += setting_.training.micro_batches * layout.cells[i].count / plan.stages * cells_[i].hidden;

  // What is left where nothing hides is rounding.
  if (constexpr double rounding = 1e-9; out.hidden < rounding * out.communication()) out.hidden = {};

  for (const StageKind& kind : plan.kinds) {
    const Memory memory = stage_memory(layout, plan, kind, samples);
    if (memory.total() > out.memory.total()) {
      out.memory = memory;
      out.worst_stage = kind.first;
    }
  }
  return out;
}

}  // namespace paradl
