#include "paradl/spec/catalog.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace paradl {
namespace {

namespace fs = std::filesystem;

/// `_` and `-` are equivalent in a name.
std::string normal(std::string name) {
  std::ranges::replace(name, '_', '-');
  return name;
}

std::string_view name_of(SpecKind kind) { return spec_kind_names[std::size_t(kind)]; }

std::string_view singular(SpecKind kind) { return name_of(kind).substr(0, name_of(kind).size() - 1); }

/// A framework is the software side of a system; kernel fits and accuracy records are kinds of profiles.
fs::path folder_of(SpecKind kind) {
  const fs::path own(name_of(kind));
  if (kind == SpecKind::frameworks) return name_of(SpecKind::systems) / own;
  if (kind == SpecKind::kernels || kind == SpecKind::accuracy) return name_of(SpecKind::profiles) / own;
  return own;
}

/// Endings of the files of a kind: records of errors are tables.
std::vector<std::string> endings_of(SpecKind kind) {
  if (kind == SpecKind::accuracy) return {".csv", ".yaml"};
  return {".yaml"};
}

Parameters read_overrides(std::string_view text, const std::string& whole) {
  constexpr std::int64_t largest = 1'000'000'000;
  Parameters values;
  while (true) {
    const std::string_view item = text.substr(0, text.find(','));
    const std::size_t equals = item.find('=');
    std::int64_t value = 0;
    bool good = equals != item.npos && equals > 0;
    if (good) {
      const char* const end = item.data() + item.size();
      const auto [stop, failed] = std::from_chars(item.data() + equals + 1, end, value);
      good = failed == std::errc{} && stop == end && value >= 0;
      if (good && value > largest)
        throw UsageError(fmt::format("`{}` in `{}` is too large", item, whole),
                         fmt::format("write a number up to {}", largest));
    }
    if (!good)
      throw UsageError(fmt::format("cannot read `{}` in `{}`", item, whole),
                       "write name=number, such as layers=24");
    if (!values.emplace(item.substr(0, equals), value).second)
      throw UsageError(fmt::format("`{}` is given twice in `{}`", item.substr(0, equals), whole),
                       "keep one of them");
    if (value == 0 && item.substr(0, equals) == "layers")
      throw UsageError(fmt::format("`{}` in `{}` leaves no layers", item, whole), "write layers=1 or more");
    if (item.size() == text.size()) return values;
    text.remove_prefix(item.size() + 1);
  }
}

}  // namespace

bool Catalog::is_path(const std::string& name) {
  return name == "-" || name.find('/') != name.npos || name.ends_with(".yaml") || name.ends_with(".yml");
}

std::vector<std::string> Catalog::names(SpecKind kind) const {
  std::set<std::string> found;
  const auto endings = endings_of(kind);
  for (const std::string& root : roots_) {
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(root / folder_of(kind), failed))
      if (std::ranges::find(endings, entry.path().extension().string()) != endings.end())
        found.insert(entry.path().stem().string());
  }
  return {found.begin(), found.end()};
}

SourceText Catalog::find(SpecKind kind, const std::string& name) const {
  if (is_path(name)) return read_source(name);
  for (const std::string& root : roots_) {
    for (const std::string& spelling : {name, normal(name)})
      for (const std::string& ending : endings_of(kind)) {
        const fs::path path = root / folder_of(kind) / (spelling + ending);
        std::error_code failed;
        if (fs::is_regular_file(path, failed)) return read_source(path.lexically_normal().string());
      }
  }
  const std::vector<std::string> known = names(kind);
  const std::string near = did_you_mean(name, known);
  const std::string all =
      known.empty() ? fmt::format("no {} were found: set PARADL_PATH to the folder that contains them",
                                  name_of(kind))
      : kind == SpecKind::kernels  // no command lists them
          ? fmt::format("{} has: {}", folder_of(kind).string(), fmt::join(known, ", "))
          : fmt::format("`paradl {}` lists all {}", name_of(kind), known.size());
  throw UsageError(fmt::format("no {} is called `{}`", singular(kind), name),
                   near.empty() ? all : near + " " + all);
}

bool Catalog::is_parametric(const std::string& name) { return name.find(':') != name.npos && !is_path(name); }

ModelSpec Catalog::model(const std::string& name) const {
  const auto find_base = [this](const std::string& base) { return find(SpecKind::models, base); };
  if (!is_parametric(name)) return read_model(find(SpecKind::models, name), find_base);
  const std::size_t colon = name.find(':');
  ModelSpec spec = read_model(find(SpecKind::models, name.substr(0, colon)), find_base,
                              read_overrides(std::string_view(name).substr(colon + 1), name));
  spec.name = name;
  return spec;
}

SystemSpec Catalog::system(SourceText source, const std::vector<Override>& overrides) const {
  SystemSpec spec = read_system(std::move(source), overrides);
  if (spec.device.kernels_name.empty()) return spec;
  try {
    spec.device.kernels = read_kernels(find(SpecKind::kernels, spec.device.kernels_name));
  } catch (const UsageError& error) {
    throw SpecError(spec.source.file, spec.source.text,
                    {{spec.device.kernels_spot, error.what(), error.help()}});
  }
  return spec;
}

}  // namespace paradl
