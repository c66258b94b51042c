#pragma once
#include <string>

#include "paradl/spec/system_spec.hpp"

namespace YAML {
class Node;
}

namespace paradl {

/// Puts a value of the command line into a file's tree. Mappings that the file lacks are made on the way;
/// what they may be called is checked when they are read. `file` and `example` are for messages: "system
/// file", "device.memory". UsageError where nothing can be set. Returns the mapping that now has the value.
YAML::Node put(const Override& change, const YAML::Node& root, const std::string& file,
               const std::string& example);

}  // namespace paradl
