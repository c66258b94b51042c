#pragma once
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/console/arguments.hpp"
#include "paradl/judge/bottleneck.hpp"
#include "paradl/query/query.hpp"
#include "paradl/report/formats.hpp"

namespace paradl {

/// Options as typed, and where each value came from: the command line, the environment or a configuration
/// file.
class Options {
 public:
  /// Adds the shared options to a command, except those that would have no effect.
  void define(const Arguments& command, const std::vector<std::string_view>& without = {});
  /// Only these of them, and how to answer; --set only with `on`.
  void define_only(
      const Arguments& command, const std::vector<std::string_view>& keys,
      const std::string& output_help = "also write there; format from the extension; repeatable");

  /// Fills what the command line left open: PARADL_* variables, then paradl.yaml here or above, then the
  /// user's own.
  void complete();

  /// What a configuration file sets. SpecError for keys that are not options.
  void read_configuration(const SourceText& source);
  static std::vector<std::string> configuration_keys();

  /// Reads a value with `parse`; what that refuses is blamed on where the value came from.
  template <class Parse>
  auto read(const std::string& key, const std::string& fallback, Parse parse) const {
    const std::string text = get(key, fallback);
    try {
      return parse(text);
    } catch (const UsageError& error) {
      blame(key, error);
    }
  }
  /// Throws what is wrong with a value, or with several together, as of where the first of them that was not
  /// typed came from: a variable, or the place in a file.
  [[noreturn]] void blame(std::initializer_list<std::string_view> keys, const UsageError& error) const;
  [[noreturn]] void blame(std::string_view key, const UsageError& error) const { blame({key}, error); }
  /// UsageError if anything else was typed: it would have no effect.
  void refuse_typed(const std::vector<std::string_view>& but, const std::string& what) const;
  bool typed(const std::string& key) const { return has(key) && values_.at(key).origin == typed_here; }

  bool has(const std::string& key) const { return values_.contains(key) && !values_.at(key).text.empty(); }
  std::string get(const std::string& key, const std::string& fallback = {}) const {
    return has(key) ? values_.at(key).text : fallback;
  }
  void set(const std::string& key, const std::string& text) { values_[key] = {text, typed_here, {}, {}}; }
  const std::vector<std::string>& sets() const { return sets_; }
  const std::vector<std::string>& outputs() const { return outputs_; }
  /// The format on stdout. UsageError for one that is not known, or a picture if there is none.
  const FormatRow& format(bool draws = false) const;
  /// Whether -f or some -o is of this format.
  bool writes(const FormatRow& row) const;
  /// Whether -f or some -o needs this of the answer.
  bool wants(Prints prints) const;
  /// Whether the answer shows limits and bottlenecks of every row: in JSON, or as a column of the table.
  bool wants_bottlenecks() const;
  /// The values from which limits and bottlenecks are reported: the configuration's, or those shipped.
  Triggers triggers() const;
  bool json() const { return json_; }
  /// What was typed about machine and training, as it would be typed again: " --precision bf16 --set ...".
  /// What was asked (GPUs, strategy, grid) and how to answer are left out.
  std::string repeated() const;
  /// Where a value came from; none: it was typed, or there is none.
  OriginPtr origin(const std::string& key) const;
  /// What was asked. UsageError or SpecError, at its place, for a value that cannot be read.
  Query query() const;
  /// What -v prints: each setting and its origin.
  std::string origins() const;

 private:
  static constexpr const char* typed_here = "command line";
  struct Entry {
    std::string text, origin = typed_here;
    std::shared_ptr<const SourceText> file = {};  // the one that has it ...
    Spot spot = {};                               // ... and where
  };
  std::map<std::string, Entry> values_;
  std::vector<std::string> sets_, outputs_;
  std::map<std::string, double> triggers_;  // of limits and bottlenecks, by key
  bool json_ = false;
};

}  // namespace paradl
