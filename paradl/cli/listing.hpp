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

/// How people see the counts of a table: "25.6 M" to compare, or "25 557 032" to check.
enum class Digits { three, all };

/// A paragraph, and the table that it stands above. Either may be empty.
struct Section {
  std::string before;
  Table table;
  Digits digits = Digits::three;
};

/// One answer for all formats: sections for people, one of their tables for spreadsheets, JSON for programs.
struct Listing {
  std::vector<Section> sections;
  std::size_t main = 0;    // the section whose table CSV and LaTeX print, and whose columns can be chosen
  std::string after = {};  // a last paragraph for people
  nlohmann::ordered_json json;
};

/// `paradl WORD [list | show NAME]`
struct ListingCommand {
  std::string word, one;  // "models", "model"
  std::string summary, name_help, examples;
  Listing (*list)(const Session&);
  Listing (*show)(const Session&, const std::string& name);
  std::vector<std::string> (*names)(const Session&);  // for the error if `show` was left out
};

void define_listing(const Arguments& root, Session& session, Action& action, const ListingCommand& command);

/// A name and what is to be said of it. A value of several lines takes several rows; an empty one, none.
struct Fact {
  std::string name, value;
};
Table facts_table(const std::vector<Fact>& facts);

/// Adds rows with `add`. A list must not fail because one file does: what `add` throws becomes a row with a
/// footnote.
void add_or_explain(Table& table, const std::string& name, const std::function<void()>& add);

/// "resnet50: 50 layers": the first line of what `show` prints.
std::string title_line(const std::string& name, const std::string& summary);

/// "25 557 032": every digit, where three would not do to check a count.
std::string all_digits(double number);

}  // namespace paradl
