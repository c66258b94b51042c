#include <dnnl.h>

#include "calibrate/onednn/pass.hpp"
#include "calibrate/plain/loops.hpp"

// y = x w^T + bias, dx = dy w, dw = dy^T x, with a row for each position of each sample. On shapes of
// ResNet-50 a plain matrix product is as fast as oneDNN's 1x1 convolutions in their preferred
// format (70 to 85 GFLOP/s per core with AVX2), and needs no reordering.

namespace paradl::calibrate {
namespace {

class MatrixProduct : public LayerWork {
 public:
  explicit MatrixProduct(const LocalLayer& l)
      : R_(l.samples * l.x_positions()), C_(l.x_channels), F_(l.y_channels) {}

  void forward(const LayerData& data) override {
    const float* bias = data.w[1];
    if (bias)
      for (std::int64_t row = 0; row < R_; ++row) std::copy_n(bias, F_, data.y + row * F_);
    dnnl_sgemm('N', 'T', R_, F_, C_, 1.0f, data.x[0], C_, data.w[0], C_, bias ? 1.0f : 0.0f, data.y, F_);
  }
  void backward_data(const LayerData& data) override {
    if (data.dx[0]) dnnl_sgemm('N', 'N', R_, C_, F_, 1.0f, data.dy, F_, data.w[0], C_, 0.0f, data.dx[0], C_);
  }
  void backward_weights(const LayerData& data) override {
    dnnl_sgemm('T', 'N', F_, C_, R_, 1.0f, data.dy, F_, data.x[0], C_, 0.0f, data.dw[0], C_);
    if (!data.dw[1]) return;
    ChannelSums sums(F_);
    for (std::int64_t row = 0; row < R_; ++row) add_scaled(sums.row(), 1.0f, data.dy + row * F_, F_);
    sums.store(data.dw[1]);
  }

 private:
  std::int64_t R_, C_, F_;
};

}  // namespace

bool is_matrix_product(const LocalLayer& l) {
  using Ones = std::array<std::int64_t, 3>;
  return l.op == Op::fc || (l.op == Op::conv && l.groups == 1 && l.kernel == Ones{1, 1, 1} &&
                            l.stride == Ones{1, 1, 1} && l.padding == Ones{} && l.x_extent == l.y_extent);
}

std::unique_ptr<LayerWork> prepare_matrix_product(const LocalLayer& layer) {
  return std::make_unique<MatrixProduct>(layer);
}

}  // namespace paradl::calibrate
