#include "paradl/spec/override.hpp"

#include <fmt/format.h>

#include "paradl/core/error.hpp"
#include "paradl/spec/reader.hpp"

namespace paradl {
namespace {

/// The child called `key`: a mapping's value, or the element of a list whose `name` is `key`.
YAML::Node child(const YAML::Node& parent, const std::string& key) {
  if (parent.IsMap()) return parent[key];
  if (parent.IsSequence())
    for (const YAML::Node& item : parent)
      if (is_map(item) && scalar_text(item["name"]) == key) return item;
  return YAML::Node(YAML::NodeType::Undefined);
}

/// A scalar, or a mapping such as {factor: 1.4}.
YAML::Node value_of(const Override& change) {
  if (!change.value.starts_with('{')) return YAML::Node(change.value);
  try {
    return YAML::Load(change.value);
  } catch (const YAML::Exception&) {
    throw UsageError(fmt::format("--set {}={}: cannot read the mapping", change.path, change.value),
                     "write one such as 'congestion={factor: 1.4, high: 3}'");
  }
}

}  // namespace

YAML::Node put(const Override& change, const YAML::Node& root, const std::string& file,
               const std::string& example) {
  YAML::Node here = root;
  std::string_view rest = change.path;
  for (std::size_t dot; (dot = rest.find('.')) != rest.npos; rest.remove_prefix(dot + 1)) {
    const std::string key(rest.substr(0, dot));
    const YAML::Node next = child(here, key);
    if (!next.IsDefined() && !here.IsMap())
      throw UsageError(fmt::format("--set {}: there is no `{}` in the {}", change.path, key, file),
                       fmt::format("write a path such as {}", example));
    if (!next.IsDefined()) here[key] = YAML::Node(YAML::NodeType::Map);
    here.reset(next.IsDefined() ? next : child(here, key));
  }
  if (!here.IsMap())
    throw UsageError(fmt::format("--set {}: there is nothing to set there", change.path),
                     fmt::format("write a path such as {}", example));
  here.remove(std::string(rest));
  here[std::string(rest)] = value_of(change);
  return here;
}

}  // namespace paradl
