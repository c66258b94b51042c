#include <algorithm>
#include <cmath>

#include "calibrate/plain/loops.hpp"
#include "calibrate/plain/passes.hpp"

// Attention of each head h, over positions i (of queries) and j (of keys and values):
//
//   share[i, j] = softmax over j of q[i] . k[j] / sqrt(head size)       causal: j <= i only
//   y[i] = sum over j of share[i, j] v[j]
//
// Several heads of queries may share one of keys and values. The shares are kept for the backward pass.

namespace paradl::calibrate {
namespace {

struct Heads {
  explicit Heads(const LocalLayer& l)
      : length(l.x_positions()),
        count(l.heads),
        sharing(l.heads / l.kv_heads),
        size(l.x_channels / (l.heads + 2 * l.kv_heads)),
        scale(1.0f / std::sqrt(float(size))) {}
  std::int64_t length, count, sharing, size;
  float scale;

  /// The first channel of the queries, keys and values of head h.
  std::int64_t group(std::int64_t h) const { return h / sharing * (sharing + 2) * size; }
  std::int64_t query(std::int64_t h) const { return group(h) + h % sharing * size; }
  std::int64_t key(std::int64_t h) const { return group(h) + sharing * size; }
  std::int64_t value(std::int64_t h) const { return group(h) + (sharing + 1) * size; }
};

std::size_t kept(const LocalLayer& l) {
  return std::size_t(l.samples * l.heads * l.x_positions() * l.x_positions());
}

/// Calls visit(first item of the sample's x, of the head's part of y, head, query position, its shares, how
/// many positions it sees).
template <class Visit>
void for_each_query(const LocalLayer& l, const LayerData& data, const Heads& heads, Visit visit) {
  const std::int64_t L = heads.length;
  for (std::int64_t n = 0; n < l.samples; ++n)
    for (std::int64_t h = 0; h < heads.count; ++h)
      for (std::int64_t i = 0; i < L; ++i)
        visit(n * L * l.x_channels, (n * L + i) * l.y_channels + h * heads.size, h, i,
              data.kept + ((n * heads.count + h) * L + i) * L, l.causal ? i + 1 : L);
}

void forward(const LocalLayer& l, const LayerData& data) {
  const Heads heads(l);
  const std::int64_t C = l.x_channels, size = heads.size;
  for_each_query(l, data, heads,
                 [&](std::int64_t sample, std::int64_t out, std::int64_t h, std::int64_t i, float* share,
                     std::int64_t seen) {
                   const float* x = data.x[0] + sample;
                   const float* q = x + i * C + heads.query(h);
                   for (std::int64_t j = 0; j < seen; ++j)
                     share[j] = dot(q, x + j * C + heads.key(h), size) * heads.scale;
                   const float largest = *std::max_element(share, share + seen);
                   for (std::int64_t j = 0; j < seen; ++j) share[j] = std::exp(share[j] - largest);
                   const float total = sum(seen, [share](std::int64_t j) { return share[j]; });
                   float* y = data.y + out;
                   std::fill_n(y, size, 0.0f);
                   for (std::int64_t j = 0; j < seen; ++j) {
                     share[j] /= total;
                     add_scaled(y, share[j], x + j * C + heads.value(h), size);
                   }
                   std::fill(share + seen, share + heads.length, 0.0f);
                 });
}

void backward_data(const LocalLayer& l, const LayerData& data) {
  if (!data.dx[0]) return;
  const Heads heads(l);
  const std::int64_t C = l.x_channels, size = heads.size;
  std::fill_n(data.dx[0], l.x_items(), 0.0f);
  std::vector<float> d_share(std::size_t(heads.length), 0);
  for_each_query(l, data, heads,
                 [&](std::int64_t sample, std::int64_t out, std::int64_t h, std::int64_t i,
                     const float* share, std::int64_t seen) {
                   const float *x = data.x[0] + sample, *dy = data.dy + out;
                   float *dx = data.dx[0] + sample, *ds = d_share.data();
                   const std::int64_t q = i * C + heads.query(h);
                   for (std::int64_t j = 0; j < seen; ++j) {
                     const std::int64_t v = j * C + heads.value(h);
                     ds[j] = dot(dy, x + v, size);
                     add_scaled(dx + v, share[j], dy, size);
                   }
                   const float mean = dot(share, ds, seen);
                   for (std::int64_t j = 0; j < seen; ++j) {
                     const std::int64_t k = j * C + heads.key(h);
                     const float d_score = share[j] * (ds[j] - mean) * heads.scale;
                     add_scaled(dx + q, d_score, x + k, size);
                     add_scaled(dx + k, d_score, x + q, size);
                   }
                 });
}

}  // namespace

const Passes attention_passes{.forward = forward, .backward_data = backward_data, .kept_items = kept};

}  // namespace paradl::calibrate
