#pragma once
#include <string>

namespace paradl::calibrate {

/// Writes a new file and renames it to `path`, so that readers see the old or the new text, never half of it.
/// Creates the folder if it does not exist. EnvironmentError if that fails.
void replace_file(const std::string& path, const std::string& text);

/// Before a measurement: EnvironmentError if its file could not be written afterwards. Creates the folder.
void demand_writable(const std::string& path);

}  // namespace paradl::calibrate
