#include "paradl/judge/exchange_lines.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace paradl {
namespace {

std::string axes_text(AxisSet set, const Mesh& mesh) {
  std::string out;
  for (int a = 0; a < mesh.axes; ++a)
    if (set & axis_bit(a))
      out += fmt::format("{}{}", out.empty() ? "" : "+", mesh.axis[std::size_t(a)].strategy->name);
  return out;
}

bool is_ring(Collective operation) {
  return operation == Collective::allgather || operation == Collective::reduce_scatter ||
         operation == Collective::allreduce;
}

LevelTime level_of(const Hop& hop, double p, Bytes m, Seconds time) {
  return {hop.level, p, m, hop.phi, time, hop.narrow, hop.wire};
}

/// A ring on every level, each with what the levels inside it have left; other collectives are paced by the
/// outermost level.
LevelTimes ring_levels(Collective operation, const Path& path, Bytes m) {
  LevelTimes out;
  if (!is_ring(operation)) {
    const double p = operation == Collective::point_to_point ? 0 : path.size();
    out.add(level_of(path.outermost(), p, m, cost(operation, path)(m)));
    return out;
  }
  for (int k = 0; k < path.hops; ++k) {
    const Hop& hop = path.hop[std::size_t(k)];
    if (hop.size <= 1) continue;
    Path level;
    level.hop[0] = hop;
    level.hops = 1;
    out.add(level_of(hop, hop.subgroups(), m, cost(operation, level)(m)));
    m = m / hop.subgroups();
  }
  return out;
}

/// A ring in the node, and trees beyond it with what that has left.
LevelTimes tree_levels(const Path& path, Bytes m) {
  LevelTimes out;
  Seconds so_far;
  for (int k = 0; k < path.hops; ++k) {
    const Hop& hop = path.hop[std::size_t(k)];
    Path inside = path;
    inside.hops = k + 1;
    const Seconds time = tree_allreduce(inside)(m);
    if (hop.size > 1)
      out.add(level_of(hop, hop.subgroups(), k == 0 ? m : m / path.hop[0].subgroups(), time - so_far));
    so_far = time;
  }
  return out;
}

/// The path of an exchange with the links that were measured for its bytes.
Path measured_path(const Charge& charge, const Evaluation& e) {
  const Path path = path_of(charge, e);
  const MessageCost message = message_of(charge, e);
  if (!message.measured) return path;
  Path out = message.measured->path(charge.bytes);
  for (std::size_t k = 0; k < std::size_t(path.hops);
       ++k) {  // groups that are spread alike share the measured path
    out.hop[k].wire = path.hop[k].wire;
    out.hop[k].narrow = path.hop[k].narrow;
  }
  return out;
}

/// An exchange that is priced as a whole, not level by level.
bool is_whole(const Charge& charge) {
  return charge.formula == Formula::requested || charge.formula == Formula::leaders ||
         charge.kind == ChargeKind::transfer;
}

/// The level on which it is shown.
LevelTime whole_level(const Charge& charge, const Evaluation& e) {
  if (charge.kind == ChargeKind::transfer)
    return level_of(e.mesh.stage_path.outermost(), 0, charge.bytes, charge.on_links);
  const GradientGroup& group = e.gradients.groups[std::size_t(charge.group)];
  LevelTime out = level_of(group.path.outermost(), group.path.size(), charge.bytes, charge.on_links);
  out.phi = group.asked ? group.asked->exchange.phi : 1;
  return out;
}

std::string_view extent_name(int dim, int dims) {
  static constexpr std::array names{"planes", "rows", "columns"};
  return dims == 1 ? "positions" : names[std::size_t(3 - dims + dim)];
}

/// "leaders' allreduce dw", "hd dw".
std::string special_sum(const Charge& charge, const Evaluation& e) {
  if (charge.formula == Formula::leaders) return "leaders' allreduce dw";
  const Algorithm& algorithm = *e.plan.allreduce.algorithm;
  const std::string chosen = e.gradients.groups[std::size_t(charge.group)].asked->chosen(charge.bytes);
  return chosen.empty() ? fmt::format("{} dw", algorithm.name)
                        : fmt::format("{} ({}) dw", algorithm.name, chosen);
}

}  // namespace

LevelTimes level_times(const Charge& charge, const Evaluation& e) {
  LevelTimes out;
  if (is_whole(charge)) {
    out.add(whole_level(charge, e));
    return out;
  }
  const Path path = measured_path(charge, e);
  out = charge.formula == Formula::trees ? tree_levels(path, charge.bytes)
                                         : ring_levels(*charge.operation, path, charge.bytes);
  Seconds all;
  for (const LevelTime& level : out) all += level.time;
  if (all > Seconds{})
    for (LevelTime& level : out) level.time = charge.on_links * (level.time / all);
  return out;
}

bool shares_links(const Charge& charge, const Evaluation& e) {
  if (is_whole(charge)) return is_shared(whole_level(charge, e).phi);
  const auto any = [](const Path& path) {
    return std::any_of(path.hop.begin(), path.hop.begin() + path.hops,
                       [](const Hop& hop) { return is_shared(hop.phi); });
  };
  const MessageCost message = message_of(charge, e);
  return message.measured ? any(message.measured->path(charge.bytes)) : any(path_of(charge, e));
}

Binding binding_of(const LevelTime& level, const Charge& charge, const Evaluation& e) {
  if (charge.formula == Formula::leaders) return {};
  if (charge.formula == Formula::requested)
    return binding_of(e.gradients.groups[std::size_t(charge.group)], e.mesh.setting, *e.links);
  const Hop hop{.phi = level.phi, .level = level.level, .narrow = level.narrow, .wire = level.wire};
  return binding_of(hop, e.mesh.setting, *e.links);
}

std::string what_of(const Charge& charge, const Evaluation& e) {
  if (charge.formula == Formula::leaders || charge.formula == Formula::requested)
    return special_sum(charge, e);
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

/// "data+spatial": the axes for which something holds.
template <class Holds>
std::string names_of(const Mesh& mesh, Holds holds) {
  AxisSet set = 0;
  for (int a = 0; a < mesh.axes; ++a)
    if (holds(mesh.axis[std::size_t(a)])) set |= axis_bit(a);
  return axes_text(set, mesh);
}

std::string axes_of(const Charge& charge, const Evaluation& e) {
  switch (charge.kind) {
    case ChargeKind::copied_gradient_sum:
      return names_of(e.plan.mesh, [](const Axis& axis) { return axis.strategy->pairs; });
    case ChargeKind::tied_gradient_sum:
    case ChargeKind::transfer:
      return names_of(e.plan.mesh, [&](const Axis& axis) { return is_pipeline(axis, e.mesh.setting.work); });
    default:
      return axes_text(charge.axes, e.plan.mesh);
  }
}

std::string layer_of(const Charge& charge, const Evaluation& e) {
  if (charge.layer >= 0) return e.mesh.setting.work.layers[std::size_t(charge.layer)].name;
  return e.gradients.groups.size() == 1 ? "all weights" : "weights";
}

ExchangeLine exchange_line(const Charge& charge, const Evaluation& e) {
  ExchangeLine out{.term = charge.term,
                   .what = what_of(charge, e),
                   .axis = axes_of(charge, e),
                   .layer = layer_of(charge, e),
                   .count = charge.count,
                   .bytes = charge.bytes,
                   .each = charge.on_links,
                   .formula = text(charge.formula),
                   .steps = {}};
  if (charge.formula == Formula::requested) {
    out.formula = e.plan.allreduce.algorithm->formula;
    out.fidelity = e.gradients.groups[std::size_t(charge.group)].asked->fidelity;
  }
  for (const LevelTime& level : level_times(charge, e))
    out.steps.push_back({level, binding_of(level, charge, e)});
  return out;
}

std::vector<ExchangeLine> exchange_lines(const Evaluation& e) {
  std::vector<ExchangeLine> out;
  for (const Charge& charge : exchanges_of(e)) out.push_back(exchange_line(charge, e));
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
