#include "calibrate/cuda/device.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "calibrate/cuda/cuda.hpp"
#include "calibrate/cuda/work.hpp"

namespace paradl::calibrate {
namespace cuda {
namespace {

/// Whole numbers that may not fit in 16 bits, such as token ids, are stored in 32 bits.
bool are_large_numbers(std::span<const float> values) {
  constexpr float exact_in_bf16 = 256;
  return std::ranges::all_of(values, [](float v) { return v == std::floor(v); }) &&
         std::ranges::any_of(values, [](float v) { return std::abs(v) > exact_in_bf16; });
}

/// Strides of a box that is stored row by row.
std::array<std::int64_t, 5> strides(const Box& box) {
  std::array<std::int64_t, 5> out{};
  std::int64_t stride = 1;
  for (std::size_t d = 5; d-- > 0;) {
    out[d] = stride;
    stride *= box.length(d);
  }
  return out;
}

/// Items of the box before the region begins.
std::int64_t first_item(const Box& box, const Box& region) {
  const auto stride = strides(box);
  std::int64_t out = 0;
  for (std::size_t d = 0; d < 5; ++d) out += (region.begin[d] - box.begin[d]) * stride[d];
  return out;
}

}  // namespace

DeviceFacts CudaDevice::facts() const {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, context_->ordinal()), "cudaGetDeviceProperties");
  return {.name = properties.name,
          .libraries = cuda_versions(),
          .memory = Bytes{double(properties.totalGlobalMem)}};
}

Buffer CudaDevice::allocate(std::size_t items) {
  context_->enter();
  Buffer buffer = context_->memory().allocate(items);
  context_->zero(buffer.get(), items * sizeof(float));
  return buffer;
}

void CudaDevice::write(float* to, std::span<const float> from) {
  if (from.empty()) return;
  const Pass pass(*context_);
  Memory& memory = context_->memory();
  memory.changed(to);
  if (context_->storage() != Storage::fp32 && memory.is_whole(to, from.size()) && are_large_numbers(from))
    memory.make_wide(to);
  const bool wide = memory.is_wide(to);
  void* const target = wide ? memory.as_is(to) : context_->lend(from.size_bytes());
  check(cudaMemcpyAsync(target, from.data(), from.size_bytes(), cudaMemcpyHostToDevice, context_->stream()),
        "cudaMemcpyAsync");
  if (!wide) context_->convert(from.size(), target, true, memory.as_is(to), false);
  context_->synchronize();  // the caller may free `from`
}

void CudaDevice::read(std::span<float> to, const float* from) {
  if (to.empty()) return;
  const Pass pass(*context_);
  Memory& memory = context_->memory();
  const void* source = memory.as_is(from);
  if (!memory.is_wide(from)) {
    void* const widened = context_->lend(to.size_bytes());
    context_->convert(to.size(), source, false, widened, true);
    source = widened;
  }
  check(cudaMemcpyAsync(to.data(), source, to.size_bytes(), cudaMemcpyDeviceToHost, context_->stream()),
        "cudaMemcpyAsync");
  context_->synchronize();
}

void CudaDevice::fill(float* to, std::size_t items, float value) {
  if (items == 0) return;
  context_->enter();
  Memory& memory = context_->memory();
  memory.changed(to);
  context_->launch("fill", std::int64_t(items), std::int64_t(items), memory.as_is(to),
                   std::int64_t(memory.is_wide(to)), value);
}

void CudaDevice::copy(const Piece& to, const Piece& from, const Box& region, Combine how) {
  if (region.empty()) return;
  context_->enter();
  Memory& memory = context_->memory();
  memory.changed(to.data);
  float* const target = to.data + first_item(to.box, region);
  const float* const source = from.data + first_item(from.box, region);
  const bool to_wide = memory.is_wide(target), from_wide = memory.is_wide(source);
  if (how == Combine::replace && to_wide == from_wide && region == to.box && region == from.box) {
    const std::size_t item = to_wide ? sizeof(float) : context_->item_bytes();
    return context_->move(memory.as_is(target), memory.as_is(source), region.items() * item);
  }
  const RegionSizes sizes{
      .length = {region.length(0), region.length(1), region.length(2), region.length(3), region.length(4)},
      .to = strides(to.box),
      .from = strides(from.box)};
  context_->launch("copy_region", std::int64_t(region.items()), std::int64_t(region.items()), sizes,
                   static_cast<const void*>(memory.as_is(source)), std::int64_t(from_wide),
                   memory.as_is(target), std::int64_t(to_wide), std::int64_t(how == Combine::add));
}

std::unique_ptr<LayerWork> CudaDevice::prepare(const LocalLayer& layer) {
  const Pass pass(*context_);
  switch (layer.op) {
    case Op::conv:
      return prepare_conv(context_, layer);
    case Op::fc:
      return prepare_fc(context_, layer);
    case Op::attention:
      return prepare_attention(context_, layer);
    default:
      return prepare_simple(context_, layer);
  }
}

void CudaDevice::update(Optimizer optimizer, std::size_t items, float* w, const float* dw, float* state) {
  if (items == 0) return;
  const Pass pass(*context_);
  Context& c = *context_;
  Memory& memory = c.memory();
  const auto n = std::int64_t(items);
  const void* const g = c.in(dw);
  float* master = w;
  void* stored = nullptr;
  if (c.storage() == Storage::fp32) {
    memory.changed(w);
  } else {
    master = memory.master(w);
    stored = c.out(w);
  }
  float* const first = optimizer_slots(optimizer) > 0 ? c.wide(state) : nullptr;
  float* const second = optimizer_slots(optimizer) > 1 ? first + n : nullptr;
  switch (optimizer) {
    case Optimizer::sgd:
      return c.launch("sgd", n, n, g, master, stored);
    case Optimizer::momentum:
      return c.launch("momentum", n, n, g, master, stored, first);
    case Optimizer::adam:
      return c.launch("adam", n, n, g, master, stored, first, second);
    case Optimizer::lamb: {
      auto* const sums = static_cast<float*>(c.lend(2 * sizeof(float)));
      c.zero(sums, 2 * sizeof(float));
      c.launch("lamb_sums", n, n, g, master, first, second, sums);
      return c.launch("lamb", n, n, master, stored, first, second, sums);
    }
  }
}

void CudaDevice::synchronize() {
  context_->enter();
  context_->synchronize();
}

Seconds CudaDevice::time(const std::function<void()>& work) {
  context_->enter();
  const Event begin, end;
  begin.record(*context_);
  work();
  end.record(*context_);
  return end.since(begin);
}

}  // namespace cuda

std::unique_ptr<Device> make_cuda_device(int ordinal, Precision precision) {
  return std::make_unique<cuda::CudaDevice>(ordinal, precision);
}

std::string cuda_versions() {
  int runtime = 0, nccl = 0;
  cuda::check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  cuda::check(ncclGetVersion(&nccl), "ncclGetVersion");
  const auto dnn = int(cudnnGetVersion());
  return fmt::format("CUDA {}.{}, cuDNN {}.{}.{}, NCCL {}.{}.{}", runtime / 1000, runtime % 1000 / 10,
                     dnn / 10000, dnn / 100 % 100, dnn % 100, nccl / 10000, nccl / 100 % 100, nccl % 100);
}

}  // namespace paradl::calibrate
