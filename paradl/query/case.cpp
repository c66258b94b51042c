#include "paradl/query/case.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "paradl/network/measured_cost.hpp"
#include "paradl/query/loading.hpp"
#include "paradl/spec/system_change.hpp"

namespace paradl {
namespace {

FrameworkSpec framework_of(const Query& query, Library& library) {
  const std::string name = query.framework.value_or(ideal_framework);
  blaming({query.framework.origin()}, [&] { library.framework(name); });
  return library.framework(name, query.framework_changes);
}

bool resizes(const Override& change) {
  return change.path.starts_with("levels.") && change.path.ends_with(".size");
}

/// The system with its changes. Measured links fix the sizes of levels; without them, a change may resize them.
SystemSpec system_of(const Query& query, Library& library) {
  const std::vector<Override>& changes = query.system_changes;
  const bool specified = query.links && *query.links == LinkLevel::ideal;
  if (!specified || std::ranges::none_of(changes, resizes)) return library.system(*query.system, changes);
  std::vector<Override> others = changes;
  std::erase_if(others, resizes);
  const SystemSpec same_size = library.system(*query.system, others);
  SystemSpec out = read_specified(same_size.source, changes);
  out.device.kernels = same_size.device.kernels;
  return out;
}

void choose_links(const Query& query, Case& about) {
  if (!query.links) return;
  about.specified_links = *query.links == LinkLevel::ideal;
  if (about.specified_links)
    about.machine = without_measured_links(std::move(about.machine));
  else if (!has_measured_links(about.machine))
    blame({query.links.origin()}, UsageError(fmt::format("no links were measured on {}", about.machine.name),
                                             "use --links ideal; `paradl-calibrate links` measures them"));
}

}  // namespace

std::unique_ptr<const Topology> network_of(const SystemSpec& spec, const Machine& machine, bool as_in_file) {
  try {
    return topology_of(machine);
  } catch (const UsageError& error) {
    if (!as_in_file)
      throw UsageError(fmt::format("with --set, {}", error.what()),
                       "leave --set out, or give it another value");
    throw SpecError(spec.source.file, spec.source.text, {{spec.topology_spot, error.what(), error.help()}});
  }
}

Setting setting_of(const std::shared_ptr<const Case>& about) {
  const auto part = [&about]<class T>(const T& of) { return std::shared_ptr<const T>(about, &of); };
  return {part(about->work), part(about->machine), part(about->times), about->training, about->topology};
}

Machine Case::machine_with(const std::vector<Override>& more) const {
  std::vector<Override> all = system_changes;
  SystemSpec spec = system_spec;
  for (const Override& change : more) {
    all.push_back(change);
    auto quick = paradl::changed(spec, change);
    spec = quick             ? *std::move(quick)
           : specified_links ? read_specified(spec.source, all)
                             : read_system(spec.source, all);
  }
  spec.device.kernels = system_spec.device.kernels;
  Machine other = build_machine(spec);
  return specified_links ? without_measured_links(std::move(other)) : other;
}

std::vector<std::string> Case::files() const {
  std::vector<std::string> out{system_spec.source.file, framework_spec.source.file};
  for (const SourceText& source : model_spec.sources) out.push_back(source.file);
  if (profile_spec) out.push_back(profile_spec->source.file);
  if (system_spec.device.kernels) out.push_back(system_spec.device.kernels->source.file);
  return out;
}

Training load_training(const Query& query, Library& library) {
  return training_of(query, framework_of(query, library));
}

Case load(const Query& query, Library& library) {
  if (!query.model) throw UsageError("which model?", "`paradl models` lists them");
  Case c;
  const Library::Model& model = blaming(
      {query.model.origin()}, [&]() -> const auto& { return library.model(*query.model); });
  c.model_spec = model.spec;
  c.work = model.work;
  if (!query.system)
    throw UsageError("the system is missing",
                     fmt::format("add `--on abci`, or set PARADL_SYSTEM; `paradl systems` lists all {}",
                                 library.catalog().names(SpecKind::systems).size()));
  blaming({query.system.origin()}, [&] { library.system(*query.system); });
  c.system_changes = query.system_changes;
  c.system_spec = system_of(query, library);
  c.machine = build_machine(c.system_spec);
  c.fidelity = query.fidelity.value_or(Fidelity::detailed);
  c.framework_spec = framework_of(query, library);
  c.changed_terms = !query.framework_changes.empty();
  c.training = training_of(query, c.framework_spec);
  c.plan = plan_of(query);
  if (query.flash) set_flash(c.work, *query.flash);
  if (query.samples) c.work.D = *query.samples;
  if (!(c.work.D > 0))
    blame({query.model.origin()},
          UsageError(fmt::format("{} names no data set, so an epoch has no length", c.work.name),
                     "add --samples N"));
  c.epochs = query.epochs.value_or(0);
  if (query.price) c.machine.price = *query.price;
  c.costs = query.epochs || c.machine.price;
  choose_links(query, c);
  c.topology = network_of(c.system_spec, c.machine, c.system_changes.empty());
  check_conflicts(query, c);
  find_layer_times(query, library, c);
  c.changed = changed_by(query, c);
  return c;
}

Case load(const Query& query, const Catalog& catalog) {
  Library library(catalog);
  return load(query, library);
}

}  // namespace paradl
