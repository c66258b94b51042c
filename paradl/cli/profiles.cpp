// paradl profiles: lists the measured profiles, and shows one.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "paradl/cli/listing.hpp"
#include "paradl/core/format.hpp"
#include "paradl/report/profile_table.hpp"
#include "paradl/spec/measured_under.hpp"

namespace paradl {
namespace {

using Json = nlohmann::ordered_json;

Listing list_profiles(const Session& session) {
  Table table{.columns = {{"name", "name", Holds::text, 9},
                          {"model", "model", Holds::text, 8},
                          {"device", "device", Holds::text, 8},
                          {"precision", "precision", Holds::text, 6},
                          {"optimizer", "optimizer", Holds::text, 5},
                          {"shapes", "shapes", Holds::count, 7},
                          {"date", "date", Holds::text, 4},
                          {"file", "file", Holds::text, 3}}};
  Json json{{"schema", "paradl.profiles/1"}, {"profiles", Json::array()}};
  for (const std::string& name : session.catalog.names(SpecKind::profiles))
    add_or_explain(table, name, [&] {
      const SourceText source = session.catalog.find(SpecKind::profiles, name);
      Json item{{"name", name}, {"file", source.file}};
      json["profiles"].push_back(item);
      const ProfileSpec p = read_profile(source);
      const std::string precision(precision_names[std::size_t(p.precision)]);
      const std::string optimizer(optimizer_names[std::size_t(p.optimizer)]);
      table.rows.push_back(
          {.values = {name, p.model, p.device, precision, optimizer,
                      p.total ? Value{"total"} : Value{double(p.entries.size())}, p.date, source.file}});
      item.update({{"model", p.model},
                   {"device", p.device},
                   {"precision", precision},
                   {"optimizer", optimizer},
                   {"date", p.date},
                   {"shapes", p.entries.size()},
                   {"total", p.total.has_value()}});
      json["profiles"].back() = item;
    });
  const bool none = table.rows.empty();
  return {
      .sections = {{"", std::move(table)}},
      .after = none ? "No profiles found: `paradl-calibrate layers` writes them to profiles/. Without them "
                      "layer times are modelled or ideal.\n"
                    : "",
      .json = json};
}

Listing show_profile(const Session& session, const std::string& name) {
  const ProfileSpec p = read_profile(session.catalog.find(SpecKind::profiles, name));
  Json json{{"schema", "paradl.profile/1"}, {"file", p.source.file}};
  json.update(profile_json(p));
  json["text"] = p.source.text;
  const std::string total =
      p.total ? fmt::format("{} forward and backward of one sample; divided by a roofline of {} and {}",
                            text(p.total->time), text(p.total->rate), text(p.total->memory_bandwidth))
              : "";
  const Table facts = facts_table({{"model", p.model},
                                   {"device", p.device},
                                   {"libraries", p.libraries},
                                   {"framework", measured_under(p)},
                                   {"total", total},
                                   {"precision", std::string(precision_names[std::size_t(p.precision)])},
                                   {"optimizer", std::string(optimizer_names[std::size_t(p.optimizer)])},
                                   {"date", p.date},
                                   {"file", p.source.file},
                                   {"source", p.origin}});
  if (p.total)
    return {.sections = {{title_line(p.name, "a measured total, divided among the layers"), facts}},
            .json = json};
  return {.sections = {{title_line(p.name, fmt::format("{} shapes", p.entries.size())), facts},
                       {"The slowest first:\n", slowest_shapes(p.entries, p.entries.size())}},
          .main = 1,
          .json = json};
}

}  // namespace

void define_profiles(const Arguments& root, Session& session, Action& action) {
  define_listing(root, session, action,
                 {.word = "profiles",
                  .one = "profile",
                  .summary = "the measured profiles: list, or show NAME",
                  .name_help = "name in profiles/, or a path",
                  .examples = R"(Examples:
  paradl profiles
  paradl profiles show lab-a100-resnet50
  paradl profiles --json)",
                  .list = list_profiles,
                  .show = show_profile,
                  .names = [](const Session& s) { return s.catalog.names(SpecKind::profiles); }});
}

}  // namespace paradl
