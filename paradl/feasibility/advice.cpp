#include "paradl/feasibility/advice.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/core/format.hpp"
#include "paradl/cost/sweep.hpp"

namespace paradl {
namespace {

constexpr double worth_naming = 0.05;

/// Work that every PE repeats: the paper's computation redundancy.
bool is_redundant(Role role, const Layer& layer) {
  return role == Role::whole && layer.macs + layer.weights > 0;
}

std::string_view remedy(Term term) {
  switch (term) {
    case Term::update:
      return "share the update among replicas, or use an optimizer with less state";
    case Term::bubble:
      return "more micro-batches, or fewer stages";
    case Term::gradient_exchange:
      return "a larger mini-batch per GPU, faster links between nodes, or --overlap on";
    case Term::activation_exchange:
      return "keep the split inside a node, use `tensor`, which pairs layers, or --reduction reduce-scatter "
             "with filter and channel";
    case Term::halo_exchange:
      return "fewer parts, or a cut along another extent";
    case Term::stage_transfer:
      return "fewer stages, or borders where tensors are small";
    default:
      return "";
  }
}

}  // namespace

std::vector<Bottleneck> bottlenecks(const Projection& projection) {
  std::vector<Bottleneck> out;
  if (!projection.cost) return out;
  for (std::size_t t = std::size_t(Term::update); t < terms; ++t) {
    const double share = projection.cost->exposed[t] / projection.iteration();
    if (share > worth_naming) out.push_back({Term(t), share, remedy(Term(t))});
  }
  std::ranges::sort(out, std::greater{}, &Bottleneck::share);
  return out;
}

void rank(std::vector<Projection>& projections) { std::ranges::stable_sort(projections, better); }

std::string reason(const Limit& limit, const Workload& work) {
  if (limit.rule == memory_rule)
    return fmt::format("needs {}, the device has {}", text(Bytes{limit.value}), text(Bytes{limit.bound}));
  const std::string_view left = limit.rule.substr(0, limit.rule.find(' '));
  const std::string layer =
      limit.layer >= 0 ? fmt::format(" (layer {})", work.layers[std::size_t(limit.layer)].name) : "";
  return fmt::format("{} = {} breaks {} = {}{}", left, limit.value, limit.rule, limit.bound, layer);
}

namespace {

template <class Tell>
std::string broken(const Projection& projection, Tell tell) {
  std::string out;
  for (const Limit& limit : projection.limits.all())
    if (!limit.holds()) out += (out.empty() ? "" : "; ") + tell(limit);
  return out;
}

}  // namespace

std::string reasons(const Projection& projection, const Workload& work) {
  return broken(projection, [&](const Limit& limit) { return reason(limit, work); });
}

std::string footnote(const Projection& projection, const Workload& work) {
  return broken(projection, [&](const Limit& limit) {
    return limit.rule == memory_rule
               ? fmt::format("needs more than the device's {}", text(Bytes{limit.bound}))
               : reason(limit, work);
  });
}

std::vector<std::string> whole_layers(const std::vector<std::vector<Role>>& roles, const Mesh& mesh,
                                      const Workload& work) {
  std::vector<std::string> out;
  for (int a = 0; a < mesh.axes; ++a)
    for (std::size_t l = 0; l < work.layers.size(); ++l)
      if (is_redundant(roles[std::size_t(a)][l], work.layers[l]))
        out.push_back(fmt::format("{} ({})", work.layers[l].name, mesh.axis[std::size_t(a)].strategy->name));
  return out;
}

std::string whole_layers_text(const std::vector<std::vector<Role>>& roles, const Mesh& mesh,
                              const Workload& work) {
  constexpr std::size_t few = 5;
  std::string out;
  for (int a = 0; a < mesh.axes; ++a) {
    std::map<Op, std::vector<std::string>> by_op;
    for (std::size_t l = 0; l < work.layers.size(); ++l)
      if (is_redundant(roles[std::size_t(a)][l], work.layers[l]))
        by_op[work.layers[l].op].push_back(work.layers[l].name);
    std::vector<std::string> told;
    for (const auto& [op, names] : by_op)
      told.push_back(names.size() <= few ? fmt::format("{}", fmt::join(names, ", "))
                                         : fmt::format("{} {} layers", names.size(), traits(op).name));
    if (told.empty()) continue;
    out += fmt::format("{}{} ({})", out.empty() ? "" : "; ", fmt::join(told, ", "),
                       mesh.axis[std::size_t(a)].strategy->name);
  }
  return out;
}

}  // namespace paradl
