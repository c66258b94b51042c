// Every exchange that a layer needs in its passes, listed once: the prices of cells and the ledger both read
// this list. A new exchange is one more call of `visit`.
#pragma once
#include <algorithm>
#include <cstdint>

#include "paradl/cost/ledger.hpp"
#include "paradl/cost/pass_table.hpp"

namespace paradl {

/// The pass of a micro-batch in which an exchange runs.
enum class Pass : std::uint8_t { forward, backward, both };

/// Exchanges of one layer in a micro-batch, all of the same size.
struct LayerExchange {
  ChargeKind kind;
  Pass pass;
  Collective operation;
  AxisSet axes;
  double count = 1;  // in each pass
  Bytes bytes;       // the whole buffer of each
  Seconds each;
  Seconds hidden = {};  // the part of each behind the layer's own arithmetic
  int extent = -1;      // along which a halo is exchanged
  int group = -1;       // index into GradientTable::groups

  bool is_halo() const { return extent >= 0; }
  /// Of so many forward and backward passes, those in which it runs.
  double passes(double forward, double backward) const {
    return (pass != Pass::backward ? forward : 0) + (pass != Pass::forward ? backward : 0);
  }
};

class LayerExchanges {
 public:
  LayerExchanges(const MeshTable& mesh, const GradientTable& gradients, const Plan& plan)
      : t_(mesh),
        gradients_(gradients),
        training_(mesh.setting.training),
        activation_(training_.bytes().activation),
        samples_(plan.samples()),
        hidden_sums_(adds_in_products(training_, plan) ? training_.framework.hidden_sums : 0),
        any_sum_(plan.zero == 0 && plan.allreduce.algorithm && !plan.allreduce.algorithm->sparse) {}

  /// Calls `visit(const LayerExchange&)` for each exchange of a layer of this cell. `work`: of the same cell.
  template <class Visit>
  void each(const Cell& cell, const CellWork& work, const Visit& visit) const {
    for (const Exchange& one : cell.forward) visit(change(one, ChargeKind::output, Pass::forward));
    for (const Exchange& one : cell.backward) {
      LayerExchange exchange = change(one, ChargeKind::output_gradient, Pass::backward);
      if (hidden_sums_ > 0 && (exchange.axes & t_.tensor_axis))
        exchange.hidden = behind_products(one, exchange);
      visit(exchange);
    }
    if (cell.halo_axis >= 0) {
      halos(cell, ChargeKind::halo, Pass::forward, true, visit);
      halos(cell, ChargeKind::gradient_halo, Pass::backward, training_.halos_of_dx, visit);
    }
    if (training_.synchronised_batch_norm && cell.samples && cell.gradients >= 0) visit(statistics(cell));
    if (cell.ring_axis >= 0) {
      visit(round(cell, ChargeKind::keys, Pass::forward, 1, work.forward));
      // The gradients of keys and values travel with them.
      visit(round(cell, ChargeKind::key_gradients, Pass::backward, 2, work.backward - work.recompute));
    }
  }

 private:
  /// A tensor changes its placement.
  LayerExchange change(const Exchange& one, ChargeKind kind, Pass pass) const {
    return {.kind = kind,
            .pass = pass,
            .operation = one.operation,
            .axes = axis_bit(one.axis),
            .bytes = t_.bytes_of(one, samples_),
            .each = t_.time_of(one, samples_)};
  }

  /// In the backward pass, only the layer before needs a sum of `tensor`; the products for the weights'
  /// gradients run at the same time if they also accumulate. The wait for the last rank is never hidden.
  Seconds behind_products(const Exchange& one, const LayerExchange& exchange) const {
    return hidden_sums_ * (exchange.each - t_.skew_of(one));
  }

  /// Rows of x, or of dy, to the neighbours along each extent: each of two parts has one neighbour; of more
  /// parts, inner ones have two, one after the other.
  template <class Visit>
  void halos(const Cell& cell, ChargeKind kind, Pass pass, bool of_x, const Visit& visit) const {
    const Layer& layer = t_.layer_of(cell);
    const Shape& shape = of_x ? layer.x : layer.y;
    for (int d = 0; d < shape.dims; ++d) {
      const int parts = t_.cut[std::size_t(d)];
      if (parts < 2) continue;
      const Halo rows = of_x ? x_halo(layer, d) : dy_halo(layer, d);
      const Bytes row = items_of_row(cell, shape, d, of_x) * activation_;
      const auto message = [&](double height, double count) {
        if (!(height > 0)) return;
        visit(LayerExchange{.kind = kind,
                            .pass = pass,
                            .operation = Collective::point_to_point,
                            .axes = axis_bit(cell.halo_axis),
                            .count = count,
                            .bytes = height * row,
                            .each = t_.halo_message[std::size_t(d)](height * row),
                            .extent = d});
      };
      if (parts == 2) {
        message(std::max(rows.before, rows.after), 1);
      } else if (rows.before == rows.after) {
        message(rows.before, 2);
      } else {
        message(rows.before, 1);
        message(rows.after, 1);
      }
    }
  }

  /// Of one row (one plane in 3-D) that one GPU sends.
  double items_of_row(const Cell& cell, const Shape& shape, int d, bool of_x) const {
    double row = shape.channels * samples_ / t_.parts[of_x ? cell.halo_divided : cell.dy_divided];
    for (std::size_t o = 0; o < 3; ++o)
      if (o != std::size_t(d)) row *= shape.extent[o] / t_.cut[o];
    return row;
  }

  /// Statistics of a batch-norm over all samples: mean and variance forward, their gradients backward, each
  /// two numbers per channel.
  LayerExchange statistics(const Cell& cell) const {
    const GradientGroup& group = gradients_.groups[std::size_t(cell.gradients)];
    const Bytes m = 2 * t_.layer_of(cell).channels() / t_.parts[cell.weights] * Bytes{4};
    return {.kind = ChargeKind::statistics,
            .pass = Pass::both,
            .operation = Collective::allreduce,
            .axes = group.set,
            .bytes = m,
            .each = group.asked && any_sum_ ? group.asked->exchange.time(m) : group.statistics(m),
            .group = cell.gradients};
  }

  /// Ring attention: in each of p-1 rounds a GPU sends `blocks` blocks of keys and values on and works on
  /// them at the same time; `work` is the time of that for all rounds together.
  LayerExchange round(const Cell& cell, ChargeKind kind, Pass pass, double blocks, Seconds work) const {
    const double p = t_.parts[axis_bit(cell.ring_axis)];
    const Bytes m = blocks * t_.ring_block(cell, samples_);
    const Seconds message = t_.ring_message[std::size_t(cell.ring_axis)](m);
    return {.kind = kind,
            .pass = pass,
            .operation = Collective::point_to_point,
            .axes = axis_bit(cell.ring_axis),
            .count = p - 1,
            .bytes = m,
            .each = message,
            .hidden = training_.overlap ? std::min(message, work / p) : Seconds{}};
  }

  const MeshTable& t_;
  const GradientTable& gradients_;
  const Training& training_;
  Bytes activation_;  // of one item
  double samples_;    // of a micro-batch, before any axis splits it
  double hidden_sums_;
  bool any_sum_;  // the requested allreduce can sum statistics, too
};

}  // namespace paradl
