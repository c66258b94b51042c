#include "paradl/judge/exchange_lines.hpp"

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

Binding binding(const Evaluation& e, const Hop& hop) { return binding_of(hop, e.mesh.setting, *e.links); }

bool is_ring(Collective operation) {
  return operation == Collective::allgather || operation == Collective::reduce_scatter ||
         operation == Collective::allreduce;
}

/// A ring on every level, each with what the levels inside it have left; other collectives are paced by the
/// outermost level.
std::vector<ExchangeStep> steps_of(Collective operation, const Path& path, Bytes m, const Evaluation& e) {
  if (!is_ring(operation)) {
    const Hop& hop = path.outermost();
    const double p = operation == Collective::point_to_point ? 0 : path.size();
    return {{hop.level, p, m, hop.phi, cost(operation, path)(m), binding(e, hop)}};
  }
  std::vector<ExchangeStep> out;
  for (int k = 0; k < path.hops; ++k) {
    const Hop& hop = path.hop[std::size_t(k)];
    if (hop.size <= 1) continue;
    Path level;
    level.hop[0] = hop;
    level.hops = 1;
    out.push_back({hop.level, hop.subgroups(), m, hop.phi, cost(operation, level)(m), binding(e, hop)});
    m = m / hop.subgroups();
  }
  return out;
}

/// A ring in the node, and trees beyond it with what that has left.
std::vector<ExchangeStep> tree_steps(const Path& path, Bytes m, const Evaluation& e) {
  std::vector<ExchangeStep> out;
  Seconds so_far;
  for (int k = 0; k < path.hops; ++k) {
    const Hop& hop = path.hop[std::size_t(k)];
    Path inside = path;
    inside.hops = k + 1;
    const Seconds time = tree_allreduce(inside)(m);
    if (hop.size > 1)
      out.push_back({hop.level, hop.subgroups(), k == 0 ? m : m / path.hop[0].subgroups(), hop.phi,
                     time - so_far, binding(e, hop)});
    so_far = time;
  }
  return out;
}

ExchangeLine line_of(Term term, Collective operation, std::string what, std::string axis, std::string layer,
                     double count, Bytes m, const Path& path, const Evaluation& e) {
  ExchangeLine out{term, std::move(what), std::move(axis), std::move(layer), count, m, {}, {}, {}};
  out.formula = formula_of(operation);
  const Path measured = measured_path(operation, path, e.mesh.setting.machine, m);
  if (operation == Collective::allreduce && takes_trees(e.mesh.setting.training) && is_by_levels(measured) &&
      tree_allreduce(measured)(m) < cost(operation, measured)(m)) {
    out.formula = "2(p-1)(α + m/p φ β) in a node, 2⌈log2 p⌉(α + m φ β) between nodes";
    out.steps = tree_steps(measured, m, e);
  } else {
    out.steps = steps_of(operation, measured, m, e);
  }
  for (const ExchangeStep& step : out.steps) out.each += step.time;
  return out;
}

std::string_view extent_name(int dim, int dims) {
  static constexpr std::array names{"planes", "rows", "columns"};
  return dims == 1 ? "positions" : names[std::size_t(3 - dims + dim)];
}

/// "allgather y", "halo of x, rows", "allreduce dw".
std::string what_of(const Charge& charge, const Evaluation& e) {
  const std::string_view operation = charge.operation ? collective_names[std::size_t(*charge.operation)] : "";
  switch (charge.kind) {
    case ChargeKind::output:
      return fmt::format("{} y", operation);
    case ChargeKind::output_gradient:
      return fmt::format("{} dy", operation);
    case ChargeKind::halo:
    case ChargeKind::gradient_halo: {
      const Layer& layer = e.mesh.setting.work.layers[std::size_t(charge.layer)];
      const bool of_x = charge.kind == ChargeKind::halo;
      return fmt::format("halo of {}, {}", of_x ? "x" : "dy",
                         extent_name(charge.extent, (of_x ? layer.x : layer.y).dims));
    }
    case ChargeKind::keys:
      return "ring of keys and values";
    case ChargeKind::key_gradients:
      return "ring of k, v, dk, dv";
    case ChargeKind::statistics:
      return fmt::format("{} statistics", operation);
    case ChargeKind::gradient_sum:
      return fmt::format("{} dw", operation);
    case ChargeKind::weight_gather:
      return fmt::format("{} w", operation);
    case ChargeKind::weight_gather_again:
      return fmt::format("{} w again", operation);
    case ChargeKind::copied_gradient_sum:
      return fmt::format("{} copied dw", operation);
    case ChargeKind::tied_gradient_sum:
      return fmt::format("{} tied dw", operation);
    case ChargeKind::transfer:
      return "stage transfer";
    default:
      return {};  // computes or waits
  }
}

std::string axis_of(const Charge& charge, const Evaluation& e) {
  switch (charge.kind) {
    case ChargeKind::copied_gradient_sum:
      return "tensor";
    case ChargeKind::tied_gradient_sum:
    case ChargeKind::transfer:
      return "layer";
    default:
      return axes_text(charge.axes, e.plan.mesh);
  }
}

std::string layer_name(const Charge& charge, const Evaluation& e) {
  if (charge.layer >= 0) return e.mesh.setting.work.layers[std::size_t(charge.layer)].name;
  return e.gradients.groups.size() == 1 ? "all weights" : "weights";
}

/// A sum of gradients by leaders of nodes, or by the algorithm that was asked for.
ExchangeLine special_sum(const Charge& charge, const Evaluation& e) {
  const GradientGroup& group = e.gradients.groups[std::size_t(charge.group)];
  const Hop& hop = group.path.outermost();
  ExchangeLine out{charge.term,  "leaders' allreduce dw", axis_of(charge, e), layer_name(charge, e),
                   charge.count, charge.bytes,            charge.each,        "",
                   {}};
  if (!group.asked) {
    out.formula = "w s + W(2β_node + s) + 2(n-1)(α + W/n β)";
    out.steps = {{hop.level, group.path.size(), charge.bytes, 1, charge.each, {}}};
    return out;
  }
  const Algorithm& algorithm = *e.plan.allreduce.algorithm;
  const std::string chosen = group.asked->chosen(charge.bytes);
  out.what = chosen.empty() ? fmt::format("{} dw", algorithm.name)
                            : fmt::format("{} ({}) dw", algorithm.name, chosen);
  out.formula = algorithm.formula;
  out.fidelity = group.asked->fidelity;
  out.steps = {{hop.level, group.path.size(), charge.bytes, group.asked->exchange.phi, charge.each,
                binding_of(group, e.mesh.setting, *e.links)}};
  return out;
}

ExchangeLine line_of(const Charge& charge, const Evaluation& e) {
  const bool of_group = charge.kind == ChargeKind::gradient_sum;
  if (of_group && (e.gradients.leaders || e.gradients.groups[std::size_t(charge.group)].asked) &&
      (e.plan.zero == 0 || e.gradients.groups[std::size_t(charge.group)].asked))
    return special_sum(charge, e);
  if (charge.kind == ChargeKind::transfer) {  // scattered over the GPUs of `tensor`, it is not one message
    const Hop& hop = e.mesh.stage_path.outermost();
    return {charge.term,
            what_of(charge, e),
            axis_of(charge, e),
            layer_name(charge, e),
            charge.count,
            charge.bytes,
            charge.each,
            formula_of(Collective::point_to_point),
            {{hop.level, 0, charge.bytes, hop.phi, charge.each, binding(e, hop)}}};
  }
  return line_of(charge.term, *charge.operation, what_of(charge, e), axis_of(charge, e),
                 layer_name(charge, e), charge.count, charge.bytes, path_of(charge, e), e);
}

std::vector<ExchangeLine> lines_of(const Ledger& ledger, const Evaluation& e) {
  std::vector<ExchangeLine> out;
  for (const Charge& charge : ledger)
    if (charge.operation) out.push_back(line_of(charge, e));
  return out;
}

}  // namespace

std::vector<ExchangeLine> layer_exchanges(const Evaluation& e, std::size_t cell, const std::string& layer) {
  std::vector<ExchangeLine> out =
      lines_of(layer_charges(e, cell, e.layout->cells[cell].recomputed ? 2 : 1), e);
  for (ExchangeLine& line : out) line.layer = layer;
  return out;
}

std::vector<ExchangeLine> exchange_lines(const Evaluation& e) {
  std::vector<ExchangeLine> out = lines_of(ledger_of(e), e);
  std::erase_if(out, [](const ExchangeLine& line) { return !(line.each > Seconds{}); });
  std::ranges::stable_sort(out, std::greater{},
                           [](const ExchangeLine& line) { return (line.count * line.each).base(); });
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
