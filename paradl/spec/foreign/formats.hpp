#pragma once
#include <string_view>

#include "paradl/spec/foreign.hpp"

// One reader for each format of the authors' tool; import_file() chooses. Each throws SpecError.
namespace paradl::foreign {

Imported import_network(const SourceText& source, const ImportOptions& options);
Imported import_platform(const SourceText& source, const ImportOptions& options);
Imported import_marks(const SourceText& source, const ImportOptions& options);

/// A word that only platforms have at the start of a line.
bool is_platform_key(std::string_view word);

}  // namespace paradl::foreign
