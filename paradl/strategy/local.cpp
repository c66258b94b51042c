#include "paradl/strategy/local.hpp"

#include <algorithm>
#include <cmath>

namespace paradl {
namespace {

/// The size of the largest part. The factor keeps rounding errors from adding one item.
std::int64_t part(double whole, double parts) { return std::int64_t(std::ceil(whole / parts * (1 - 1e-12))); }

/// Layers whose output grows although their input does not: products and tables.
bool is_source(const Layer& layer) { return traits(layer.op).product || layer.op == Op::embedding; }

/// Whether role `channel` splits the rows of a table: those of an embedding.
bool deals_out_rows(const Layer& layer) { return layer.op == Op::embedding; }

/// If there are more parts than heads of keys and values, several parts hold a copy of the same head.
double kv_growth(const Layer& layer, double parts) {
  const double copies = layer.kv_heads > 0 ? std::max(1.0, parts / layer.kv_heads) : 1;
  return 1 + layer.kv_share * (copies - 1);
}

}  // namespace

double padded_vocabulary(double words, double parts, const FrameworkTerms& framework) {
  if (framework.padding == VocabularyPadding::never) return words;
  if (framework.padding == VocabularyPadding::split && std::fmod(words, parts) == 0) return words;
  const double multiple = framework.vocabulary_multiple * parts;
  return std::ceil(words / multiple) * multiple;
}

double growth(const Layer& layer, double parts, const FrameworkTerms& framework) {
  if (layer.vocabulary > 0) return padded_vocabulary(layer.vocabulary, parts, framework) / layer.vocabulary;
  return kv_growth(layer, parts);
}

double work_growth(const Layer& layer, double parts, const FrameworkTerms& framework) {
  return layer.op == Op::attention ? 1 : growth(layer, parts, framework);
}

Cut cut_of(const Layout& layout, const Cell& cell, const Mesh& mesh) {
  Cut cut;
  for (int a = 0; a < mesh.axes; ++a) {
    const auto i = std::size_t(a);
    const Parts& parts = mesh.axis[i].parts;
    const AxisSet bit = axis_bit(a);
    if (!(cell.work & bit)) continue;
    const Role role = layout.role[i][std::size_t(cell.layer)];
    if (layout.pairs & cell.weights & bit) cut.tensor *= parts.total;
    if (role == Role::expert)
      cut.samples *= parts.total, cut.experts *= parts.total;
    else if (cell.weights & bit)
      (role == Role::filter ? cut.filters : role == Role::channel ? cut.channels : cut.both) *= parts.total;
    else if (!(cell.space & bit))
      cut.samples *= parts.total;
    else if (layout.space & bit)
      for (std::size_t d = 0; d < 3; ++d) cut.space[d] *= parts.cut[d];
    else  // between two pairs of products, the sequence is split
      cut.space[0] *= parts.total;
  }
  return cut;
}

LocalLayer local_layer(const Layer& layer, const Cut& cut, double samples) {
  LocalLayer l{.op = layer.op, .dims = layer.x.dims, .samples = part(samples, cut.samples)};
  const bool rows = deals_out_rows(layer);
  const double grown = kv_growth(layer, cut.tensor);
  const bool wide_x = !is_source(layer) && layer.inputs.size() == 1,
             wide_y = !rows && layer.op != Op::attention;
  const auto padded = [&](double n) { return cut.words > 0 && n == layer.vocabulary ? cut.words : n; };
  l.x_channels =
      part(layer.op == Op::concat ? layer.y.channels : padded(layer.x.channels) * (wide_x ? grown : 1),
           (rows ? 1 : cut.channels) * cut.both);
  l.y_channels = part(padded(layer.y.channels) * (wide_y ? grown : 1), cut.filters * cut.both);
  l.groups = std::max<std::int64_t>(1, part(layer.groups, cut.both));
  l.heads = part(layer.query_heads, cut.both);
  l.kv_heads = part(layer.heads, cut.both);
  l.rows = part(padded(layer.rows), rows ? cut.channels : 1);
  l.inputs = int(layer.inputs.size());
  l.bias = layer.bias;
  l.causal = layer.causal;
  l.flash = layer.flash;
  l.experts = part(layer.experts, cut.experts);
  for (std::size_t d = 0; d < 3; ++d) {
    l.kernel[d] = std::int64_t(layer.kernel[d]);
    l.stride[d] = std::int64_t(layer.stride[d]);
    l.dilation[d] = std::int64_t(layer.dilation[d]);
    l.padding[d] = std::int64_t(layer.padding[d]);
    l.x_extent[d] = part(layer.x.extent[d], cut.space[d]);
    l.y_extent[d] = part(layer.y.extent[d], cut.space[d]);
    if (cut.space[d] > 1 && traits(layer.op).window) {  // with its halos, which replace the padding
      l.x_extent[d] = (l.y_extent[d] - 1) * l.stride[d] + l.dilation[d] * (l.kernel[d] - 1) + 1;
      l.padding[d] = 0;
    }
  }
  // Queries of a part of the sequence attend to the keys of the whole sequence; in ring attention, these come
  // block by block.
  if (layer.op == Op::attention && layer.kv_length != double(l.x_positions()))
    l.kv_length = std::int64_t(layer.kv_length);
  l.weights = (layer.tied < 0 ? l.arrays()[0] : 0) + l.arrays()[1];
  return l;
}

}  // namespace paradl
