// paradl topology show: what a network is made of.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "paradl/cli/command.hpp"
#include "paradl/cli/listing.hpp"
#include "paradl/cli/network_words.hpp"
#include "paradl/report/topology_picture.hpp"

namespace paradl {
namespace {

using Json = nlohmann::ordered_json;

struct Words {
  std::string verb, spec, draw;
  NetworkWords network;
  Options options;
};

int run(const Session& session, Words& words) {
  words.options.complete();
  if (words.verb != "show")
    throw UsageError(fmt::format("`{}` is not known here", words.verb),
                     "write paradl topology show torus:8,8");
  // A name without numbers may be a system: its levels are a topology, too.
  const auto systems = session.catalog.names("systems");
  const bool system =
      words.spec.find(':') == words.spec.npos && std::ranges::find(systems, words.spec) != systems.end();
  if (system || words.spec.ends_with(".yaml"))
    words.options.set("on", words.spec);
  else
    words.network.topology = words.spec;
  const int hosts =
      words.spec == "crossbar" ? ranks_asked_for(session.catalog, words.network, words.options).front() : 1;
  const auto topology = make_topology(session.catalog, words.network, words.options, hosts);
  const TopologyFacts facts = facts_of(*topology);
  if (!words.draw.empty()) write_file(words.draw, topology_svg(*topology));

  const auto text = [](const std::optional<int>& n) {
    return n ? fmt::format("{}", *n) : std::string("too large to count");
  };
  const Table table =
      facts_table({{"hosts", fmt::format("{}", facts.hosts)},
                   {"switches", fmt::format("{}", facts.switches)},
                   {"cables", fmt::format("{}", facts.cables)},
                   {"diameter", text(facts.diameter)},
                   {"bisection", facts.bisection ? text(facts.bisection) + " cables" : text({})}});
  deliver(session, words.options, [&](const std::string& format, Style style) -> std::string {
    if (format == "json") {
      Json out{{"schema", "paradl.topology/1"},
               {"topology", topology->text()},
               {"hosts", facts.hosts},
               {"switches", facts.switches},
               {"cables", facts.cables}};
      out["diameter"] = facts.diameter ? Json(*facts.diameter) : Json();
      out["bisection_cables"] = facts.bisection ? Json(*facts.bisection) : Json();
      return json_text(out);
    }
    if (format != "text") return render_table(format, table);
    return topology->text() + "\n\n" + to_text(table, style).text;
  });
  return answered;
}

}  // namespace

void define_topology(const Arguments& root, Session& session, Action& action) {
  auto words = std::make_shared<Words>();
  const Arguments command =
      root.add_command("topology", "show SPEC: hosts, switches, cables, diameter, bisection");
  command.text("ACTION", words->verb, {.help = "show", .required = true});
  command.text("SPEC", words->spec,
               {.help = "torus:8,8, dln:4,2 ... or the name of a system", .required = true});
  define_network(command, words->network);
  command.text("--draw", words->draw, {.help = "draw it there", .meta = "FILE.svg"});
  words->options.define_only(command, {"gpus", "format"});
  command.footer(R"(Examples:
  paradl topology show torus:8,8 --draw torus.svg
  paradl topology show "fattree:2;24,3;1,8;1,1"
  paradl topology show abci --json)");
  command.when_chosen(
      [&session, &action, words] { action = [&session, words] { return run(session, *words); }; });
}

}  // namespace paradl
