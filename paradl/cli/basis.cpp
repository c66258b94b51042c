#include "paradl/cli/basis.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/network/measured_cost.hpp"

namespace paradl {

std::string links_text(const Machine& machine) {
  std::vector<std::string_view> measured, messages, specified;
  for (const Level& level : machine.levels)
    (level.measured.empty()                     ? specified
     : taken_from(level, Collective::allreduce) ? measured
                                                : messages)
        .push_back(level.name);
  if (specified.size() == machine.levels.size()) return "specifications in";
  if (measured.size() == machine.levels.size()) return "measured, in";
  std::string out;
  const auto add = [&](std::string_view what, const std::vector<std::string_view>& levels) {
    if (!levels.empty()) out += fmt::format("{} ({}), ", what, fmt::join(levels, ", "));
  };
  add("measured", measured);
  add("measured only for single messages", messages);
  add("specifications", specified);
  return out + "in";
}

std::string links_text(const Case& about) {
  return fmt::format(
      "{} {}{}", about.level().links == LinkLevel::ideal ? "specifications in" : links_text(about.machine),
      std::filesystem::path(about.system_spec.source.file).filename().string(),
      about.system_changes.empty() ? "" : " with --set");
}

std::string framework_text(const Case& about) {
  const std::string way = about.training.transport == Transport::host ? ", exchanges through the host" : "";
  return is_ideal(about.framework_spec.name) && way.empty() && !about.changed_terms
             ? ""
             : fmt::format(" Framework: {}{}{}.", about.framework_spec.name,
                           about.changed_terms ? " with --set" : "", way);
}

}  // namespace paradl
