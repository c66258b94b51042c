#pragma once
#include <string>
#include <utility>
#include <vector>

namespace paradl {

/// Writes a whole file; EnvironmentError if it cannot.
void write_file(const std::string& path, const std::string& text);
/// Writes several, each a path and its text: no old file is replaced before all new ones are written.
void write_files(const std::vector<std::pair<std::string, std::string>>& files);
/// EnvironmentError if nobody may write there: to be asked before a long run, not after it.
void demand_writable_folder(const std::string& path);
/// Refuses a drawing of another kind; an empty path is none.
void demand_svg(const std::string& path);
/// UsageError if two of these are one file: the later would replace the earlier.
void refuse_twice(const std::vector<std::string>& files);

}  // namespace paradl
