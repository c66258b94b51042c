#pragma once
#include <string>
#include <utility>
#include <vector>

#include "paradl/spec/document.hpp"

namespace paradl {

/// Which layers a strategy splits, as in an .lc file of the ParaDL authors.
struct ImportOptions {
  std::vector<std::pair<std::string, SourceText>> splits;  // strategy, its .lc file
  std::string name;                                        // of the result; empty: from the file
};

/// A file of another tool, converted to ours.
struct Imported {
  enum class Kind { model, system, split };
  Kind kind = Kind::model;
  std::string name;
  std::string yaml;
  std::string summary;  // "Read 166 layers (50 with weights, 22.7 M parameters)."
  std::vector<std::string> warnings;
};

/// Reads a network (.net), a platform (.plat) or a list of split layers (.lc) of the ParaDL authors' tool.
/// The file type is detected from its content, not its name. SpecError if it is none of them or has mistakes;
/// UsageError if the options do not apply to it.
Imported import_file(const SourceText& source, const ImportOptions& options = {});

}  // namespace paradl
