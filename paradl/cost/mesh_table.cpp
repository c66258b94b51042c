#include "paradl/cost/mesh_table.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace paradl {

MeshTable::MeshTable(const Setting& s, const Links& links, const Layout& layout, const Mesh& m)
    : setting(s), mesh(m), sharing(layout.sharing), tensor_axis(layout.pairs) {
  parts[0] = 1;
  for (int a = 0; a < mesh.axes; ++a) {
    const auto i = std::size_t(a);
    const Axis& axis = mesh.axis[i];
    const AxisSet bit = axis_bit(a);
    const bool by_space = layout.space & bit;
    for (std::size_t set = 0; set < bit; ++set) parts[set | bit] = parts[set] * axis.parts.total;
    axis_path[i] = links.group(mesh, bit);
    for (std::size_t op = 0; op < collectives; ++op)
      if (layout.uses[i] & 1u << op || (layout.pairs & bit && Collective(op) == Collective::allgather))
        cost[i][op] = links.axis_cost(Collective(op), by_space, axis_path[i]);
    skew[i] = axis.parts.total > 1 ? setting.training.framework.sync : Seconds{};
    if (layout.pairs & bit) tensor *= axis.parts.total;
    if (by_space) {
      ring_path[i] = links.neighbours(mesh, a, -1);
      ring_message[i] = links.cost_of(Collective::point_to_point, ring_path[i]);
      cut = axis.parts.cut;
      for (int d = 0; d < 3; ++d) {
        if (cut[std::size_t(d)] < 2) continue;
        Path& path = halo_path[std::size_t(d)];
        path = links.neighbours(mesh, a, d);
        halo_message[std::size_t(d)] = links.axis_cost(Collective::point_to_point, by_space, path);
      }
    }
    if (layout.role[i].front() == Role::stage) {
      stage_path = links.neighbours(mesh, a, -1);
      stage_message = links.axis_cost(Collective::point_to_point, by_space, stage_path);
    }
  }
}

Bytes MeshTable::bytes_of(const Exchange& exchange, double samples) const {
  return exchange.items * samples / parts[exchange.divided] * setting.training.bytes().activation;
}

Seconds MeshTable::skew_of(const Exchange& exchange) const {
  using enum Collective;
  const bool half = exchange.operation == allgather || exchange.operation == reduce_scatter;
  return (half ? 0.5 : 1.0) * skew[exchange.axis];
}

Seconds MeshTable::time_of(const Exchange& exchange, double samples) const {
  return cost[exchange.axis][std::size_t(exchange.operation)](bytes_of(exchange, samples)) +
         skew_of(exchange);
}

double MeshTable::copies(const Cell& cell) const {
  const Layer& layer = layer_of(cell);
  const AxisSet split = cell.weights & tensor_axis;
  const bool makes_keys = layer.kv_share > 0 && traits(layer.op).product;
  return split && makes_keys ? std::max(1.0, parts[split] / layer.kv_heads) : 1;
}

Bytes MeshTable::copied_gradient(const Cell& cell) const {
  const Layer& layer = layer_of(cell);
  return layer.kv_share * layer.weights / layer.kv_heads * setting.training.bytes().sent_gradient;
}

/// Neighbours on the `tensor` axis have the copies, so the path has the innermost levels that hold them all.
Path MeshTable::copies_path(const Cell& cell) const {
  Path out = axis_path[std::size_t(std::countr_zero(unsigned(cell.weights & tensor_axis)))];
  double left = copies(cell);
  for (int k = 0; k < out.hops; ++k) {
    Hop& hop = out.hop[std::size_t(k)];
    hop.size = std::min(hop.size, left);
    left = left / hop.size;
  }
  return out;
}

Bytes MeshTable::ring_block(const Cell& cell, double samples) const {
  const Layer& layer = layer_of(cell);
  const double size = layer.y.channels / layer.query_heads;
  const double shared = std::max(1.0, parts[cell.weights & tensor_axis] / layer.heads);  // heads of `tensor`
  return samples / parts[cell.work] * shared * 2 * layer.heads * size * layer.kv_length *
         setting.training.bytes().activation;
}

Path MeshTable::tied_path() const {
  Path pair = stage_path;
  const std::string_view last = stage_path.outermost().level;
  for (Hop& hop : pair.hop) hop.size = hop.level == last ? 2 : 1;
  pair.in_node = pair.hop[0].size;
  return pair;
}

}  // namespace paradl
