#pragma once
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace YAML {
class Node;
}

namespace paradl {

/// A multiple of the file's value: `x2` is twice that.
struct Factor {
  double times = 1;
  friend bool operator==(const Factor&, const Factor&) = default;
};

/// One value that replaces the file's: a word as the file would have it (`device.memory=32GiB`), a number
/// without a unit, or a multiple of the file's value.
struct Override {
  std::string path;
  std::variant<std::string, double, Factor> value;
  const Factor* factor() const { return std::get_if<Factor>(&value); }
  /// The value as typed: "32GiB", "4", "x2".
  std::string text() const;
  friend bool operator==(const Override&, const Override&) = default;
};

/// Reads `path=word`, or `path=x2` for a multiple. UsageError for a factor that cannot be read.
Override read_override(std::string path, std::string word);

/// Changes the YAML of a file; UsageError if a path does not exist. A change of a link's latency
/// or bandwidth applies to its measured values, too: a factor scales them, a value replaces them. `file` and
/// `example` are for messages: "system file", "device.memory".
void apply(const std::vector<Override>& changes, const YAML::Node& root, std::string_view file,
           std::string_view example);

/// The overrides as typed: "--set device.memory=32GiB".
std::string text_of(const std::vector<Override>& changes, std::string_view before = "");

}  // namespace paradl
