#include "paradl/report/exchange_lines.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace paradl {
namespace {

std::string axes_text(AxisSet set, const Mesh& mesh) {
  std::string out;
  for (int a = 0; a < mesh.axes; ++a)
    if (set & axis_bit(a))
      out += fmt::format("{}{}", out.empty() ? "" : "+", mesh.axis[std::size_t(a)].strategy->name);
  return out;
}

double parts_of(AxisSet set, const Mesh& mesh) {
  double out = 1;
  for (int a = 0; a < mesh.axes; ++a)
    if (set & axis_bit(a)) out *= mesh.axis[std::size_t(a)].parts.total;
  return out;
}

bool is_ring(Collective operation) {
  return operation == Collective::allgather || operation == Collective::reduce_scatter ||
         operation == Collective::allreduce;
}

/// A ring on every level, each with what the levels inside it have left; other collectives are paced by the
/// outermost level.
std::vector<ExchangeStep> steps_of(Collective operation, const Path& path, Bytes m) {
  if (!is_ring(operation)) {
    const Hop& hop = path.outermost();
    const double p = operation == Collective::point_to_point ? 0 : path.size();
    return {{hop.level, p, m, hop.phi, cost(operation, path)(m)}};
  }
  std::vector<ExchangeStep> out;
  for (int k = 0; k < path.hops; ++k) {
    const Hop& hop = path.hop[std::size_t(k)];
    if (hop.size <= 1) continue;
    Path level;
    level.hop[0] = hop;
    level.hops = 1;
    out.push_back({hop.level, hop.size, m, hop.phi, cost(operation, level)(m)});
    m = m / hop.size;
  }
  return out;
}

ExchangeLine line_of(Collective operation, std::string what, std::string axis, std::string layer,
                     double count, Bytes m, const Path& path) {
  ExchangeLine out{std::move(what), std::move(axis), std::move(layer), count, m, {}, {}, {}};
  out.formula = text_of(operation).formula;
  out.steps = steps_of(operation, path, m);
  for (const ExchangeStep& step : out.steps) out.each += step.time;
  return out;
}

std::string_view extent_name(int dim, int dims) {
  static constexpr std::array names{"planes", "rows", "columns"};
  return dims == 1 ? "positions" : names[std::size_t(3 - dims + dim)];
}

/// Rows of one message to each neighbour: two parts have one neighbour each, inner parts of more have two.
std::vector<double> messages(int parts, Halo rows) {
  std::vector<double> out = parts == 2 ? std::vector{std::max(rows.before, rows.after)}
                                       : std::vector<double>{rows.before, rows.after};
  std::erase_if(out, [](double n) { return !(n > 0); });
  return out;
}

void add_halos(std::vector<ExchangeLine>& out, const Setting& setting, const Projection& p, const Cell& cell,
               const std::string& name, bool forward) {
  const Layer& layer = setting.work.layers[std::size_t(cell.layer)];
  const Shape& shape = forward ? layer.x : layer.y;
  const auto& cut = p.mesh.axis[std::size_t(cell.halo_axis)].parts.cut;
  const double S = setting.training.micro_batches;
  for (int d = 0; d < shape.dims; ++d) {
    const int parts = cut[std::size_t(d)];
    if (parts < 2) continue;
    double row =
        shape.channels * p.batch / S / parts_of(forward ? cell.halo_divided : cell.dy_divided, p.mesh);
    for (std::size_t o = 0; o < 3; ++o)
      if (o != std::size_t(d)) row *= shape.extent[o] / cut[o];
    const auto sent = messages(parts, forward ? x_halo(layer, d) : dy_halo(layer, d));
    for (std::size_t i = 0; i < sent.size(); ++i) {
      const bool again = i > 0 && sent[i] == sent[i - 1];
      if (again) {
        out.back().count *= 2;
        continue;
      }
      const Bytes m = sent[i] * row * item_bytes(setting.training.precision).activation;
      out.push_back(line_of(Collective::point_to_point,
                            fmt::format("halo of {}, {}", forward ? "x" : "dy", extent_name(d, shape.dims)),
                            axes_text(axis_bit(cell.halo_axis), p.mesh), name, S, m,
                            neighbour_path(p.mesh, cell.halo_axis, d, setting.machine)));
    }
  }
}

}  // namespace

std::vector<ExchangeLine> layer_exchanges(const Setting& setting, const Projection& p, const Cell& cell,
                                          const std::string& layer, const Pricer& pricer) {
  const double S = setting.training.micro_batches;
  std::vector<ExchangeLine> out;
  const auto add = [&](const ExchangeList& list, const char* tensor) {
    for (const Exchange& e : list)
      out.push_back(line_of(e.operation, fmt::format("{} {}", text_of(e.operation).name, tensor),
                            axes_text(axis_bit(e.axis), p.mesh), layer, S, pricer.bytes_of(e, p.batch / S),
                            pricer.path(e.axis)));
  };
  add(cell.forward, "y");
  add(cell.backward, "dy");
  if (cell.halo_axis >= 0)
    for (const bool forward : {true, false}) add_halos(out, setting, p, cell, layer, forward);
  return out;
}

std::vector<ExchangeLine> exchange_lines(const Setting& setting, const Projection& p, const Layout& layout,
                                         const StagePlan& plan, const Pricer& pricer) {
  const double S = setting.training.micro_batches;
  std::vector<ExchangeLine> out;
  for (const Cell& cell : layout.cells)
    for (ExchangeLine& line :
         layer_exchanges(setting, p, cell, setting.work.layers[std::size_t(cell.layer)].name, pricer)) {
      line.count *= cell.count;
      out.push_back(std::move(line));
    }
  for (const auto& group : pricer.gradient_groups()) {
    Bytes whole;
    for (std::size_t i = 0; i < layout.cells.size(); ++i)
      if (group.has(layout.cells[i])) whole += layout.cells[i].count * pricer.cells()[i].gradient;
    if (!(group.allreduce(whole) > Seconds{})) continue;
    const char* what = pricer.gradient_groups().size() == 1 ? "all weights" : "weights";
    if (group.curve) {
      const Algorithm& algorithm = *setting.training.allreduce;
      const Hop& hop = group.path.outermost();
      const Seconds each = group.allreduce(whole);
      out.push_back({fmt::format("{} dw", algorithm.name),
                     axes_text(group.set, p.mesh),
                     what,
                     1,
                     whole,
                     each,
                     algorithm.formula,
                     {{hop.level, group.path.size(), whole, hop.phi, each}}});
      continue;
    }
    out.push_back(line_of(Collective::allreduce, "allreduce dw", axes_text(group.set, p.mesh), what, 1, whole,
                          group.path));
  }
  for (const StageKind& kind : plan.kinds) {
    if (kind.sent.empty()) continue;
    const std::size_t next = std::size_t(kind.first) + 1;
    const auto [bytes, each, phi, level] = pricer.transfer(kind, p.batch / S);
    // Forward and backward, once for each micro-batch.
    out.push_back({"stage transfer",
                   "layer",
                   setting.work.layers[std::size_t(plan.first_layer[next] - 1)].name,
                   2 * S * kind.count,
                   bytes,
                   each,
                   text_of(Collective::point_to_point).formula,
                   {{level, 0, bytes, phi, each}}});
  }
  std::erase_if(out, [](const ExchangeLine& e) { return !(e.each > Seconds{}); });
  std::ranges::stable_sort(out, std::greater{},
                           [](const ExchangeLine& e) { return (e.count * e.each).base(); });
  return out;
}

std::string contention_text(const std::vector<ExchangeLine>& lines, const Machine& machine) {
  std::string out;
  for (std::size_t k = 0; k < machine.levels.size(); ++k) {
    const Level& level = machine.levels[k];
    double phi = 1;
    for (const ExchangeLine& line : lines)
      for (const ExchangeStep& step : line.steps)
        if (step.level == level.name) phi = std::max(phi, step.phi);
    if (!(phi > 1)) continue;
    if (!machine.topology.empty()) {
      out += fmt::format(" φ = {:.3g} on {}: flows of the job share a wire of {}\n", phi, level.name,
                         machine.topology);
      continue;
    }
    // The narrowest way out on the path up to this level is what they share.
    std::size_t narrow = k;
    for (std::size_t j = 0; j <= k; ++j)
      if (machine.levels[j].inside / machine.levels[j].ports >
          machine.levels[narrow].inside / machine.levels[narrow].ports)
        narrow = j;
    const double ports = machine.levels[narrow].ports;
    const std::string unit = narrow == 0 ? "GPU" : machine.levels[narrow - 1].name;
    out += fmt::format(
        " φ = {:.3g} on {}: {:.3g} flows leave a {} through {:.3g} port{}; {:.3g} ports would make it 1\n",
        phi, level.name, phi * ports, unit, ports, ports == 1 ? "" : "s", std::ceil(phi * ports));
  }
  return out;
}

}  // namespace paradl
