#pragma once
#include <cstdint>
#include <map>
#include <memory>

#include "calibrate/backend/device.hpp"

namespace paradl::calibrate::cuda {

class Context;

/// A piece of the GPU's memory.
class Room {
 public:
  Room() = default;
  explicit Room(std::size_t bytes);
  ~Room();
  static Room adopt(void* data, std::size_t bytes) {
    Room out;
    out.data_ = data;
    out.bytes_ = bytes;
    return out;
  }
  Room(Room&& other) noexcept : data_(other.data_), bytes_(other.bytes_) { other.data_ = nullptr; }
  Room& operator=(Room&& other) noexcept;
  void* get() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The buffers of the interface, whose pointers count items as floats. A device with 16-bit storage has item
/// i of a buffer at byte 2i, so every pointer is translated here before a kernel gets it. A few buffers stay
/// at 32 bits (statistics, states of optimizers, token ids). A buffer is converted to the width that its user
/// needs when it is first used; its numbers do not change.
class Memory : public std::enable_shared_from_this<Memory> {
 public:
  explicit Memory(Context& context);

  Buffer allocate(std::size_t items);
  bool is_wide(const float* p) { return item_bytes_ == 4 || find(p).wide; }
  /// In the buffer's own width, or in a requested one.
  void* as_is(const float* p);
  void* storage(const float* p);
  float* wide(const float* p);
  void make_wide(const float* p);  // its contents are lost
  /// Must be called after changes to weights, because layers keep copies in another order.
  void changed(const float* p);
  /// Changes with the contents of weights.
  std::uint64_t version(const float* p) { return find(p).version; }
  /// The 32-bit copy of the weights at `p`, which are about to be updated.
  float* master(const float* p);
  /// `items` at `p` are a whole buffer.
  bool is_whole(const float* p, std::size_t items);

 private:
  struct Allocation {
    Room room;
    std::size_t items = 0;
    bool wide = false;          // 32 bits an item
    std::uint64_t version = 0;  // counts writes from outside of layers
    Room master;                // 32-bit copy of 16-bit weights; none before the first update
  };
  Allocation& find(const float* p);
  std::size_t items_before(const Allocation& allocation, const float* p) const;

  void make(Allocation& allocation, bool wide);

  Context& context_;  // buffers may outlive it: they are freed without it
  int ordinal_;
  std::size_t item_bytes_;
  std::uint64_t versions_ = 0;
  std::map<std::uintptr_t, Allocation> allocations_;  // by address
};

}  // namespace paradl::calibrate::cuda
