#include "paradl/spec/profile_spec.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "paradl/core/text.hpp"
#include "paradl/spec/foreign/text.hpp"
#include "paradl/spec/measured_under.hpp"
#include "paradl/spec/reader.hpp"

namespace paradl {
namespace {

constexpr std::int64_t most = std::int64_t{1} << 50;  // of any extent or count

using Extents = std::array<std::int64_t, 3>;

/// The counts of a layer that are written only if they differ from the usual value.
struct Count {
  const char* key;
  std::int64_t LocalLayer::*member;
  std::int64_t usual;
};
constexpr Count counts[] = {{"groups", &LocalLayer::groups, 1},
                            {"heads", &LocalLayer::heads, 0},
                            {"kv-heads", &LocalLayer::kv_heads, 0},
                            {"rows", &LocalLayer::rows, 0},
                            {"weights", &LocalLayer::weights, 0}};
struct Window {
  const char* key;
  Extents LocalLayer::*member;
  std::int64_t usual;
};
constexpr Window windows[] = {{"kernel", &LocalLayer::kernel, 1},
                              {"stride", &LocalLayer::stride, 1},
                              {"dilation", &LocalLayer::dilation, 1},
                              {"padding", &LocalLayer::padding, 0}};
struct Pass {
  const char* key;
  Seconds PassTimes::*member;
};
constexpr Pass passes[] = {{"forward", &PassTimes::forward},
                           {"backward-data", &PassTimes::backward_data},
                           {"backward-weights", &PassTimes::backward_weights},
                           {"update", &PassTimes::update}};

/// "64x56x56" as numbers.
std::vector<std::int64_t> read_sizes(Reader& map, const std::string& key, std::int64_t least) {
  std::vector<std::int64_t> out;
  const std::string word = map.text(key);
  for (const std::string_view part : split(word, 'x')) {
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc{} || end != part.data() + part.size() || value < least || value > most) {
      if (!word.empty())
        map.wrong(key, fmt::format("cannot read `{}`", key), "write whole numbers, such as 64x56x56");
      return {};
    }
    out.push_back(value);
  }
  return out;
}

/// Channels, then the extents.
void read_shape(Reader& map, const std::string& key, std::int64_t& channels, Extents& extent, int& dims) {
  const auto sizes = read_sizes(map, key, 1);
  if (sizes.empty()) return;
  if (sizes.size() > 4)
    return map.wrong(key, fmt::format("`{}` has more than three extents", key),
                     "write channels and at most three extents: 64x56x56");
  channels = sizes[0];
  dims = int(sizes.size()) - 1;
  std::copy(sizes.begin() + 1, sizes.end(), extent.begin());
}

LocalLayer read_layer(Reader& map) {
  LocalLayer layer;
  const std::string word = map.text("op");
  const auto op = find_op(word);
  if (!op && !word.empty())
    map.wrong("op", fmt::format("no op is called `{}`", word), did_you_mean(word, op_names()));
  layer.op = op.value_or(Op::relu);
  const double samples = map.number("samples", 1, 1e9);
  map.demand_whole("samples", samples);
  layer.samples = std::int64_t(samples);
  int y_dims = 0;
  read_shape(map, "x", layer.x_channels, layer.x_extent, layer.dims);
  read_shape(map, "y", layer.y_channels, layer.y_extent, y_dims);
  for (const Window& window : windows) {
    (layer.*window.member).fill(window.usual);
    if (!map.has(window.key)) continue;
    const auto sizes = read_sizes(map, window.key, window.usual == 0 ? 0 : 1);
    if (int(sizes.size()) != layer.dims && !sizes.empty())
      map.wrong(
          window.key, fmt::format("`{}` needs one number for each extent of x", window.key),
          layer.dims == 1 ? "write one number" : fmt::format("write {} numbers, such as 3x3", layer.dims));
    for (std::size_t d = 0; d < std::min<std::size_t>(3, sizes.size()); ++d)
      (layer.*window.member)[d] = sizes[d];
  }
  for (const Count& count : counts)
    layer.*count.member =
        std::int64_t(map.number(count.key, double(count.usual), double(most), double(count.usual)));
  layer.inputs = int(map.number("inputs", 1, 1e4, 1.0));
  layer.bias = map.flag("bias", false);
  layer.causal = map.flag("causal", false);
  return layer;
}

template <class Enum, std::size_t N>
Enum read_name(Reader& map, const std::string& key, const std::array<std::string_view, N>& names) {
  const std::string word = map.text(key);
  const auto found = find_name<Enum>(names, word);
  if (!found && !word.empty())
    map.wrong(key, fmt::format("no {} is called `{}`", key, word),
              did_you_mean(word, std::vector<std::string>(names.begin(), names.end())));
  return found.value_or(Enum{});
}

std::string sizes_text(std::int64_t channels, const Extents& extent, int dims) {
  std::string out = std::to_string(channels);
  for (int d = 0; d < dims; ++d) out += fmt::format("x{}", extent[std::size_t(d)]);
  return out;
}

/// The number of y's extents: that of x, except for layers that remove extents.
int y_dims(const LocalLayer& l) {
  if (l.op == Op::global_pool || l.op == Op::flatten || l.op == Op::select) return 0;
  return l.op == Op::tokens ? 1 : l.dims;
}

std::string window_text(const Extents& sizes, int dims) {
  std::string out;
  for (int d = 0; d < dims; ++d) out += fmt::format("{}{}", d ? "x" : "", sizes[std::size_t(d)]);
  return out;
}

std::string entry_text(const ProfileSpec::Entry& entry) {
  const LocalLayer& l = entry.layer;
  std::string out = fmt::format("  - {{op: {}, samples: {}, x: {}, y: {}", traits(l.op).name, l.samples,
                                sizes_text(l.x_channels, l.x_extent, l.dims),
                                sizes_text(l.y_channels, l.y_extent, y_dims(l)));
  for (const Window& window : windows) {
    Extents usual;
    usual.fill(window.usual);
    if (l.*window.member != usual)
      out += fmt::format(", {}: {}", window.key, window_text(l.*window.member, l.dims));
  }
  for (const Count& count : counts)
    if (l.*count.member != count.usual) out += fmt::format(", {}: {}", count.key, l.*count.member);
  if (l.inputs != 1) out += fmt::format(", inputs: {}", l.inputs);
  if (l.bias) out += ", bias: true";
  if (l.causal) out += ", causal: true";
  out += ",\n     ";
  for (const Pass& pass : passes)
    if (const Seconds time = entry.time.*pass.member; time > Seconds{})
      out += fmt::format("{}: {:.4f} us, ", pass.key, 1e6 * time.base());
  return out + fmt::format("noise: {:.4f}}}\n", entry.time.noise);
}

}  // namespace

ProfileSpec read_profile(SourceText source) {
  const YAML::Node root = shared_yaml(source);
  Problems problems(source);
  ProfileSpec profile;
  std::set<LocalLayer> seen;
  Reader map(root, problems, "a profile");
  profile.name = map.text("name");
  profile.model = map.text("model", "");
  profile.device = map.text("device");
  profile.libraries = map.text("libraries", "");
  map.text("framework", "");  // see measured_under()
  profile.date = map.text("date", "");
  profile.precision = read_name<Precision>(map, "precision", precision_names);
  profile.optimizer = read_name<Optimizer>(map, "optimizer", optimizer_names);
  profile.origin = map.text("source", "");
  if (map.has("total")) {
    Reader total(map.node("total"), problems, "`total`");
    profile.total = {total.quantity<Seconds>("time"), total.number("samples", 1, 1e9, 0.0),
                     total.quantity<FlopRate>("rate"), total.quantity<Bandwidth>("memory-bandwidth")};
    total.finish();
    if (map.has("layers")) map.wrong("layers", "a profile has `layers` or a `total`, not both", "remove one");
    if (profile.model.empty())
      map.wrong("total", "a profile with a `total` needs a `model`", "add model: resnet50");
  } else if (map.require("layers")) {
    const YAML::Node list = map.node("layers");
    if (!list.IsSequence()) map.wrong("layers", "`layers` must be a list", "write one `- {...}` per line");
    if (list.IsSequence())
      for (const YAML::Node& item : list) {
        if (problems.full()) break;
        Reader entry(item, problems, "a layer");
        ProfileSpec::Entry read{read_layer(entry), {}};
        for (const Pass& pass : passes)
          if (entry.has(pass.key)) read.time.*pass.member = entry.quantity_or_zero<Seconds>(pass.key);
        read.time.noise = entry.number("noise", 0, 1e3, 0.0);
        if (!(read.time.forward + read.time.backward() > Seconds{}))
          problems.add(entry.spot(), "this layer has no times", "write forward: 1.5 ms");
        if (!seen.insert(read.layer).second)
          problems.add(entry.spot(), "this layer is listed twice with the same number of samples",
                       "remove one of them");
        entry.finish();
        profile.entries.push_back(read);
      }
  }
  map.finish();
  problems.raise();
  profile.source = std::move(source);
  return profile;
}

std::string measured_under(const ProfileSpec& profile) {
  return scalar_text(shared_yaml(profile.source)["framework"]);
}

std::string profile_text(const ProfileSpec& p) {
  std::string out = fmt::format(
      "# profiles/{}.yaml: measured layer times. One entry per shape: `samples` samples of x (channels, then "
      "extents)\n"
      "# give y; if space is split, x includes its halos. Times are medians; `noise` is half the width of "
      "their "
      "95 %\n"
      "# interval divided by the median, for the pass that varied most.\n"
      "name: {}\n",
      p.name, foreign::scalar(p.name));
  if (!p.model.empty()) out += fmt::format("model: {}\n", foreign::scalar(p.model));
  out += fmt::format("device: {}\nlibraries: {}\nprecision: {}\noptimizer: {}\ndate: {}\nlayers:\n",
                     foreign::scalar(p.device), foreign::scalar(p.libraries),
                     precision_names[std::size_t(p.precision)], optimizer_names[std::size_t(p.optimizer)],
                     foreign::scalar(p.date));
  for (const ProfileSpec::Entry& entry : p.entries) out += entry_text(entry);
  return out;
}

std::string text_of(const LocalLayer& l) {
  std::string out = fmt::format("{} {} x {} -> {}", traits(l.op).name, l.samples,
                                sizes_text(l.x_channels, l.x_extent, l.dims),
                                sizes_text(l.y_channels, l.y_extent, y_dims(l)));
  if (traits(l.op).window) out += fmt::format(", kernel {}", window_text(l.kernel, l.dims));
  return out;
}

}  // namespace paradl
