#pragma once
#include <span>
#include <string>
#include <string_view>

#include "paradl/query/query.hpp"

namespace paradl {

/// One field of a query. It has the same name as an option (`--zero`), in a configuration file (`zero: 1`),
/// as a variable (PARADL_ZERO), and as a column of measured runs.
struct Field {
  std::string_view name;
  /// UsageError if the text cannot be read. A grid is read as that of the query's strategy.
  void (*read)(Query& query, std::string_view name, const std::string& text, const OriginPtr& origin);
};

/// All fields, in an order in which they can be read: a grid after its strategy.
std::span<const Field> fields();
const Field* find_field(std::string_view name);  // nullptr if there is none

/// Reads one field. An error in the text is reported at its origin.
void read_field(Query& query, const Field& field, const std::string& text, const OriginPtr& origin = {});

}  // namespace paradl
