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

/// Options as typed, and the origin of each value: the command line, the environment or a configuration file.
class Options {
 public:
  /// Adds the shared options to a command, except those that would have no effect.
  void define(const Arguments& command, const std::vector<std::string_view>& without = {});
  /// Adds only these of them; --set with `on`, --json and -o with `format`.
  void define_only(
      const Arguments& command, const std::vector<std::string_view>& keys,
      const std::string& output_help = "also write to this file, in the format of its extension; repeatable");

  /// Fills in options that were not typed: from PARADL_* variables, then paradl.yaml here or in a parent
  /// folder, then the user's configuration.
  void complete();

  /// The settings of a configuration file. SpecError for keys that are not options.
  void read_configuration(const SourceText& source);
  static std::vector<std::string> configuration_keys();

  /// Reads a value with `parse`; an error is reported at the origin of the value.
  template <class Parse>
  auto read(const std::string& key, const std::string& fallback, Parse parse) const {
    const std::string text = get(key, fallback);
    try {
      return parse(text);
    } catch (const UsageError& error) {
      blame(key, error);
    }
  }
  /// Throws an error about a value, or about several together. It is reported at the first origin that is not
  /// the command line: a variable, or a place in a file.
  [[noreturn]] void blame(std::initializer_list<std::string_view> keys, const UsageError& error) const;
  [[noreturn]] void blame(std::string_view key, const UsageError& error) const { blame({key}, error); }
  /// UsageError if another option was typed, because it would have no effect.
  void refuse_typed(const std::vector<std::string_view>& but, const std::string& what) const;
  bool typed(const std::string& key) const { return has(key) && values_.at(key).origin == typed_here; }

  bool has(const std::string& key) const { return values_.contains(key) && !values_.at(key).text.empty(); }
  std::string get(const std::string& key, const std::string& fallback = {}) const {
    return has(key) ? values_.at(key).text : fallback;
  }
  void set(const std::string& key, const std::string& text) { values_[key] = {text, typed_here, {}, {}}; }
  const std::vector<std::string>& sets() const { return sets_; }
  const std::vector<std::string>& outputs() const { return outputs_; }
  /// The configuration files that were read.
  const std::vector<std::string>& files() const { return files_; }
  /// The format on stdout. UsageError if it is unknown, or a picture that this command does not have.
  const FormatRow& format(bool draws = false) const;
  /// Whether -f or an -o has this format.
  bool writes(const FormatRow& row) const;
  /// Whether -f or an -o needs this part of the answer.
  bool wants(Prints prints) const;
  /// Whether the answer has limits and bottlenecks of every row: in JSON, or as a column of the table.
  bool wants_bottlenecks() const;
  /// The triggers of limits and bottlenecks: those of the configuration, or the defaults.
  Triggers triggers() const;
  /// The typed options about machine and training, as a command line: " --precision bf16 --set ...". Without
  /// options of the question (GPUs, strategy, grid) and of the output.
  std::string repeated() const;
  /// The origin of a value; none if it was typed or is missing.
  OriginPtr origin(const std::string& key) const;
  /// The query. UsageError or SpecError, at its place, for a value that cannot be read.
  Query query() const;
  /// The text of -v: each setting and its origin.
  std::string origins() const;

 private:
  static constexpr const char* typed_here = "command line";
  struct Entry {
    std::string text, origin = typed_here;
    std::shared_ptr<const SourceText> file = {};  // the file of the value ...
    Spot spot = {};                               // ... and its place there
  };
  std::map<std::string, Entry> values_;
  std::vector<std::string> sets_, outputs_, files_;
  std::map<std::string, double> triggers_;  // of limits and bottlenecks, by key
  bool json_ = false;
};

}  // namespace paradl
