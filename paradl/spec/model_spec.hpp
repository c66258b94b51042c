#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/core/names.hpp"
#include "paradl/core/quantity.hpp"
#include "paradl/spec/document.hpp"
#include "paradl/spec/expression.hpp"
#include "paradl/spec/op.hpp"

namespace paradl {

/// `3x3`: one number for each extent, or one for all (`given` = 1). `given` = 0: absent.
struct Sizes {
  std::array<std::int64_t, 3> value{};
  int given = 0;
};

/// One layer as written, after blocks and repetitions were expanded.
struct LayerSpec {
  std::string name;
  Op op = Op::relu;
  std::vector<int> inputs;  // indices of the layers it reads; -1 is the network's input
  Sizes kernel, stride, padding, dilation;
  bool same_padding = false, ceil = false, bias = true, affine = true, auxiliary = false, whole = false,
       causal = false, flash = false, dropout = true, shared = false;
  std::int64_t filters = 0, channels = 0, groups = 1, vocab = 0, entries = 0, heads = 0, kv_heads = 0,
               extra = 0, experts = 0, top_k = 1, capacity = 100, relative = 0, positions = 0, scale = 2;
  int block = -1;               // the block instance that contains it, counted over the network
  bool tied_to = false;         // uses the weights of another layer ...
  int tied = -1;                // ... of this one
  std::optional<Seconds> time;  // measured forward + backward of one sample
  Spot spot, kernel_spot, channels_spot, from_spot;
};

/// The strategies for which a model file can list the layers that they may split; their names are the keys.
enum class SplitBy { spatial, filter, channel, tensor };
inline constexpr std::array<std::string_view, 4> split_names{"spatial", "filter", "channel", "tensor"};
static_assert(names_every(SplitBy::tensor, split_names), "name every SplitBy");

/// What a strategy may split: op names or layer names.
struct SplitRule {
  std::vector<std::string> words;
  Spot spot;
};

/// A model file as written: models/*.yaml.
struct ModelSpec {
  SourceText source;                // the file that holds the layers
  std::vector<SourceText> sources;  // every file that was read
  std::string name, summary, origin;
  bool is_template = false;
  std::vector<std::int64_t> input;  // channels, then extents
  std::string dataset;
  double samples = 0;  // per epoch
  Bytes sample;        // stored bytes of one; zero: not known
  double batch = 1;    // samples per GPU, by default
  Seconds time;        // measured forward + backward of one sample, whole network; zero: not known
  std::map<std::string, SplitRule> split;  // by name of a SplitBy
  Parameters parameters;
  std::vector<LayerSpec> layers;
};

/// Finds the file that `base:` names.
using FindModel = std::function<SourceText(const std::string& name)>;

/// Reads a model. `overrides` are parameters from the command line (`gpt:layers=24,...`).
ModelSpec read_model(SourceText source, const FindModel& find_base, const Parameters& overrides = {});

}  // namespace paradl
