#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "paradl/cost/projection.hpp"

namespace paradl {

/// What is unknown about the input, and which line is missing in which file: "unknown: abci.yaml has no
/// storage.shared.read". Empty if nothing is missing.
std::string input_lack(const Setting& setting, const InputCost& input);

/// How samples are read, in one sentence: "Input of data: 64 GPUs read 7.04 MB each from node storage in 8.80
/// ms; all of it overlaps with the iteration." Empty without --input.
std::string input_sentence(const Setting& setting, const Projection& projection);

/// Each part with its formula and values, for `explain`. Empty without --input.
std::string input_lines(const Setting& setting, const Projection& projection);

/// What makes a data set fit that is too large for node storage: "use --shuffle local on 3 nodes or more, or
/// --input shared". Empty if it fits.
std::string storage_cure(const Setting& setting, const Projection& projection);

/// The `input` of a result.
nlohmann::ordered_json input_json(const Setting& setting, const InputCost& input);

}  // namespace paradl
