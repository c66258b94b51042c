#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace YAML {
class Node;
}

namespace paradl {

/// One value from the command line that replaces the file's: `device.memory=32GiB`.
struct Override {
  std::string path, value;
  friend bool operator==(const Override&, const Override&) = default;
};

/// Changes the YAML of a file; UsageError if a path does not exist. A value `x2` is twice the file's. A
/// change of a link's latency or bandwidth applies to its measured values, too: a factor scales them, a value
/// replaces them. `file` and `example` are for messages: "system file", "device.memory".
void apply(const std::vector<Override>& changes, const YAML::Node& root, std::string_view file,
           std::string_view example);

/// `x2`: twice what the file has. Nothing for another value; UsageError for a factor that cannot be read.
std::optional<double> factor_of(const Override& change);

/// The overrides as typed: "--set device.memory=32GiB".
std::string text_of(const std::vector<Override>& changes, std::string_view before = "");

}  // namespace paradl
