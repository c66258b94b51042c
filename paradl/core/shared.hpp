#pragma once
#include <memory>
#include <utility>

namespace paradl {

/// A constant value with several owners: it exists as long as one of them does. It is made from a value, or
/// from a pointer that others hold too, which must not be null.
template <class T>
class Shared {
 public:
  Shared(T value) : value_(std::make_shared<const T>(std::move(value))) {}
  Shared(std::shared_ptr<const T> value) : value_(std::move(value)) {}
  const T& operator*() const { return *value_; }

 private:
  std::shared_ptr<const T> value_;
};

}  // namespace paradl
