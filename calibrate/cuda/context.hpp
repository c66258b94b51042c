#pragma once
#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "calibrate/backend/device.hpp"
#include "calibrate/cuda/check.hpp"
#include "calibrate/cuda/compiler.hpp"
#include "calibrate/cuda/memory.hpp"

namespace paradl::calibrate::cuda {

/// One GPU: its stream, libraries, kernels and memory. All work is enqueued on one stream, in the order of
/// the calls. Not thread-safe.
class Context {
 public:
  Context(int ordinal, Precision precision);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Precision precision() const { return precision_; }
  Storage storage() const { return storage_; }
  std::size_t item_bytes() const { return item_size(storage_); }
  int ordinal() const { return ordinal_; }
  int architecture() const { return architecture_; }  // 80 is sm_80
  cudaStream_t stream() const { return stream_; }
  cublasLtHandle_t blas() const { return blas_; }
  cudnnHandle_t dnn();  // created at the first call, because it takes memory and a second
  Memory& memory() { return *memory_; }

  /// Makes this GPU the current one of the thread. Every entry point calls it.
  void enter() const { check(cudaSetDevice(ordinal_), "cudaSetDevice"); }
  void synchronize() const;

  /// The storage of the items at `p`, a pointer of the interface; null stays null.
  const void* in(const float* p) { return p ? memory_->storage(p) : nullptr; }
  void* out(float* p) { return p ? memory_->storage(p) : nullptr; }
  /// The same for numbers that are stored in 32 bits.
  float* wide(float* p) { return p ? memory_->wide(p) : nullptr; }
  const float* wide(const float* p) { return p ? memory_->wide(p) : nullptr; }

  /// Scratch memory until the end of the pass (Pass, below), aligned to 256 bytes.
  void* lend(std::size_t bytes);

  /// Runs a kernel of kernels/*.cu on `work` items, one per thread.
  template <class... Arguments>
  void launch(const char* kernel, std::int64_t work, Arguments... arguments) {
    put_in_line(kernel, (work + block_size - 1) / block_size, arguments...);
  }
  /// Runs a kernel on `rows`, one per block.
  template <class... Arguments>
  void launch_rows(const char* kernel, std::int64_t rows, Arguments... arguments) {
    put_in_line(kernel, rows, arguments...);
  }

  void zero(void* to, std::size_t bytes);
  /// Converts between 32 bits and storage.
  void convert(std::size_t items, const void* from, bool from_wide, void* to, bool to_wide);
  void move(void* to, const void* from, std::size_t bytes);  // both on the GPU
  std::int64_t processors() const { return processors_; }

 private:
  friend class Pass;
  static constexpr int block_size = 256;  // as in kernels/0_prelude.cu

  /// The letters of Kernel::parameters.
  template <class Argument>
  static constexpr char kind() {
    static_assert(std::is_pointer_v<Argument> || std::is_same_v<Argument, std::int64_t> ||
                      std::is_same_v<Argument, float> || std::is_class_v<Argument>,
                  "kernels take pointers, std::int64_t, float and structs");
    static_assert(std::is_trivially_copyable_v<Argument>);
    return std::is_pointer_v<Argument>              ? 'p'
           : std::is_same_v<Argument, float>        ? 'f'
           : std::is_same_v<Argument, std::int64_t> ? 'i'
                                                    : 's';
  }
  template <class... Arguments>
  void put_in_line(const char* kernel, std::int64_t blocks, Arguments... arguments) {
    static constexpr std::array<char, sizeof...(Arguments)> kinds{kind<Arguments>()...};
    std::array<void*, sizeof...(Arguments)> list{const_cast<void*>(static_cast<const void*>(&arguments))...};
    submit(kernel, blocks, {kinds.data(), kinds.size()}, list.data());
  }
  void submit(const char* kernel, std::int64_t blocks, std::string_view kinds, void** arguments);
  void give_back();

  struct Loaded {
    cudaKernel_t kernel;
    std::string parameters;
  };

  int ordinal_;
  Precision precision_;
  Storage storage_;
  int architecture_ = 0;
  std::int64_t processors_ = 1;
  cudaStream_t stream_ = nullptr;
  cublasLtHandle_t blas_ = nullptr;
  cudnnHandle_t dnn_ = nullptr;
  cudaLibrary_t library_ = nullptr;
  std::map<std::string, Loaded, std::less<>> kernels_;
  std::shared_ptr<Memory> memory_;
  std::vector<Room> rooms_;      // scratch memory; the last one is in use
  std::size_t lent_ = 0;         // bytes of the last one
  std::size_t lent_before_ = 0;  // bytes of the others
};

/// Scratch memory of one pass of a layer, returned at its end. Enqueued work may still use it then, but the
/// next pass can reuse it, because it runs later on the same stream.
class Pass {
 public:
  explicit Pass(Context& context) : context_(context) { context_.enter(); }
  ~Pass() { context_.give_back(); }
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

 private:
  Context& context_;
};

/// A CUDA event in the stream.
class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(const Context& context) const;
  /// Waits until the GPU has passed both.
  Seconds since(const Event& earlier) const;

 private:
  cudaEvent_t event_ = nullptr;
};

/// Calls `work` a few times and returns its shortest time on the GPU.
Seconds shortest_time(Context& context, const std::function<void()>& work);

}  // namespace paradl::calibrate::cuda
