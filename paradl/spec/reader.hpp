#pragma once
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "paradl/core/units.hpp"
#include "paradl/spec/document.hpp"

namespace paradl {

/// The YAML of a file; SpecError with the place where it stops being YAML.
YAML::Node parse_yaml(const SourceText& source);
/// The same for those who only read it: equal texts share one tree, which was parsed once.
YAML::Node shared_yaml(const SourceText& source);

/// Whether there is a node and it is a mapping; yaml-cpp throws when a missing node is asked.
bool is_map(const YAML::Node& node);
/// Whether a mapping has a key; yaml-cpp composes a message when it is asked for a missing one.
bool has_key(const YAML::Node& map, std::string_view key);
/// The text of a scalar; empty for anything else.
std::string scalar_text(const YAML::Node& node);

/// Where a node stands, as editors count; yaml-cpp counts from 0.
Spot spot_of(const YAML::Node& node);

/// Reads one YAML mapping, checks each value where it is read, and remembers which keys were asked for, so
/// that finish() can tell a misspelt key from a known one. Mistakes go to `problems`; what was wrong reads as
/// a fallback.
class Reader {
 public:
  /// `what` names the mapping in messages: "a level", "layer `conv1`".
  Reader(YAML::Node map, Problems& problems, std::string what);

  bool has(const std::string& key);
  Spot spot(const std::string& key);  // of the value, or of the mapping where there is no such key
  Spot spot() const { return spot_of(map_); }
  YAML::Node node(const std::string& key);  // undefined where there is no such key

  /// A quantity with its unit, e.g. quantity<Seconds>("latency") reads `latency: 500 ns`. Must be above zero.
  template <class Q>
  Q quantity(const std::string& key) {
    return quantity_or_zero<Q>(key, true);
  }
  template <class Q>
  std::optional<Q> optional(const std::string& key) {
    return has(key) ? std::optional<Q>(quantity<Q>(key)) : std::nullopt;
  }
  /// As quantity(), but zero is a value too (a latency may be).
  template <class Q>
  Q quantity_or_zero(const std::string& key, bool above_zero = false) {
    if (!require(key)) return Q{};
    const auto word = scalar(key);
    if (!word) return Q{};
    const auto value = parse<Q>(*word);
    if (!value)
      wrong(key, "cannot read `" + key + "`", "write " + std::string(wanted<Q>()));
    else if (above_zero && !(value->base() > 0))
      wrong(key, "`" + key + "` must be more than zero", "write " + std::string(wanted<Q>()));
    else if (value->base() != 0 && !plausible<Q>().holds(value->base()))
      wrong(key, "`" + key + "` must be " + std::string(plausible<Q>().text),
            "write " + std::string(wanted<Q>()));
    return value.value_or(Q{});
  }

  std::string text(const std::string& key);
  std::string text(const std::string& key, const std::string& fallback);
  bool flag(const std::string& key, bool fallback);
  double number(const std::string& key, double least, double most, std::optional<double> fallback = {});
  /// A number without a fraction.
  double whole(const std::string& key, double least, double most, std::optional<double> fallback = {});
  std::vector<std::string> words(const std::string& key);  // one word or a list of them
  /// What a list holds; anything else is a mistake.
  std::vector<YAML::Node> items(const std::string& key);

  /// Records a mistake at the value of `key`.
  void wrong(const std::string& key, const std::string& message, const std::string& help);
  /// Records that its number has a fraction, if it has one.
  void demand_whole(const std::string& key, double value);
  /// Records that `key` is missing, if it is.
  bool require(const std::string& key);
  /// Call last: every key left over is a mistake.
  void finish();

 private:
  std::optional<std::string> scalar(const std::string& key);
  bool is_misspelt(const std::string& key) const;
  const YAML::Node* find(const std::string& key) const;

  struct Entry {
    const std::string* key;  // in the node that has it
    YAML::Node value;
  };
  YAML::Node map_;
  std::vector<Entry> entries_;  // those whose key is a word
  Problems& problems_;
  std::string what_;
  std::vector<std::string> known_;
  bool broken_ = false;  // no mapping at all: what it lacks is not worth telling
};

}  // namespace paradl
