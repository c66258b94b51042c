#include "paradl/cli/listing.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "paradl/console/ranges.hpp"
#include "paradl/core/error.hpp"
#include "paradl/report/terminal.hpp"

namespace paradl {
namespace {

/// The words after the command's name.
struct Words {
  std::string verb = "list", name, format, columns;
  bool json = false;
};

std::size_t find_column(const Table& table, const std::string& word) {
  const auto found =
      std::ranges::find_if(table.columns, [&](const Column& c) { return c.id == word || c.title == word; });
  if (found != table.columns.end()) return std::size_t(found - table.columns.begin());
  std::vector<std::string> known;
  for (const Column& column : table.columns) known.push_back(column.id);
  const std::string near = did_you_mean(word, known);
  throw UsageError(fmt::format("no column is called `{}`", word),
                   near.empty() ? "`--columns help` lists them" : near);
}

/// The columns that --columns names, in that order.
Table chosen_columns(const Table& table, const std::string& list) {
  Table chosen{.columns = {}, .rows = table.rows, .notes = table.notes};
  for (Row& row : chosen.rows) row.values.clear();
  for (const std::string& word : split_list(list, ',')) {
    const std::size_t column = find_column(table, word);
    if (std::ranges::find(chosen.columns, table.columns[column].id, &Column::id) != chosen.columns.end())
      throw UsageError(fmt::format("--columns {} names `{}` twice", list, word), "name each column once");
    chosen.columns.push_back(table.columns[column]);
    for (std::size_t r = 0; r < table.rows.size(); ++r)
      chosen.rows[r].values.push_back(value_at(table.rows[r], column));
  }
  if (chosen.columns.empty()) throw UsageError("--columns is empty", "`--columns help` lists them");
  return chosen;
}

/// The section's table as text; CSV has plain numbers.
Table table_for_people(const Section& section) {
  Table table = section.table;
  if (section.digits == Digits::three) return table;
  for (Row& row : table.rows)
    for (std::size_t c = 0; c < row.values.size(); ++c)
      if (const auto* number = std::get_if<double>(&row.values[c]);
          number && table.columns[c].holds == Holds::count)
        row.values[c] = all_digits(*number);
  return table;
}

/// Paragraphs and tables, separated by empty lines.
std::string document(const Listing& listing, const std::function<std::string(const Section&)>& print_table) {
  std::string out;
  const auto add = [&](const std::string& block) {
    if (!block.empty()) out += (out.empty() ? "" : "\n") + block;
  };
  for (const Section& section : listing.sections) {
    add(section.before);
    if (!section.table.rows.empty()) add(print_table(section));
  }
  add(listing.after);
  return out;
}

std::string text_document(const Session& session, const Words& words, const Listing& listing) {
  const Style style = session.style();
  const std::string out = document(listing, [&](const Section& section) {
    // A list may lose columns on a narrow terminal; columns that were requested are always shown.
    const bool may_cut =
        words.verb == "list" && words.columns.empty() && &section == &listing.sections[listing.main];
    const Printed printed =
        to_text(table_for_people(section),
                {.width = may_cut ? style.width : 0, .colour = style.colour, .unicode = style.unicode});
    hint(session, printed.hint);
    return printed.text;
  });
  return style.unicode ? out : ascii(out);
}

std::string render(const Session& session, const Words& words, const Listing& listing) {
  const FormatRow& format = typed_format(words.format, words.json);
  if (format.within_text)
    return document(listing,
                    [&](const Section& section) { return format.within_text(table_for_people(section)); });
  return format.print({.text = [&](const Style&) { return text_document(session, words, listing); },
                       .table = [&](ReadBy) { return listing.sections.at(listing.main).table; },
                       .json = [&] { return listing.json; }},
                      session.style());
}

void print_listing(const Session& session, const Words& words, Listing listing) {
  if (!listing.sections.empty() && !words.columns.empty()) {
    Table& main = listing.sections[listing.main].table;
    if (words.columns == "help") {
      for (const Column& column : main.columns) print(column.id + "\n");
      return;
    }
    if (words.columns != "all") main = chosen_columns(main, words.columns);
  }
  print(render(session, words, listing));
}

[[noreturn]] void refuse_verb(const Session& session, const ListingCommand& command,
                              const std::string& verb) {
  const auto names = command.names(session);
  std::string help = did_you_mean(verb, {"list", "show"});
  if (std::ranges::find(names, verb) != names.end())
    help = fmt::format("write `paradl {} show {}`", command.word, verb);
  if (help.empty()) help = fmt::format("write `paradl {0}`, or `paradl {0} show {1}`", command.word, verb);
  throw UsageError(fmt::format("`{}` is neither `list` nor `show`", verb), help);
}

int run(const Session& session, const ListingCommand& command, const Words& words) {
  const bool list = words.verb == "list";
  if (!list && words.verb != "show") refuse_verb(session, command, words.verb);
  if (list && !words.name.empty())
    throw UsageError(fmt::format("`list` does not take a name, but `{}` follows it", words.name),
                     fmt::format("write `paradl {} show {}`", command.word, words.name));
  if (!list && words.name.empty())
    throw UsageError(fmt::format("`show` needs the name of a {}", command.one),
                     fmt::format("`paradl {}` lists them", command.word));
  print_listing(session, words, list ? command.list(session) : command.show(session, words.name));
  return answered;
}

}  // namespace

void define_listing(const Arguments& root, Session& session, Action& action, const ListingCommand& command) {
  auto words = std::make_shared<Words>();
  const Arguments app = root.add_command(command.word, command.summary);
  app.text("ACTION", words->verb, {.help = "list (the default) or show"});
  app.text("NAME", words->name, {.help = command.name_help});
  app.text("-f,--format", words->format, {.help = format_names(), .meta = "NAME", .once = true});
  app.text("--columns", words->columns,
           {.help = "columns of the table; `all`, or `help` to list them", .meta = "LIST", .once = true});
  app.flag("--json", words->json, {.help = "short for -f json"});
  app.footer(command.examples);
  app.runs(action, [&session, command, words] { return run(session, command, *words); });
}

Table facts_table(const std::vector<Fact>& facts) {
  Table table{.columns = {{"fact", "", Holds::text, 2}, {"value", "", Holds::text, 1}}};
  for (const Fact& fact : facts) {
    std::string name = fact.name;
    for (const std::string& line : split_list(fact.value, '\n'))
      table.rows.push_back({.values = {std::exchange(name, ""), line}});
  }
  return table;
}

void add_or_explain(Table& table, const std::string& name, const std::function<void()>& add) {
  try {
    add();
    return;
  } catch (const SpecError& error) {
    table.notes.push_back(fmt::format("`paradl check {}` shows what is wrong with it", error.file()));
  } catch (const std::runtime_error& error) {
    table.notes.emplace_back(error.what());
  }
  table.rows.push_back(
      {.values = {name}, .emphasis = Emphasis::infeasible, .notes = {int(table.notes.size())}});
}

std::string title_line(const std::string& name, const std::string& summary) {
  return name + (summary.empty() ? "" : ": " + summary) + "\n";
}

std::string all_digits(double number) {
  std::string digits = fmt::format("{:.0f}", number);
  for (std::size_t i = digits.size(); i > 3;) digits.insert(i -= 3, " ");
  return digits;
}

}  // namespace paradl
