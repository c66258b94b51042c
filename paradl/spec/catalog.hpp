#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/core/names.hpp"
#include "paradl/spec/document.hpp"
#include "paradl/spec/model_spec.hpp"
#include "paradl/spec/system_spec.hpp"

namespace paradl {

/// The kinds of files that have names.
enum class SpecKind { models, systems, profiles, frameworks, kernels, accuracy };
inline constexpr std::array<std::string_view, 6> spec_kind_names{"models",     "systems", "profiles",
                                                                 "frameworks", "kernels", "accuracy"};
static_assert(names_every(SpecKind::accuracy, spec_kind_names), "name every SpecKind");

/// The folders that hold models/, systems/ and profiles/, in the order they are searched.
class Catalog {
 public:
#ifdef PARADL_DATA  // programs that use the installed library
  Catalog() : Catalog({PARADL_DATA}) {}
#endif
  explicit Catalog(std::vector<std::string> roots) : roots_(std::move(roots)) {}

  /// Names of a kind, each once, sorted.
  std::vector<std::string> names(SpecKind kind) const;
  /// The file of that kind and name; a word with `/` or ending in .yaml is a path. UsageError if it does not
  /// exist.
  SourceText find(SpecKind kind, const std::string& name) const;

  /// A model by name, path or parameters: `gpt:layers=24,hidden=2304,heads=24,seq=2048,vocab=51200`.
  ModelSpec model(const std::string& name) const;
  static bool is_path(const std::string& name);
  static bool is_parametric(const std::string& name);
  SystemSpec system(const std::string& name, const std::vector<Override>& overrides = {}) const {
    return system(find(SpecKind::systems, name), overrides);
  }
  SystemSpec system(SourceText source, const std::vector<Override>& overrides = {}) const;

 private:
  std::vector<std::string> roots_;
};

}  // namespace paradl
