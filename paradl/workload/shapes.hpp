#pragma once
#include <vector>

#include "paradl/spec/model_spec.hpp"
#include "paradl/workload/layer.hpp"

namespace paradl {

/// Infers the shapes and sizes of a network, layer by layer. Each function below is the rule of one kind of
/// operation; mistakes are added to `problems`.
class Shapes {
 public:
  Shapes(const ModelSpec& spec, const Shape& input, Problems& problems)
      : spec_(spec), input_(input), problems_(problems) {
    layers_.reserve(spec.layers.size());
  }

  /// Appends the next layer.
  void add(const LayerSpec& s);
  std::vector<Layer> take() && { return std::move(layers_); }

 private:
  /// The output of that layer, or the network's input.
  const Shape& output(int i) const { return i < 0 ? input_ : layers_[std::size_t(i)].y; }
  void check_inputs(const LayerSpec& s, const Layer& l);
  void infer(const LayerSpec& s, Layer& l);

  void window(const LayerSpec& s, Layer& l);
  void convolution(const LayerSpec& s, Layer& l);
  void product(const LayerSpec& s, Layer& l);
  void router(const LayerSpec& s, Layer& l);
  void embedding(const LayerSpec& s, Layer& l);
  void position(const LayerSpec& s, Layer& l);
  void tokens(const LayerSpec& s, Layer& l);
  void attention(const LayerSpec& s, Layer& l);
  void group_norm(const LayerSpec& s, Layer& l);
  void gate(const LayerSpec& s, Layer& l);
  void sum(const LayerSpec& s, Layer& l);
  void concat(const LayerSpec& s, Layer& l);
  void part(const LayerSpec& s, Layer& l);
  void dispatch(const LayerSpec& s, Layer& l);

  void tie(const LayerSpec& s, Layer& l);
  bool is_router(int i) const { return i >= 0 && layers_[std::size_t(i)].op == Op::router; }
  int route(const LayerSpec& s);

  const ModelSpec& spec_;
  const Shape& input_;
  Problems& problems_;
  std::vector<Layer> layers_;
  std::vector<int> sent_by_;  // by layer: see route()
};

}  // namespace paradl
