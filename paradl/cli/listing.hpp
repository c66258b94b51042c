#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "paradl/cli/command.hpp"
#include "paradl/report/table.hpp"

// Shared by the commands that list specs and show one of them: models, systems, profiles, strategies.

namespace paradl {

/// The format of counts in text: "25.6 M" to compare, or "25 557 032" to check.
enum class Digits { three, all };

/// A paragraph and the table below it. Either may be empty.
struct Section {
  std::string before;
  Table table;
  Digits digits = Digits::three;
};

/// One answer for all formats: sections for text, one of their tables for CSV, and JSON.
struct Listing {
  std::vector<Section> sections;
  std::size_t main = 0;    // the section whose table CSV and LaTeX print, and whose columns can be chosen
  std::string after = {};  // the last paragraph of the text
  nlohmann::ordered_json json;
};

/// `paradl WORD [list | show NAME]`
struct ListingCommand {
  std::string word, one;  // "models", "model"
  std::string summary, name_help, examples;
  Listing (*list)(const Session&);
  Listing (*show)(const Session&, const std::string& name);
  std::vector<std::string> (*names)(const Session&);  // for the error message if `show` is missing
};

void define_listing(const Arguments& root, Session& session, Action& action, const ListingCommand& command);

/// A table of names and values. A value of several lines takes several rows; an empty value takes none.
struct Fact {
  std::string name, value;
};
Table facts_table(const std::vector<Fact>& facts);

/// Adds rows with `add`. One wrong file must not make a list fail: an exception of `add` becomes a row with a
/// footnote.
void add_or_explain(Table& table, const std::string& name, const std::function<void()>& add);

/// "resnet50: 50 layers": the first line of what `show` prints.
std::string title_line(const std::string& name, const std::string& summary);

/// "25 557 032": all digits, to check a count.
std::string all_digits(double number);

}  // namespace paradl
