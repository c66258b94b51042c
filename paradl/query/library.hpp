#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "paradl/spec/catalog.hpp"
#include "paradl/spec/framework_spec.hpp"
#include "paradl/spec/profile_spec.hpp"
#include "paradl/workload/workload.hpp"

namespace paradl {

/// The models, systems, frameworks and profiles that queries refer to, by name or path. Each file is read
/// once, however many queries there are. All functions throw a UsageError for an unknown name and a SpecError
/// for a file that cannot be read.
class Library {
 public:
  explicit Library(Catalog catalog) : catalog_(std::move(catalog)) {}

  struct Model {
    ModelSpec spec;
    Workload work;
  };
  const Model& model(const std::string& name);
  /// As in its file; or with some values changed (UsageError if that is impossible).
  const SystemSpec& system(const std::string& name);
  SystemSpec system(const std::string& name, const std::vector<Override>& changes);
  const FrameworkSpec& framework(const std::string& name);
  FrameworkSpec framework(const std::string& name, const std::vector<Override>& changes);
  const ProfileSpec& profile(const std::string& name);
  /// Names of the profiles whose text mentions a model.
  std::vector<std::string> profiles_naming(const std::string& model);

  const Catalog& catalog() const { return catalog_; }

 private:
  const SystemSpec& changed_system(const std::string& name, const std::vector<Override>& changes);
  const SourceText& profile_source(const std::string& name);

  Catalog catalog_;
  std::map<std::string, Model> models_;
  std::map<std::string, SystemSpec> systems_;  // by name, followed by the changes
  std::map<std::string, FrameworkSpec> frameworks_;
  std::map<std::string, SourceText> profile_sources_;
  std::map<std::string, ProfileSpec> profiles_;
  std::optional<std::vector<std::string>> profile_names_;
};

}  // namespace paradl
