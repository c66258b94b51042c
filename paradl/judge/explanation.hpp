#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "paradl/judge/exchange_lines.hpp"

namespace paradl {

/// A term of the epoch.
struct TermLine {
  Term term;
  Seconds epoch;
  std::string_view formula, source;
};

/// A link whose α and β the formulas use.
struct UsedLink {
  std::string_view suffix, level;  // "" or "_in"
  Link link;
  std::optional<double> phi = {};   // if the formulas have one φ
  const Level* measured = nullptr;  // then α and β depend on operation and size
};

/// The layers of one cell, for one iteration.
struct CellLine {
  Seconds forward, backward, update, exchange, halo;  // `backward` includes recomputation
  Bytes gradient;
  std::vector<ExchangeLine> exchanges;
  Seconds total() const { return forward + backward + update + exchange + halo; }
};

struct LayerLine {
  const Layer* layer;
  std::vector<std::pair<std::string_view, std::string_view>> roles;  // by axis
  std::size_t cell;                                                  // index into Explanation::cells
};

/// What happens to each block out of core, and how long its passes wait for copies.
struct BlockLine {
  OutOfCoreBlock block;
  std::string layers;  // "conv1", "layer1.0.relu3 to layer1.1.add"
  Fate fate;
  Seconds stall;
};

/// The plan of a stage out of core, what its streams do, and what simpler plans would take.
struct OutOfCoreAccount {
  HostShare host;
  WeightHome home;
  OutOfCoreClock::Time time;
  std::vector<BlockLine> blocks;
  std::vector<OutOfCoreEvent> events;
  PricedOutOfCore::Others others;
};
OutOfCoreAccount account_of(const Workload& work, const PricedOutOfCore& priced);

/// Everything that an explanation of a projection prints, complete before it is printed.
struct Explanation {
  bool paper = false;  // by the paper's closed forms: terms and links only
  std::vector<TermLine> terms;
  std::vector<UsedLink> links;
  int stages = 1;
  std::vector<ExchangeLine> exchanges;               // the most expensive first
  std::vector<CellLine> cells;                       // if layers were asked for
  std::vector<LayerLine> layers;                     // in the order of the network
  std::optional<OutOfCoreAccount> out_of_core = {};  // if there is such a plan
  std::vector<std::string> whole_layers;             // that run whole on every GPU of an axis
  std::string whole_layers_text;
  std::vector<std::string> notes;
};

/// From one evaluation of the projection's plan.
Explanation explain(const Projection& projection, const Evaluation& evaluation, bool layers);
Explanation explain_paper(const Setting& setting, const Projection& projection);

}  // namespace paradl
