#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "paradl/paper/row.hpp"

namespace paradl::paper {

extern const Row serial_row, data_row, spatial_row, layer_row, filter_row, channel_row, data_filter_row,
    data_channel_row, data_spatial_row;

namespace {

constexpr std::array table{
    &serial_row,  &data_row,        &spatial_row,      &layer_row,        &filter_row,
    &channel_row, &data_filter_row, &data_channel_row, &data_spatial_row,
};

const Row& row_of(const Plan& plan) {
  const std::string strategy = strategy_of(plan).text;
  if (const Row* row = find_row(strategy)) return *row;
  std::string known;
  for (const Row* row : table) known += fmt::format("{}{}", known.empty() ? "" : ", ", row->name);
  throw UsageError(fmt::format("the paper has no closed form for `{}`", strategy),
                   "use --fidelity detailed, or one of " + known);
}

/// Whether a strategy may split a product layer. Like the paper's tables and tool, it counts the first layer
/// as split by channel, although images have only three channels.
bool may_split(const Workload& work, const Strategy& inner, const Parts& parts, std::size_t l) {
  if (inner.sums_inputs) return work.may_split(SplitBy::channel, l);
  return inner.role(work, l, parts, Placement::split_channel) != Role::whole;
}

/// The layers that are split; the others run whole on every GPU. Layers that keep the placement of their
/// inputs are split if all their inputs are, unless the model lists the layers that the framework splits:
/// then their outputs are gathered at once.
std::vector<bool> split_layers(const Workload& work, const Strategy* inner, const Parts& parts) {
  std::vector<bool> split(work.layers.size(), true);
  if (!inner) return split;
  const auto rule = find_name<SplitBy>(split_names, inner->name);
  const bool named = rule && !is_split(inner->input) && !work.split[std::size_t(*rule)].layer.empty();
  for (std::size_t l = 0; l < work.layers.size(); ++l) {
    const Role role = inner->role(work, l, parts, Placement::split_channel);
    if (is_dense_product(work.layers[l])) {
      split[l] = may_split(work, *inner, parts, l);
    } else if (role == Role::keep) {
      split[l] = !named;
      for (const int from : work.layers[l].inputs)
        split[l] = split[l] && (from < 0 || split[std::size_t(from)]);
    } else {
      split[l] = role != Role::whole;
    }
  }
  return split;
}

Configuration configuration_of(const Setting& setting, const Plan& plan) {
  const Mesh& mesh = plan.mesh;
  Configuration c{.setting = setting,
                  .D = setting.work.D,
                  .B = plan.batch,
                  .I = iterations_per_epoch(setting, plan.batch),
                  .p = mesh.gpus(),
                  .hybrid = mesh.axes > 1};
  c.S = plan.micro_batches;
  c.delta = item_bytes(setting.training.precision).activation;
  for (int a = 0; a < mesh.axes; ++a) {
    const Axis& axis = mesh.axis[std::size_t(a)];
    if (axis.strategy->input == Placement::split_sample) {
      c.p1 = axis.parts.total;
      // Flows at the innermost level that the groups share: ABCI's four exchanges leave a node through two
      // ports.
      c.phi = group_path(mesh, axis_bit(a), setting.machine).innermost().phi;
    } else {
      c.p2 = axis.parts.total;
      c.inner = axis.strategy;
      c.parts = axis.parts;
    }
  }
  const Level& span = setting.machine.spanned_by(c.p);
  const Level& group = setting.machine.spanned_by(c.p2);
  c.all = c.ex = span.link;
  c.in = group.link;
  c.one_level = &span == &group;
  c.split_layer = split_layers(setting.work, c.inner, c.parts);
  return c;
}

}  // namespace

const Row* find_row(std::string_view strategy) {
  const auto row = std::ranges::find(table, strategy, [](const Row* r) { return r->name; });
  return row == table.end() ? nullptr : *row;
}

std::vector<std::string_view> row_names() {
  std::vector<std::string_view> names;
  for (const Row* row : table) names.push_back(row->name);
  return names;
}

Links links_of(const Setting& setting, const Plan& plan) {
  const Configuration c = configuration_of(setting, plan);
  return {&setting.machine.spanned_by(c.p), &setting.machine.spanned_by(c.p2), c.phi};
}

CostLines explain(const Setting& setting, const Plan& plan) {
  return row_of(plan).time(configuration_of(setting, plan));
}

Projection project(const Setting& setting, const Plan& plan) {
  const Row& row = row_of(plan);
  const Configuration c = configuration_of(setting, plan);
  Projection out{.plan = plan, .gpus = c.p, .iterations = c.I};
  out.samples = setting.work.D;
  out.serial = serial_time(setting, c.I);
  if (!setting.times.update_known)  // as in the rows
    for (const LayerTime& t : setting.times.layer) out.serial -= t.WU;
  double samples = plan.batch;
  for (int a = 0; a < plan.mesh.axes; ++a) {
    const Axis& axis = plan.mesh.axis[std::size_t(a)];
    out.limits.add(axis.strategy->limit(setting.work, axis.parts, samples));
  }
  if (c.S > 1) out.limits.add({LimitRule::micro_batch_samples, c.S, samples / c.p1});
  if (!out.limits.hold()) return out;
  out.cost.emplace();
  for (const CostLine& line : row.time(c)) (*out.cost)[line.term] += line.time / c.I;
  out.cost->memory = row.memory(c);
  finish(out, setting);
  return out;
}

}  // namespace paradl::paper
