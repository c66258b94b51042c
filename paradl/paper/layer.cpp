// Layer: consecutive layers form p stages; S segments of B/S samples flow through them (S = 1: no overlap).
// Legend: row.hpp.   g_i  the layers of stage i     y_gi  the output of its last one
#include <algorithm>

#include "paradl/mesh/partition.hpp"
#include "paradl/paper/row.hpp"

namespace paradl::paper {
namespace {

/// The table has only the pipelined form.
constexpr std::string_view pure = "appendix, Layer without segments";

std::vector<int> borders(const Configuration& c) {
  std::vector<double> weight;
  for (const LayerTime& t : c.setting.times.layer) weight.push_back((t.FW + t.BW).base());
  std::vector<int> first = balanced_partition(weight, int(c.p));
  first.push_back(int(weight.size()));
  return first;
}

CostLines time(const Configuration& c) {
  const std::vector<int> border = borders(c);
  Seconds sum_FW, sum_BW, sum_WU, max_FW, max_BW, max_WU, sum_transfer, max_transfer;
  for (std::size_t i = 0; i + 1 < border.size(); ++i) {
    LayerTime stage;
    for (int l = border[i]; l < border[i + 1]; ++l) {
      const LayerTime& t = c.time(std::size_t(l));
      stage.FW += t.FW, stage.BW += t.BW, stage.WU += t.WU;
    }
    sum_FW += stage.FW, sum_BW += stage.BW, sum_WU += stage.WU;
    max_FW = std::max(max_FW, stage.FW), max_BW = std::max(max_BW, stage.BW),
    max_WU = std::max(max_WU, stage.WU);
    if (i + 2 == border.size()) continue;
    const Seconds transfer =
        point_to_point(c.B / c.S * c.layers()[std::size_t(border[i + 1] - 1)].y.items() * c.delta, c.all);
    sum_transfer += transfer, max_transfer = std::max(max_transfer, transfer);
  }
  const bool update_known = c.setting.times.update_known;
  if (!update_known) sum_WU = max_WU = Seconds{};
  const double p = c.p, S = c.S;
  if (S == 1)
    return {{Term::forward, c.D * sum_FW, "D Σ FW", pure},
            {Term::backward, c.D * sum_BW, "D Σ BW", pure},
            {Term::update, c.I * sum_WU, update_known ? "I Σ WU" : no_update_times, pure},
            {Term::stage_transfer, 2 * c.I * sum_transfer, "2I Σ_{i<p} (α + B|y_gi|δβ)", pure}};
  // WU is per iteration: I max WU. The printed table omits I (X1).
  return {{Term::forward, c.D * (p + S - 1) / S * max_FW, "D(p+S-1)/S max FW_gi", "Table III, Layer"},
          {Term::backward, c.D * (p + S - 1) / S * max_BW, "D(p+S-1)/S max BW_gi", "Table III, Layer"},
          {Term::update, c.I * max_WU, update_known ? "I max WU_gi" : no_update_times, "Table III, Layer"},
          {Term::stage_transfer, 2 * c.I * (p + S - 2) * max_transfer,
           "2I(p+S-2) max_{i<p} (α + B/S|y_gi|δβ)", "Table III, Layer"}};
}

/// 2 delta max over stages: the memory of the GPU that needs most (one factor 2, X3; sums over the layers of
/// a stage, X4).
Memory memory(const Configuration& c) {
  const std::vector<int> border = borders(c);
  const auto gamma = c.setting.training.gamma;
  Memory worst;
  for (std::size_t i = 0; i + 1 < border.size(); ++i) {
    double items = 0, weights = 0;
    for (int l = border[i]; l < border[i + 1]; ++l) {
      const Layer& layer = c.layers()[std::size_t(l)];
      weights += layer.weights;
      if (has_buffers(layer, gamma.has_value())) items += layer.x_buffer() + layer.y.items();
    }
    const double factor = gamma.value_or(1.0);
    const Memory stage{.weights = factor * weights * c.delta,
                       .gradients = factor * weights * c.delta,
                       .optimizer = {},
                       .activations = factor * 2 * c.B * items * c.delta,
                       .workspace = {}};
    if (stage.total() > worst.total()) worst = stage;
  }
  return worst;
}

}  // namespace

extern constinit const Row layer_row{"layer", time, memory};

}  // namespace paradl::paper
