#pragma once
#include <concepts>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "paradl/spec/document.hpp"

namespace paradl {

/// The origin of a value that was neither typed nor set by a program: a variable, or a place in a file.
struct Origin {
  std::string name;                             // of the variable, or of the file
  std::string text;                             // the value as written
  std::shared_ptr<const SourceText> file = {};  // none: a variable
  Spot spot = {};                               // in the file
};
using OriginPtr = std::shared_ptr<const Origin>;  // none: typed, or set by a program

/// Throws an error at the first origin that is not empty: a SpecError at a place in a file, or a UsageError
/// that names a variable. If all are empty, throws the error as it is.
[[noreturn]] void blame(std::initializer_list<OriginPtr> origins, const UsageError& error);

/// Does some work; reports its UsageError at the origins of the values that it depends on.
template <class Work>
decltype(auto) blaming(std::initializer_list<OriginPtr> origins, Work work) {
  try {
    return work();
  } catch (const UsageError& error) {
    blame(origins, error);
  }
}

/// A value that a query may leave open, with its origin. Two are equal if their values are.
template <class T>
class Given {
 public:
  Given() = default;
  Given(T value, OriginPtr origin = {}) : value_(std::move(value)), origin_(std::move(origin)) {}
  template <std::convertible_to<T> U>
  requires(!std::same_as<std::remove_cvref_t<U>, T> && !std::same_as<std::remove_cvref_t<U>, Given>)
      Given(U&& value, OriginPtr origin = {})
      : value_(std::forward<U>(value)), origin_(std::move(origin)) {}

  explicit operator bool() const { return value_.has_value(); }
  const T& operator*() const { return *value_; }
  const T* operator->() const { return &*value_; }
  T value_or(T fallback) const { return value_.value_or(std::move(fallback)); }

  /// Whether the value was typed for this query, and does not come from a variable or a file.
  bool typed() const { return value_ && !origin_; }
  const OriginPtr& origin() const { return origin_; }

  friend bool operator==(const Given& a, const Given& b) { return a.value_ == b.value_; }

 private:
  std::optional<T> value_;
  OriginPtr origin_;
};

}  // namespace paradl
