#include <algorithm>

#include "calibrate/onednn/pass.hpp"

namespace paradl::calibrate {
namespace {

using dnnl::memory;
using tag = memory::format_tag;

/// The sizes of a layer as oneDNN has them: samples, channels, extents; dilation counts the taps left out.
struct Sizes {
  explicit Sizes(const LocalLayer& l) : dims(std::clamp(l.dims, 1, 3)), grouped(l.groups > 1) {
    x = {l.samples, l.x_channels};
    y = {l.samples, l.y_channels};
    if (grouped) w.push_back(l.groups);
    w.insert(w.end(), {l.y_channels / l.groups, l.x_channels / l.groups});
    for (std::size_t d = 0; d < std::size_t(dims); ++d) {
      x.push_back(l.x_extent[d]);
      y.push_back(l.y_extent[d]);
      w.push_back(l.kernel[d]);
      stride.push_back(l.stride[d]);
      dilation.push_back(l.dilation[d] - 1);
      before.push_back(l.padding[d]);
      const auto reach = (l.y_extent[d] - 1) * l.stride[d] + l.dilation[d] * (l.kernel[d] - 1) + 1;
      after.push_back(reach - l.padding[d] - l.x_extent[d]);
    }
  }
  int dims;
  bool grouped;
  memory::dims x, y, w, stride, dilation, before, after;

  tag channels_last() const { return std::array{tag::nwc, tag::nhwc, tag::ndhwc}[std::size_t(dims - 1)]; }
  tag weights() const {
    return grouped ? std::array{tag::goiw, tag::goihw, tag::goidhw}[std::size_t(dims - 1)]
                   : std::array{tag::oiw, tag::oihw, tag::oidhw}[std::size_t(dims - 1)];
  }
};

memory::desc tensor(const memory::dims& sizes, tag order) { return {sizes, memory::data_type::f32, order}; }

/// The memory format of a pass's activations. oneDNN is fastest with its own format, blocks of channels, but
/// reordering takes time. Measured through this interface with AVX2, channels last and its own format, in
/// GFLOP/s:
///
///     3x3 over 64 channels, 56x56       forward 64, 81    backward 67, 82    weights 42, 59
///     3x3 at stride 2, 128 channels     forward 39, 69    backward 64, 73    weights 35, 56
///     7x7 over 3 channels, 224x224      forward 87, 73    backward 41, 34    weights 52, 44
///     3x3x3 over 64 channels, 16^3      forward 80, 94    backward 74, 83    weights 71, 59
///     3x3x3 over 4 channels, 64^3       forward 75, 60    backward 35, 29    weights 40, 19
///     1x1 at stride 2, 256 channels     forward 74, 49    backward 70, 58    weights 50, 49
enum class PassKind { forward, backward_data, backward_weights };

tag order_of(const LocalLayer& l, const Sizes& sizes, PassKind kind) {
  const bool single_position = l.kernel == std::array<std::int64_t, 3>{1, 1, 1};
  const bool few_channels = l.x_channels / l.groups < 8;
  const bool volume_weights = kind == PassKind::backward_weights && l.dims == 3;
  return single_position || few_channels || volume_weights ? sizes.channels_last() : tag::any;
}

class Convolution : public LayerWork {
 public:
  Convolution(const LocalLayer& l, const std::shared_ptr<Engine>& engine)
      : forward_(engine), backward_data_(engine), backward_weights_(engine), bias_(l.bias) {
    const Sizes s(l);
    const memory::desc x = tensor(s.x, s.channels_last()), y = tensor(s.y, s.channels_last()),
                       w = tensor(s.w, s.weights()), bias = tensor({l.y_channels}, tag::x);
    if (bias_) no_bias_ = unwanted_ = std::vector<float>(std::size_t(l.y_channels), 0.0f);

    const auto hint = forward_desc(s, order_of(l, s, PassKind::forward), *engine);
    forward_.set(dnnl::convolution_forward(hint));
    forward_.reads(DNNL_ARG_SRC, x, hint.src_desc());
    forward_.reads(DNNL_ARG_WEIGHTS, w, hint.weights_desc());
    forward_.writes(DNNL_ARG_DST, y, hint.dst_desc());
    if (bias_) forward_.reads(DNNL_ARG_BIAS, bias);

    const auto data = backward_data_desc(s, order_of(l, s, PassKind::backward_data), *engine);
    backward_data_.set(dnnl::convolution_backward_data(data));
    backward_data_.reads(DNNL_ARG_DIFF_DST, y, data.diff_dst_desc());
    backward_data_.reads(DNNL_ARG_WEIGHTS, w, data.weights_desc());
    backward_data_.writes(DNNL_ARG_DIFF_SRC, x, data.diff_src_desc());

    const auto weights = backward_weights_desc(s, order_of(l, s, PassKind::backward_weights), *engine);
    backward_weights_.set(dnnl::convolution_backward_weights(weights));
    backward_weights_.reads(DNNL_ARG_SRC, x, weights.src_desc());
    backward_weights_.reads(DNNL_ARG_DIFF_DST, y, weights.diff_dst_desc());
    backward_weights_.writes(DNNL_ARG_DIFF_WEIGHTS, w, weights.diff_weights_desc());
    if (bias_) backward_weights_.writes(DNNL_ARG_DIFF_BIAS, bias);
  }

  // A rank with a part of the channels may have no bias; then it adds zeros.
  void forward(const LayerData& data) override {
    if (bias_)
      forward_.run({data.x[0], data.w[0], data.y, data.w[1] ? data.w[1] : no_bias_.data()});
    else
      forward_.run({data.x[0], data.w[0], data.y});
  }
  void backward_data(const LayerData& data) override {
    if (data.dx[0]) backward_data_.run({data.dy, data.w[0], data.dx[0]});
  }
  void backward_weights(const LayerData& data) override {
    if (!bias_) return backward_weights_.run({data.x[0], data.dy, data.dw[0]});
    backward_weights_.run({data.x[0], data.dy, data.dw[0], data.dw[1] ? data.dw[1] : unwanted_.data()});
  }

 private:
  static constexpr auto algorithm = dnnl::algorithm::convolution_direct;

  memory::desc bias_desc(const Sizes& s) const { return bias_ ? tensor({s.y[1]}, tag::x) : memory::desc(); }

  // Descriptions of the passes; `order` is that of the activations.
  dnnl::convolution_forward::primitive_desc forward_desc(const Sizes& s, tag order, const Engine& e) const {
    const auto kind = dnnl::prop_kind::forward_training;
    const auto x = tensor(s.x, order), y = tensor(s.y, order), w = tensor(s.w, tag::any), b = bias_desc(s);
#if DNNL_VERSION_MAJOR >= 3
    return {e.engine, kind, algorithm, x, w, b, y, s.stride, s.dilation, s.before, s.after};
#else
    return {{kind, algorithm, x, w, b, y, s.stride, s.dilation, s.before, s.after}, e.engine};
#endif
  }
  dnnl::convolution_backward_data::primitive_desc backward_data_desc(const Sizes& s, tag order,
                                                                     const Engine& e) const {
    const auto x = tensor(s.x, order), y = tensor(s.y, order), w = tensor(s.w, tag::any);
    const auto hint = forward_desc(s, order, e);
#if DNNL_VERSION_MAJOR >= 3
    return {e.engine, algorithm, x, w, y, s.stride, s.dilation, s.before, s.after, hint};
#else
    return {{algorithm, x, w, y, s.stride, s.dilation, s.before, s.after}, e.engine, hint};
#endif
  }
  dnnl::convolution_backward_weights::primitive_desc backward_weights_desc(const Sizes& s, tag order,
                                                                           const Engine& e) const {
    const auto x = tensor(s.x, order), y = tensor(s.y, order), w = tensor(s.w, tag::any), b = bias_desc(s);
    const auto hint = forward_desc(s, order, e);
#if DNNL_VERSION_MAJOR >= 3
    return {e.engine, algorithm, x, w, b, y, s.stride, s.dilation, s.before, s.after, hint};
#else
    return {{algorithm, x, w, b, y, s.stride, s.dilation, s.before, s.after}, e.engine, hint};
#endif
  }

  Pass forward_, backward_data_, backward_weights_;
  bool bias_;
  std::vector<float> no_bias_, unwanted_;
};

}  // namespace

std::unique_ptr<LayerWork> prepare_convolution(const LocalLayer& layer, std::shared_ptr<Engine> engine) {
  return std::make_unique<Convolution>(layer, engine);
}

}  // namespace paradl::calibrate
