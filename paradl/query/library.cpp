#include "paradl/query/library.hpp"

#include <fmt/format.h>

#include "paradl/spec/system_change.hpp"

namespace paradl {
namespace {

/// The value that is cached under a name; `find` makes it if it is missing.
template <class Value, class Find>
const Value& kept(std::map<std::string, Value>& known, const std::string& name, Find find) {
  const auto there = known.find(name);
  return there != known.end() ? there->second : known.emplace(name, find()).first->second;
}

}  // namespace

const Library::Model& Library::model(const std::string& name) {
  return kept(models_, name, [&] {
    auto [spec, work] = load_model(catalog_, name);
    return Model{std::move(spec), std::move(work)};
  });
}

const SystemSpec& Library::system(const std::string& name) {
  return kept(systems_, name, [&] { return catalog_.system(name); });
}

SystemSpec Library::system(const std::string& name, const std::vector<Override>& changes) {
  if (changes.empty()) return system(name);
  // A study of a machine asks for many factors of one value, after the same other changes.
  const SystemSpec& before = changed_system(name, {changes.begin(), changes.end() - 1});
  if (auto out = changed(before, changes.back())) return *std::move(out);
  SystemSpec out = read_system(before.source, changes);
  if (out.device.kernels_name != before.device.kernels_name) return catalog_.system(before.source, changes);
  out.device.kernels = before.device.kernels;
  return out;
}

const SystemSpec& Library::changed_system(const std::string& name, const std::vector<Override>& changes) {
  if (changes.empty()) return system(name);
  return kept(systems_, fmt::format("{} {}", name, text_of(changes)), [&] { return system(name, changes); });
}

const FrameworkSpec& Library::framework(const std::string& name) {
  return kept(frameworks_, name, [&] { return read_framework(catalog_.find(SpecKind::frameworks, name)); });
}

FrameworkSpec Library::framework(const std::string& name, const std::vector<Override>& changes) {
  const FrameworkSpec& written = framework(name);
  return changes.empty() ? written : read_framework(written.source, changes);
}

const SourceText& Library::profile_source(const std::string& name) {
  return kept(profile_sources_, name, [&] { return catalog_.find(SpecKind::profiles, name); });
}

const ProfileSpec& Library::profile(const std::string& name) {
  return kept(profiles_, name, [&] { return read_profile(profile_source(name)); });
}

std::vector<std::string> Library::profiles_naming(const std::string& model) {
  if (!profile_names_) profile_names_ = catalog_.names(SpecKind::profiles);
  std::vector<std::string> out;
  for (const std::string& name : *profile_names_)
    if (profile_source(name).text.find(model) != std::string::npos) out.push_back(name);
  return out;
}

}  // namespace paradl
