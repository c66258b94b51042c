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

/// Parses the YAML of a file. SpecError gives the place of a syntax error.
YAML::Node parse_yaml(const SourceText& source);
/// The same for callers that do not change it: equal texts share one tree.
YAML::Node shared_yaml(const SourceText& source);

/// Whether a node exists and is a mapping; for a missing node yaml-cpp would throw.
bool is_map(const YAML::Node& node);
/// Whether a mapping has a key; faster than yaml-cpp's lookup, which builds a message for a missing one.
bool has_key(const YAML::Node& map, std::string_view key);
/// The text of a scalar; empty for anything else.
std::string scalar_text(const YAML::Node& node);

/// The place of a node, counted from 1 as editors do; yaml-cpp counts from 0.
Spot spot_of(const YAML::Node& node);

/// Reads one YAML mapping, checks each value where it is read, and remembers which keys were read, so that
/// finish() can report unknown keys. Mistakes are added to `problems`, and the caller gets a fallback value.
class Reader {
 public:
  /// `what` names the mapping in messages: "a level", "layer `conv1`".
  Reader(YAML::Node map, Problems& problems, std::string what);

  bool has(const std::string& key);
  Spot spot(const std::string& key);  // of the value, or of the mapping if it has no such key
  Spot spot() const { return spot_of(map_); }
  YAML::Node node(const std::string& key);  // undefined if there is no such key

  /// A quantity with its unit, e.g. quantity<Seconds>("latency") reads `latency: 500 ns`. Must be above zero.
  template <class Q>
  Q quantity(const std::string& key) {
    return quantity_or_zero<Q>(key, true);
  }
  template <class Q>
  std::optional<Q> optional(const std::string& key) {
    return has(key) ? std::optional<Q>(quantity<Q>(key)) : std::nullopt;
  }
  /// Like quantity(), but zero is allowed (as a latency may be).
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
  /// A whole number.
  double whole(const std::string& key, double least, double most, std::optional<double> fallback = {});
  std::vector<std::string> words(const std::string& key);  // one word or a list of them
  /// The items of a list; anything but a list is a mistake.
  std::vector<YAML::Node> items(const std::string& key);

  /// Records a mistake at the value of `key`.
  void wrong(const std::string& key, const std::string& message, const std::string& help);
  /// Records a mistake if the number is not whole.
  void demand_whole(const std::string& key, double value);
  /// Records a mistake if `key` is missing.
  bool require(const std::string& key);
  /// Call last: records every key that was not read as a mistake.
  void finish();

 private:
  std::optional<std::string> scalar(const std::string& key);
  bool is_misspelt(const std::string& key) const;
  const YAML::Node* find(const std::string& key) const;

  struct Entry {
    const std::string* key;  // points into the node
    YAML::Node value;
  };
  YAML::Node map_;
  std::vector<Entry> entries_;  // entries whose key is a word
  Problems& problems_;
  std::string what_;
  std::vector<std::string> known_;
  bool broken_ = false;  // not a mapping: missing keys are not reported as well
};

}  // namespace paradl
