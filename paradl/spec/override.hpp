#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace YAML {
class Node;
}

namespace paradl {

/// One value given on the command line in place of the file's: `device.memory=32GiB`.
struct Override {
  std::string path, value;
  friend bool operator==(const Override&, const Override&) = default;
};

/// Changes the YAML of a file; UsageError where a path leads nowhere. A value `x2` is twice the file's. A
/// link's latency or bandwidth takes along what was measured of it: a factor scales that, too; a value
/// replaces it. `file` and `example` are for messages: "system file", "device.memory".
void apply(const std::vector<Override>& changes, const YAML::Node& root, std::string_view file,
           std::string_view example);

/// As they were typed: "--set device.memory=32GiB".
std::string text_of(const std::vector<Override>& changes, std::string_view before = "");

}  // namespace paradl
