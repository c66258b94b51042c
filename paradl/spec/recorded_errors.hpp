#pragma once
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/core/names.hpp"
#include "paradl/spec/document.hpp"
#include "paradl/spec/layer_source.hpp"
#include "paradl/spec/precision.hpp"

namespace paradl {

/// By which formulas: the engine's, or the closed forms of the paper.
enum class Fidelity { detailed, paper };
inline constexpr std::array<std::string_view, 2> fidelity_names{"detailed", "paper"};
static_assert(names_every(Fidelity::paper, fidelity_names), "name every Fidelity");

/// Where link times come from.
enum class LinkLevel { ideal, measured };
inline constexpr std::array<std::string_view, 2> link_level_names{"ideal", "measured"};
static_assert(names_every(LinkLevel::measured, link_level_names), "name every LinkLevel");

enum class NetworkKind { convolutional, transformer, other };
inline constexpr std::array<std::string_view, 3> network_kind_names{"convolutional", "transformer", "other"};
static_assert(names_every(NetworkKind::other, network_kind_names), "name every NetworkKind");

/// The inputs of a projection on which its error depends.
struct ParameterLevel {
  LayerSource layers = LayerSource::ideal;
  LinkLevel links = LinkLevel::ideal;
  std::string framework = {};  // "chainermn"
  std::string device = {};     // "V100 SXM2 16GB"
  Precision precision = Precision::fp32;
  NetworkKind networks = NetworkKind::other;
  std::string changed = {};  // options that no measured run had: "--set", "--input"; not recorded
  Fidelity fidelity = Fidelity::detailed;
  friend bool operator==(const ParameterLevel&, const ParameterLevel&) = default;
};

/// Names the record of all strategies together, for strategies without runs of their own.
inline constexpr const char* any_strategy = "any";

/// A run is recorded only if it was wrong by at most this factor; a larger one indicates a mistake elsewhere.
inline constexpr double most_times = 1e6;

/// How far projections of one kind were from measured runs: in nine of ten cases, measured / projected is
/// between `low` and `high`.
struct RecordedError {
  ParameterLevel level;
  std::string strategy;
  double from = 1, below = std::numeric_limits<double>::infinity();  // GPUs
  int runs = 0;
  double mean_accuracy = 0;                 // of projections
  std::optional<double> left_out_accuracy;  // of projections with parameters fitted without these runs
  double least = 1, most = 1;               // measured / projected of these runs
  double low = 1, high = 1;
  Spot spot = {};  // of its strategy in the file
};

/// The file profiles/accuracy/recorded.csv, as `paradl validate --record` writes it. A table, since every
/// answer reads it, and YAML takes forty times as long.
struct RecordedErrors {
  std::string source;
  std::vector<RecordedError> errors;
};
RecordedErrors read_recorded_errors(const SourceText& source);
/// Whether a file of any kind has the columns of a record.
bool is_record(std::string_view text);
std::string recorded_text(const RecordedErrors& recorded);

/// Replaces the records of the levels in `fresh`; the others keep their values and places.
RecordedErrors merged(RecordedErrors old, const std::vector<RecordedError>& fresh, const std::string& origin);

}  // namespace paradl
