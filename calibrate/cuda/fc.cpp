#include "calibrate/cuda/gemm.hpp"
#include "calibrate/cuda/work.hpp"

// Fully connected, at every position:  y = x w' + bias,  dx = dy w,  dw = dy' x.

namespace paradl::calibrate::cuda {
namespace {

class FcWork : public CudaWork {
 public:
  FcWork(std::shared_ptr<Context> context, const LocalLayer& layer)
      : CudaWork(std::move(context), layer), rows_(layer.samples * layer.y_positions()) {
    const std::int64_t C = layer.x_channels, F = layer.y_channels;
    forward_ = make({.m = rows_, .n = F, .k = C, .transpose_b = true});
    if (layer.bias) biased_ = make({.m = rows_, .n = F, .k = C, .transpose_b = true, .bias = true});
    data_ = make({.m = rows_, .n = C, .k = F});
    weights_ = make({.m = F, .n = C, .k = rows_, .transpose_a = true});
  }

  void forward(const LayerData& d) override {
    const Pass pass(context());
    Context& c = context();
    AlignedOutput y(c, c.out(d.y), bytes(rows_ * layer().y_channels));
    const bool biased = d.w[1] && biased_;
    (biased ? *biased_ : *forward_)
        .run(x(d), w(d), y.get(), 1,
             biased ? aligned_input(c, c.in(d.w[1]), bytes(layer().y_channels)) : nullptr);
    if (d.w[1] && !biased)
      c.launch("add_bias", layer().y_items(), layer().y_items(), layer().y_channels, c.in(d.w[1]), y.get());
    y.store();
  }

  void backward_data(const LayerData& d) override {
    if (!d.dx[0]) return;
    const Pass pass(context());
    AlignedOutput dx(context(), context().out(d.dx[0]), bytes(rows_ * layer().x_channels));
    data_->run(dy(d), w(d), dx.get());
    dx.store();
  }

  void backward_weights(const LayerData& d) override {
    const Pass pass(context());
    if (d.dw[0]) {
      AlignedOutput dw(context(), context().out(d.dw[0]), bytes(layer().x_channels * layer().y_channels));
      weights_->run(dy(d), x(d), dw.get());
      dw.store();
    }
    if (d.dw[1]) bias_gradient(context(), rows_, layer().y_channels, d.dy, d.dw[1]);
  }

 private:
  std::unique_ptr<Gemm> make(const GemmShape& shape) { return std::make_unique<Gemm>(context(), shape); }
  std::size_t bytes(std::int64_t items) { return std::size_t(items) * context().item_bytes(); }
  const void* x(const LayerData& d) {
    return aligned_input(context(), context().in(d.x[0]), bytes(rows_ * layer().x_channels));
  }
  const void* dy(const LayerData& d) {
    return aligned_input(context(), context().in(d.dy), bytes(rows_ * layer().y_channels));
  }
  const void* w(const LayerData& d) {
    return aligned_input(context(), context().in(d.w[0]), bytes(layer().x_channels * layer().y_channels));
  }

  std::int64_t rows_;
  std::unique_ptr<Gemm> forward_, biased_, data_, weights_;
};

}  // namespace

std::unique_ptr<LayerWork> prepare_fc(std::shared_ptr<Context> context, const LocalLayer& layer) {
  return std::make_unique<FcWork>(std::move(context), layer);
}

}  // namespace paradl::calibrate::cuda
