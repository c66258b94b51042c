#pragma once
#include <span>
#include <string>
#include <string_view>

#include "paradl/query/query.hpp"

namespace paradl {

/// One thing that a query may say. It has the same name as an option (`--zero`), in a configuration
/// (`zero: 1`), as a variable (PARADL_ZERO), and as a column of measured runs.
struct Field {
  std::string_view name;
  /// UsageError if the text cannot be read. A grid is read as that of the query's strategy.
  void (*read)(Query& query, std::string_view name, const std::string& text, const OriginPtr& origin);
};

/// All of them, in an order in which each can be read.
std::span<const Field> fields();
const Field* find_field(std::string_view name);  // nullptr if there is none

/// Reads one. What is wrong with the text is blamed on where it stands.
void read_field(Query& query, const Field& field, const std::string& text, const OriginPtr& origin = {});

}  // namespace paradl
