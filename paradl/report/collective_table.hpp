#pragma once
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "paradl/cost/projection.hpp"
#include "paradl/network/fabric.hpp"
#include "paradl/report/answer.hpp"
#include "paradl/report/table.hpp"

namespace paradl {

/// One collective on one network, as data.
struct CollectiveResult {
  std::optional<Operation> operation;    // none: a schedule from a file ...
  const Algorithm* algorithm = nullptr;  // ... which has no algorithm either
  std::string topology;
  int gpus = 1;
  Bytes bytes;
  NetworkFidelity fidelity = NetworkFidelity::closed_form;
  CollectiveTime cost;
  std::string operation_text() const { return std::string(operation ? text_of(*operation) : "schedule"); }
  std::string algorithm_text() const { return std::string(algorithm ? algorithm->name : "schedule"); }
  bool measured_links() const { return cost.specified.has_value(); }  // instead of specified ones
  std::string stands_in;  // the measured operation that replaces this one
  Bandwidth bus_bandwidth;
  std::optional<Projection::Band> congested;  // with other jobs on the network; not part of `cost`
  std::string chosen;                         // the choice of `auto`
  std::string remark;                         // a note for the user
  std::string refused;                        // why it is impossible; then the other fields are unset
  std::string wire;                           // the busiest one, if there is contention
  bool too_large = false;                     // refused because it has too many messages to route
  std::vector<std::string> left_out;          // of the best: algorithms that were too large to compare
};

/// One row per result: for spreadsheets, and for a single algorithm.
Table collective_table(const std::vector<CollectiveResult>& results);
/// Algorithms side by side, with the best and its bus bandwidth.
Table collective_comparison(const std::vector<CollectiveResult>& results);
/// Only the best algorithm for each number of GPUs and size, and how much slower the next one is.
Table best_collectives(const std::vector<CollectiveResult>& results);

/// The results in that table.
std::vector<CollectiveResult> best_of(const std::vector<CollectiveResult>& results);

/// Schema paradl.collective/1.
nlohmann::ordered_json collective_json(const std::vector<std::string>& command,
                                       const std::vector<InputFile>& inputs,
                                       const std::vector<CollectiveResult>& results);

}  // namespace paradl
