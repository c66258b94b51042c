#include "paradl/workload/workload.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_set>

#include <fmt/format.h>

namespace paradl {
namespace {

std::string text(const Shape& shape) {
  std::string out = fmt::format("{}", shape.channels);
  for (int d = 0; d < shape.dims; ++d) out += fmt::format("x{}", shape.extent[std::size_t(d)]);
  return out;
}

/// Infers one layer from its inputs; adds mistakes to `problems`.
class Inference {
 public:
  Inference(const ModelSpec& spec, Problems& problems) : spec_(spec), problems_(problems) {}

  Layer layer(const LayerSpec& s, const std::vector<Layer>& before, const Shape& network_input) {
    const auto shape_of = [&](int i) -> const Shape& {
      return i < 0 ? network_input : before[std::size_t(i)].y;
    };
    before_ = &before;
    Layer l{.name = s.name, .op = s.op};
    l.inputs = s.inputs;
    l.x = shape_of(s.inputs.front());
    for (const int i : s.inputs) l.x_items += shape_of(i).items();
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
    const bool sums = s.op == Op::add || s.op == Op::concat;
    const bool pairs = s.op == Op::attention || s.op == Op::dispatch || s.op == Op::combine;
    if (s.inputs.size() > (pairs ? 2 : 1) && !sums)
      problems_.add(s.from_spot,
                    fmt::format("layer `{}` takes {}, not {}", s.name, pairs ? "two inputs" : "one input",
                                s.inputs.size()),
                    "");
    if (s.channels > 0 && double(s.channels) != l.x.channels) {
      const std::string giver =
          s.inputs.front() < 0 ? "the input" : "`" + before[std::size_t(s.inputs.front())].name + "`";
      problems_.add(s.channels_spot,
                    fmt::format("layer `{}` expects {} input channels, but {} has {}", s.name, s.channels,
                                giver, l.x.channels),
                    fmt::format("write {}, or correct {}", l.x.channels, giver));
    }
    infer(s, l, shape_of);
    sent_by_.push_back(route(s));
    const double items = std::max({l.y.items(), l.weights, l.macs, l.scores});
    if (!(items < 1e18))
      problems_.add(s.spot, fmt::format("layer `{}` is too large to be real", s.name), "check its sizes");
    return l;
  }

 private:
  template <class ShapeOf>
  void infer(const LayerSpec& s, Layer& l, ShapeOf shape_of) {
    const double C = l.x.channels;
    const double F = double(s.filters);
    switch (s.op) {
      case Op::conv: {
        window(s, l);
        l.y.channels = F;
        if (std::fmod(C, l.groups) != 0 || std::fmod(F, l.groups) != 0)
          problems_.add(s.spot,
                        fmt::format("layer `{}`: {} groups do not divide {} channels and {} filters", s.name,
                                    l.groups, C, F),
                        "");
        const double taps = l.kernel[0] * l.kernel[1] * l.kernel[2];
        l.weights = F * C / l.groups * taps + (s.bias ? F : 0);
        l.macs = F * C / l.groups * taps * l.y.positions();
        break;
      }
      case Op::fc:
        l.y.channels = F;
        l.weights = std::max(1.0, l.experts) * (C * F + (s.bias ? F : 0));
        if (s.tied_to) tie(s, l);
        l.macs = C * F * l.x.positions();
        break;
      case Op::embedding:
        if (C != 1)
          problems_.add(s.spot,
                        fmt::format("layer `{}` needs token ids, but its input has {} channels", s.name, C),
                        "use `input: 1xLENGTH`");
        l.y.channels = F;
        l.vocabulary = double(s.vocab);
        l.weights = double(s.vocab) * F;
        if (s.tied_to) tie(s, l);
        break;
      case Op::position:
        if (!s.shared && double(s.entries) < l.x.positions())
          problems_.add(s.spot,
                        fmt::format("layer `{}` has {} entries, but its input has {} positions", s.name,
                                    s.entries, l.x.positions()),
                        fmt::format("write entries: {} or more, or `shared: true` if positions share them",
                                    l.x.positions()));
        l.weights = double(s.entries) * C;
        break;
      case Op::max_pool:
      case Op::avg_pool:
        window(s, l);
        break;
      case Op::global_pool:
        l.y = {.channels = C};
        break;
      case Op::batch_norm:
      case Op::layer_norm:
        l.weights = s.affine ? 2 * C : 0;
        break;
      case Op::rms_norm:
        l.weights = s.affine ? C : 0;
        break;
      case Op::group_norm:
        if (std::fmod(C, l.groups) != 0)
          problems_.add(s.spot,
                        fmt::format("layer `{}`: {} groups do not divide {} channels", s.name, l.groups, C),
                        "");
        l.weights = s.affine ? 2 * C : 0;
        break;
      case Op::gate:
        if (std::fmod(C, 2) != 0)
          problems_.add(s.spot, fmt::format("layer `{}` cannot halve {} channels (an odd number)", s.name, C),
                        "");
        l.y.channels = C / 2;
        break;
      case Op::attention:
        attention(s, l, shape_of);
        break;
      case Op::router:
        l.y.channels = F;
        l.weights = C * F;
        l.macs = C * F * l.x.positions();
        break;
      case Op::dispatch:
        if (const double experts = shape_of(s.inputs.back()).channels; double(s.top_k) > experts)
          problems_.add(s.spot,
                        fmt::format("layer `{}` cannot send each position to {} of {} experts", s.name,
                                    s.top_k, experts),
                        fmt::format("write top-k: {} or less", experts));
        // Every position goes to k experts, each with a capacity of `capacity` per cent of an even share.
        l.y.extent = {std::ceil(l.x.positions() * double(s.top_k) * double(s.capacity) / 100), 1, 1};
        l.y.dims = 1;
        break;
      case Op::combine:
        l.y.extent = shape_of(s.inputs.back()).extent;
        l.y.dims = shape_of(s.inputs.back()).dims;
        break;
      case Op::part:
        if (l.x.dims != 1 || double(s.positions) > l.x.positions())
          problems_.add(
              s.spot,
              fmt::format("layer `{}` cannot take {} positions of {}", s.name, s.positions, text(l.x)), "");
        l.y.extent[0] = double(s.positions);
        break;
      case Op::add:
        for (const int i : s.inputs)
          if (!(shape_of(i) == l.x))
            problems_.add(
                s.from_spot,
                fmt::format("layer `{}` cannot add {} and {}", s.name, text(l.x), text(shape_of(i))),
                "shapes must be equal");
        break;
      case Op::concat:
        l.y.channels = 0;
        for (const int i : s.inputs) {
          l.y.channels += shape_of(i).channels;
          if (shape_of(i).extent != l.x.extent || shape_of(i).dims != l.x.dims)
            problems_.add(
                s.from_spot,
                fmt::format("layer `{}` cannot join {} and {}", s.name, text(l.x), text(shape_of(i))),
                "extents must be equal");
        }
        break;
      case Op::flatten:
        l.y = {.channels = l.x.items()};
        break;
      case Op::tokens:
        l.y = {.channels = C, .extent = {l.x.positions() + double(s.extra), 1, 1}, .dims = 1};
        l.weights = double(s.extra) * C;
        break;
      case Op::upsample:
        for (std::size_t d = 0; d < std::size_t(l.x.dims); ++d) l.y.extent[d] *= double(s.scale);
        break;
      case Op::select:
        l.y = {.channels = C};
        break;
      default:
        break;
    }
  }

  bool is_router(int i) const { return i >= 0 && (*before_)[std::size_t(i)].op == Op::router; }

  /// The `dispatch` that sent a layer's positions to experts; -1: none, or `combine` has brought them back.
  /// Between the two, layers must work position by position.
  int route(const LayerSpec& s) {
    const auto sender_of = [&](int i) { return i < 0 ? -1 : sent_by_[std::size_t(i)]; };
    const int sender = sender_of(s.inputs.front());
    const int router = sender < 0 ? -1 : (*before_)[std::size_t(sender)].inputs.back();
    const bool asks_router = s.inputs.size() == 2 && is_router(s.inputs.back());
    if (s.op == Op::dispatch) {
      if (!asks_router)
        problems_.add(s.from_spot,
                      fmt::format("layer `{}` needs two inputs: what it sends, and a router", s.name),
                      "write `from: [LAYER, ROUTER]`, the second one of op `router`");
      return int(before_->size());
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
    const double known = is_router(router) ? (*before_)[std::size_t(router)].y.channels : double(s.experts);
    if (s.experts > 0 && double(s.experts) != known)
      problems_.add(s.spot,
                    fmt::format("layer `{}` has {} experts, but `{}` chooses among {}", s.name, s.experts,
                                (*before_)[std::size_t(router)].name, known),
                    fmt::format("write experts: {}", known));
    const bool same = std::ranges::all_of(s.inputs, [&](int i) { return sender_of(i) == sender; });
    if (same && traits(s.op).per_position && s.op != Op::loss) return sender;
    problems_.add(s.spot,
                  fmt::format("layer `{}` reads positions that `{}` sent to experts", s.name,
                              (*before_)[std::size_t(sender)].name),
                  "add a `combine` before it");
    return -1;
  }

  /// A layer that uses another layer's weights must need as many as that one has.
  void tie(const LayerSpec& s, Layer& l) {
    const double own = (s.op == Op::embedding ? double(s.vocab) : l.x.channels) * double(s.filters);
    const LayerSpec* other = s.tied >= 0 ? &spec_.layers[std::size_t(s.tied)] : nullptr;
    const double theirs = other && other->op == Op::embedding ? double(other->vocab * other->filters)
                          : other && other->op == Op::fc ? shape_in(*other).channels * double(other->filters)
                                                         : 0;
    if (own != theirs)
      problems_.add(s.spot,
                    fmt::format("layer `{}` needs {} weights, but `{}` has {}", s.name, own,
                                other ? other->name : "the input", theirs),
                    "tie it to an embedding or fc of the same size");
    l.weights = s.op == Op::fc && s.bias ? double(s.filters) : 0;
  }

  /// y's extents for convolutions and pooling: floor or ceil of (X + 2 padding - reach) / stride, plus one.
  void window(const LayerSpec& s, Layer& l) {
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
  template <class ShapeOf>
  void attention(const LayerSpec& s, Layer& l, ShapeOf shape_of) {
    const double heads = double(s.heads), kv = double(s.kv_heads);
    const bool crossed = s.inputs.size() == 2;
    const double size = l.x.channels / (crossed ? heads : heads + 2 * kv);
    const Shape& memory = shape_of(s.inputs.back());
    if (crossed && memory.channels != 2 * kv * size)
      problems_.add(s.from_spot,
                    fmt::format("layer `{}`: {} channels cannot be keys and values of {} heads of {}", s.name,
                                memory.channels, kv, size),
                    "");
    if (kv > heads || std::fmod(heads, kv) != 0)
      problems_.add(s.spot, fmt::format("layer `{}`: {} kv-heads do not divide {} heads", s.name, kv, heads),
                    "");
    if (size != std::floor(size) || size < 1)
      problems_.add(
          s.spot,
          fmt::format("layer `{}`: {} channels cannot be {} heads of queries and {} of keys and values",
                      s.name, l.x.channels, heads, kv),
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

  const Shape& shape_in(const LayerSpec& other) const {
    return (*before_)[std::size_t(&other - spec_.layers.data())].x;
  }

  const ModelSpec& spec_;
  Problems& problems_;
  const std::vector<Layer>* before_ = nullptr;
  std::vector<int> sent_by_;  // by layer: see route()
};

/// Rotary positions rotate queries and keys, so attention must follow them.
void check_rotary(const ModelSpec& spec, Problems& problems) {
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    if (spec.layers[i].op != Op::rotary) continue;
    const auto attends = [&](const LayerSpec& reader) {
      return reader.op == Op::attention && std::ranges::find(reader.inputs, int(i)) != reader.inputs.end();
    };
    if (std::ranges::none_of(spec.layers, attends))
      problems.add(spec.layers[i].spot,
                   fmt::format("layer `{}` rotates queries and keys, but no attention reads them",
                               spec.layers[i].name),
                   "put it between the product that computes them and attention");
  }
}

/// The last product of a network of tokens computes one logit for each word of the vocabulary.
void mark_logits(std::vector<Layer>& layers, const Layer& loss) {
  const int last = loss.inputs.front();
  if (last < 0 || layers[std::size_t(last)].op != Op::fc || layers[std::size_t(last)].auxiliary) return;
  const double words = layers[std::size_t(last)].filters();
  const auto reads = [&](const Layer& l) { return l.op == Op::embedding && l.vocabulary == words; };
  if (std::ranges::none_of(layers, reads)) return;
  layers[std::size_t(last)].vocabulary = words;
  layers[std::size_t(&loss - layers.data())].vocabulary = words;
}

/// Gives every layer between a product and attention the number of key and value heads among its channels.
void mark_keys(std::vector<Layer>& layers, Layer& attention) {
  const double kv = 2 * attention.heads, queries = attention.query_heads;
  attention.kv_heads = attention.heads;
  attention.kv_share =
      kv * attention.kv_length / (queries * attention.x.positions() + kv * attention.kv_length);
  const bool crossed = attention.inputs.size() == 2;  // with queries of another product
  for (int i = attention.inputs.back(); i >= 0; i = layers[std::size_t(i)].inputs.front()) {
    Layer& layer = layers[std::size_t(i)];
    const bool product = traits(layer.op).product;
    if (!product && !traits(layer.op).per_channel) return;
    layer.kv_heads = attention.heads;
    layer.kv_share = kv / (kv + (crossed ? 0 : queries));
    if (product) return;
  }
}

/// Numbers layers so that equal ones share a number; their cost is computed once.
void number_classes(std::vector<Layer>& layers) {
  const auto key = [](const Layer& l) {
    return std::tuple(
        l.op, l.x.channels, l.x.extent, l.x.dims, l.y.channels, l.y.extent, l.y.dims, l.x_items, l.weights,
        l.macs, l.heads, l.groups, l.kernel, l.stride, l.dilation, l.padding,
        std::tuple(l.query_heads, l.scores, l.kv_length, l.experts, l.vocabulary, l.flash, l.dropout),
        std::tuple(l.kv_share, l.kv_heads),
        std::tuple(l.wants_whole, l.time.has_value(), l.time.value_or(Seconds{}).base(), l.first()));
  };
  std::map<decltype(key(layers.front())), int> classes;
  for (Layer& layer : layers)
    layer.shape_class = classes.emplace(key(layer), int(classes.size())).first->second;
}

Cuttable read_rule(const ModelSpec& spec, const std::string& strategy) {
  const auto rule = spec.split.find(strategy);
  if (rule == spec.split.end()) return {};
  const std::unordered_set<std::string> words(rule->second.words.begin(), rule->second.words.end());
  Cuttable cuttable;
  for (const LayerSpec& layer : spec.layers)
    cuttable.layer.push_back(words.contains(layer.name) ||
                             words.contains(std::string(traits(layer.op).name)));
  return cuttable;
}

template <class Part>
double sum(const std::vector<Layer>& layers, Part part) {
  double total = 0;
  for (const Layer& layer : layers) total += part(layer);
  return total;
}

}  // namespace

double Workload::parameters() const {
  return sum(layers, [](const Layer& l) { return l.weights; });
}
double Workload::macs() const {
  return sum(layers, [](const Layer& l) { return l.auxiliary ? 0 : l.macs; });
}
double Workload::train_macs() const {
  return sum(layers, [](const Layer& l) { return l.macs; });
}
bool Workload::has_times() const {
  return time > Seconds{} ||
         std::ranges::any_of(layers, [](const Layer& l) { return l.time.value_or(Seconds{}) > Seconds{}; });
}

Workload build_workload(const ModelSpec& spec) {
  Problems problems(spec.source);
  Workload work{.name = spec.name};
  work.input.channels = double(spec.input.front());
  work.input.dims = int(spec.input.size()) - 1;
  for (std::size_t d = 1; d < spec.input.size(); ++d) work.input.extent[d - 1] = double(spec.input[d]);
  work.D = spec.samples;
  work.sample = spec.sample;
  work.batch = spec.batch;
  work.time = spec.time;

  Inference inference(spec, problems);
  work.layers.reserve(spec.layers.size());
  for (const LayerSpec& layer : spec.layers) {
    if (problems.full()) break;
    work.layers.push_back(inference.layer(layer, work.layers, work.input));
    work.tokens |= layer.op == Op::embedding;
    work.convolutional |= layer.op == Op::conv;
  }
  check_rotary(spec, problems);
  problems.raise();
  for (const Layer& loss : work.layers)
    if (work.tokens && loss.op == Op::loss) mark_logits(work.layers, loss);
  for (Layer& layer : work.layers)
    if (layer.op == Op::attention) mark_keys(work.layers, layer);
  number_classes(work.layers);
  work.spatial = read_rule(spec, "spatial");
  work.filter = read_rule(spec, "filter");
  work.channel = read_rule(spec, "channel");
  work.tensor = read_rule(spec, "tensor");
  return work;
}

void set_flash(Workload& work, bool flash) {
  for (Layer& layer : work.layers)
    if (layer.op == Op::attention) {
      layer.flash = flash;
      layer.scores = flash ? 0 : layer.query_heads * layer.x.positions() * layer.kv_length;
    }
}

std::pair<ModelSpec, Workload> load_model(const Catalog& catalog, const std::string& name) {
  try {
    ModelSpec spec = catalog.model(name);
    Workload work = build_workload(spec);
    return {std::move(spec), std::move(work)};
  } catch (const SpecError& error) {
    if (!Catalog::is_parametric(name)) throw;
    const auto& [where, message, help] = error.problems().front();
    throw UsageError(fmt::format("`{}` is not a valid network: {}", name, message),
                     fmt::format("{}{}see {}:{}:{}", help, help.empty() ? "" : "; ", error.file(), where.line,
                                 where.column));
  }
}

}  // namespace paradl
