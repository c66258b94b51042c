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

/// The buffers that the interface knows. It counts items as floats; a device that stores 16 bits has item i
/// of a buffer at byte 2i, so that every pointer is looked up here on its way to a kernel. Few buffers stay
/// at 32 bits (statistics, states of optimizers, token ids), and a buffer becomes what its user needs when it
/// is first used: the numbers stay what they are.
class Memory : public std::enable_shared_from_this<Memory> {
 public:
  explicit Memory(Context& context);

  Buffer allocate(std::size_t items);
  bool is_wide(const float* p) { return item_bytes_ == 4 || find(p).wide; }
  /// As the buffer is, or as asked for.
  void* as_is(const float* p);
  void* storage(const float* p);
  float* wide(const float* p);
  void make_wide(const float* p);  // what is in there is lost
  /// Must be called after changes to weights, because layers keep copies in another order.
  void changed(const float* p);
  /// Different for different contents of weights.
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
    std::uint64_t version = 0;  // counts what was written from outside of layers
    Room master;                // 32-bit copy of 16-bit weights; none before the first update
  };
  Allocation& find(const float* p);
  std::size_t items_before(const Allocation& allocation, const float* p) const;

  void make(Allocation& allocation, bool wide);

  Context& context_;  // buffers may outlive it: they are given back without its help
  int ordinal_;
  std::size_t item_bytes_;
  std::uint64_t versions_ = 0;
  std::map<std::uintptr_t, Allocation> allocations_;  // by where they begin
};

}  // namespace paradl::calibrate::cuda
