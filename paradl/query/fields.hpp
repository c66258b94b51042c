#pragma once
#include <span>
#include <string>
#include <string_view>

#include "paradl/query/query.hpp"

namespace paradl {

/// One field of a query. Its name is the same in all four places: option (`--zero`), configuration file
/// (`zero: 1`), variable (PARADL_ZERO), column of measured runs.
struct Field {
  std::string_view name;
  /// UsageError if the text cannot be read. Read the strategy before the grid: sizes are matched to its axes.
  void (*read)(Query& query, std::string_view name, const std::string& text, const OriginPtr& origin);
};

/// All fields, in an order in which they can be read.
std::span<const Field> fields();
const Field* find_field(std::string_view name);  // nullptr if there is none

/// Reads one field. An error in the text is reported at its origin.
void read_field(Query& query, const Field& field, const std::string& text, const OriginPtr& origin = {});

}  // namespace paradl
