#include "paradl/report/profile_table.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace paradl {
namespace {

using Json = nlohmann::ordered_json;

Seconds all_of(const PassTimes& t) { return t.forward + t.backward() + t.update; }

}  // namespace

Table slowest_shapes(const std::vector<ProfileSpec::Entry>& entries, std::size_t most) {
  Table table{.columns = {{"layer", "layer", Holds::text, 9},
                          {"forward", "forward", Holds::seconds, 8},
                          {"backward_data", "backward data", Holds::seconds, 8},
                          {"backward_weights", "backward weights", Holds::seconds, 8},
                          {"update", "update", Holds::seconds, 7},
                          {"noise", "noise", Holds::share, 6}}};
  std::vector<ProfileSpec::Entry> sorted = entries;
  std::ranges::stable_sort(sorted, std::greater{}, [](const auto& e) { return all_of(e.time); });
  sorted.resize(std::min(most, sorted.size()));
  for (const auto& [layer, time] : sorted)
    table.rows.push_back(
        {.values = {text_of(layer), time.forward.base(), time.backward_data.base(),
                    time.backward_weights > Seconds{} ? Value{time.backward_weights.base()} : Value{},
                    time.update > Seconds{} ? Value{time.update.base()} : Value{}, time.noise}});
  return table;
}

Json profile_json(const ProfileSpec& profile) {
  Json out{{"name", profile.name},
           {"model", profile.model},
           {"device", profile.device},
           {"libraries", profile.libraries},
           {"precision", precision_names[std::size_t(profile.precision)]},
           {"optimizer", optimizer_names[std::size_t(profile.optimizer)]},
           {"date", profile.date},
           {"layers", Json::array()}};
  for (const auto& [layer, time] : profile.entries)
    out["layers"].push_back({{"shape", text_of(layer)},
                             {"op", traits(layer.op).name},
                             {"samples", layer.samples},
                             {"forward_s", time.forward.base()},
                             {"backward_data_s", time.backward_data.base()},
                             {"backward_weights_s", time.backward_weights.base()},
                             {"update_s", time.update.base()},
                             {"noise", time.noise}});
  return out;
}

}  // namespace paradl
