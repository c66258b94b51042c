// paradl topology show: the parts and properties of a network.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "paradl/cli/command.hpp"
#include "paradl/cli/listing.hpp"
#include "paradl/cli/network_words.hpp"
#include "paradl/core/format.hpp"
#include "paradl/report/json.hpp"
#include "paradl/report/topology_picture.hpp"

namespace paradl {
namespace {

using Json = nlohmann::ordered_json;

struct Words {
  std::string verb, spec, draw;
  NetworkWords network;
  Options options;
};

/// The power of all cables together.
Watts watts_of(const Topology& topology) {
  Watts sum;
  for (std::size_t w = 0; w < topology.wires().size(); w += topology.half_duplex() ? 1 : 2)
    sum.idle += topology.wires()[w].idle, sum.peak += topology.wires()[w].peak;
  return sum;
}

std::string watts_text(const Watts& watts) {
  return watts.peak > 0
             ? fmt::format("{} idle, {} at peak", three_digits(watts.idle), three_digits(watts.peak))
             : "";
}

std::string bandwidth_text(const TopologyFacts& facts, const Topology& topology) {
  if (!facts.bisection_bandwidth) return "too large to count";
  return fmt::format("{} {}", text(*facts.bisection_bandwidth),
                     topology.half_duplex() ? "in both directions together" : "in each direction");
}

/// One row of plain numbers, for CSV.
Table numbers_table(const Topology& topology, const TopologyFacts& facts, const Watts& watts) {
  Table table{.columns = {{"topology", "topology", Holds::text},
                          {"hosts", "hosts", Holds::count},
                          {"switches", "switches", Holds::count},
                          {"cables", "cables", Holds::count},
                          {"diameter", "diameter", Holds::count},
                          {"bisection_cables", "bisection", Holds::count},
                          {"bisection_bandwidth", "bisection bandwidth", Holds::bandwidth},
                          {"watts_idle", "watts idle", Holds::count},
                          {"watts_peak", "watts at peak", Holds::count},
                          {"duplex", "duplex", Holds::text}}};
  const auto count = [](const std::optional<int>& n) { return n ? Value{double(*n)} : Value{}; };
  const auto known = [&](double value) { return watts.peak > 0 ? Value{value} : Value{}; };
  table.rows.push_back(
      {.values = {topology.text(), double(facts.hosts), double(facts.switches), double(facts.cables),
                  count(facts.diameter), count(facts.bisection),
                  facts.bisection_bandwidth ? Value{facts.bisection_bandwidth->base()} : Value{},
                  known(watts.idle), known(watts.peak),
                  std::string(topology.half_duplex() ? "half" : "full")}});
  return table;
}

int run(const Session& session, Words& words) {
  words.options.complete();
  if (words.verb != "show")
    throw UsageError(fmt::format("unknown action `{}`", words.verb), "write paradl topology show torus:8,8");
  if (words.spec.empty()) throw UsageError("which topology?", "write paradl topology show torus:8,8");
  demand_svg(words.draw);
  // A name without numbers may be a system: its levels are a topology too.
  const auto systems = session.catalog.names(SpecKind::systems);
  const bool system =
      words.spec.find(':') == words.spec.npos && std::ranges::find(systems, words.spec) != systems.end();
  if (system || words.spec.ends_with(".yaml"))
    words.options.set("on", words.spec);
  else
    words.network.topology = words.spec;
  const Network network(session.catalog, words.network, words.options);
  const bool open = !network.topology_known();
  if (!open && words.options.typed("gpus"))
    throw UsageError(
        fmt::format("-p {}: {} has its own number of hosts", words.options.get("gpus"), words.spec),
        "leave it out");
  const auto topology = network.topology(open ? network.ranks_asked_for(words.options).front() : 1);
  const TopologyFacts facts = facts_of(*topology);
  const Watts watts = watts_of(*topology);
  AnswerFiles files{.read = files_of(network.inputs())};
  if (!words.draw.empty()) files.more.push_back({words.draw, topology_svg(*topology)});

  const auto number = [](const std::optional<int>& n) {
    return n ? fmt::format("{}", *n) : std::string("too large to count");
  };
  const Table table =
      facts_table({{"hosts", fmt::format("{}", facts.hosts)},
                   {"switches", fmt::format("{}", facts.switches)},
                   {"cables", fmt::format("{}", facts.cables)},
                   {"diameter", number(facts.diameter)},
                   {"bisection", facts.bisection ? number(facts.bisection) + " cables" : number({})},
                   {"bisection bandwidth", bandwidth_text(facts, *topology)},
                   {"watts", watts_text(watts)}});
  const auto json = [&] {
    Json out = json_header("paradl.topology/1", session.arguments, network.inputs());
    out["topology"] = topology->text();
    out["hosts"] = facts.hosts;
    out["switches"] = facts.switches;
    out["cables"] = facts.cables;
    out["diameter"] = facts.diameter ? Json(*facts.diameter) : Json();
    out["bisection_cables"] = facts.bisection ? Json(*facts.bisection) : Json();
    out["bisection_bandwidth_bytes_per_s"] =
        facts.bisection_bandwidth ? Json(facts.bisection_bandwidth->base()) : Json();
    if (watts.peak > 0) out["watts"] = {{"idle", watts.idle}, {"peak", watts.peak}};
    out["duplex"] = topology->half_duplex() ? "half" : "full";
    return out;
  };
  deliver(session, words.options,
          {.text = [&](const Style& style) { return topology->text() + "\n\n" + to_text(table, style).text; },
           .table =
               [&](ReadBy reader) {
                 return reader == ReadBy::machines ? numbers_table(*topology, facts, watts) : table;
               },
           .json = json},
          files);
  return answered;
}

}  // namespace

void define_topology(const Arguments& root, Session& session, Action& action) {
  auto words = std::make_shared<Words>();
  const Arguments command =
      root.add_command("topology", "show SPEC: hosts, switches, cables, diameter, bisection");
  command.text("ACTION", words->verb, {.help = "show", .required = true});
  command.text("SPEC", words->spec, {.help = "torus:8,8, dln:4,2 ... or the name of a system"});
  define_wires(command, words->network);
  command.text("--draw", words->draw, {.help = "draw it to this file", .meta = "FILE.svg"});
  words->options.define_only(command, {"gpus", "format"});
  command.footer(R"(Examples:
  paradl topology show torus:8,8 --draw torus.svg
  paradl topology show "fattree:2;24,3;1,8;1,1"
  paradl topology show abci --json)");
  command.runs(action, [&session, words] { return run(session, *words); });
}

}  // namespace paradl
