// Sums over layers that the rows of the paper's table share. Legend: row.hpp.
#include <algorithm>
#include <cmath>

#include "paradl/paper/row.hpp"

namespace paradl::paper {
namespace {

/// Visits the product layers that are split, except the network's last one: no layer after it needs its whole
/// output.
template <class Visit>
void for_exchanged(const Configuration& c, Visit visit) {
  std::size_t last = 0;
  for (std::size_t l = 0; l < c.layers().size(); ++l)
    if (is_dense_product(c.layers()[l])) last = l;
  for (std::size_t l = 0; l < last; ++l)
    if (is_dense_product(c.layers()[l]) && c.split(l)) visit(c.layers()[l]);
}

/// Items of one halo of one sample to one side: (K-1)/2 rows (K/2 for an even K) of the other extents.
double halo_items(const Layer& layer, const Shape& shape, std::size_t d, const Parts& parts) {
  double items = shape.channels * std::floor(layer.kernel[d] / 2);
  for (std::size_t o = 0; o < 3; ++o)
    if (o != d) items *= shape.extent[o] / parts.cut[o];
  return items;
}

}  // namespace

bool has_buffers(const Layer& layer, bool all) {
  return !is_view(layer.op) && (all || (!is_norm(layer.op) && !is_activation(layer.op)));
}

CostLines computation(const Configuration& c, double share, double update_share, std::string_view source) {
  Seconds FW, BW, WU;
  bool whole = false;
  for (std::size_t l = 0; l < c.layers().size(); ++l) {
    const LayerTime& t = c.time(l);
    const bool split = c.split(l);
    whole |= !split;
    FW += t.FW / (split ? share : 1);
    BW += t.BW / (split ? share : 1);
    WU += t.WU / (split ? update_share : 1);
  }
  if (!c.setting.times.update_known) WU = Seconds{};
  const double D1 = c.D / c.p1;
  struct Texts {
    std::string_view forward, backward, shared_update;
  };
  const Texts one{"D/p Σ FW", "D/p Σ BW", "I/p Σ WU"}, two{"D/p Σ FW", "D/p Σ BW", "I/p2 Σ WU"};
  const Texts one_rest{"D (Σ_split FW/p + Σ_rest FW)", "D (Σ_split BW/p + Σ_rest BW)",
                       "I (Σ_split WU/p + Σ_rest WU)"};
  const Texts two_rest{"D/p1 (Σ_split FW/p2 + Σ_rest FW)", "D/p1 (Σ_split BW/p2 + Σ_rest BW)",
                       "I (Σ_split WU/p2 + Σ_rest WU)"};
  const Texts& texts = c.hybrid ? (whole ? two_rest : two) : (whole ? one_rest : one);
  const std::string_view update = !c.setting.times.update_known ? no_update_times
                                  : update_share > 1            ? texts.shared_update
                                                                : "I Σ WU";
  return {{Term::forward, D1 * FW, texts.forward, source},
          {Term::backward, D1 * BW, texts.backward, source},
          {Term::update, c.I * WU, update, source}};
}

double held_weights(const Configuration& c, double share) {
  double w = 0;
  for (std::size_t l = 0; l < c.layers().size(); ++l) w += c.layers()[l].weights / (c.split(l) ? share : 1);
  return w;
}

Memory memory_of(const Configuration& c, double samples, double activation_share, double weight_share) {
  const auto gamma = c.setting.training.gamma;
  double items = 0;
  for (std::size_t l = 0; l < c.layers().size(); ++l) {
    const Layer& layer = c.layers()[l];
    if (has_buffers(layer, gamma.has_value()))
      items += (layer.x_buffer() + layer.y.items()) / (c.split(l) ? activation_share : 1);
  }
  const double factor = gamma.value_or(1.0);
  const Bytes weights = factor * held_weights(c, weight_share) * c.delta;
  return {.weights = weights,
          .gradients = weights,
          .optimizer = {},
          .activations = factor * 2 * samples * items * c.delta,
          .workspace = {}};
}

Seconds layer_wise(const Configuration& c, double p, double samples, Link link) {
  Seconds time;
  for_exchanged(c, [&](const Layer& layer) {
    const Bytes m = samples * layer.y.items() * c.delta;
    time += ring_allgather(p, m, link) + ring_allreduce(p, m, link);
  });
  return time;
}

Seconds halos(const Configuration& c, double samples, Link link) {
  Seconds time;
  for (std::size_t l = 0; l < c.layers().size(); ++l) {
    const Layer& layer = c.layers()[l];
    if (!traits(layer.op).window || !c.split(l)) continue;
    for (std::size_t d = 0; d < 3; ++d) {
      if (c.parts.cut[d] < 2 || layer.kernel[d] <= 1) continue;
      const double h = halo_items(layer, layer.x, d, c.parts) + halo_items(layer, layer.y, d, c.parts);
      time += 2.0 *
              (2.0 * link.alpha + samples * h * c.delta * link.beta);  // two neighbours, one after the other
    }
  }
  return time;
}

Seconds gather_for_rest(const Configuration& c, double samples, Link link) {
  std::size_t last = c.layers().size();
  for (std::size_t l = 0; l < c.layers().size(); ++l)
    if (c.split(l)) last = l;
  if (last + 1 >= c.layers().size()) return {};
  return 2.0 * ring_allgather(c.p2, samples * c.layers()[last].y.items() * c.delta, link);
}

}  // namespace paradl::paper
