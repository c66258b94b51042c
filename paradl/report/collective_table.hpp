#pragma once
#include <optional>
#include <string>
#include <vector>

#include "paradl/cost/projection.hpp"
#include "paradl/network/fabric.hpp"
#include "paradl/report/answer.hpp"
#include "paradl/report/table.hpp"

namespace paradl {

/// One collective on one network, as data.
struct CollectiveResult {
  std::string operation, algorithm, topology;
  int gpus = 1;
  Bytes bytes;
  NetworkFidelity fidelity = NetworkFidelity::closed_form;
  CollectiveTime cost;
  bool measured_links() const { return cost.specified.has_value(); }  // in the place of specified ones
  std::string stands_in;  // what was measured in the place of this operation
  Bandwidth bus_bandwidth;
  std::optional<Projection::Band> congested;  // beside other jobs; never mixed with `cost`
  std::string chosen;                         // what `auto` would take
  std::string remark;                         // what else to know of it
  std::string refused;                        // why it cannot be done; then the rest says nothing
  std::string wire;                           // the busiest, where there is contention
  bool too_large = false;                     // refused since its messages are too many to be followed
  std::vector<std::string> left_out;          // of the best: who was too large to be in the race
};

/// One row a result: for spreadsheets, and for one algorithm.
Table collective_table(const std::vector<CollectiveResult>& results);
/// Algorithms side by side, with the best and its bus bandwidth.
Table collective_comparison(const std::vector<CollectiveResult>& results);
/// The best algorithm alone for each number of GPUs and size, and how far behind the next one is.
Table best_collectives(const std::vector<CollectiveResult>& results);

/// The results behind that table.
std::vector<CollectiveResult> best_of(const std::vector<CollectiveResult>& results);

/// Schema paradl.collective/1.
std::string collective_json(const std::vector<std::string>& command, const std::vector<InputFile>& inputs,
                            const std::vector<CollectiveResult>& results);
std::string collective_jsonl(const std::vector<CollectiveResult>& results);

}  // namespace paradl
