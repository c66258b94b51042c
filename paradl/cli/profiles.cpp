// paradl profiles: the measured profiles, and the text of one.
#include <nlohmann/json.hpp>

#include "paradl/cli/listing.hpp"

namespace paradl {
namespace {

using Json = nlohmann::ordered_json;

Listing list_profiles(const Session& session) {
  Table table{.columns = {{"name", "name", Holds::text, 9}, {"file", "file", Holds::text, 5}}};
  Json json{{"schema", "paradl.profiles/1"}, {"profiles", Json::array()}};
  for (const std::string& name : session.catalog.names("profiles")) {
    const std::string file = session.catalog.find("profiles", name).file;
    table.rows.push_back({.values = {name, file}});
    json["profiles"].push_back({{"name", name}, {"file", file}});
  }
  const bool none = table.rows.empty();
  return {.sections = {{"", std::move(table)}},
          .after = none ? "No profiles yet: `paradl-calibrate` measures them into profiles/; until then "
                          "layer times are a roofline's.\n"
                        : "",
          .json = json_text(json)};
}

Listing show_profile(const Session& session, const std::string& name) {
  const SourceText source = session.catalog.find("profiles", name);
  const Json json{
      {"schema", "paradl.profile/1"}, {"name", name}, {"file", source.file}, {"text", source.text}};
  return {.sections = {}, .after = source.text, .json = json_text(json)};
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
                  .names = [](const Session& s) { return s.catalog.names("profiles"); }});
}

}  // namespace paradl
