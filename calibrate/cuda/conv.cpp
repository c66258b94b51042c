#include "calibrate/cuda/conv.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "calibrate/cuda/graph.hpp"
#include "calibrate/cuda/work.hpp"
#include "paradl/core/error.hpp"

// Convolution by cuDNN. Its fast engines need channels as the innermost dimension of weights, as of x.
// Weights with several taps are reordered once after each change, and their gradients are reordered back.

namespace paradl::calibrate::cuda {
namespace {

class ConvWork : public CudaWork {
 public:
  ConvWork(std::shared_ptr<Context> context, const LocalLayer& layer)
      : CudaWork(std::move(context), layer),
        fitted_(fitted(layer)),
        taps_(layer.kernel[0] * layer.kernel[1] * layer.kernel[2]),
        group_channels_(layer.x_channels / layer.groups),
        w_items_(layer.y_channels * group_channels_ * taps_) {
    forward_ = make(GraphKind::conv_forward);
    data_ = make(GraphKind::conv_data);
    weights_ = make(GraphKind::conv_weights);
    if (taps_ > 1) ordered_ = Room(bytes(w_items_));
  }

  void forward(const LayerData& d) override {
    const Pass pass(context());
    Context& c = context();
    AlignedOutput y(c, c.out(d.y), bytes(layer().y_items()));
    forward_->run(std::array<const void*, 3>{x(d), w(d), y.get()});
    if (d.w[1])
      c.launch("add_bias", layer().y_items(), layer().y_items(), layer().y_channels, c.in(d.w[1]), y.get());
    y.store();
  }

  void backward_data(const LayerData& d) override {
    if (!d.dx[0]) return;
    const Pass pass(context());
    Context& c = context();
    if (!fitted_.copies_x) {
      AlignedOutput dx(c, c.out(d.dx[0]), bytes(layer().x_items()));
      data_->run(std::array<const void*, 3>{dy(d), w(d), dx.get()});
      return dx.store();
    }
    void* const dx = c.lend(bytes(fitted_.layer.x_items()));
    data_->run(std::array<const void*, 3>{dy(d), w(d), dx});
    // Rows that no window reaches have no gradient.
    c.zero(c.out(d.dx[0]), bytes(layer().x_items()));
    copy_common(dx, true, c.out(d.dx[0]));
  }

  void backward_weights(const LayerData& d) override {
    const Pass pass(context());
    Context& c = context();
    if (d.dw[0] && taps_ > 1) {
      void* const ordered = c.lend(bytes(w_items_));
      weights_->run(std::array<const void*, 3>{dy(d), x(d), ordered});
      c.launch("transpose", w_items_, w_items_, taps_, group_channels_, static_cast<const void*>(ordered),
               c.out(d.dw[0]));
    } else if (d.dw[0]) {
      AlignedOutput dw(c, c.out(d.dw[0]), bytes(w_items_));
      weights_->run(std::array<const void*, 3>{dy(d), x(d), dw.get()});
      dw.store();
    }
    if (d.dw[1]) bias_gradient(c, layer().samples * layer().y_positions(), layer().y_channels, d.dy, d.dw[1]);
  }

 private:
  std::unique_ptr<Graph> make(GraphKind kind) {
    auto graph = make_graph(context(), kind, fitted_.layer);
    if (!graph)
      throw EnvironmentError(
          fmt::format("cuDNN cannot run a convolution of {} channels to {} with {} taps in {}",
                      layer().x_channels, layer().y_channels, taps_,
                      precision_names[std::size_t(context().precision())]),
          "try another precision; CUDNN_LOGLEVEL_DBG=2 CUDNN_LOGDEST_DBG=stderr makes cuDNN print why");
    return graph;
  }
  std::size_t bytes(std::int64_t items) { return std::size_t(items) * context().item_bytes(); }

  const void* x(const LayerData& d) {
    Context& c = context();
    const void* const given = c.in(d.x[0]);
    if (!fitted_.copies_x) return aligned_input(c, given, bytes(layer().x_items()));
    void* const copy = c.lend(bytes(fitted_.layer.x_items()));
    c.zero(copy, bytes(fitted_.layer.x_items()));
    copy_common(given, false, copy);
    return copy;
  }
  const void* dy(const LayerData& d) {
    return aligned_input(context(), context().in(d.dy), bytes(layer().y_items()));
  }
  const void* w(const LayerData& d) {
    Context& c = context();
    if (taps_ == 1) return aligned_input(c, c.in(d.w[0]), bytes(w_items_));
    const std::uint64_t version = c.memory().version(d.w[0]);
    if (d.w[0] != ordered_of_ || version != ordered_version_) {
      c.launch("transpose", w_items_, w_items_, group_channels_, taps_, c.in(d.w[0]), ordered_.get());
      ordered_of_ = d.w[0];
      ordered_version_ = version;
    }
    return ordered_.get();
  }

  /// Copies the rows that x and its fitted copy have in common, in either direction.
  void copy_common(const void* from, bool from_fitted, void* to) {
    const LocalLayer &own = layer(), &other = fitted_.layer;
    const auto strides = [](const LocalLayer& l) {
      const std::int64_t row = l.x_extent[2] * l.x_channels;
      return std::array<std::int64_t, 5>{l.x_positions() * l.x_channels, l.x_extent[1] * row, row,
                                         l.x_channels, 1};
    };
    RegionSizes sizes{.length = {own.samples, 1, 1, 1, own.x_channels},
                      .to = strides(from_fitted ? own : other),
                      .from = strides(from_fitted ? other : own)};
    // Row `padding` of the copy is row 0 of x.
    const auto fitted_strides = strides(other);
    std::int64_t items = own.samples * own.x_channels, before = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      sizes.length[d + 1] = std::min(own.x_extent[d], other.x_extent[d] - own.padding[d]);
      items *= std::max<std::int64_t>(sizes.length[d + 1], 0);
      before += own.padding[d] * fitted_strides[d + 1];
    }
    if (from_fitted)
      from = static_cast<const char*>(from) + bytes(before);
    else
      to = static_cast<char*>(to) + bytes(before);
    context().launch("copy_region", items, items, sizes, from, std::int64_t{0}, to, std::int64_t{0},
                     std::int64_t{0});
  }

  Fitted fitted_;
  std::int64_t taps_, group_channels_, w_items_;
  std::unique_ptr<Graph> forward_, data_, weights_;
  Room ordered_;  // the weights with channels innermost ...
  const float* ordered_of_ = nullptr;
  std::uint64_t ordered_version_ = 0;  // ... and their version
};

}  // namespace

Fitted fitted(const LocalLayer& layer) {
  Fitted out{.layer = layer};
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t window = (layer.kernel[d] - 1) * layer.dilation[d] + 1;
    const std::int64_t room = layer.x_extent[d] + 2 * layer.padding[d] - window;
    if (room < 0 || room / layer.stride[d] + 1 != layer.y_extent[d]) out.copies_x = true;
  }
  if (!out.copies_x) return out;
  for (std::size_t d = 0; d < 3; ++d) {
    out.layer.padding[d] = 0;
    out.layer.x_extent[d] =
        (layer.y_extent[d] - 1) * layer.stride[d] + (layer.kernel[d] - 1) * layer.dilation[d] + 1;
  }
  return out;
}

std::unique_ptr<LayerWork> prepare_conv(std::shared_ptr<Context> context, const LocalLayer& layer) {
  return std::make_unique<ConvWork>(std::move(context), layer);
}

}  // namespace paradl::calibrate::cuda
