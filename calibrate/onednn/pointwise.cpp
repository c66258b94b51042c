#include "calibrate/onednn/pass.hpp"
#include "calibrate/plain/loops.hpp"

// Element-wise operations that benefit from oneDNN's exponentials.

namespace paradl::calibrate {
namespace {

using dnnl::algorithm;
using dnnl::memory;

memory::desc rows_of(std::int64_t rows, std::int64_t columns) {
  return {{rows, columns}, memory::data_type::f32, memory::format_tag::ab};
}

/// The backward pass of tanh and sigmoid reads y (OpTraits::keeps).
algorithm algorithm_of(Op op) {
  switch (op) {
    case Op::gelu:
      return algorithm::eltwise_gelu_erf;
    case Op::silu:
      return algorithm::eltwise_swish;
    case Op::tanh:
      return algorithm::eltwise_tanh_use_dst_for_bwd;
    default:
      return algorithm::eltwise_logistic_use_dst_for_bwd;
  }
}

class Activation : public LayerWork {
 public:
  Activation(const LocalLayer& l, const std::shared_ptr<Engine>& engine)
      : forward_(engine), backward_(engine), from_y_(traits(l.op).keeps == Keeps::y) {
    const auto items = rows_of(1, l.y_items());
    const auto kind = dnnl::prop_kind::forward_training;
    const auto how = algorithm_of(l.op);
    constexpr float alpha = 1.0f, beta = 0.0f;  // swish: x times the sigmoid of alpha x
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::eltwise_forward::primitive_desc forward(engine->engine, kind, how, items, items, alpha, beta);
    const dnnl::eltwise_backward::primitive_desc backward(engine->engine, how, items, items, items, alpha,
                                                          beta, forward);
#else
    const dnnl::eltwise_forward::primitive_desc forward({kind, how, items, alpha, beta}, engine->engine);
    const dnnl::eltwise_backward::primitive_desc backward({how, items, items, alpha, beta}, engine->engine,
                                                          forward);
#endif
    forward_.set(dnnl::eltwise_forward(forward));
    forward_.reads(DNNL_ARG_SRC, items);
    forward_.writes(DNNL_ARG_DST, items);
    backward_.set(dnnl::eltwise_backward(backward));
    backward_.reads(from_y_ ? DNNL_ARG_DST : DNNL_ARG_SRC, items);
    backward_.reads(DNNL_ARG_DIFF_DST, items);
    backward_.writes(DNNL_ARG_DIFF_SRC, items);
  }

  void forward(const LayerData& data) override { forward_.run({data.x[0], data.y}); }
  void backward_data(const LayerData& data) override {
    if (data.dx[0]) backward_.run({from_y_ ? data.y : data.x[0], data.dy, data.dx[0]});
  }
  void backward_weights(const LayerData&) override {}

 private:
  Pass forward_, backward_;
  bool from_y_;
};

class Softmax : public LayerWork {
 public:
  Softmax(const LocalLayer& l, const std::shared_ptr<Engine>& engine)
      : rows_(l.samples * l.x_positions()), C_(l.x_channels), forward_(softmax_forward(engine, rows_, C_)) {}

  void forward(const LayerData& data) override { forward_.run({data.x[0], data.y}); }
  void backward_data(const LayerData& data) override {
    if (!data.dx[0]) return;
    for (std::int64_t row = 0; row < rows_; ++row)
      softmax_gradient(data.dx[0] + row * C_, data.y + row * C_, data.dy + row * C_, C_);
  }
  void backward_weights(const LayerData&) override {}

 private:
  std::int64_t rows_, C_;
  Pass forward_;
};

}  // namespace

Pass softmax_forward(std::shared_ptr<Engine> engine, std::int64_t rows, std::int64_t columns) {
  const auto items = rows_of(rows, columns);
  const auto kind = dnnl::prop_kind::forward_training;
  constexpr int axis = 1;
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::softmax_forward::primitive_desc desc(engine->engine, kind, algorithm::softmax_accurate, items,
                                                   items, axis);
#else
  const dnnl::softmax_forward::primitive_desc desc({kind, items, axis}, engine->engine);
#endif
  Pass pass(std::move(engine));
  pass.set(dnnl::softmax_forward(desc));
  pass.reads(DNNL_ARG_SRC, items);
  pass.writes(DNNL_ARG_DST, items);
  return pass;
}

std::unique_ptr<LayerWork> prepare_activation(const LocalLayer& layer, std::shared_ptr<Engine> engine) {
  return std::make_unique<Activation>(layer, engine);
}
std::unique_ptr<LayerWork> prepare_softmax(const LocalLayer& layer, std::shared_ptr<Engine> engine) {
  return std::make_unique<Softmax>(layer, engine);
}

}  // namespace paradl::calibrate
