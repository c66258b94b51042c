#include "paradl/cli/network_words.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "paradl/console/ranges.hpp"
#include "paradl/core/text.hpp"
#include "paradl/core/units.hpp"
#include "paradl/network/measured_cost.hpp"
#include "paradl/query/case.hpp"
#include "paradl/spec/system_change.hpp"

namespace paradl {
namespace {

template <class Q>
Q read_quantity(const std::string& option, const std::string& text) {
  const auto value = parse<Q>(text);
  if (!value)
    throw UsageError(fmt::format("cannot read --{} {}", option, text), fmt::format("write {}", wanted<Q>()));
  if (!plausible<Q>().holds(value->base()))
    throw UsageError(fmt::format("--{} {}: must be {}", option, text, plausible<Q>().text),
                     fmt::format("write {}", wanted<Q>()));
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

std::string or_else(const std::string& text, const std::string& usual) { return text.empty() ? usual : text; }

WireSpec read_wires(const NetworkWords& words) {
  const std::string latency = or_else(words.latency, "500ns"),
                    bandwidth = or_else(words.bandwidth, "12.5GB/s");
  WireSpec wires{.link = read_link(latency, bandwidth)};
  wires.half_duplex = read_choice("duplex", or_else(words.duplex, "full"), "full", "half");
  wires.routing = read_choice("routing", or_else(words.routing, "minimal"), "minimal", "simgrid")
                      ? Routing::simgrid
                      : Routing::minimal;
  if (!words.inside_latency.empty() || !words.inside_bandwidth.empty())
    wires.inside =
        read_link(or_else(words.inside_latency, latency), or_else(words.inside_bandwidth, bandwidth));
  return wires;
}

std::optional<Watts> read_watts(const std::string& text) {
  if (text.empty()) return {};
  const std::size_t colon = text.find(':');
  const auto number = [](std::string_view word) {
    double value = -1;
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
    return failed == std::errc{} && end == word.data() + word.size() && value <= 1e6 ? value : -1;
  };
  const Watts watts{number(std::string_view(text).substr(0, colon)),
                    colon == text.npos ? -1 : number(std::string_view(text).substr(colon + 1))};
  if (!(watts.idle >= 0 && watts.peak >= 0))
    throw UsageError(fmt::format("--watts {}: not IDLE:PEAK, two numbers", text), "write --watts 8.3:9.5");
  if (watts.peak < watts.idle)
    throw UsageError(fmt::format("--watts {}: the peak is less than idle", text), "write --watts 8.3:9.5");
  return watts;
}

/// The wires of a system are described in its file, so options for wires would have no effect.
void refuse_wires(const NetworkWords& words, const Machine& machine) {
  const std::string level = machine.levels.back().name;
  const auto refuse = [&](const char* option, const std::string& text, const std::string& key) {
    if (!text.empty())
      throw UsageError(fmt::format("--{} {}: the wires of {} are in its file", option, text, machine.name),
                       fmt::format("write --set {}", key));
  };
  refuse("latency", words.latency, fmt::format("levels.{}.latency={}", level, words.latency));
  refuse("bandwidth", words.bandwidth, fmt::format("levels.{}.bandwidth={}", level, words.bandwidth));
  const std::string node = machine.levels.front().name;
  refuse("inside-latency", words.inside_latency,
         fmt::format("levels.{}.latency={}", node, words.inside_latency));
  refuse("inside-bandwidth", words.inside_bandwidth,
         fmt::format("levels.{}.bandwidth={}", node, words.inside_bandwidth));
  refuse("duplex", words.duplex, fmt::format("duplex={}", words.duplex));
  const std::size_t colon = words.watts.find(':');
  refuse("watts", words.watts,
         fmt::format("'levels.{}.watts={{idle: {}, peak: {}}}'", level, words.watts.substr(0, colon),
                     colon == words.watts.npos ? words.watts : words.watts.substr(colon + 1)));
  if (!words.routing.empty() && words.routing != "minimal")
    throw UsageError(fmt::format("--routing {}: a system always has minimal routes", words.routing),
                     "leave it out, or name the network with --topology");
}

/// Options for wires that a network does not have would have no effect either.
void refuse_without_effect(const NetworkWords& words, Routing routing) {
  const std::string& word = words.topology;
  const std::string inner = word.starts_with("optical:") ? word.substr(word.find('+') + 1) : word;
  const bool own = inner.starts_with("tsubame3-authors");
  const auto refuse = [&](const char* option, const std::string& text) {
    if (text.empty()) return;
    throw UsageError(
        fmt::format("--{} {}: {} has {}", option, text, shortened(word),
                    own ? "its own wires" : "no nodes with wires inside"),
        own ? "leave it out" : fmt::format("write {}/nvswitch:4, or leave it out", shortened(word)));
  };
  if (own || inner.find('/', inner.starts_with("graph:") ? inner.size() : 0) == inner.npos) {
    refuse("inside-latency", words.inside_latency);
    refuse("inside-bandwidth", words.inside_bandwidth);
  }
  if (own) {
    refuse("latency", words.latency);
    refuse("bandwidth", words.bandwidth);
    refuse("duplex", words.duplex);
  }
  if (routing == Routing::simgrid && !inner.starts_with("dragonfly:"))
    throw UsageError(
        fmt::format("--routing simgrid: only a dragonfly has two kinds of routes, not {}", shortened(word)),
        "leave it out: other topologies always have SimGrid's routes");
}

/// The network of a machine: the topology that it names, or its levels.
std::shared_ptr<const Topology> network_of_machine(const Machine& machine) {
  if (auto topology = topology_of(machine)) return topology;
  return levels_topology(machine);
}

/// `--topology abci`: a system has a network too.
bool is_system(const Catalog& catalog, const std::string& word) {
  const auto names = catalog.names(SpecKind::systems);
  return word.ends_with(".yaml") || std::ranges::find(names, word) != names.end();
}

/// A crossbar without a number has as many hosts as requested, also with circuits or nodes.
bool is_open(const std::string& word) {
  const std::size_t plus = word.starts_with("optical:") ? word.find('+') : word.npos;
  const std::string_view inner = std::string_view(word).substr(plus == word.npos ? 0 : plus + 1);
  return inner.substr(0, inner.find('/')) == "crossbar";
}

bool is_topology(const std::string& word) {
  try {
    return bool(read_topology(word, read_wires({}), 1));
  } catch (const UsageError&) {
    return false;
  }
}

/// Units as in files, also `KB`, or plain bytes.
Bytes read_bytes(const std::string& text) {
  double plain = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), plain);
  std::optional<Bytes> size;
  if (failed == std::errc{} && end == text.data() + text.size())
    size = Bytes{plain};
  else
    size = parse<Bytes>(text.ends_with("KB") ? text.substr(0, text.size() - 2) + "kB" : text);
  if (size && *size >= Bytes{1} && *size <= Bytes{1e18}) return *size;
  throw UsageError(fmt::format("--size {}: not a size from 1 B to 1000 PB", text),
                   "write --size 100MB, or a range such as 1KB..1GB");
}

}  // namespace

void define_wires(const Arguments& command, NetworkWords& words) {
  command.text("--latency", words.latency, {.help = "latency of a wire; default 500ns", .meta = "TIME"});
  command.text("--bandwidth", words.bandwidth,
               {.help = "bandwidth of a wire; default 12.5GB/s", .meta = "RATE"});
  command.text("--inside-latency", words.inside_latency,
               {.help = "latency of a wire inside a node", .meta = "TIME"});
  command.text("--inside-bandwidth", words.inside_bandwidth,
               {.help = "bandwidth of a wire inside a node", .meta = "RATE"});
  command.text("--duplex", words.duplex,
               {.help = "full (default), or half: both directions share a cable", .meta = "KIND"});
  command.text("--routing", words.routing,
               {.help = "routes of a dragonfly: minimal (default) or simgrid", .meta = "KIND"});
  command.text("--watts", words.watts,
               {.help = "idle and peak power of a cable: adds the energy", .meta = "IDLE:PEAK"});
}

void define_network(const Arguments& command, NetworkWords& words) {
  command.text("--topology", words.topology,
               {.help = "torus:8,8, fattree:2;24,3;1,8;1,1, dln:4,2 ...; `paradl help topologies` lists them",
                .meta = "SPEC"});
  command.text("--placement", words.placement,
               {.help = "hosts of the ranks: consecutive, round-robin, round-robin:K, random:SEED or a file",
                .meta = "RULE"});
  command.text(
      "--per-node", words.per_node,
      {.help = "ranks per node, for hierarchical algorithms; default: from the topology", .meta = "G"});
  define_wires(command, words);
}

Network::Network(const Catalog& catalog, const NetworkWords& words, const Options& options) : words_(words) {
  if (!words.topology.empty() && options.typed("on"))
    throw UsageError("--on and --topology both name a network", "leave one of them out");
  if (words.topology.empty() && !options.has("on"))
    throw UsageError("the network is missing", "add --on abci, or --topology torus:8,8");
  const auto find_system = [&](const std::string& name) {
    if (!Catalog::is_path(name) && !is_system(catalog, name) && is_topology(name))
      throw UsageError(fmt::format("`{}` is a topology, not a system", name),
                       fmt::format("write --topology {}", shell_word(name)));
    return catalog.find(SpecKind::systems, name);
  };
  if (words.topology.empty() || is_system(catalog, words.topology)) {
    Query changed;
    for (const std::string& change : options.sets()) add_change(changed, read_change(change));
    if (!changed.framework_changes.empty())
      throw UsageError("--set framework... has no effect on a network", "leave it out");
    SourceText file =
        words.topology.empty() ? options.read("on", "", find_system) : find_system(words.topology);
    const bool specified = options.get("links") == "ideal" && !changed.system_changes.empty();
    read_system(specified ? read_specified(file, changed.system_changes)
                          : catalog.system(std::move(file), changed.system_changes),
                changed.system_changes.empty());
  } else {
    if (!options.sets().empty())
      throw UsageError(fmt::format("--set {} changes a system file, but {} is a topology",
                                   options.sets().front(), shortened(words.topology)),
                       "use --latency, --bandwidth and so on");
    read_word(words);
  }
  read_links(options);
  if (is_seats_file(words.placement)) {
    seats_ = read_source(words.placement);
    inputs_.push_back({"placement", file_name(*seats_), *seats_});
  }
}

void Network::read_system(const SystemSpec& spec, bool as_in_file) {
  machine_ = std::make_shared<Machine>(build_machine(spec));
  refuse_wires(words_, *machine_);
  topology_ = network_of(spec, *machine_, as_in_file);
  if (!topology_) topology_ = levels_topology(*machine_);
  inputs_.push_back({"system", spec.name, spec.source});
  if (topology_->source())
    inputs_.push_back({"topology", file_name(*topology_->source()), *topology_->source()});
  if (!machine_->congestion) return;
  for (const double factor :
       {machine_->congestion->low, machine_->congestion->typical, machine_->congestion->high}) {
    const auto machine =
        factor == 1 ? machine_ : std::make_shared<const Machine>(congested(*machine_, factor));
    slowed_.push_back({factor == 1 ? topology_ : network_of_machine(*machine), machine});
  }
}

/// `--links`: by default measured ones, if there are any.
void Network::read_links(const Options& options) {
  const bool there = machine_ && has_measured_links(*machine_);
  measured_links_ = there;
  if (!options.has("links")) return;
  measured_links_ = options.read(
      "links", "", [](const std::string& word) { return read_choice("links", word, "ideal", "measured"); });
  if (!measured_links_ || there) return;
  options.blame("links", UsageError(machine_ ? fmt::format("no links were measured on {}", machine_->name)
                                             : "--links measured: a topology has no measured links",
                                    machine_ ? "use --links ideal; `paradl-calibrate links` measures them"
                                             : "use a system, --on abci, or leave it out"));
}

void Network::read_word(const NetworkWords& words) {
  wires_ = read_wires(words);
  refuse_without_effect(words, wires_.routing);
  watts_ = read_watts(words.watts);
  if (is_open(words.topology)) return;
  topology_ = topology(1);
  if (topology_->source())
    inputs_.push_back({"topology", file_name(*topology_->source()), *topology_->source()});
}

std::shared_ptr<const Topology> Network::topology(int ranks) const {
  if (topology_) return topology_;
  auto topology = read_topology(words_.topology, wires_, ranks);
  if (watts_) topology->set_watts(*watts_, *watts_);
  return topology;
}

Fabric Network::fabric(int ranks, int most_ranks) const {
  Fabric fabric;
  fabric.topology = topology(ranks);
  if (ranks > fabric.topology->hosts())
    throw UsageError(
        fmt::format("{} has {} host{}, not {}", fabric.topology->text(), fabric.topology->hosts(),
                    fabric.topology->hosts() == 1 ? "" : "s", ranks),
        fmt::format("use a larger topology, or -p {} or fewer", fabric.topology->hosts()));
  fabric.seats = seats_ ? read_seats(*seats_, ranks, *fabric.topology, most_ranks)
                        : read_seats(words_.placement, ranks, *fabric.topology);
  fabric.per_node = words_.per_node.empty() ? hosts_of_a_switch(*fabric.topology)
                                            : read_count("per-node", words_.per_node, 1, ranks);
  const bool in_order = std::ranges::is_sorted(fabric.seats) && fabric.seats.back() + 1 == ranks;
  if (measured_links_ && in_order && machine_->topology.empty() && words_.per_node.empty())
    fabric.measured = machine_;
  return fabric;
}

std::optional<Bandwidth> Network::memory_bandwidth() const {
  if (!machine_) return {};
  return machine_->device.memory_bandwidth;
}

std::vector<Fabric> Network::slowed(const Fabric& fabric) const {
  std::vector<Fabric> out;
  for (const auto& [topology, machine] : slowed_) {
    out.push_back(fabric);
    out.back().topology = topology;
    if (fabric.measured) out.back().measured = machine;
  }
  return out;
}

std::vector<int> Network::ranks_asked_for(const Options& options) const {
  if (!options.has("gpus")) {
    if (machine_)
      throw UsageError("the number of GPUs is missing", "add -p 64, or a range such as -p 16..1024");
    if (!topology_) throw UsageError("the number of hosts is missing", "add -p 64, or write crossbar:64");
    return {topology_->hosts()};
  }
  return options.read("gpus", "", [&](const std::string& text) {
    if (machine_) return read_gpus(text, *machine_);
    // Read as for a machine of hosts, with nodes if the topology has them.
    constexpr double most_of_a_crossbar = 999'999;  // with its switch a million, the limit for any topology
    const double hosts = topology_ ? topology_->hosts() : most_of_a_crossbar;
    const int node = topology(1)->node_size();
    for (const std::string& item : split_list(text, ','))
      if (const std::size_t x = item.find('x');
          x != item.npos && item.find("..") == item.npos && item.substr(x + 1) != fmt::format("{}", node))
        throw UsageError(
            node == 1 ? fmt::format("-p {}: {} has no nodes", item, shortened(words_.topology))
                      : fmt::format("-p {}: {} has nodes of {} GPUs", item, shortened(words_.topology), node),
            node == 1 ? "write the number of GPUs: -p 64" : fmt::format("write -p 16x{}", node));
    Machine flat{.name = words_.topology};
    flat.levels = {{.name = "node", .gpus = double(node)}, {.name = "network", .gpus = hosts}};
    return read_gpus(text, flat);
  });
}

Bandwidth read_rate(const std::string& option, const std::string& text) {
  return read_quantity<Bandwidth>(option, text);
}

std::string file_name(const SourceText& source) {
  return std::filesystem::path(source.file).filename().string();
}

std::vector<Bytes> read_byte_sizes(const std::string& text) {
  std::vector<Bytes> out;
  const auto add = [&](Bytes size) {
    if (std::ranges::find(out, size) == out.end()) out.push_back(size);
  };
  for (const std::string& item : split_list(text, ',')) {
    const std::size_t dots = item.find("..");
    if (dots == item.npos) {
      add(read_bytes(item));
      continue;
    }
    const std::size_t colon = item.find(':', dots);
    const std::string low = item.substr(0, dots);
    const std::string high = item.substr(dots + 2, colon == item.npos ? item.npos : colon - dots - 2);
    if (low.empty() || high.empty())
      throw UsageError(fmt::format("--size {}: the range has no {}", item, low.empty() ? "start" : "end"),
                       "write --size 1KB..1GB");
    const Bytes first = read_bytes(low), last = read_bytes(high);
    const std::string step = colon == item.npos ? "x2" : item.substr(colon + 1);
    int by = 0;
    const auto [end, failed] = std::from_chars(step.data() + 1, step.data() + step.size(), by);
    if (!step.starts_with('x') || failed != std::errc{} || end != step.data() + step.size() || by < 2)
      throw UsageError(fmt::format("--size {}: the step `{}` must be x2 or more", item, step),
                       "write --size 1KB..1GB:x4");
    if (first > last)
      throw UsageError(fmt::format("the range {} is empty", item), "write the smaller size first");
    for (Bytes size = first; size <= last; size *= by) add(size);
  }
  if (out.empty()) throw UsageError("--size is empty", "write --size 100MB");
  return out;
}

}  // namespace paradl
