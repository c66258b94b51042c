#pragma once
#include <string>
#include <vector>

#include "paradl/spec/framework_spec.hpp"
#include "paradl/spec/system_spec.hpp"

namespace YAML {
class Node;
}

namespace paradl {

/// Changes the YAML of a file; UsageError where a path leads nowhere. A value `x2` is twice the file's. A
/// link's latency or bandwidth takes along what was measured of it: a factor scales that, too; a value
/// replaces it.
void apply(const std::vector<Override>& changes, const YAML::Node& root);

/// As they were typed: "--set device.memory=32GiB".
std::string text_of(const std::vector<Override>& changes, std::string_view before = "");

/// A framework with some of its values changed. UsageError for what is wrong with a change.
FrameworkSpec read_framework(SourceText source, const std::vector<Override>& changes);

}  // namespace paradl
