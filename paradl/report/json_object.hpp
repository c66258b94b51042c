#pragma once
#include <initializer_list>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace paradl {

/// A field of an object.
struct JsonField {
  std::string_view key;
  mutable nlohmann::ordered_json value;  // moved out of the list of fields
};

/// An object with these fields, in this order, and room for `more`. A result has hundreds of fields, and
/// nlohmann's own braces make an array of each, compare all keys, and copy them whenever the object grows.
inline nlohmann::ordered_json json_object(std::initializer_list<JsonField> fields, std::size_t more = 0) {
  nlohmann::ordered_json::object_t out;
  out.reserve(fields.size() + more);
  for (const JsonField& field : fields) out.emplace_back(field.key, std::move(field.value));
  return nlohmann::ordered_json(std::move(out));
}

}  // namespace paradl
