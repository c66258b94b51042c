// paradl systems: lists the systems, and shows the device and links of one.
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "paradl/cli/listing.hpp"
#include "paradl/core/format.hpp"
#include "paradl/machine/machine.hpp"

namespace paradl {
namespace {

using Json = nlohmann::ordered_json;

std::string with_commas(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string links_text(const std::vector<LevelSpec>& levels) {
  std::vector<std::string> links;
  links.reserve(levels.size());
  for (const LevelSpec& level : levels) links.push_back(text(level.bandwidth));
  return with_commas(links);
}

Listing list_systems(const Session& session) {
  Table table{.columns = {{"name", "name", Holds::text, 9},
                          {"devices", "devices", Holds::count, 6},
                          {"device", "per device", Holds::text, 5},
                          {"memory", "memory", Holds::bytes, 5},
                          {"links", "links (inner to outer)", Holds::text, 4},
                          {"summary", "summary", Holds::text, 2}}};
  Json json{{"schema", "paradl.systems/1"}, {"systems", Json::array()}};
  for (const std::string& name : session.catalog.names(SpecKind::systems))
    add_or_explain(table, name, [&] {
      const SystemSpec spec = session.catalog.system(name);
      const double gpus = build_machine(spec).gpus();
      table.rows.push_back({.values = {name, gpus, spec.device.name, spec.device.memory.base(),
                                       links_text(spec.levels), spec.summary}});
      json["systems"].push_back({{"name", name},
                                 {"gpus", std::llround(gpus)},
                                 {"device", spec.device.name},
                                 {"memory_bytes", spec.device.memory.base()},
                                 {"summary", spec.summary}});
    });
  return {.sections = {{"", std::move(table)}}, .json = json};
}

/// "fp32 15.7 Tflop/s, fp16 125 Tflop/s"
std::string peaks_text(const DeviceSpec& device) {
  std::vector<std::string> peaks;
  for (std::size_t i = 0; i < precision_names.size(); ++i)
    if (device.peak[i]) peaks.push_back(fmt::format("{} {}", precision_names[i], text(*device.peak[i])));
  return with_commas(peaks);
}

std::string host_text(const std::optional<HostSpec>& host) {
  std::vector<std::string> parts;
  if (host && host->memory) parts.push_back(fmt::format("{} per node", text(*host->memory)));
  if (host && host->memory_bandwidth)
    parts.push_back(fmt::format("memory bandwidth {}", text(*host->memory_bandwidth)));
  if (host && host->bandwidth)
    parts.push_back(
        fmt::format("{} to {}", text(*host->bandwidth),
                    host->shared_by > 1 ? fmt::format("every {} GPUs", host->shared_by) : "each GPU"));
  return with_commas(parts);
}

/// "40 W idle, 300 W at peak"
std::string draw_text(const std::optional<Draw>& draw) {
  if (!draw) return {};
  return draw->idle ? fmt::format("{} W idle, {} W at peak", *draw->idle, draw->peak)
                    : fmt::format("at most {} W", draw->peak);
}

std::string storage_text(const std::optional<StorageSpec>& storage) {
  std::vector<std::string> parts;
  if (storage && storage->capacity) parts.push_back(decimal(*storage->capacity));
  if (storage && storage->read) parts.push_back(fmt::format("read at {}", text(*storage->read)));
  return with_commas(parts);
}

Table system_facts(const SystemSpec& spec, const Machine& machine) {
  const DeviceSpec& device = spec.device;
  return facts_table({
      {"GPUs",
       fmt::format("{}, {} per node", all_digits(machine.gpus()), all_digits(machine.gpus_per_node()))},
      {"device", device.name},
      {"memory", fmt::format("{} at {}", text(device.memory), text(device.memory_bandwidth))},
      {"peak", peaks_text(device)},
      {"power", draw_text(device.watts)},
      {"host", host_text(spec.host)},
      {"power of a host", spec.host ? draw_text(spec.host->watts) : ""},
      {"storage of a node", storage_text(spec.node_storage)},
      {"shared storage", storage_text(spec.shared_storage)},
      {"price",
       spec.price ? fmt::format("{} {} per GPU hour", spec.price->per_hour, spec.price->currency) : ""},
      {"file", spec.source.file},
      {"source", spec.origin},
  });
}

Table level_lines(const SystemSpec& spec, const Machine& machine) {
  Table table{.columns = {{"level", "level", Holds::text, 9},
                          {"size", "size", Holds::count, 7},
                          {"gpus", "GPUs", Holds::count, 7},
                          {"latency", "latency", Holds::seconds, 8},
                          {"bandwidth", "bandwidth", Holds::bandwidth, 8},
                          {"ports", "ports", Holds::count, 5}}};
  for (std::size_t i = 0; i < spec.levels.size(); ++i) {
    const LevelSpec& level = spec.levels[i];
    table.rows.push_back({.values = {level.name, double(level.size), machine.levels[i].gpus,
                                     level.latency.base(), level.bandwidth.base(), machine.levels[i].ports}});
  }
  return table;
}

/// The measured links, by operation and size of the buffer.
Table measured_lines(const SystemSpec& spec) {
  Table table{.columns = {{"level", "level", Holds::text, 9},
                          {"operation", "operation", Holds::text, 9},
                          {"gpus", "GPUs", Holds::count, 8},
                          {"nodes", "nodes", Holds::count, 7},
                          {"from", "from", Holds::message, 8},
                          {"below", "below", Holds::message, 8},
                          {"latency", "latency", Holds::seconds, 8},
                          {"bandwidth", "bandwidth", Holds::bandwidth, 8}}};
  for (const LevelSpec& level : spec.levels)
    for (const MeasuredLinkSpec& link : level.measured) {
      const auto count = [&](int n) { return link.group.gpus ? Value{double(n)} : Value{}; };
      table.rows.push_back({.values = {level.name, std::string(collective_names[std::size_t(link.operation)]),
                                       count(link.group.gpus), count(link.group.nodes), link.from.base(),
                                       std::isfinite(link.below.base()) ? Value{link.below.base()} : Value{},
                                       link.latency.base(), link.bandwidth.base()}});
    }
  return without_empty_columns(table);
}

Json draw_json(const Draw& draw) {
  return {{"idle", draw.idle ? Json(*draw.idle) : Json(nullptr)}, {"peak", draw.peak}};
}

Json device_json(const DeviceSpec& device) {
  Json peak = Json::object();
  for (std::size_t i = 0; i < precision_names.size(); ++i)
    if (device.peak[i]) peak[std::string(precision_names[i])] = device.peak[i]->base();
  Json out{{"name", device.name},
           {"memory_bytes", device.memory.base()},
           {"memory_bandwidth_bytes_per_s", device.memory_bandwidth.base()},
           {"peak_flops_per_s", std::move(peak)}};
  if (device.watts) out["watts"] = draw_json(*device.watts);
  return out;
}

Json measured_json(const MeasuredLinkSpec& link) {
  Json out{{"operation", collective_names[std::size_t(link.operation)]}, {"from_bytes", link.from.base()}};
  if (link.group.gpus) out["gpus"] = link.group.gpus;
  if (link.group.gpus && link.group.nodes > 1) out["nodes"] = link.group.nodes;
  if (std::isfinite(link.below.base())) out["below_bytes"] = link.below.base();
  out["latency_s"] = link.latency.base();
  out["bandwidth_bytes_per_s"] = link.bandwidth.base();
  return out;
}

Json level_json(const LevelSpec& spec, const Level& level) {
  Json out{{"name", spec.name},
           {"size", spec.size},
           {"gpus", std::llround(level.gpus)},
           {"latency_s", spec.latency.base()},
           {"bandwidth_bytes_per_s", spec.bandwidth.base()},
           {"ports", level.ports},
           {"oversubscription", spec.oversubscription}};
  for (const MeasuredLinkSpec& link : spec.measured) out["measured"].push_back(measured_json(link));
  return out;
}

Json host_json(const HostSpec& host) {
  Json out = Json::object();
  if (host.memory) out["memory_bytes"] = host.memory->base();
  if (host.bandwidth) out["bandwidth_bytes_per_s"] = host.bandwidth->base();
  if (host.watts) out["watts"] = draw_json(*host.watts);
  if (host.shared_by > 1) out["shared_by"] = host.shared_by;
  if (host.memory_bandwidth) out["memory_bandwidth_bytes_per_s"] = host.memory_bandwidth->base();
  return out;
}

Json storage_json(const StorageSpec& storage) {
  Json out = Json::object();
  if (storage.capacity) out["capacity_bytes"] = storage.capacity->base();
  if (storage.read) out["read_bytes_per_s"] = storage.read->base();
  return out;
}

Json system_json(const SystemSpec& spec, const Machine& machine) {
  Json out{{"schema", "paradl.system/1"},
           {"version", PARADL_VERSION},
           {"name", spec.name},
           {"summary", spec.summary},
           {"source", spec.origin},
           {"file", spec.source.file},
           {"gpus", std::llround(machine.gpus())},
           {"gpus_per_node", std::llround(machine.gpus_per_node())},
           {"device", device_json(spec.device)},
           {"levels", Json::array()}};
  for (std::size_t i = 0; i < spec.levels.size(); ++i)
    out["levels"].push_back(level_json(spec.levels[i], machine.levels[i]));
  if (spec.host) out["host"] = host_json(*spec.host);
  if (spec.price) out["price"] = {{"per_hour", spec.price->per_hour}, {"currency", spec.price->currency}};
  if (spec.node_storage) out["storage"]["node"] = storage_json(*spec.node_storage);
  if (spec.shared_storage) out["storage"]["shared"] = storage_json(*spec.shared_storage);
  return out;
}

Listing show_system(const Session& session, const std::string& name) {
  const SystemSpec spec = session.catalog.system(name);
  const Machine machine = build_machine(spec);
  Listing out{
      .sections = {{title_line(spec.name, spec.summary), system_facts(spec, machine)},
                   {"", level_lines(spec, machine)}},
      .main = 1,
      .after =
          "`size` counts units of the level before (GPUs on the first level); `ports` is the number of "
          "ports of one such unit.\n",
      .json = system_json(spec, machine)};
  if (Table measured = measured_lines(spec); !measured.rows.empty()) {
    out.sections.push_back(
        {"Measured: latency and bandwidth of one message in the operation's ring", std::move(measured)});
  }
  return out;
}

}  // namespace

void define_systems(const Arguments& root, Session& session, Action& action) {
  define_listing(root, session, action,
                 {.word = "systems",
                  .one = "system",
                  .summary = "the systems: list, or show NAME",
                  .name_help = "name in systems/, or a path",
                  .examples = R"(Examples:
  paradl systems
  paradl systems show abci
  paradl systems -f csv --columns name,devices,memory)",
                  .list = list_systems,
                  .show = show_system,
                  .names = [](const Session& s) { return s.catalog.names(SpecKind::systems); }});
}

}  // namespace paradl
