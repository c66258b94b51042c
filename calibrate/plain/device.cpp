#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>

#include <unistd.h>

#include "calibrate/plain/passes.hpp"
#include "calibrate/plain/plain.hpp"

namespace paradl::calibrate {
namespace {

// clang-format off
constexpr std::array<const Passes*, std::size_t(Op::loss) + 1> passes_of{
    &product_passes, &product_passes,                            // conv, fc
    &embedding_passes, &position_passes,
    &max_pool_passes, &avg_pool_passes, &global_pool_passes,
    &batch_norm_passes, &layer_norm_passes, &group_norm_passes, &rms_norm_passes,
    &relu_passes, &gelu_passes, &silu_passes, &tanh_passes, &sigmoid_passes, &gate_passes,
    &copy_passes,                                                // dropout
    &softmax_passes, &attention_passes,
    &add_passes, &concat_passes, &flatten_passes, &tokens_passes, &select_passes,
    &copy_passes,                                                // rotary, for its time only
    &copy_passes,                                                // loss
};
// clang-format on

class PlainWork : public LayerWork {
 public:
  explicit PlainWork(const LocalLayer& layer) : layer_(layer), passes_(*passes_of[std::size_t(layer.op)]) {}

  void forward(const LayerData& data) override { run(passes_.forward, data); }
  void backward_data(const LayerData& data) override { run(passes_.backward_data, data); }
  void backward_weights(const LayerData& data) override { run(passes_.backward_weights, data); }
  void forward_statistics(const LayerData& data) override { run(passes_.forward_statistics, data); }
  void backward_statistics(const LayerData& data) override { run(passes_.backward_statistics, data); }
  std::size_t kept_items() const override { return passes_.kept_items ? passes_.kept_items(layer_) : 0; }

 private:
  void run(Passes::Pass pass, const LayerData& data) {
    if (pass) pass(layer_, data);
  }

  LocalLayer layer_;
  const Passes& passes_;
};

/// The index of the item `at` in a piece.
std::int64_t offset(const Piece& piece, const std::array<std::int64_t, 5>& at) {
  std::int64_t out = 0;
  for (std::size_t d = 0; d < 5; ++d) out = out * piece.box.length(d) + at[d] - piece.box.begin[d];
  return out;
}

}  // namespace

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const auto colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "unknown CPU";
}

Bytes machine_memory() { return Bytes{double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE))}; }

DeviceFacts PlainDevice::facts() const {
  return {.name = cpu_name(), .libraries = "plain loops, 1 thread", .memory = machine_memory()};
}

Buffer PlainDevice::allocate(std::size_t items) {
  constexpr std::size_t line = 64;  // of a cache, and as wide as any vector register
  const std::size_t bytes = (std::max<std::size_t>(items, 1) * sizeof(float) + line - 1) / line * line;
  auto* data = static_cast<float*>(std::aligned_alloc(line, bytes));
  if (!data) throw std::bad_alloc();
  std::memset(data, 0, bytes);
  return {.data = {data, [](float* p) { std::free(p); }}, .items = items};
}

void PlainDevice::write(float* to, std::span<const float> from) { std::copy(from.begin(), from.end(), to); }
void PlainDevice::read(std::span<float> to, const float* from) { std::copy_n(from, to.size(), to.begin()); }
void PlainDevice::fill(float* to, std::size_t items, float value) { std::fill_n(to, items, value); }

void PlainDevice::copy(const Piece& to, const Piece& from, const Box& region, Combine how) {
  if (region.empty()) return;
  // One run of memory ends with the first dimension, from the last, that is not whole in both boxes.
  std::size_t outer = 5;
  std::size_t run = 1;
  for (bool whole = true; whole && outer > 0;) {
    --outer;
    run *= std::size_t(region.length(outer));
    whole = region.length(outer) == to.box.length(outer) && region.length(outer) == from.box.length(outer);
  }
  auto at = region.begin;
  while (true) {
    float* target = to.data + offset(to, at);
    const float* source = from.data + offset(from, at);
    if (how == Combine::replace)
      std::memcpy(target, source, run * sizeof(float));
    else
      for (std::size_t i = 0; i < run; ++i) target[i] += source[i];
    std::size_t d = outer;
    while (d > 0 && ++at[d - 1] == region.end[d - 1]) {
      --d;
      at[d] = region.begin[d];
    }
    if (d == 0) return;
  }
}

std::unique_ptr<LayerWork> PlainDevice::prepare(const LocalLayer& layer) {
  return std::make_unique<PlainWork>(layer);
}

Seconds PlainDevice::time(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return Seconds{std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
}

std::unique_ptr<Device> make_plain_device() { return std::make_unique<PlainDevice>(); }

}  // namespace paradl::calibrate
