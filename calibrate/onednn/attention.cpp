#include <algorithm>
#include <cmath>
#include <limits>

#include <dnnl.h>

#include "calibrate/onednn/pass.hpp"
#include "calibrate/plain/loops.hpp"

// As in calibrate/plain/attention.cpp, head by head with matrix products:
//
//   shares = softmax(q k^T / sqrt(size)),  y = shares v
//   dv = shares^T dy,  dq = dscores k / sqrt(size),  dk = dscores^T q / sqrt(size)

namespace paradl::calibrate {
namespace {

class Attention : public LayerWork {
 public:
  Attention(const LocalLayer& l, const std::shared_ptr<Engine>& engine)
      : layer_(l),
        L_(l.x_positions()),
        sharing_(l.heads / l.kv_heads),
        size_(l.x_channels / (l.heads + 2 * l.kv_heads)),
        scale_(1.0f / std::sqrt(float(size_))),
        softmax_(softmax_forward(engine, L_, L_)),
        d_scores_(std::size_t(L_ * L_)) {}

  std::size_t kept_items() const override { return std::size_t(layer_.samples * layer_.heads * L_ * L_); }

  void forward(const LayerData& data) override {
    const std::int64_t C = layer_.x_channels, F = layer_.y_channels;
    for_each_head([&](const Head& h) {
      const float* x = data.x[0];
      float* shares = data.kept + h.shares;
      dnnl_sgemm('N', 'T', L_, L_, size_, scale_, x + h.query, C, x + h.key, C, 0.0f, shares, L_);
      if (layer_.causal)
        for (std::int64_t i = 0; i < L_; ++i)
          std::fill(shares + i * L_ + i + 1, shares + (i + 1) * L_, std::numeric_limits<float>::lowest());
      softmax_.run({shares, shares});
      dnnl_sgemm('N', 'N', L_, size_, L_, 1.0f, shares, L_, x + h.value, C, 0.0f, data.y + h.y, F);
    });
  }

  void backward_data(const LayerData& data) override {
    if (!data.dx[0]) return;
    const std::int64_t C = layer_.x_channels, F = layer_.y_channels;
    for_each_head([&](const Head& h) {
      const float *x = data.x[0], *dy = data.dy + h.y, *shares = data.kept + h.shares;
      float *dx = data.dx[0], *d = d_scores_.data();
      // The first of the heads that share keys and values overwrites their gradients, the others add.
      const float before = h.first_of_group ? 0.0f : 1.0f;
      dnnl_sgemm('T', 'N', L_, size_, L_, 1.0f, shares, L_, dy, F, before, dx + h.value, C);
      dnnl_sgemm('N', 'T', L_, L_, size_, 1.0f, dy, F, x + h.value, C, 0.0f, d, L_);
      for (std::int64_t i = 0; i < L_; ++i) softmax_gradient(d + i * L_, shares + i * L_, d + i * L_, L_);
      dnnl_sgemm('N', 'N', L_, size_, L_, scale_, d, L_, x + h.key, C, 0.0f, dx + h.query, C);
      dnnl_sgemm('T', 'N', L_, size_, L_, scale_, d, L_, x + h.query, C, before, dx + h.key, C);
    });
  }

  void backward_weights(const LayerData&) override {}

 private:
  /// Where the parts of one head begin in x, y and kept.
  struct Head {
    std::int64_t query, key, value, y, shares;
    bool first_of_group;
  };
  template <class Visit>
  void for_each_head(Visit visit) const {
    for (std::int64_t n = 0; n < layer_.samples; ++n)
      for (std::int64_t h = 0; h < layer_.heads; ++h) {
        const std::int64_t member = h % sharing_;
        const std::int64_t group = n * L_ * layer_.x_channels + h / sharing_ * (sharing_ + 2) * size_;
        visit(Head{.query = group + member * size_,
                   .key = group + sharing_ * size_,
                   .value = group + (sharing_ + 1) * size_,
                   .y = n * L_ * layer_.y_channels + h * size_,
                   .shares = (n * layer_.heads + h) * L_ * L_,
                   .first_of_group = member == 0});
      }
  }

  LocalLayer layer_;
  std::int64_t L_, sharing_, size_;
  float scale_;
  Pass softmax_;
  std::vector<float> d_scores_;
};

}  // namespace

std::unique_ptr<LayerWork> prepare_attention(const LocalLayer& layer, std::shared_ptr<Engine> engine) {
  return std::make_unique<Attention>(layer, engine);
}

}  // namespace paradl::calibrate
