#pragma once
#include <string>

#include "calibrate/measure/layer_rounds.hpp"
#include "paradl/console/arguments.hpp"
#include "paradl/query/query.hpp"
#include "paradl/workload/workload.hpp"

namespace paradl::calibrate {

// Values of options that several commands have. UsageError for what cannot be read.

/// `60s`.
Seconds read_seconds(const std::string& name, const std::string& text);
/// `256MB`.
Bytes read_bytes(const std::string& name, const std::string& text);

/// `32` samples, `32/gpu`; by default the model file's batch per rank.
BatchRule layer_batch(const Query& query, const Workload& work);
/// Samples of all ranks together: `16`, `8/gpu`, `16/node`; by default the model file's batch on each rank.
std::int64_t samples_of(const Query& query, const Workload& work, const std::vector<int>& nodes);

/// When layers are measured well enough, as typed.
struct LayerRuleWords {
  std::string noise, least, time, rounds;
  void define(const Arguments& command);
  LayerRule read() const;
};

/// Paths of a model's file and its bases.
std::vector<std::string> files_of(const ModelSpec& model);

/// UsageError unless it can be the name of a file without quotes: letters, digits, - _ . +
void check_name(const std::string& name);

}  // namespace paradl::calibrate
