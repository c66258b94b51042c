#include "paradl/feasibility/exchange_lines.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/network/measured_cost.hpp"

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

/// The sources of link times.
struct Asked {
  const Setting& setting;
  const Pricer& pricer;
  Binding binding(const Hop& hop) const { return binding_of(hop, setting, pricer); }
};

bool is_ring(Collective operation) {
  return operation == Collective::allgather || operation == Collective::reduce_scatter ||
         operation == Collective::allreduce;
}

/// A ring on every level, each with the bytes that the inner levels leave; other collectives take their time
/// on the outermost level.
std::vector<ExchangeStep> steps_of(Collective operation, const Path& path, Bytes m, const Asked& asked) {
  if (!is_ring(operation)) {
    const Hop& hop = path.outermost();
    const double p = operation == Collective::point_to_point ? 0 : path.size();
    return {{hop.level, p, m, hop.phi, cost(operation, path)(m), asked.binding(hop)}};
  }
  std::vector<ExchangeStep> out;
  for (int k = 0; k < path.hops; ++k) {
    const Hop& hop = path.hop[std::size_t(k)];
    if (hop.size <= 1) continue;
    Path level;
    level.hop[0] = hop;
    level.hops = 1;
    out.push_back({hop.level, hop.subgroups(), m, hop.phi, cost(operation, level)(m), asked.binding(hop)});
    m = m / hop.subgroups();
  }
  return out;
}

/// A ring in the node, and trees between nodes with the bytes that it leaves.
std::vector<ExchangeStep> tree_steps(const Path& path, Bytes m, const Asked& asked) {
  std::vector<ExchangeStep> out;
  Seconds so_far;
  for (int k = 0; k < path.hops; ++k) {
    const Hop& hop = path.hop[std::size_t(k)];
    Path inside = path;
    inside.hops = k + 1;
    const Seconds time = tree_allreduce(inside)(m);
    if (hop.size > 1)
      out.push_back({hop.level, hop.subgroups(), k == 0 ? m : m / path.hop[0].subgroups(), hop.phi,
                     time - so_far, asked.binding(hop)});
    so_far = time;
  }
  return out;
}

ExchangeLine line_of(Term term, Collective operation, std::string what, std::string axis, std::string layer,
                     double count, Bytes m, const Path& path, const Asked& asked) {
  ExchangeLine out{term, std::move(what), std::move(axis), std::move(layer), count, m, {}, {}, {}};
  out.formula = text_of(operation).formula;
  const Path measured = measured_path(operation, path, asked.setting.machine, m);
  if (operation == Collective::allreduce && takes_trees(asked.setting.training) && is_by_levels(measured) &&
      tree_allreduce(measured)(m) < cost(operation, measured)(m)) {
    out.formula = "2(p-1)(α + m/p φ β) in a node, 2⌈log2 p⌉(α + m φ β) between nodes";
    out.steps = tree_steps(measured, m, asked);
  } else {
    out.steps = steps_of(operation, measured, m, asked);
  }
  for (const ExchangeStep& step : out.steps) out.each += step.time;
  return out;
}

std::string_view extent_name(int dim, int dims) {
  static constexpr std::array names{"planes", "rows", "columns"};
  return dims == 1 ? "positions" : names[std::size_t(3 - dims + dim)];
}

/// Rows of one message to each neighbour: with two parts each has one neighbour, with more the inner ones
/// have two.
std::vector<double> messages(int parts, Halo rows) {
  std::vector<double> out = parts == 2 ? std::vector{std::max(rows.before, rows.after)}
                                       : std::vector<double>{rows.before, rows.after};
  std::erase_if(out, [](double n) { return !(n > 0); });
  return out;
}

void add_halos(std::vector<ExchangeLine>& out, const Asked& asked, const Projection& p, const Cell& cell,
               const std::string& name, bool forward, double times) {
  const Setting& setting = asked.setting;
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
      out.push_back(line_of(Term::halo_exchange, Collective::point_to_point,
                            fmt::format("halo of {}, {}", forward ? "x" : "dy", extent_name(d, shape.dims)),
                            axes_text(axis_bit(cell.halo_axis), p.mesh), name, times, m,
                            asked.pricer.halo_path(d), asked));
    }
  }
}

/// Gradients of a group that belong to recomputed layers.
Bytes recomputed_gradients(const Pricer::GradientGroup& group, const Layout& layout, const Pricer& pricer) {
  Bytes out;
  for (std::size_t i = 0; i < layout.cells.size(); ++i)
    if (const Cell& cell = layout.cells[i]; cell.recomputed && group.has(cell))
      out += cell.count * pricer.cells()[i].gradient;
  return out;
}

/// The average over the layers of a cell: out of core, only some are recomputed.
double forward_passes(const Projection& p, const Layout& layout, std::size_t cell) {
  const double again = p.out_of_core && !p.out_of_core->again.empty() ? p.out_of_core->again[cell] : 0;
  return forward_passes(layout.cells[cell]) + again / layout.cells[cell].count;
}

}  // namespace

double forward_passes(const Cell& cell) { return cell.recomputed ? 2 : 1; }

std::vector<ExchangeLine> layer_exchanges(const Setting& setting, const Projection& p, const Cell& cell,
                                          const std::string& layer, const Pricer& pricer, double passes) {
  const double S = setting.training.micro_batches;
  const Asked asked{setting, pricer};
  std::vector<ExchangeLine> out;
  const double forward = S * passes;
  const auto add = [&](const ExchangeList& list, const char* tensor, double times) {
    for (const Exchange& e : list)
      out.push_back(line_of(Term::activation_exchange, e.operation,
                            fmt::format("{} {}", text_of(e.operation).name, tensor),
                            axes_text(axis_bit(e.axis), p.mesh), layer, times,
                            pricer.bytes_of(e, p.batch / S), pricer.path(e.axis), asked));
  };
  add(cell.forward, "y", forward);
  add(cell.backward, "dy", S);
  if (cell.halo_axis >= 0)
    for (const bool of_x : {true, false}) add_halos(out, asked, p, cell, layer, of_x, of_x ? forward : S);
  if (cell.ring_axis >= 0) {
    // Each PE sends its part on p-1 times; in the backward pass together with the gradients.
    const double rounds = pricer.parts(axis_bit(cell.ring_axis)) - 1;
    const Bytes block = pricer.ring_block(cell, p.batch / S);
    const auto ring = [&](const char* what, double times, Bytes m) {
      out.push_back(line_of(Term::activation_exchange, Collective::point_to_point, what,
                            axes_text(axis_bit(cell.ring_axis), p.mesh), layer, times * rounds, m,
                            pricer.halo_path(0), asked));
    };
    ring("ring of keys and values", forward, block);
    ring("ring of k, v, dk, dv", S, 2 * block);
  }
  return out;
}

std::vector<ExchangeLine> exchange_lines(const Setting& setting, const Projection& p, const Layout& layout,
                                         const StagePlan& plan, const Pricer& pricer) {
  const double S = setting.training.micro_batches;
  std::vector<ExchangeLine> out;
  for (std::size_t i = 0; i < layout.cells.size(); ++i) {
    const Cell& cell = layout.cells[i];
    for (ExchangeLine& line :
         layer_exchanges(setting, p, cell, setting.work.layers[std::size_t(cell.layer)].name, pricer,
                         forward_passes(p, layout, i))) {
      line.count *= cell.count;
      out.push_back(std::move(line));
    }
  }
  for (const auto& group : pricer.gradient_groups()) {
    const Bytes whole = pricer.gradients_of(group, layout);
    if (!(group.allreduce(whole) > Seconds{})) continue;
    const char* what = pricer.gradient_groups().size() == 1 ? "all weights" : "weights";
    const bool leaders =
        setting.training.framework.hybrid_gradients == GradientRoute::leader && without_ones(p.mesh).axes > 1;
    if (leaders && !group.asked) {
      const Seconds each = group.allreduce(whole);
      out.push_back({Term::gradient_exchange,
                     "leaders' allreduce dw",
                     axes_text(group.set, p.mesh),
                     what,
                     1,
                     whole,
                     each,
                     "w s + W(2β_node + s) + 2(n-1)(α + W/n β)",
                     {{group.path.outermost().level, group.path.size(), whole, 1, each, {}}}});
      continue;
    }
    if (group.asked) {
      const Algorithm& algorithm = *setting.training.allreduce;
      const Hop& hop = group.path.outermost();
      const Seconds each = group.allreduce(whole);
      const double phi = group.asked->exchange.phi;
      const std::string chosen = group.asked->chosen(whole);
      out.push_back({Term::gradient_exchange,
                     chosen.empty() ? fmt::format("{} dw", algorithm.name)
                                    : fmt::format("{} ({}) dw", algorithm.name, chosen),
                     axes_text(group.set, p.mesh),
                     what,
                     1,
                     whole,
                     each,
                     algorithm.formula,
                     {{hop.level, group.path.size(), whole, phi, each, binding_of(group, setting, pricer)}},
                     group.asked->fidelity});
      continue;
    }
    // ZeRO: the PE that updates a weight gets its sum; weights are gathered afterwards, or before each pass
    // (3).
    const int zero = setting.training.zero;
    out.push_back(line_of(Term::gradient_exchange,
                          zero > 0 ? Collective::reduce_scatter : Collective::allreduce,
                          zero > 0 ? "reduce-scatter dw" : "allreduce dw", axes_text(group.set, p.mesh), what,
                          zero >= 2 ? S : 1, whole, group.path, {setting, pricer}));
    const auto gather = [&](const char* name, double count, Bytes gradients) {
      out.push_back(
          line_of(Term::gradient_exchange, Collective::allgather, name, axes_text(group.set, p.mesh), what,
                  count, gradients / setting.training.bytes().sent_gradient * setting.training.bytes().weight,
                  group.path, {setting, pricer}));
    };
    if (zero > 0) gather("allgather w", zero >= 3 ? 2 * S : 1, whole);
    // Gathers by tensor are repeated for a recomputed forward pass.
    if (zero >= 3 && setting.training.framework.gathers_by_tensor && plan.stages == 1)
      gather("allgather w again", S, recomputed_gradients(group, layout, pricer));
  }
  for (const StageKind& kind : plan.kinds)
    for (std::size_t c = 0; c < kind.chunks.size(); ++c) {
      if (kind.chunks[c].sent.empty()) continue;
      const std::size_t next = c * std::size_t(plan.stages) + std::size_t(kind.first) + 1;
      const auto [bytes, each, hop] = pricer.transfer(kind.chunks[c], p.batch / S);
      // Forward and backward, once for each micro-batch.
      out.push_back({Term::stage_transfer,
                     "stage transfer",
                     "layer",
                     setting.work.layers[std::size_t(plan.first_layer[next] - 1)].name,
                     2 * S * kind.count,
                     bytes,
                     each,
                     text_of(Collective::point_to_point).formula,
                     {{hop.level, 0, bytes, hop.phi, each, binding_of(hop, setting, pricer)}}});
    }
  for (const Cell& cell : layout.cells)
    if (pricer.copies(cell) > 1)
      out.push_back(line_of(Term::gradient_exchange, Collective::allreduce, "allreduce copied dw", "tensor",
                            setting.work.layers[std::size_t(cell.layer)].name, cell.count,
                            pricer.copied_gradient(cell), pricer.copies_path(cell), {setting, pricer}));
  for (const StagePlan::Tied& tied : plan.tied)
    out.push_back(line_of(Term::gradient_exchange, Collective::allreduce, "allreduce tied dw", "layer",
                          setting.work.layers[std::size_t(layout.cells[std::size_t(tied.cell)].layer)].name,
                          1, pricer.cells()[std::size_t(tied.cell)].gradient, pricer.tied_path(),
                          {setting, pricer}));
  std::erase_if(out, [](const ExchangeLine& e) { return !(e.each > Seconds{}); });
  std::ranges::stable_sort(out, std::greater{},
                           [](const ExchangeLine& e) { return (e.count * e.each).base(); });
  return out;
}

std::string contention_text(const std::vector<ExchangeLine>& lines) {
  struct Shared {
    std::string where, tail;
    std::vector<std::string> exchanges;
  };
  std::vector<Shared> all;
  for (const ExchangeLine& line : lines)
    for (const ExchangeStep& step : line.steps) {
      const Binding& binding = step.binding;
      if (binding.link.empty()) continue;
      Shared one{fmt::format("φ = {:.3g} on {}", step.phi, step.level), text_of(binding, step.phi), {}};
      if (binding.steps > 0) one.where += fmt::format(", step {} of {}", binding.step, binding.steps);
      const std::string name = fmt::format("{} over {}", line.what, line.axis);
      auto same = std::ranges::find_if(
          all, [&](const Shared& s) { return s.where == one.where && s.tail == one.tail; });
      if (same == all.end()) same = all.insert(all.end(), std::move(one));
      if (std::ranges::find(same->exchanges, name) == same->exchanges.end()) same->exchanges.push_back(name);
    }
  std::string out;
  for (const Shared& s : all)
    out += fmt::format(" {}, {}: {}\n", s.where, fmt::join(s.exchanges, ", "), s.tail);
  return out;
}

}  // namespace paradl
