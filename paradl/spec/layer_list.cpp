#include "paradl/spec/layer_list.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "paradl/spec/reader.hpp"

namespace paradl {
namespace {

constexpr std::size_t most_layers = 20'000;
constexpr int deepest_block = 16;
constexpr std::size_t most_keys = 60;  // of a layer or block entry; each is read for every repetition
constexpr std::int64_t largest_size = 1'000'000'000;

/// The context of a list of layers: the prefix of its names, the values of `$names`, and its input.
struct Scope {
  std::string prefix;
  Parameters parameters;
  int input = -1;
  int depth = 0;
  int block = -1;
};

class LayOut {
 public:
  LayOut(const YAML::Node& blocks, Problems& problems) : problems_(problems) {
    if (is_map(blocks))
      for (const auto& each : blocks) blocks_.emplace(scalar_text(each.first), each.second);
  }

  /// Appends the layers of one list. Returns the index of its last layer, or the scope's input if the list is
  /// empty.
  int list(const YAML::Node& entries, const Scope& scope) {
    int last = scope.input;
    if (!entries.IsSequence()) {
      problems_.add(spot_of(entries), "layers must be a list", "write one `- {name: ..., op: ...}` per line");
      return last;
    }
    for (const YAML::Node& entry : entries) {
      if (problems_.full() || overflow_) break;
      if (++visited_ > 2 * most_layers) return too_many(entry, last);
      if (is_map(entry) && entry.size() > most_keys) {
        problems_.add(spot_of(entry), fmt::format("more than {} keys in one entry", most_keys), "");
        return last;
      }
      last = is_map(entry) && has_key(entry, "block") ? block(entry, scope, last) : layer(entry, scope, last);
    }
    return last;
  }

  std::vector<LayerSpec> take() && { return std::move(layers_); }

 private:
  int too_many(const YAML::Node& entry, int last) {
    overflow_ = true;
    problems_.add(spot_of(entry), fmt::format("more than {} layers", most_layers),
                  "check that no `repeat` is too large");
    return last;
  }

  static bool is_name(const std::string& name) {
    constexpr std::size_t longest_name = 100;  // a block's name is a prefix of each of its layers
    return !name.empty() && name != "in" && name.size() <= longest_name;
  }

  /// Reads and checks the keys of a layer. Missing ones get the fallback.
  struct Fields {
    Reader map;
    const Scope& scope;
    Problems& problems;

    std::int64_t whole(const std::string& key, std::int64_t least, std::int64_t fallback,
                       std::int64_t most = largest_size) {
      if (!map.has(key)) return fallback;
      const YAML::Node node = map.node(key);
      try {
        const std::int64_t value = evaluate(scalar_text(node), scope.parameters);
        if (value >= least && value <= most) return value;
        problems.add(spot_of(node),
                     fmt::format("`{}` must be from {} to {}, not {}", key, least, most, value),
                     value < least ? fmt::format("make it {} or more", least)
                                   : fmt::format("make it {} or less", most));
      } catch (const ExpressionError& error) {
        problems.add(spot_of(node), fmt::format("`{}`: {}", key, error.message), error.help);
      }
      return fallback;
    }
    std::int64_t required(const std::string& key) { return map.require(key) ? whole(key, 1, 1) : 1; }

    Sizes sizes(const std::string& key, std::int64_t least) {
      if (!map.has(key)) return {};
      const YAML::Node node = map.node(key);
      Sizes sizes;
      try {
        const auto values = read_sizes(scalar_text(node), scope.parameters);
        if (values.size() > 3)
          throw ExpressionError{"too many extents", "write at most three, such as 3x3x3"};
        for (const std::int64_t value : values) {
          if (value < least || value > largest_size)
            throw ExpressionError{fmt::format("{} is out of range", value),
                                  fmt::format("write {} or more", least)};
          sizes.value[std::size_t(sizes.given++)] = value;
        }
        if (sizes.given == 1) sizes.value = {values[0], values[0], values[0]};
      } catch (const ExpressionError& error) {
        problems.add(spot_of(node), fmt::format("`{}`: {}", key, error.message), error.help);
        return {};
      }
      return sizes;
    }
  };

  int layer(const YAML::Node& entry, const Scope& scope, int last) {
    if (layers_.size() >= most_layers) return too_many(entry, last);
    LayerSpec spec;
    Reader map(entry, problems_, "a layer");
    spec.spot = map.spot();
    const std::string word = map.text("op");
    const std::string own = map.text("name");
    spec.name = scope.prefix + own;
    const auto op = find_op(word);
    if (!op) {
      if (!word.empty())
        map.wrong("op", fmt::format("no op is called `{}`", word), did_you_mean(word, op_names()));
      else
        report_misspelt_op(entry);
      return last;
    }
    spec.op = *op;
    spec.block = scope.block;
    spec.inputs = inputs(map, scope, last);
    spec.from_spot = map.spot("from");
    spec.auxiliary = map.flag("auxiliary", false);
    if (map.has("time")) spec.time = map.quantity_or_zero<Seconds>("time");
    Fields fields{std::move(map), scope, problems_};
    read_keys(fields, spec);
    fields.map.finish();

    if (own.find('.') != own.npos || !is_name(own)) {
      fields.map.wrong("name", fmt::format("a layer cannot be called `{}`", own),
                       "use letters, digits, `-` and `_`, at most 100");
    } else if (!index_.emplace(spec.name, int(layers_.size())).second) {
      fields.map.wrong("name", fmt::format("two layers are called `{}`", spec.name), "rename one of them");
    }
    layers_.push_back(std::move(spec));
    return int(layers_.size()) - 1;
  }

  /// The reader reports a missing `op`, but leaves a misspelt key to finish(), which needs the op for its
  /// keys.
  void report_misspelt_op(const YAML::Node& entry) {
    if (!entry.IsMap() || entry["op"]) return;
    for (const auto& each : entry) {
      const std::string key = each.first.IsScalar() ? each.first.Scalar() : "";
      const std::string help = did_you_mean(key, {"op"});
      if (!help.empty())
        return problems_.add(spot_of(each.first), fmt::format("unknown key `{}`", key), help);
    }
  }

  void read_keys(Fields& f, LayerSpec& spec) {
    switch (traits(spec.op).kind) {
      case OpKind::convolution:
        spec.filters = f.required("filters");
        f.map.require("kernel");
        spec.kernel = f.sizes("kernel", 1);
        spec.stride = f.sizes("stride", 1);
        spec.dilation = f.sizes("dilation", 1);
        spec.groups = f.whole("groups", 1, 1);
        spec.bias = f.map.flag("bias", true);
        read_channels(f, spec);
        read_padding(f, spec);
        break;
      case OpKind::product:
        spec.filters = f.required("filters");
        spec.bias = f.map.flag("bias", true);
        spec.experts = f.whole("experts", 0, 0);
        read_channels(f, spec);
        if ((spec.tied_to = f.map.has("tied"))) spec.tied = find(f.map, "tied", f.map.text("tied"), f.scope);
        break;
      case OpKind::embedding:
        spec.vocab = f.required("vocab");
        spec.filters = f.required("filters");
        if ((spec.tied_to = f.map.has("tied"))) spec.tied = find(f.map, "tied", f.map.text("tied"), f.scope);
        break;
      case OpKind::position:
        spec.entries = f.required("entries");
        spec.shared = f.map.flag("shared", false);
        break;
      case OpKind::pool:
        f.map.require("kernel");
        spec.kernel = f.sizes("kernel", 1);
        spec.stride = f.sizes("stride", 1);
        if (spec.stride.given == 0) spec.stride = spec.kernel;
        spec.ceil = f.map.flag("ceil", false);
        read_padding(f, spec);
        break;
      case OpKind::group_norm:
        spec.groups = f.required("groups");
        [[fallthrough]];
      case OpKind::norm:
      case OpKind::rms_norm:
        spec.affine = f.map.flag("affine", true);
        break;
      case OpKind::attention:
        spec.heads = f.required("heads");
        spec.kv_heads = f.whole("kv-heads", 1, spec.heads);
        // The work counts the whole square of scores either way, as published counts do.
        spec.causal = f.map.flag("causal", false);
        spec.flash = f.whole("flash", 0, 0, 1) > 0;
        spec.dropout = f.map.flag("dropout", true);
        spec.relative = f.whole("relative", 0, 0);
        break;
      case OpKind::router:
        spec.filters = f.required("experts");
        break;
      case OpKind::dispatch:
        f.map.require("from");
        spec.top_k = f.required("top-k");
        spec.capacity = f.whole("capacity", 1, 100);
        break;
      case OpKind::part:
        spec.positions = f.required("positions");
        break;
      case OpKind::tokens:
        spec.extra = f.whole("extra", 0, 0);
        break;
      case OpKind::upsample:
        spec.scale = f.whole("scale", 1, 2);
        break;
      case OpKind::loss:
        spec.whole = f.map.flag("whole", false);
        break;
      case OpKind::combine:
      case OpKind::add:
      case OpKind::concat:
        f.map.require("from");
        break;
      case OpKind::activation:
      case OpKind::pointwise:
      case OpKind::global_pool:
      case OpKind::gate:
      case OpKind::flatten:
      case OpKind::select:
        break;
    }
  }

  void read_channels(Fields& f, LayerSpec& spec) {
    spec.channels = f.whole("channels", 1, 0);
    spec.channels_spot = f.map.spot("channels");
  }

  /// Reads the padding of a window, and remembers where its `kernel` is.
  void read_padding(Fields& f, LayerSpec& spec) {
    spec.same_padding = f.map.has("padding") && scalar_text(f.map.node("padding")) == "same";
    if (!spec.same_padding) spec.padding = f.sizes("padding", 0);
    spec.kernel_spot = f.map.spot("kernel");
  }

  std::vector<int> inputs(Reader& map, const Scope& scope, int last) {
    if (!map.has("from")) return {last};
    std::vector<int> found;
    for (const std::string& name : map.words("from")) found.push_back(find(map, "from", name, scope));
    if (found.empty()) found.push_back(last);
    return found;
  }

  /// Finds the layer or block of that name, first in this block, then in those that contain it.
  int find(Reader& map, const std::string& key, const std::string& name, const Scope& scope) {
    if (name == "in") return scope.input;
    for (std::string prefix = scope.prefix;;) {
      if (const auto found = index_.find(prefix + name); found != index_.end()) return found->second;
      if (prefix.empty()) break;
      prefix.pop_back();  // the dot
      const std::size_t dot = prefix.rfind('.');
      prefix.resize(dot == prefix.npos ? 0 : dot + 1);
    }
    std::vector<std::string> near;
    for (const auto& [known, i] : index_)
      if (known.starts_with(scope.prefix) && near.size() < 200)
        near.push_back(known.substr(scope.prefix.size()));
    std::string help = did_you_mean(name, near);
    map.wrong(key, fmt::format("no layer above is called `{}`", name),
              help.empty() ? "a layer can read only layers above it" : help);
    return -1;
  }

  int block(const YAML::Node& entry, const Scope& scope, int last) {
    if (++instances_ > most_layers) return too_many(entry, last);
    Reader map(entry, problems_, "a block entry");
    const std::string kind = map.text("block");
    const std::string name = map.text("name");
    const auto body = blocks_.find(kind);
    if (!is_name(name))
      map.wrong("name", fmt::format("a block cannot be called `{}`", name),
                "use letters, digits, `-` and `_`, at most 100");
    if (body == blocks_.end()) {
      std::vector<std::string> known;
      for (const auto& [each, layers] : blocks_)
        if (known.size() < 200) known.push_back(each);
      map.wrong("block", fmt::format("no block is called `{}`", kind), did_you_mean(kind, known));
      return last;
    }
    if (scope.depth >= deepest_block) {
      map.wrong("block", "blocks are nested too deeply", "check that this block does not contain itself");
      return last;
    }
    Scope inner{.prefix = {},
                .parameters = scope.parameters,
                .input = -1,
                .depth = scope.depth + 1,
                .block = scope.block};
    const std::vector<int> from = inputs(map, scope, last);
    if (from.size() > 1)
      map.wrong("from", "a block has only one input", "join the inputs with `concat` or `add` before it");
    inner.input = from.front();
    std::int64_t repeat = 1;
    const bool repeated = map.has("repeat");
    for (const auto& each : entry) {
      const std::string key = each.first.IsScalar() ? each.first.Scalar() : "";
      if (key == "block" || key == "name" || key == "from") continue;
      std::set<std::string> seen;
      if (key != "repeat" && !uses(kind, key, seen)) {
        problems_.add(spot_of(each.first), fmt::format("block `{}` does not use `${}`", kind, key),
                      did_you_mean(key, used_names(kind)));
        return last;
      }
      try {
        const std::int64_t value = evaluate(scalar_text(each.second), scope.parameters);
        if (key == "repeat")
          repeat = value;
        else
          inner.parameters[key] = value;
      } catch (const ExpressionError& error) {
        problems_.add(spot_of(each.second), fmt::format("`{}`: {}", key, error.message), error.help);
        return last;
      }
    }
    if (repeat < 0 || repeat > std::int64_t(most_layers)) {
      map.wrong("repeat", fmt::format("`repeat` must be from 0 to {}, not {}", most_layers, repeat),
                repeat < 0 ? "make it 0 or more" : fmt::format("make it {} or less", most_layers));
      return last;
    }
    for (std::int64_t i = 0; i < repeat && !problems_.full() && !overflow_; ++i) {
      if (++instances_ > 2 * most_layers) return too_many(entry, last);
      inner.prefix = repeated ? fmt::format("{}{}.{}.", scope.prefix, name, i)
                              : fmt::format("{}{}.", scope.prefix, name);
      if (scope.depth == 0) inner.block = instance_++;
      inner.input = list(body->second, inner);
    }
    // The block's name refers to its output.
    if (!index_.emplace(scope.prefix + name, inner.input).second)
      map.wrong("name", fmt::format("two layers are called `{}`", scope.prefix + name), "rename one of them");
    return inner.input;
  }

  /// The `$names` that a block uses, and the blocks it contains.
  struct Uses {
    std::set<std::string> names, blocks;
  };

  const Uses& uses_of(const std::string& kind) {
    const auto [entry, fresh] = uses_.try_emplace(kind);
    if (!fresh) return entry->second;
    const auto body = blocks_.find(kind);
    if (body == blocks_.end() || !body->second.IsSequence()) return entry->second;
    for (const YAML::Node& layer : body->second) {
      if (!is_map(layer)) continue;
      if (has_key(layer, "block")) entry->second.blocks.insert(scalar_text(layer["block"]));
      for (const auto& each : layer) {
        const std::string text = scalar_text(each.second);
        for (std::size_t at = text.find('$'); at != text.npos; at = text.find('$', at + 1))
          entry->second.names.insert(text.substr(at + 1, text.find_first_of(" +*/(),$", at + 1) - at - 1));
      }
    }
    return entry->second;
  }

  /// `$width-1` uses `width`, because a minus may follow a name.
  bool uses(const std::string& kind, const std::string& key, std::set<std::string>& seen) {
    if (!seen.insert(kind).second) return false;
    const Uses& found = uses_of(kind);
    const auto begins_with = [&](const std::string& word) {
      const auto next = found.names.lower_bound(word);
      return next != found.names.end() && next->starts_with(word);
    };
    if (found.names.contains(key) || begins_with(key + "-") || begins_with(key + "x")) return true;
    return std::ranges::any_of(found.blocks,
                               [&](const std::string& inner) { return uses(inner, key, seen); });
  }
  std::vector<std::string> used_names(const std::string& kind) {
    const auto& names = uses_of(kind).names;
    return {names.begin(), names.end()};
  }

  std::map<std::string, YAML::Node> blocks_;
  Problems& problems_;
  std::map<std::string, Uses> uses_;
  std::vector<LayerSpec> layers_;
  std::unordered_map<std::string, int> index_;
  int instance_ = 0;           // number of outermost block instances
  std::size_t instances_ = 0;  // number of block instances, including empty ones
  std::size_t visited_ = 0;    // number of list entries
  bool overflow_ = false;
};

}  // namespace

std::vector<std::int64_t> read_sizes(std::string_view text, const Parameters& parameters) {
  // An `x` separates sizes if a number, a `$name` or a bracket follows it: 3x3, 1x$seq, (2*$k)x1.
  std::vector<std::int64_t> sizes;
  std::size_t start = 0;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    const bool before = digit(text[i - 1]) || text[i - 1] == ')';
    const bool after = digit(text[i + 1]) || text[i + 1] == '$' || text[i + 1] == '(';
    if (text[i] != 'x' || !before || !after) continue;
    sizes.push_back(evaluate(text.substr(start, i - start), parameters));
    start = i + 1;
    if (sizes.size() > 4) throw ExpressionError{"too many extents", ""};
  }
  sizes.push_back(evaluate(text.substr(start), parameters));
  return sizes;
}

std::vector<LayerSpec> lay_out(const YAML::Node& layers, const YAML::Node& blocks,
                               const Parameters& parameters, Problems& problems) {
  if (blocks.IsDefined())
    Reader(blocks, problems, "`blocks`");  // checks that it is a mapping without duplicates
  LayOut out(blocks, problems);
  out.list(layers, {.prefix = {}, .parameters = parameters, .input = -1, .depth = 0});
  std::vector<LayerSpec> list = std::move(out).take();
  if (list.empty() && !problems.any())
    problems.add(spot_of(layers), "a model needs at least one layer", "write one: - {name: fc, filters: 10}");
  return list;
}

}  // namespace paradl
