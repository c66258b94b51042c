#include "paradl/spec/override.hpp"

#include <charconv>
#include <cmath>
#include <optional>

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
  const std::string text = change.text();
  if (!text.starts_with('{')) return YAML::Node(text);
  try {
    return YAML::Load(text);
  } catch (const YAML::Exception&) {
    throw UsageError(fmt::format("--set {}={}: cannot read the mapping", change.path, text),
                     "write one such as 'congestion={factor: 1.4, high: 3}'");
  }
}

/// The number that a text begins with, and what follows it.
std::optional<std::pair<double, std::string>> number_of(std::string_view text) {
  double number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc{}) return {};
  return std::pair{number, std::string(end, text.data() + text.size())};
}

std::string multiplied(const Override& change, const YAML::Node& value) {
  const auto number = number_of(scalar_text(value));
  if (!number)
    throw UsageError(
        fmt::format("--set {}={}: the file has no number to multiply", change.path, change.text()),
        "write the value instead of a factor");
  return fmt::format("{}{}", change.factor()->times * number->first, number->second);
}

/// Mappings that the file lacks are created; their names are checked when they are read.
void apply(const Override& change, const YAML::Node& root, std::string_view file, std::string_view example) {
  YAML::Node here = root;
  std::string_view rest = change.path;
  for (std::size_t dot; (dot = rest.find('.')) != rest.npos; rest.remove_prefix(dot + 1)) {
    const std::string key(rest.substr(0, dot));
    const YAML::Node next = child(here, key);
    if (!next.IsDefined() && !here.IsMap())
      throw UsageError(fmt::format("--set {}: the {} has no `{}`", change.path, file, key),
                       fmt::format("write a path such as {}", example));
    if (!next.IsDefined()) here[key] = YAML::Node(YAML::NodeType::Map);
    here.reset(next.IsDefined() ? next : child(here, key));
  }
  if (!here.IsMap())
    throw UsageError(fmt::format("--set {}: this is not a single value", change.path),
                     fmt::format("write a path such as {}", example));
  const std::string key(rest);
  const bool factor = change.factor();
  const YAML::Node value = factor ? YAML::Node(multiplied(change, here[key])) : value_of(change);
  if (const YAML::Node measured = here["measured"];
      (key == "latency" || key == "bandwidth") && measured.IsDefined()) {
    if (factor)
      for (YAML::Node range : measured) range[key] = multiplied(change, range[key]);
    else
      here.remove("measured");  // the measured values would otherwise overrule the one set here
  }
  here.remove(key);
  here[key] = value;
}

}  // namespace

std::string Override::text() const {
  if (const Factor* multiple = factor()) return fmt::format("x{}", multiple->times);
  if (const double* number = std::get_if<double>(&value)) return fmt::format("{:g}", *number);
  return std::get<std::string>(value);
}

Override read_override(std::string path, std::string word) {
  if (!word.starts_with('x')) return {std::move(path), std::move(word)};
  const auto number = number_of(std::string_view(word).substr(1));
  if (!number || !number->second.empty() || !(number->first > 0) || !std::isfinite(number->first))
    throw UsageError(fmt::format("--set {}={}: not a factor", path, word),
                     "write x2 for twice the file's value, x0.5 for half");
  return {std::move(path), Factor{number->first}};
}

void apply(const std::vector<Override>& changes, const YAML::Node& root, std::string_view file,
           std::string_view example) {
  for (const Override& change : changes) apply(change, root, file, example);
}

std::string text_of(const std::vector<Override>& changes, std::string_view before) {
  std::string out;
  for (const Override& change : changes)
    out += fmt::format("{}--set {}{}={}", out.empty() ? "" : " ", before, change.path, change.text());
  return out;
}

}  // namespace paradl
