#include <cmath>

#include "calibrate/plain/loops.hpp"
#include "calibrate/plain/passes.hpp"

// Normalisation: y = factor * z + addend with z = (x - mean) / sqrt(variance + epsilon), over items that
// belong together:
//
//   batch norm    a channel, over all samples and positions (of all ranks, if the statistics are summed)
//   group norm    a group of channels of one sample, over all positions
//   layer norm    the channels of one position
//   rms norm      the same, with zero instead of the mean
//
//   dx = r (g - mean of g - z * mean of g z)    g = factor * dy, r = 1 / sqrt(variance + epsilon)

namespace paradl::calibrate {
namespace {

constexpr float epsilon = 1e-5f;

float factor(const LayerData& data, std::int64_t c) { return data.w[0] ? data.w[0][c] : 1.0f; }
float addend(const LayerData& data, std::int64_t c) { return data.w[1] ? data.w[1][c] : 0.0f; }

// Batch norm keeps, a channel: mean, r, and from backward_statistics the own sums of dy and of dy z, as the
// gradients of the weights are those of this rank's samples.

std::size_t batch_kept(const LocalLayer& l) { return 4 * std::size_t(l.x_channels); }

void batch_forward_statistics(const LocalLayer& l, const LayerData& data) {
  const std::int64_t C = l.x_channels;
  ChannelSums sums(C), squares(C);
  for (std::int64_t row = 0; row < l.samples * l.x_positions(); ++row) {
    const float* x = data.x[0] + row * C;
    float *s = sums.row(), *q = squares.row();
    for (std::int64_t c = 0; c < C; ++c) {
      s[c] += x[c];
      q[c] += x[c] * x[c];
    }
  }
  sums.store(data.statistics);
  squares.store(data.statistics + C);
}

void batch_forward(const LocalLayer& l, const LayerData& data) {
  const std::int64_t C = l.x_channels;
  float *mean = data.kept, *r = mean + C;
  std::vector<float> a(std::size_t(C), 0), b(a);  // y = a x + b
  for (std::int64_t c = 0; c < C; ++c) {
    const double m = data.statistics[c] / data.counted;
    const double variance = std::max(0.0, data.statistics[C + c] / data.counted - m * m);
    mean[c] = float(m);
    r[c] = float(1 / std::sqrt(variance + double(epsilon)));
    a[std::size_t(c)] = factor(data, c) * r[c];
    b[std::size_t(c)] = addend(data, c) - a[std::size_t(c)] * mean[c];
  }
  for (std::int64_t row = 0; row < l.samples * l.x_positions(); ++row) {
    const float *x = data.x[0] + row * C, *A = a.data(), *B = b.data();
    float* y = data.y + row * C;
    for (std::int64_t c = 0; c < C; ++c) y[c] = A[c] * x[c] + B[c];
  }
}

void batch_backward_statistics(const LocalLayer& l, const LayerData& data) {
  const std::int64_t C = l.x_channels;
  const float *mean = data.kept, *r = mean + C;
  ChannelSums sums(C), products(C);
  for (std::int64_t row = 0; row < l.samples * l.x_positions(); ++row) {
    const float *x = data.x[0] + row * C, *dy = data.dy + row * C;
    float *s = sums.row(), *q = products.row();
    for (std::int64_t c = 0; c < C; ++c) {
      s[c] += dy[c];
      q[c] += dy[c] * ((x[c] - mean[c]) * r[c]);
    }
  }
  sums.store(data.statistics);
  products.store(data.statistics + C);
  std::copy_n(data.statistics, 2 * C, data.kept + 2 * C);
}

void batch_backward_data(const LocalLayer& l, const LayerData& data) {
  if (!data.dx[0]) return;
  const std::int64_t C = l.x_channels;
  const float *mean = data.kept, *r = mean + C;
  std::vector<float> a(std::size_t(C), 0), b(a), k(a);  // dx = a dy - b x - k
  for (std::int64_t c = 0; c < C; ++c) {
    const auto i = std::size_t(c);
    const float mean_dy = float(data.statistics[c] / data.counted),
                mean_dyz = float(data.statistics[C + c] / data.counted);
    a[i] = factor(data, c) * r[c];
    b[i] = a[i] * r[c] * mean_dyz;
    k[i] = a[i] * mean_dy - b[i] * mean[c];
  }
  for (std::int64_t row = 0; row < l.samples * l.x_positions(); ++row) {
    const float *x = data.x[0] + row * C, *dy = data.dy + row * C;
    const float *A = a.data(), *B = b.data(), *K = k.data();
    float* dx = data.dx[0] + row * C;
    for (std::int64_t c = 0; c < C; ++c) dx[c] = A[c] * dy[c] - B[c] * x[c] - K[c];
  }
}

void batch_backward_weights(const LocalLayer& l, const LayerData& data) {
  const std::int64_t C = l.x_channels;
  if (data.dw[1]) std::copy_n(data.kept + 2 * C, C, data.dw[1]);
  if (data.dw[0]) std::copy_n(data.kept + 3 * C, C, data.dw[0]);
}

// The other norms: blocks of `rows` rows of `width` channels each belong together. Layer and rms norm are
// group norms of one group, whose samples are the positions. They keep mean and r of each block.

struct Blocks {
  std::int64_t samples, rows, groups, width;
  bool centred = true;

  std::int64_t items() const { return rows * width; }
  std::int64_t channels() const { return groups * width; }
  /// Calls visit(number of the block, its first item, its first channel).
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::int64_t n = 0; n < samples; ++n)
      for (std::int64_t g = 0; g < groups; ++g)
        visit(n * groups + g, n * rows * channels() + g * width, g * width);
  }
  /// The sum of term(row of items, row of channels) over a block's rows, in double precision.
  template <class Term>
  double total(std::int64_t first, Term term) const {
    double out = 0;
    for (std::int64_t row = 0; row < rows; ++row) out += double(term(first + row * channels()));
    return out;
  }
};

Blocks by_position(const LocalLayer& l) { return {l.samples * l.x_positions(), 1, 1, l.x_channels}; }
Blocks by_position_uncentred(const LocalLayer& l) {
  return {l.samples * l.x_positions(), 1, 1, l.x_channels, false};
}
Blocks by_group(const LocalLayer& l) {
  return {l.samples, l.x_positions(), l.groups, l.x_channels / l.groups};
}

using ToBlocks = Blocks (*)(const LocalLayer&);

template <ToBlocks blocks_of>
std::size_t block_kept(const LocalLayer& l) {
  const Blocks blocks = blocks_of(l);
  return 2 * std::size_t(blocks.samples * blocks.groups);
}

template <ToBlocks blocks_of>
void block_forward(const LocalLayer& l, const LayerData& data) {
  const Blocks blocks = blocks_of(l);
  const std::vector<float> ones(std::size_t(l.x_channels), 1), zeros(std::size_t(l.x_channels), 0);
  const std::int64_t W = blocks.width;
  blocks.for_each([&](std::int64_t block, std::int64_t first, std::int64_t channel) {
    const double mean =
        blocks.centred ? blocks.total(first,
                                      [&](std::int64_t at) {
                                        return sum(W, [x = data.x[0] + at](std::int64_t c) { return x[c]; });
                                      }) /
                             double(blocks.items())
                       : 0.0;
    const float m = float(mean);
    const double variance = blocks.total(first, [&](std::int64_t at) {
      return sum(W, [x = data.x[0] + at, m](std::int64_t c) { return (x[c] - m) * (x[c] - m); });
    }) / double(blocks.items());
    const float r = float(1 / std::sqrt(variance + double(epsilon)));
    data.kept[2 * block] = m;
    data.kept[2 * block + 1] = r;
    const float* g = (data.w[0] ? data.w[0] : ones.data()) + channel;
    const float* b = (data.w[1] ? data.w[1] : zeros.data()) + channel;
    for (std::int64_t row = 0; row < blocks.rows; ++row) {
      const float* x = data.x[0] + first + row * blocks.channels();
      float* y = data.y + first + row * blocks.channels();
      for (std::int64_t c = 0; c < W; ++c) y[c] = (x[c] - m) * r * g[c] + b[c];
    }
  });
}

template <ToBlocks blocks_of>
void block_backward_data(const LocalLayer& l, const LayerData& data) {
  if (!data.dx[0]) return;
  const Blocks blocks = blocks_of(l);
  const std::vector<float> ones(std::size_t(l.x_channels), 1);
  const std::int64_t W = blocks.width;
  blocks.for_each([&](std::int64_t block, std::int64_t first, std::int64_t channel) {
    const float m = data.kept[2 * block], r = data.kept[2 * block + 1];
    const float* g = (data.w[0] ? data.w[0] : ones.data()) + channel;
    const double sum_g =
        blocks.centred ? blocks.total(first, [&](std::int64_t at) { return dot(g, data.dy + at, W); }) : 0.0;
    const double sum_gz = blocks.total(first, [&](std::int64_t at) {
      return sum(W, [x = data.x[0] + at, dy = data.dy + at, g, m, r](std::int64_t c) {
        return g[c] * dy[c] * ((x[c] - m) * r);
      });
    });
    const float mean_g = float(sum_g / double(blocks.items())),
                mean_gz = float(sum_gz / double(blocks.items()));
    for (std::int64_t row = 0; row < blocks.rows; ++row) {
      const std::int64_t at = first + row * blocks.channels();
      const float *x = data.x[0] + at, *dy = data.dy + at;
      float* dx = data.dx[0] + at;
      for (std::int64_t c = 0; c < W; ++c) dx[c] = r * (g[c] * dy[c] - mean_g - (x[c] - m) * r * mean_gz);
    }
  });
}

template <ToBlocks blocks_of>
void block_backward_weights(const LocalLayer& l, const LayerData& data) {
  if (!data.dw[0]) return;
  const Blocks blocks = blocks_of(l);
  ChannelSums factors(l.x_channels), addends(l.x_channels);
  blocks.for_each([&](std::int64_t block, std::int64_t first, std::int64_t channel) {
    const float m = data.kept[2 * block], r = data.kept[2 * block + 1];
    for (std::int64_t row = 0; row < blocks.rows; ++row) {
      const std::int64_t at = first + row * blocks.channels();
      const float *x = data.x[0] + at, *dy = data.dy + at;
      float *f = factors.row() + channel, *a = addends.row() + channel;
      for (std::int64_t c = 0; c < blocks.width; ++c) {
        f[c] += dy[c] * ((x[c] - m) * r);
        a[c] += dy[c];
      }
    }
  });
  factors.store(data.dw[0]);
  if (data.dw[1]) addends.store(data.dw[1]);
}

template <ToBlocks blocks_of>
constexpr Passes block_passes{.forward = block_forward<blocks_of>,
                              .backward_data = block_backward_data<blocks_of>,
                              .backward_weights = block_backward_weights<blocks_of>,
                              .kept_items = block_kept<blocks_of>};

}  // namespace

const Passes batch_norm_passes{batch_forward,
                               batch_backward_data,
                               batch_backward_weights,
                               batch_forward_statistics,
                               batch_backward_statistics,
                               batch_kept};
const Passes layer_norm_passes = block_passes<by_position>;
const Passes group_norm_passes = block_passes<by_group>;
const Passes rms_norm_passes = block_passes<by_position_uncentred>;

}  // namespace paradl::calibrate
