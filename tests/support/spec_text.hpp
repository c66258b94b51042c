#pragma once
#include <string>
#include <vector>

#include "paradl/core/error.hpp"
#include "paradl/machine/machine.hpp"
#include "paradl/spec/catalog.hpp"
#include "paradl/spec/model_spec.hpp"
#include "paradl/spec/system_spec.hpp"
#include "paradl/workload/workload.hpp"
#include "tests/support/source_dir.hpp"

namespace paradl::test {

/// A spec that is written in the test itself; messages name it test.yaml.
inline SourceText source_of(std::string text) { return {"test.yaml", std::move(text)}; }

/// The models and systems of this repository.
inline const Catalog& shipped() {
  static const Catalog catalog({source_dir()});
  return catalog;
}

inline ModelSpec model_of(const std::string& text, const Parameters& given = {}) {
  return read_model(
      source_of(text), [](const std::string& name) { return shipped().find(SpecKind::models, name); }, given);
}
inline Workload workload_of(const std::string& text, const Parameters& given = {}) {
  return build_workload(model_of(text, given));
}

/// A network of these layers: one `- {...}` line each, on an input such as "3x8x8".
inline std::string network(const std::string& input, const std::string& layers) {
  return "name: test\ninput: " + input + "\nlayers:\n" + layers;
}
/// The only layer of a network: `entry` is the text between the braces after its name.
inline Layer only_layer(const std::string& input, const std::string& entry) {
  return workload_of(network(input, "  - {name: only, " + entry + "}\n")).layers.at(0);
}

inline SystemSpec system_of(const std::string& text, const std::vector<Override>& overrides = {}) {
  return read_system(source_of(text), overrides);
}
inline Machine machine_of(const std::string& text, const std::vector<Override>& overrides = {}) {
  return build_machine(system_of(text, overrides));
}

/// The error text of `action` as the user reads it: the picture of a SpecError, or the two lines of a
/// UsageError, which start with "usage: ". Empty without an error; any other exception fails the test.
template <class Action>
std::string complaint(Action action) {
  try {
    action();
  } catch (const SpecError& error) {
    return render(error);
  } catch (const UsageError& error) {
    return std::string("usage: ") + error.what() + "\nhelp: " + error.help() + "\n";
  }
  return {};
}
inline std::string complaint_about_model(const std::string& text, const Parameters& given = {}) {
  return complaint([&] { workload_of(text, given); });
}
inline std::string complaint_about_system(const std::string& text,
                                          const std::vector<Override>& overrides = {}) {
  return complaint([&] { machine_of(text, overrides); });
}

/// The number of mistakes in an error text.
inline int mistakes(const std::string& complaint) {
  int count = 0;
  for (std::size_t at = 0; (at = complaint.find("error: ", at)) != complaint.npos; ++at) ++count;
  return count;
}
inline bool says(const std::string& text, const std::string& words) { return text.find(words) != text.npos; }

}  // namespace paradl::test
