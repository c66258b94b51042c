#include "paradl/workload/shapes.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace paradl {
namespace {

std::string text(const Shape& shape) {
  std::string out = fmt::format("{}", shape.channels);
  for (int d = 0; d < shape.dims; ++d) out += fmt::format("x{}", shape.extent[std::size_t(d)]);
  return out;
}

bool divides(double parts, double whole) { return std::fmod(whole, parts) == 0; }

}  // namespace

void Shapes::add(const LayerSpec& s) {
  Layer l{.name = s.name, .op = s.op};
  l.inputs = s.inputs;
  l.x = output(s.inputs.front());
  for (const int i : s.inputs) l.x_items += output(i).items();
  l.y = l.x;
  l.auxiliary = s.auxiliary;
  l.wants_whole = s.whole;
  l.time = s.time;
  l.groups = double(s.groups);
  l.bias = is_norm(s.op) ? s.affine : traits(s.op).product && s.bias;
  l.causal = s.causal;
  l.flash = s.flash;
  l.dropout = s.op == Op::attention && s.dropout;
  l.block = s.block;
  l.experts = double(s.experts);
  l.tied = s.tied;
  l.rows = double(std::max({s.vocab, s.entries, s.extra, s.relative}));
  check_inputs(s, l);
  infer(s, l);
  sent_by_.push_back(route(s));
  const double items = std::max({l.y.items(), l.weights, l.macs, l.scores});
  if (!(items < 1e18))
    problems_.add(s.spot, fmt::format("layer `{}` is implausibly large", s.name), "check its sizes");
  layers_.push_back(std::move(l));
}

void Shapes::check_inputs(const LayerSpec& s, const Layer& l) {
  const bool sums = s.op == Op::add || s.op == Op::concat;
  const bool pairs = s.op == Op::attention || s.op == Op::dispatch || s.op == Op::combine;
  if (s.inputs.size() > (pairs ? 2 : 1) && !sums)
    problems_.add(s.from_spot,
                  fmt::format("layer `{}` takes {}, not {}", s.name, pairs ? "two inputs" : "one input",
                              s.inputs.size()),
                  "");
  if (s.channels == 0 || double(s.channels) == l.x.channels) return;
  const int from = s.inputs.front();
  const std::string giver = from < 0 ? "the input" : "`" + layers_[std::size_t(from)].name + "`";
  problems_.add(s.channels_spot,
                fmt::format("layer `{}` expects {} input channels, but {} has {}", s.name, s.channels, giver,
                            l.x.channels),
                fmt::format("write {}, or correct {}", l.x.channels, giver));
}

void Shapes::infer(const LayerSpec& s, Layer& l) {
  const double C = l.x.channels;
  switch (traits(s.op).kind) {
    case OpKind::activation:
    case OpKind::pointwise:
    case OpKind::loss:
      return;  // y has the shape of x
    case OpKind::norm:
      l.weights = s.affine ? 2 * C : 0;
      return;
    case OpKind::rms_norm:
      l.weights = s.affine ? C : 0;
      return;
    case OpKind::group_norm:
      return group_norm(s, l);
    case OpKind::pool:
      return window(s, l);
    case OpKind::global_pool:
    case OpKind::select:
      l.y = {.channels = C};
      return;
    case OpKind::convolution:
      return convolution(s, l);
    case OpKind::product:
      return product(s, l);
    case OpKind::router:
      return router(s, l);
    case OpKind::embedding:
      return embedding(s, l);
    case OpKind::position:
      return position(s, l);
    case OpKind::tokens:
      return tokens(s, l);
    case OpKind::attention:
      return attention(s, l);
    case OpKind::gate:
      return gate(s, l);
    case OpKind::add:
      return sum(s, l);
    case OpKind::concat:
      return concat(s, l);
    case OpKind::flatten:
      l.y = {.channels = l.x.items()};
      return;
    case OpKind::part:
      return part(s, l);
    case OpKind::upsample:
      for (std::size_t d = 0; d < std::size_t(l.x.dims); ++d) l.y.extent[d] *= double(s.scale);
      return;
    case OpKind::dispatch:
      return dispatch(s, l);
    case OpKind::combine:
      l.y.extent = output(s.inputs.back()).extent;
      l.y.dims = output(s.inputs.back()).dims;
      return;
  }
}

void Shapes::convolution(const LayerSpec& s, Layer& l) {
  const double C = l.x.channels, F = double(s.filters);
  window(s, l);
  l.y.channels = F;
  if (!divides(l.groups, C) || !divides(l.groups, F))
    problems_.add(
        s.spot,
        fmt::format("layer `{}`: {} groups do not divide {} channels and {} filters", s.name, l.groups, C, F),
        "");
  const double taps = l.kernel[0] * l.kernel[1] * l.kernel[2];
  l.weights = F * C / l.groups * taps + (s.bias ? F : 0);
  l.macs = F * C / l.groups * taps * l.y.positions();
}

void Shapes::product(const LayerSpec& s, Layer& l) {
  const double C = l.x.channels, F = double(s.filters);
  l.y.channels = F;
  l.weights = std::max(1.0, l.experts) * (C * F + (s.bias ? F : 0));
  if (s.tied_to) tie(s, l);
  l.macs = C * F * l.x.positions();
}

void Shapes::router(const LayerSpec& s, Layer& l) {
  const double C = l.x.channels, F = double(s.filters);
  l.y.channels = F;
  l.weights = C * F;
  l.macs = C * F * l.x.positions();
}

void Shapes::embedding(const LayerSpec& s, Layer& l) {
  if (l.x.channels != 1)
    problems_.add(
        s.spot,
        fmt::format("layer `{}` needs token ids, but its input has {} channels", s.name, l.x.channels),
        "use `input: 1xLENGTH`");
  l.y.channels = double(s.filters);
  l.vocabulary = double(s.vocab);
  l.weights = double(s.vocab) * double(s.filters);
  if (s.tied_to) tie(s, l);
}

void Shapes::position(const LayerSpec& s, Layer& l) {
  if (!s.shared && double(s.entries) < l.x.positions())
    problems_.add(
        s.spot,
        fmt::format("layer `{}` has {} entries, but its input has {} positions", s.name, s.entries,
                    l.x.positions()),
        fmt::format("write entries: {} or more, or `shared: true` if positions share them", l.x.positions()));
  l.weights = double(s.entries) * l.x.channels;
}

void Shapes::tokens(const LayerSpec& s, Layer& l) {
  l.y = {.channels = l.x.channels, .extent = {l.x.positions() + double(s.extra), 1, 1}, .dims = 1};
  l.weights = double(s.extra) * l.x.channels;
}

void Shapes::group_norm(const LayerSpec& s, Layer& l) {
  const double C = l.x.channels;
  if (!divides(l.groups, C))
    problems_.add(s.spot, fmt::format("layer `{}`: {} groups do not divide {} channels", s.name, l.groups, C),
                  "");
  l.weights = s.affine ? 2 * C : 0;
}

void Shapes::gate(const LayerSpec& s, Layer& l) {
  const double C = l.x.channels;
  if (!divides(2, C))
    problems_.add(s.spot, fmt::format("layer `{}` cannot halve {} channels (an odd number)", s.name, C), "");
  l.y.channels = C / 2;
}

void Shapes::sum(const LayerSpec& s, Layer& l) {
  for (const int i : s.inputs)
    if (!(output(i) == l.x))
      problems_.add(s.from_spot,
                    fmt::format("layer `{}` cannot add {} and {}", s.name, text(l.x), text(output(i))),
                    "shapes must be equal");
}

void Shapes::concat(const LayerSpec& s, Layer& l) {
  l.y.channels = 0;
  for (const int i : s.inputs) {
    const Shape& from = output(i);
    l.y.channels += from.channels;
    if (from.extent != l.x.extent || from.dims != l.x.dims)
      problems_.add(s.from_spot,
                    fmt::format("layer `{}` cannot join {} and {}", s.name, text(l.x), text(from)),
                    "extents must be equal");
  }
}

void Shapes::part(const LayerSpec& s, Layer& l) {
  if (l.x.dims != 1 || double(s.positions) > l.x.positions())
    problems_.add(
        s.spot, fmt::format("layer `{}` cannot take {} positions of {}", s.name, s.positions, text(l.x)), "");
  l.y.extent[0] = double(s.positions);
}

/// Every position goes to k experts, each with a capacity of `capacity` per cent of an even share.
void Shapes::dispatch(const LayerSpec& s, Layer& l) {
  if (const double experts = output(s.inputs.back()).channels; double(s.top_k) > experts)
    problems_.add(
        s.spot,
        fmt::format("layer `{}` cannot send each position to {} of {} experts", s.name, s.top_k, experts),
        fmt::format("write top-k: {} or less", experts));
  l.y.extent = {std::ceil(l.x.positions() * double(s.top_k) * double(s.capacity) / 100), 1, 1};
  l.y.dims = 1;
}

/// The `dispatch` that sent a layer's positions to experts; -1: none, or `combine` has brought them back.
/// Between the two, layers must work position by position.
int Shapes::route(const LayerSpec& s) {
  const auto sender_of = [&](int i) { return i < 0 ? -1 : sent_by_[std::size_t(i)]; };
  const int sender = sender_of(s.inputs.front());
  const int router = sender < 0 ? -1 : layers_[std::size_t(sender)].inputs.back();
  const bool asks_router = s.inputs.size() == 2 && is_router(s.inputs.back());
  if (s.op == Op::dispatch) {
    if (!asks_router)
      problems_.add(s.from_spot,
                    fmt::format("layer `{}` needs two inputs: what it sends, and a router", s.name),
                    "write `from: [LAYER, ROUTER]`, the second one of op `router`");
    return int(layers_.size());
  }
  if (s.op == Op::combine) {
    if (!asks_router)
      problems_.add(
          s.from_spot,
          fmt::format("layer `{}` needs two inputs: the output of experts, and their router", s.name),
          "write `from: [LAYER, ROUTER]`, the second one of op `router`");
    else if (sender < 0 || (is_router(router) && router != s.inputs.back()))
      problems_.add(s.from_spot,
                    fmt::format("layer `{}` has no `dispatch` with the same router before it", s.name),
                    "add a `dispatch` from that router");
    return -1;
  }
  if (s.experts > 0 && sender < 0)
    problems_.add(s.spot, fmt::format("layer `{}` has experts, but no `dispatch` sends to them", s.name),
                  "add a `dispatch` before it, or remove `experts`");
  if (sender < 0) return -1;
  const double known = is_router(router) ? layers_[std::size_t(router)].y.channels : double(s.experts);
  if (s.experts > 0 && double(s.experts) != known)
    problems_.add(s.spot,
                  fmt::format("layer `{}` has {} experts, but `{}` chooses among {}", s.name, s.experts,
                              layers_[std::size_t(router)].name, known),
                  fmt::format("write experts: {}", known));
  const bool same = std::ranges::all_of(s.inputs, [&](int i) { return sender_of(i) == sender; });
  if (same && traits(s.op).per_position && s.op != Op::loss) return sender;
  problems_.add(s.spot,
                fmt::format("layer `{}` reads positions that `{}` sent to experts", s.name,
                            layers_[std::size_t(sender)].name),
                "add a `combine` before it");
  return -1;
}

/// A layer that uses another layer's weights must need as many as that one has.
void Shapes::tie(const LayerSpec& s, Layer& l) {
  const double own = (s.op == Op::embedding ? double(s.vocab) : l.x.channels) * double(s.filters);
  const LayerSpec* other = s.tied >= 0 ? &spec_.layers[std::size_t(s.tied)] : nullptr;
  const double theirs = other && other->op == Op::embedding ? double(other->vocab * other->filters)
                        : other && other->op == Op::fc
                            ? layers_[std::size_t(s.tied)].x.channels * double(other->filters)
                            : 0;
  if (own != theirs)
    problems_.add(s.spot,
                  fmt::format("layer `{}` needs {} weights, but `{}` has {}", s.name, own,
                              other ? other->name : "the input", theirs),
                  "tie it to an embedding or fc of the same size");
  l.weights = s.op == Op::fc && s.bias ? double(s.filters) : 0;
}

/// y's extents for convolutions and pooling: floor or ceil of (X + 2 padding - reach) / stride, plus one.
void Shapes::window(const LayerSpec& s, Layer& l) {
  const auto fits = [&](const Sizes& sizes) { return sizes.given <= 1 || sizes.given == l.x.dims; };
  if (l.x.dims == 0)
    return problems_.add(s.kernel_spot,
                         fmt::format("layer `{}` needs extents, but its input is flat", s.name), "use fc");
  if (!fits(s.kernel) || !fits(s.stride) || !fits(s.padding) || !fits(s.dilation))
    return problems_.add(s.kernel_spot,
                         fmt::format("layer `{}`: its input has {} extent{} ({})", s.name, l.x.dims,
                                     l.x.dims == 1 ? "" : "s", text(l.x)),
                         "write one size for each extent, or one for all");
  for (std::size_t d = 0; d < std::size_t(l.x.dims); ++d) {
    const double X = l.x.extent[d];
    const auto one = [&](const Sizes& sizes, double fallback) {
      return sizes.given ? double(sizes.value[d]) : fallback;
    };
    l.kernel[d] = one(s.kernel, 1);
    l.stride[d] = one(s.stride, 1);
    l.dilation[d] = one(s.dilation, 1);
    const double reach = l.dilation[d] * (l.kernel[d] - 1) + 1;
    double Y = 0;
    if (s.same_padding) {
      Y = std::ceil(X / l.stride[d]);
      l.padding[d] = std::floor(std::max(0.0, (Y - 1) * l.stride[d] + reach - X) / 2);
    } else {
      l.padding[d] = one(s.padding, 0);
      const double steps = (X + 2 * l.padding[d] - reach) / l.stride[d];
      Y = (s.ceil ? std::ceil(steps) : std::floor(steps)) + 1;
      // Like frameworks, omits a last window that would start in the padding after the input.
      if (s.ceil && (Y - 1) * l.stride[d] >= X + l.padding[d]) Y -= 1;
    }
    if (Y < 1)
      return problems_.add(
          s.kernel_spot,
          fmt::format("layer `{}`: its window of {} is larger than its input of {}", s.name, reach, X), "");
    l.y.extent[d] = Y;
  }
}

/// Its input is queries, keys and values together, or two inputs: queries, and keys and values of another
/// sequence.
void Shapes::attention(const LayerSpec& s, Layer& l) {
  const double heads = double(s.heads), kv = double(s.kv_heads);
  const bool crossed = s.inputs.size() == 2;
  const double size = l.x.channels / (crossed ? heads : heads + 2 * kv);
  const Shape& memory = output(s.inputs.back());
  if (crossed && memory.channels != 2 * kv * size)
    problems_.add(s.from_spot,
                  fmt::format("layer `{}`: {} channels cannot be keys and values of {} heads of {}", s.name,
                              memory.channels, kv, size),
                  "");
  if (kv > heads || !divides(kv, heads))
    problems_.add(s.spot, fmt::format("layer `{}`: {} kv-heads do not divide {} heads", s.name, kv, heads),
                  "");
  if (size != std::floor(size) || size < 1)
    problems_.add(
        s.spot,
        fmt::format("layer `{}`: {} channels cannot be {} heads of queries and {} of keys and values", s.name,
                    l.x.channels, heads, kv),
        crossed ? "channels must be a multiple of heads"
                : "channels must be a multiple of heads + 2 kv-heads");
  const double length = l.x.positions();
  l.kv_length = memory.positions();
  l.y.channels = heads * size;
  l.heads = kv;
  l.query_heads = heads;
  l.scores = s.flash ? 0 : heads * length * l.kv_length;
  l.macs = 2 * length * l.kv_length * heads * size;
  l.weights = double(s.relative) * heads;
}

}  // namespace paradl
