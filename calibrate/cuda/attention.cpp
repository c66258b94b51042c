#include <cmath>

#include "calibrate/cuda/gemm.hpp"
#include "calibrate/cuda/graph.hpp"
#include "calibrate/cuda/work.hpp"

// Attention of each head:  shares = softmax(q k' / sqrt(size)),  y = shares v.
//
// FusedAttention is one graph of cuDNN and never stores the shares; it needs 16 bits and sm_80.
// ProductAttention consists of matrix products. Queries that share a head of keys and values are rows of one
// product, so there are samples * kv_heads products.

namespace paradl::calibrate::cuda {
namespace {

/// q, k and v, or their gradients.
struct Heads {
  void *q, *k, *v;
};

/// x has, for each head of keys, the heads of queries that share it, the key and the value side by side.
class AttentionWork : public CudaWork {
 public:
  AttentionWork(std::shared_ptr<Context> context, const LocalLayer& l)
      : CudaWork(std::move(context), l),
        length_(l.x_positions()),
        size_(l.y_channels / l.heads),
        sharing_(l.heads / l.kv_heads) {}
  void backward_weights(const LayerData&) override {}

 protected:
  std::size_t bytes(std::int64_t items) { return std::size_t(items) * context().item_bytes(); }
  std::int64_t length() const { return length_; }
  std::int64_t size() const { return size_; }
  std::int64_t sharing() const { return sharing_; }
  std::int64_t queries() const { return layer().samples * layer().heads * length_; }

  Heads lend_heads() {
    Context& c = context();
    const std::int64_t kv_items = queries() / sharing_ * size_;
    return {c.lend(bytes(queries() * size_)), c.lend(bytes(kv_items)), c.lend(bytes(kv_items))};
  }
  /// Copies head by head, from x or back to it.
  Heads split(const void* x) {
    const Heads to = lend_heads();
    run("split_heads", queries_in_x(), x, to.q);
    run("split_heads", keys_in_x(), x, to.k);
    run("split_heads", values_in_x(), x, to.v);
    return to;
  }
  void merge(const Heads& from, void* x) {
    run("merge_heads", queries_in_x(), from.q, x);
    run("merge_heads", keys_in_x(), from.k, x);
    run("merge_heads", values_in_x(), from.v, x);
  }
  void split_y(const void* y, void* packed) { run("split_heads", heads_in_y(), y, packed); }
  void merge_y(const void* packed, void* y) { run("merge_heads", heads_in_y(), packed, y); }

 private:
  /// As head_of() in kernels/moves.cu.
  struct Selection {
    std::int64_t all, group, first, per, count;
  };
  Selection queries_in_x() const { return {all(), sharing_ + 2, 0, sharing_, layer().heads}; }
  Selection keys_in_x() const { return {all(), sharing_ + 2, sharing_, 1, layer().kv_heads}; }
  Selection values_in_x() const { return {all(), sharing_ + 2, sharing_ + 1, 1, layer().kv_heads}; }
  Selection heads_in_y() const { return {layer().heads, layer().heads, 0, layer().heads, layer().heads}; }
  std::int64_t all() const { return layer().kv_heads * (sharing_ + 2); }
  void run(const char* kernel, const Selection& s, const void* from, void* to) {
    const std::int64_t n = layer().samples * length_ * s.count * size_;
    context().launch(kernel, n, n, length_, size_, s.all, s.group, s.first, s.per, s.count, from, to);
  }

  std::int64_t length_, size_, sharing_;
};

class FusedAttention : public AttentionWork {
 public:
  FusedAttention(std::shared_ptr<Context> context, const LocalLayer& layer, std::unique_ptr<Graph> forward,
                 std::unique_ptr<Graph> backward)
      : AttentionWork(std::move(context), layer),
        forward_(std::move(forward)),
        backward_(std::move(backward)) {}

  // The statistics of each query in 32 bits, then y in 16 bits, which later layers need not keep.
  std::size_t kept_items() const override { return std::size_t(statistics_items() + layer().y_items()); }

  void forward(const LayerData& d) override {
    const Pass pass(context());
    Context& c = context();
    AlignedOutput kept(c, c.wide(d.kept), kept_items() * sizeof(float));
    void* const y = y_behind(kept.get());
    const Heads x = input(d);
    forward_->run(std::array<const void*, 5>{x.q, x.k, x.v, y, kept.get()});
    c.move(c.out(d.y), y, bytes(layer().y_items()));
    kept.store();
  }

  void backward_data(const LayerData& d) override {
    if (!d.dx[0]) return;
    const Pass pass(context());
    Context& c = context();
    const void* const kept = aligned_input(c, c.wide(d.kept), kept_items() * sizeof(float));
    const void* const dy = aligned_input(c, c.in(d.dy), bytes(layer().y_items()));
    const Heads x = input(d);
    AlignedOutput dx(c, c.out(d.dx[0]), bytes(layer().x_items()));
    const Heads out = sharing() > 1 ? lend_heads() : in_place(dx.get());
    backward_->run(std::array<const void*, 9>{x.q, x.k, x.v, y_behind(const_cast<void*>(kept)), dy, kept,
                                              out.q, out.k, out.v});
    if (sharing() > 1) merge(out, dx.get());
    dx.store();
  }

 private:
  /// A multiple of 64, so that y after them is aligned.
  std::int64_t statistics_items() const { return (queries() + 63) / 64 * 64; }
  void* y_behind(void* statistics) const { return static_cast<float*>(statistics) + statistics_items(); }
  /// Without shared heads, cuDNN reads them with strides.
  Heads in_place(void* x) {
    auto* const first = static_cast<char*>(x);
    return {first, first + bytes(size()), first + bytes(2 * size())};
  }
  Heads input(const LayerData& d) {
    const void* const x = context().in(d.x[0]);
    if (sharing() > 1) return split(x);
    return in_place(const_cast<void*>(aligned_input(context(), x, bytes(layer().x_items()))));
  }

  std::unique_ptr<Graph> forward_, backward_;
};

class ProductAttention : public AttentionWork {
 public:
  ProductAttention(std::shared_ptr<Context> context, const LocalLayer& l)
      : AttentionWork(std::move(context), l), scale_(1.0f / std::sqrt(float(size()))) {
    const std::int64_t rows = sharing() * length(), batch = l.samples * l.kv_heads;
    scores_ =
        make({.m = rows, .n = length(), .k = size(), .transpose_b = true, .batch = batch});  // q k', dy v'
    values_ = make({.m = rows, .n = size(), .k = length(), .batch = batch});                 // shares v, ds k
    gathers_ = make(
        {.m = length(), .n = size(), .k = rows, .transpose_a = true, .batch = batch});  // shares' dy, ds' q
  }

  std::size_t kept_items() const override { return std::size_t(shares_items()); }

  void forward(const LayerData& d) override {
    const Pass pass(context());
    Context& c = context();
    const Heads x = split(c.in(d.x[0]));
    AlignedOutput shares(c, c.out(d.kept), bytes(shares_items()));
    scores_->run(x.q, x.k, shares.get(), scale_);
    c.launch_rows("softmax_forward", queries(), queries(), length(), std::int64_t(layer().causal),
                  static_cast<const void*>(shares.get()), shares.get());
    void* const y = c.lend(bytes(queries() * size()));
    values_->run(shares.get(), x.v, y);
    merge_y(y, c.out(d.y));
    shares.store();
  }

  void backward_data(const LayerData& d) override {
    if (!d.dx[0]) return;
    const Pass pass(context());
    Context& c = context();
    const Heads x = split(c.in(d.x[0])), dx = lend_heads();
    void* const dy = c.lend(bytes(queries() * size()));
    split_y(c.in(d.dy), dy);
    const void* const shares = aligned_input(c, c.in(d.kept), bytes(shares_items()));
    void* const ds = c.lend(bytes(shares_items()));
    scores_->run(dy, x.v, ds);
    c.launch_rows("softmax_backward", queries(), queries(), length(), shares, static_cast<const void*>(ds),
                  ds);
    values_->run(ds, x.k, dx.q, scale_);
    gathers_->run(ds, x.q, dx.k, scale_);
    gathers_->run(shares, dy, dx.v);
    merge(dx, c.out(d.dx[0]));
  }

 private:
  std::unique_ptr<Gemm> make(const GemmShape& shape) { return std::make_unique<Gemm>(context(), shape); }
  std::int64_t shares_items() const { return queries() * length(); }

  float scale_;
  std::unique_ptr<Gemm> scores_, values_, gathers_;
};

bool may_be_fused(const Context& context, const LocalLayer& layer) {
  const std::int64_t size = layer.y_channels / layer.heads;
  return context.storage() != Storage::fp32 && context.architecture() >= 80 && size % 8 == 0 && size <= 128;
}

}  // namespace

std::unique_ptr<LayerWork> prepare_attention(std::shared_ptr<Context> context, const LocalLayer& layer) {
  if (may_be_fused(*context, layer)) {
    auto forward = make_graph(*context, GraphKind::attention_forward, layer);
    auto backward = forward ? make_graph(*context, GraphKind::attention_backward, layer) : nullptr;
    if (backward)
      return std::make_unique<FusedAttention>(std::move(context), layer, std::move(forward),
                                              std::move(backward));
  }
  return std::make_unique<ProductAttention>(std::move(context), layer);
}

}  // namespace paradl::calibrate::cuda
