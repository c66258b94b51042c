#include "paradl/cli/network_words.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "paradl/cli/ranges.hpp"
#include "paradl/core/units.hpp"

namespace paradl {
namespace {

template <class Q>
Q read_quantity(const std::string& option, const std::string& text) {
  const auto value = parse<Q>(text);
  if (!value)
    throw UsageError(fmt::format("--{} {}: cannot read it", option, text),
                     fmt::format("write {}", wanted<Q>()));
  if (!plausible<Q>().holds(value->base()))
    throw UsageError(fmt::format("--{} {}: must be {}", option, text, plausible<Q>().text));
  return *value;
}

bool read_choice(const std::string& option, const std::string& text, const char* no, const char* yes) {
  if (text != no && text != yes)
    throw UsageError(fmt::format("--{} {}: not known", option, text), fmt::format("use {} or {}", no, yes));
  return text == yes;
}

Link read_link(const std::string& latency, const std::string& bandwidth) {
  return {latency == "0" ? Seconds{} : read_quantity<Seconds>("latency", latency),
          1.0 / read_quantity<Bandwidth>("bandwidth", bandwidth)};
}

WireSpec read_wires(const NetworkWords& words) {
  WireSpec wires{.link = read_link(words.latency, words.bandwidth)};
  wires.half_duplex = read_choice("duplex", words.duplex, "full", "half");
  wires.routing =
      read_choice("routing", words.routing, "minimal", "simgrid") ? Routing::simgrid : Routing::minimal;
  if (!words.inside_latency.empty() || !words.inside_bandwidth.empty())
    wires.inside = read_link(words.inside_latency.empty() ? words.latency : words.inside_latency,
                             words.inside_bandwidth.empty() ? words.bandwidth : words.inside_bandwidth);
  return wires;
}

/// What joins the GPUs of a system: the topology that it names, or its levels.
std::shared_ptr<const Topology> system_network(const Catalog& catalog, const std::string& name,
                                               const std::vector<std::string>& sets) {
  const SystemSpec spec = catalog.system(name, read_overrides(sets));
  const Machine machine = build_machine(spec);
  if (auto topology = network_of(spec, machine)) return topology;
  return levels_topology(machine);
}

/// `--topology abci`: a system has a network, too.
bool is_system(const Catalog& catalog, const std::string& word) {
  const auto names = catalog.names("systems");
  return word.ends_with(".yaml") || std::ranges::find(names, word) != names.end();
}

/// Units as in files, `KB` besides, or plain bytes.
Bytes read_bytes(std::string text) {
  double plain = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), plain);
  if (failed == std::errc{} && end == text.data() + text.size() && plain >= 1 && plain <= 1e18)
    return Bytes{plain};
  if (text.ends_with("KB")) text[text.size() - 2] = 'k';
  return read_quantity<Bytes>("size", text);
}

}  // namespace

void define_network(const Arguments& command, NetworkWords& words) {
  command.text("--topology", words.topology,
               {.help = "torus:8,8, fattree:2;24,3;1,8;1,1, dln:4,2 ...; `paradl help topologies` lists them",
                .meta = "SPEC"});
  command.text("--watts", words.watts,
               {.help = "of a cable, idle and at its peak: adds joules", .meta = "IDLE:PEAK"});
  command.text("--latency", words.latency, {.help = "of a wire; default 500ns", .meta = "TIME"});
  command.text("--bandwidth", words.bandwidth, {.help = "of a wire; default 12.5GB/s", .meta = "RATE"});
  command.text("--inside-latency", words.inside_latency, {.help = "of a wire inside a node", .meta = "TIME"});
  command.text("--inside-bandwidth", words.inside_bandwidth,
               {.help = "of a wire inside a node", .meta = "RATE"});
  command.text("--duplex", words.duplex,
               {.help = "full, or half: both directions share a cable", .meta = "KIND"});
  command.text("--routing", words.routing, {.help = "of a dragonfly: minimal or simgrid", .meta = "KIND"});
  command.text("--placement", words.placement,
               {.help = "consecutive, round-robin:K, random:SEED or a file", .meta = "RULE"});
  command.text(
      "--per-node", words.per_node,
      {.help = "ranks of a node, for hierarchical algorithms; default: the topology's own", .meta = "G"});
}

std::shared_ptr<const Topology> make_topology(const Catalog& catalog, const NetworkWords& words,
                                              const Options& options, int ranks) {
  if (!words.topology.empty() && options.typed("on"))
    throw UsageError("--on and --topology both name a network", "leave one of them out");
  if (!words.topology.empty() && is_system(catalog, words.topology))
    return system_network(catalog, words.topology, options.sets());
  if (words.topology.empty() && !options.has("on"))
    throw UsageError("on which network?", "add --on abci, or --topology torus:8,8");
  if (!words.topology.empty()) {
    auto topology = read_topology(words.topology, read_wires(words), ranks);
    if (!words.watts.empty()) {
      const std::size_t colon = words.watts.find(':');
      if (colon == words.watts.npos)
        throw UsageError(fmt::format("--watts {}: not IDLE:PEAK", words.watts), "write --watts 8.3:9.5");
      const double idle = read_number("watts", words.watts.substr(0, colon), 0, 1e6),
                   peak = read_number("watts", words.watts.substr(colon + 1), 0, 1e6);
      if (peak < idle)
        throw UsageError(fmt::format("--watts {}: the peak is less than idle", words.watts),
                         "write --watts 8.3:9.5");
      topology->set_watts({idle, peak}, {idle, peak});
    }
    return topology;
  }
  return system_network(catalog, options.get("on"), options.sets());
}

Fabric make_fabric(const Catalog& catalog, const NetworkWords& words, const Options& options, int ranks) {
  Fabric fabric;
  fabric.topology = make_topology(catalog, words, options, ranks);
  if (ranks > fabric.topology->hosts())
    throw UsageError(
        fmt::format("{} has {} hosts, not {}", fabric.topology->text(), fabric.topology->hosts(), ranks),
        fmt::format("use -p {} or fewer", fabric.topology->hosts()));
  fabric.seats = read_seats(words.placement, ranks, *fabric.topology);
  fabric.per_node = words.per_node.empty() ? hosts_of_a_switch(*fabric.topology)
                                           : read_count("per-node", words.per_node, 1, ranks);
  return fabric;
}

std::vector<int> ranks_asked_for(const Catalog& catalog, const NetworkWords& words, const Options& options) {
  if (!options.has("gpus") && words.topology.empty())
    throw UsageError("how many GPUs?", "add -p 64, or a range such as -p 16..1024");
  const bool open = words.topology == "crossbar";
  if (!options.has("gpus") && open) throw UsageError("how many hosts?", "add -p 64, or write crossbar:64");
  if (!options.has("gpus")) return {make_topology(catalog, words, options, 1)->hosts()};
  return options.read("gpus", "", [&](const std::string& text) {
    if (words.topology.empty())
      return read_gpus(text,
                       build_machine(catalog.system(options.get("on"), read_overrides(options.sets()))));
    const double hosts = open ? 1 << 20 : make_topology(catalog, words, options, 1)->hosts();
    Machine flat{.name = words.topology};
    flat.levels = {{.name = "node", .gpus = hosts}};
    return read_gpus(text, flat);
  });
}

std::vector<Bytes> read_byte_sizes(const std::string& text) {
  std::vector<Bytes> out;
  for (const std::string& item : split_list(text, ',')) {
    const std::size_t dots = item.find("..");
    if (dots == item.npos) {
      out.push_back(read_bytes(item));
      continue;
    }
    const std::size_t colon = item.find(':', dots);
    const Bytes first = read_bytes(item.substr(0, dots));
    const Bytes last = read_bytes(item.substr(dots + 2, colon == item.npos ? item.npos : colon - dots - 2));
    const std::string step = colon == item.npos ? "x2" : item.substr(colon + 1);
    if (!step.starts_with('x'))
      throw UsageError(fmt::format("--size {}: cannot read the step", item), "write 1KB..1GB:x4");
    const double by = read_count("size", step.substr(1), 2, 1'000'000);
    if (first > last)
      throw UsageError(fmt::format("the range {} is empty", item), "write the smaller size first");
    for (Bytes size = first; size <= last; size *= by) out.push_back(size);
  }
  if (out.empty()) throw UsageError("--size names none", "write --size 100MB");
  return out;
}

}  // namespace paradl
