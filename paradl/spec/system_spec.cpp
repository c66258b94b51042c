#include "paradl/spec/system_spec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/spec/override.hpp"
#include "paradl/spec/reader.hpp"

namespace paradl {
namespace {

std::optional<Draw> read_draw(Reader& parent, Problems& problems) {
  if (!parent.has("watts")) return {};
  Reader map(parent.node("watts"), problems, "`watts`");
  Draw draw{.idle = {}, .peak = map.number("peak", 0, 1e6)};
  if (map.has("idle")) draw.idle = map.number("idle", 0, 1e6);
  if (draw.idle && map.has("peak") && draw.peak < *draw.idle)
    parent.wrong("watts", "`peak` is less than `idle`", "swap them");
  map.finish();
  return draw;
}

DeviceSpec read_device(Reader& system, Problems& problems) {
  if (!system.require("device")) return {};
  Reader map(system.node("device"), problems, "`device`");
  DeviceSpec device{.name = map.text("name"),
                    .memory = map.quantity<Bytes>("memory"),
                    .memory_bandwidth = map.quantity<Bandwidth>("memory-bandwidth"),
                    .peak = {}};
  if (map.has("multiprocessors")) device.multiprocessors = map.whole("multiprocessors", 1, 1e5);
  device.watts = read_draw(map, problems);
  device.kernels_name = map.text("kernels", "");
  device.kernels_spot = map.spot("kernels");
  if (!device.kernels_name.empty() && !device.multiprocessors)
    map.wrong("kernels", "`kernels` needs `multiprocessors`", "add `multiprocessors: 80`");
  if (map.require("peak")) {
    Reader peak(map.node("peak"), problems, "`peak`");
    bool any = false;
    for (std::size_t i = 0; i < precision_names.size(); ++i) {
      device.peak[i] = peak.optional<FlopRate>(std::string(precision_names[i]));
      any |= device.peak[i].has_value();
    }
    if (!any) map.wrong("peak", "`peak` names no precision", "write {fp32: 15.7 Tflop/s}");
    peak.finish();
  }
  map.finish();
  return device;
}

/// What a level contains.
struct Around {
  bool innermost = true;
  double node = 1;  // GPUs in a node
  double gpus = 1;  // GPUs in one unit of this level
};

/// Reads `gpus: 8` within a node, or `gpus: 16, nodes: 2` across nodes; neither: any group.
MeasuredGroup read_group(Reader& map, const Around& level, Collective operation) {
  if (!map.has("gpus") && !map.has("nodes")) return {};
  bool fits = true;
  const auto whole = [&](const char* key, const char* what, double most) {
    constexpr double any = 1 << 24;
    const double n = map.number(key, 2, any);
    map.demand_whole(key, n);
    if (n > most && fits)
      map.wrong(key, fmt::format("a link was measured on {} {}, but its level has {}", n, what, most),
                "raise `size` of the level, or remove the measurement");
    fits &= n <= most;
    return int(n);
  };
  MeasuredGroup group{.gpus = whole("gpus", "GPUs", level.gpus)};
  if (operation == Collective::point_to_point && group.gpus != 2)
    map.wrong("gpus", "point-to-point is between two GPUs", "write 2, or remove it");
  if (level.innermost) {
    // With one GPU per node, nodes are units of the innermost level, too.
    if (map.has("nodes") && map.number("nodes", 1, group.gpus) != group.gpus)
      map.wrong("nodes", "groups of the innermost level are within one node", "remove `nodes`");
    return group;
  }
  group.nodes = whole("nodes", "nodes", level.gpus / level.node);
  if (!fits) return group;
  if (group.gpus % group.nodes != 0)
    map.wrong("gpus", fmt::format("{} GPUs cannot be divided evenly among {} nodes", group.gpus, group.nodes),
              fmt::format("write a multiple of {}", group.nodes));
  else if (group.per_node() > level.node)
    map.wrong("gpus",
              fmt::format("{} GPUs per node are too many (a node has {})", group.per_node(), level.node),
              fmt::format("write {} or less, or more `nodes`", group.nodes * level.node));
  return group;
}

std::vector<MeasuredLinkSpec> read_measured(Reader& level, const Around& around, Problems& problems) {
  if (!level.has("measured")) return {};
  const YAML::Node list = level.node("measured");
  if (!list.IsSequence()) {
    level.wrong("measured", "`measured` must be a list",
                "write one `- {operation: allreduce, ...}` per range");
    return {};
  }
  std::vector<MeasuredLinkSpec> all;
  for (const YAML::Node& item : list) {
    Reader map(item, problems, "a measured link");
    MeasuredLinkSpec link{.from = map.quantity_or_zero<Bytes>("from"),
                          .latency = map.quantity_or_zero<Seconds>("latency"),
                          .bandwidth = map.quantity<Bandwidth>("bandwidth")};
    link.below = map.optional<Bytes>("below").value_or(link.below);
    const std::string word = map.text("operation");
    const auto operation = find_name<Collective>(collective_names, word);
    if (operation)
      link.operation = *operation;
    else if (!word.empty())
      map.wrong("operation", fmt::format("no operation is called `{}`", word),
                fmt::format("write {}", fmt::join(collective_names, ", ")));
    link.group = read_group(map, around, operation.value_or(Collective::allreduce));
    if (link.below <= link.from) map.wrong("below", "`below` must be more than `from`", "swap them");
    for (const MeasuredLinkSpec& other : all)
      if (operation && other.operation == link.operation && other.group == link.group &&
          link.from < other.below && other.from < link.below)
        map.wrong("from",
                  link.group.gpus ? fmt::format("two ranges of {} on {} GPUs overlap", word, link.group.gpus)
                                  : fmt::format("two ranges of {} overlap", word),
                  "end one with `below` where the next begins");
    map.finish();
    all.push_back(link);
  }
  return all;
}

std::vector<LevelSpec> read_levels(Reader& system, Problems& problems) {
  if (!system.require("levels")) return {};
  std::vector<LevelSpec> levels;
  const YAML::Node list = system.node("levels");
  if (!list.IsSequence() || list.size() == 0 || list.size() > 8) {
    system.wrong("levels", "`levels` must be a list of one to eight levels, innermost first",
                 "write one `- {name: node, size: 4, latency: ..., bandwidth: ...}` per line");
    return {};
  }
  double gpus = 1;
  for (const YAML::Node& item : list) {
    Reader map(item, problems, "a level");
    const double size = map.number("size", 1, most_gpus);
    const Around around{levels.empty(), levels.empty() ? size : levels.front().size, gpus * size};
    LevelSpec level{.name = map.text("name"),
                    .size = int(size),
                    .latency = map.quantity_or_zero<Seconds>("latency"),
                    .bandwidth = map.quantity<Bandwidth>("bandwidth"),
                    .ports = {},
                    .oversubscription = map.number("oversubscription", oversubscription_limits.least,
                                                   oversubscription_limits.most, 1.0),
                    .watts = {},
                    .measured = read_measured(map, around, problems)};
    map.demand_whole("size", size);
    if (map.has("watts")) {
      Reader watts(map.node("watts"), problems, "`watts`");
      const double idle = watts.number("idle", 0, 1e6);
      level.watts = Watts{idle, watts.number("peak", 0, 1e6, idle)};
      if (level.watts->peak < level.watts->idle)
        map.wrong("watts", "`peak` is less than `idle`", "swap them");
      watts.finish();
    }
    if (map.has("ports")) level.ports = map.number("ports", port_limits.least, port_limits.most);
    if (level.ports && map.has("oversubscription"))
      map.wrong("oversubscription",
                "a level cannot have both `ports` and `oversubscription` (each implies the other)",
                "remove one of them");
    for (const LevelSpec& other : levels)
      if (other.name == level.name && !level.name.empty())
        map.wrong("name", fmt::format("two levels are called `{}`", level.name), "rename one of them");
    map.finish();
    gpus *= level.size;
    levels.push_back(std::move(level));
  }
  if (gpus > most_gpus)
    system.wrong("levels", "the sizes multiply to more than 16 M GPUs", "check each `size`");
  return levels;
}

std::optional<StagedSpec> read_staged(Reader& host, Problems& problems) {
  if (!host.has("staged")) return {};
  Reader map(host.node("staged"), problems, "`staged`");
  const StagedSpec staged{.latency = map.quantity_or_zero<Seconds>("latency"),
                          .bandwidth = map.quantity<Bandwidth>("bandwidth"),
                          .copies = map.quantity<Bandwidth>("copies")};
  map.finish();
  return staged;
}

std::optional<StorageSpec> read_storage(Reader& storage, const std::string& key, Problems& problems) {
  if (!storage.has(key)) return {};
  Reader map(storage.node(key), problems, "`" + key + "`");
  StorageSpec spec{.capacity = map.optional<Bytes>("capacity"), .read = map.optional<Bandwidth>("read")};
  map.finish();
  return spec;
}

SystemSpec read(SourceText source, const YAML::Node& root) {
  Problems problems(source);
  SystemSpec spec;
  Reader map(root, problems, "a system file");
  spec.name = map.text("name");
  spec.summary = map.text("summary", "");
  spec.origin = map.text("source", "");
  spec.device = read_device(map, problems);
  spec.levels = read_levels(map, problems);
  if (map.has("congestion")) {
    Reader congestion(map.node("congestion"), problems, "`congestion`");
    CongestionSpec c;
    c.typical = congestion.number("factor", 1, 1e3);
    c.low = congestion.number("low", 1, 1e3, 1.0);
    c.high = congestion.number("high", 1, 1e3, c.typical);
    if (!(c.low <= c.typical && c.typical <= c.high))
      map.wrong("congestion", "`factor` must be between `low` and `high`",
                fmt::format("write low: {} or less, high: {} or more", c.typical, c.typical));
    congestion.text("source", "");
    congestion.finish();
    spec.congestion = c;
  }
  spec.framework = map.text("framework", "");
  spec.topology = map.text("topology", "");
  spec.topology_spot = map.spot("topology");
  if (!spec.topology.empty() && spec.levels.size() > 2)
    map.wrong("topology",
              "a system with a topology can have at most two levels (the topology replaces the outermost)",
              "remove levels, or the topology");
  const std::string duplex = map.text("duplex", "full");
  if (!duplex.empty() && duplex != "full" && duplex != "half")  // text() has reported an empty one
    map.wrong("duplex", "cannot read `duplex`", "write full or half");
  spec.half_duplex = duplex == "half";
  if (map.has("host")) {
    Reader host(map.node("host"), problems, "`host`");
    spec.host = HostSpec{.memory = host.optional<Bytes>("memory"),
                         .bandwidth = host.optional<Bandwidth>("bandwidth"),
                         .shared_by = host.number("shared-by", 1, 64, 1.0),
                         .memory_bandwidth = host.optional<Bandwidth>("memory-bandwidth"),
                         .staged = read_staged(host, problems),
                         .watts = read_draw(host, problems)};
    host.finish();
  }
  if (map.has("storage")) {
    Reader storage(map.node("storage"), problems, "`storage`");
    spec.node_storage = read_storage(storage, "node", problems);
    spec.shared_storage = read_storage(storage, "shared", problems);
    storage.finish();
  }
  if (map.has("price")) {
    const std::string word = map.text("price");
    spec.price = parse_price(word);
    if (!spec.price && !word.empty())
      map.wrong("price", "cannot read `price`", fmt::format("write {}", wanted_price));
  }
  map.finish();
  problems.raise();
  spec.source = std::move(source);
  return spec;
}

/// What to type instead of overrides that measured links contradict; nothing if these are not the reason.
std::string without_measured_links(const SourceText& source, const YAML::Node& root) {
  if (!root["levels"].IsSequence()) return {};
  try {
    for (YAML::Node level : root["levels"]) level.remove("measured");
    read(source, root);
  } catch (const SpecError&) {
    return {};
  }
  return "add --links ideal to use the specified links, or give it another value";
}

}  // namespace

SystemSpec read_system(SourceText source, const std::vector<Override>& overrides) {
  SystemSpec spec = read(source, shared_yaml(source));  // reports mistakes of the file itself first
  if (overrides.empty()) return spec;
  const YAML::Node root = parse_yaml(source);
  apply(overrides, root, "system file", "device.memory or levels.node.bandwidth");
  try {
    return read(source, root);
  } catch (const SpecError& error) {
    const Problem& first = error.problems().front();
    const std::string help = without_measured_links(source, root);
    throw UsageError(fmt::format("{}: {}", text_of(overrides), first.message),
                     help.empty() ? first.help : help);
  }
}

}  // namespace paradl
