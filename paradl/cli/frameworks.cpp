// paradl frameworks: lists the frameworks, and shows the terms of one.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "paradl/cli/listing.hpp"

namespace paradl {
namespace {

using Json = nlohmann::ordered_json;

Listing list_frameworks(const Session& session) {
  Table table{.columns = {{"name", "name", Holds::text, 9}, {"summary", "", Holds::text, 8}}};
  Json json{{"schema", "paradl.frameworks/1"}, {"frameworks", Json::array()}};
  for (const std::string& name : session.catalog.names(SpecKind::frameworks))
    add_or_explain(table, name, [&] {
      const SourceText source = session.catalog.find(SpecKind::frameworks, name);
      json["frameworks"].push_back({{"name", name}, {"file", source.file}});
      const FrameworkSpec spec = read_framework(source);
      table.rows.push_back({.values = {name, spec.summary}});
      json["frameworks"].back()["summary"] = spec.summary;
    });
  return {.sections = {{"", std::move(table)}},
          .after = "`paradl help frameworks` explains the keys of a file.\n",
          .json = json};
}

Listing show_framework(const Session& session, const std::string& name) {
  const FrameworkSpec spec = read_framework(session.catalog.find(SpecKind::frameworks, name));
  Json json{{"schema", "paradl.framework/1"}, {"name", spec.name},      {"summary", spec.summary},
            {"file", spec.source.file},       {"terms", Json::array()}, {"text", spec.source.text}};
  Table terms{.columns = {{"term", "term", Holds::text, 9},
                          {"value", "value", Holds::text, 8},
                          {"ideal", "ideal", Holds::text, 7},
                          {"meaning", "", Holds::text, 6}}};
  for (const ListedTerm& term : listed_terms(spec)) {
    const bool apart = term.value != term.ideal;
    terms.rows.push_back(
        {.values = {term.key, term.value, apart ? Value{term.ideal} : Value{}, std::string(term.meaning)}});
    json["terms"].push_back(
        {{"key", term.key}, {"value", term.value}, {"ideal", term.ideal}, {"meaning", term.meaning}});
  }
  return {.sections = {{title_line(spec.name, spec.summary),
                        facts_table({{"source", spec.origin}, {"file", spec.source.file}})},
                       {"", std::move(terms)}},
          .main = 1,
          .after = fmt::format("To change one term: --framework {} --set framework.overlap=on, for example; "
                               "see `paradl help frameworks`.\n",
                               spec.name),
          .json = json};
}

}  // namespace

void define_frameworks(const Arguments& root, Session& session, Action& action) {
  define_listing(root, session, action,
                 {.word = "frameworks",
                  .one = "framework",
                  .summary = "frameworks and their costs: list, or show NAME",
                  .name_help = "name in systems/frameworks/, or a path",
                  .examples = R"(Examples:
  paradl frameworks
  paradl frameworks show chainermn
  paradl frameworks --json)",
                  .list = list_frameworks,
                  .show = show_framework,
                  .names = [](const Session& s) { return s.catalog.names(SpecKind::frameworks); }});
}

}  // namespace paradl
