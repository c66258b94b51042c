#pragma once
#include <string>
#include <vector>

namespace paradl {

/// Writes a whole file; EnvironmentError if that fails.
void write_file(const std::string& path, const std::string& text);
/// A text and the file to write it to.
struct NewText {
  std::string path, text;
};
/// Writes several files. No old file is replaced before all new ones are written.
void write_files(const std::vector<NewText>& files);
/// EnvironmentError if the file cannot be written. Call this before a long run.
void demand_writable_folder(const std::string& path);
/// UsageError if the drawing is not an SVG file; an empty path means no drawing.
void demand_svg(const std::string& path);
/// UsageError if two of these are the same file: the later would replace the earlier.
void refuse_twice(const std::vector<std::string>& files);
/// UsageError if a file to be written is one that is read, however its path is spelled.
void refuse_overwriting(const std::vector<std::string>& written, const std::vector<std::string>& read);

}  // namespace paradl
