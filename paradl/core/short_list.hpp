#pragma once
#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace paradl {

/// A list of at most `most` values without allocation. Only used entries are written and copied, because most
/// of many lists are empty.
template <class T, std::size_t most>
class ShortList {
 public:
  ShortList() {}
  ShortList(const ShortList& other) : size_(other.size_) { copy(other); }
  ShortList& operator=(const ShortList& other) {
    size_ = other.size_;
    copy(other);
    return *this;
  }
  void add(const T& value) {
    assert(size_ < most);
    values_[size_++] = value;
  }
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  const T& back() const { return values_[size_ - 1u]; }
  T* begin() { return values_.data(); }
  T* end() { return values_.data() + size_; }
  const T* begin() const { return values_.data(); }
  const T* end() const { return values_.data() + size_; }

 private:
  static_assert(std::is_trivially_copyable_v<T> && most < 256);
  void copy(const ShortList& other) { std::copy(other.begin(), other.end(), values_.data()); }

  union {  // keeps `values_` uninitialised
    std::array<T, most> values_;
  };
  std::uint8_t size_ = 0;
};

}  // namespace paradl
