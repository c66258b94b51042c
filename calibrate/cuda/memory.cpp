#include "calibrate/cuda/memory.hpp"

#include <algorithm>
#include <stdexcept>

#include "calibrate/cuda/context.hpp"

namespace paradl::calibrate::cuda {
namespace {

std::uintptr_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

}  // namespace

Room::Room(std::size_t bytes) : bytes_(bytes) {
  check(cudaMalloc(&data_, std::max<std::size_t>(bytes, 1)), "cudaMalloc");
}

// Waits for the GPU, so that no enqueued work still uses it. A failure here cannot be handled.
Room::~Room() {
  if (data_) cudaFree(data_);
}

Room& Room::operator=(Room&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Memory::Memory(Context& context)
    : context_(context), ordinal_(context.ordinal()), item_bytes_(context.item_bytes()) {}

Buffer Memory::allocate(std::size_t items) {
  // Always four bytes per item, because pointers of the interface count in floats.
  Allocation allocation{.room = Room(items * sizeof(float)), .items = items, .version = ++versions_};
  auto* data = static_cast<float*>(allocation.room.get());
  allocations_.emplace(address(data), std::move(allocation));
  return {.data = {data,
                   [self = shared_from_this()](float* p) {
                     cudaSetDevice(self->ordinal_);
                     self->allocations_.erase(address(p));
                   }},
          .items = items};
}

Memory::Allocation& Memory::find(const float* p) {
  auto next = allocations_.upper_bound(address(p));
  if (next != allocations_.begin()) {
    Allocation& allocation = std::prev(next)->second;
    if (address(p) < std::prev(next)->first + std::max<std::size_t>(allocation.items, 1) * sizeof(float))
      return allocation;
  }
  throw std::logic_error("a pointer does not belong to a buffer of this device");
}

std::size_t Memory::items_before(const Allocation& allocation, const float* p) const {
  return (address(p) - address(allocation.room.get())) / sizeof(float);
}

void* Memory::as_is(const float* p) {
  if (item_bytes_ == 4) return const_cast<float*>(p);
  const Allocation& allocation = find(p);
  const std::size_t size = allocation.wide ? sizeof(float) : item_bytes_;
  return static_cast<char*>(allocation.room.get()) + items_before(allocation, p) * size;
}

void* Memory::storage(const float* p) {
  if (item_bytes_ == 4) return const_cast<float*>(p);
  if (Allocation& allocation = find(p); allocation.wide) make(allocation, false);
  return as_is(p);
}

float* Memory::wide(const float* p) {
  if (item_bytes_ == 4) return const_cast<float*>(p);
  if (Allocation& allocation = find(p); !allocation.wide) make(allocation, true);
  return static_cast<float*>(as_is(p));
}

void Memory::make_wide(const float* p) {
  if (item_bytes_ != 4) find(p).wide = true;
}

void Memory::changed(const float* p) {
  Allocation& allocation = find(p);
  allocation.version = ++versions_;
  allocation.master = Room();
}

float* Memory::master(const float* p) {
  void* const stored = storage(p);
  Allocation& allocation = find(p);
  allocation.version = ++versions_;
  const std::size_t before = items_before(allocation, p);
  if (!allocation.master.get()) {
    allocation.master = Room(allocation.items * sizeof(float));
    context_.convert(allocation.items, static_cast<char*>(stored) - before * item_bytes_, false,
                     allocation.master.get(), true);
  }
  return static_cast<float*>(allocation.master.get()) + before;
}

// Copied to another room and back, because items would overwrite each other.
void Memory::make(Allocation& allocation, bool wide) {
  const std::size_t bytes = allocation.items * (wide ? sizeof(float) : item_bytes_);
  const Room other(bytes);
  context_.convert(allocation.items, allocation.room.get(), allocation.wide, other.get(), wide);
  context_.move(allocation.room.get(), other.get(), bytes);
  allocation.wide = wide;
}

bool Memory::is_whole(const float* p, std::size_t items) {
  const Allocation& allocation = find(p);
  return items_before(allocation, p) == 0 && items == allocation.items;
}

}  // namespace paradl::calibrate::cuda
