#include "paradl/workload/workload.hpp"

#include <algorithm>
#include <map>
#include <unordered_set>

#include <fmt/format.h>

#include "paradl/workload/shapes.hpp"

namespace paradl {
namespace {

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

/// The layer without its name and its place in the network.
Layer shape_of(Layer layer) {
  layer.name.clear();
  for (int& input : layer.inputs) input = std::min(input, 0);  // the network's input has no dx to compute
  layer.tied = std::min(layer.tied, 0);
  layer.block = layer.shape_class = 0;
  layer.auxiliary = false;
  return layer;
}

/// Numbers layers so that equal ones share a number; their cost is computed once.
void number_classes(std::vector<Layer>& layers) {
  std::map<Layer, int> classes;
  for (Layer& layer : layers)
    layer.shape_class = classes.emplace(shape_of(layer), int(classes.size())).first->second;
}

Cuttable read_rule(const ModelSpec& spec, std::string_view strategy) {
  const auto rule = spec.split.find(std::string(strategy));
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

  Shapes shapes(spec, work.input, problems);
  for (const LayerSpec& layer : spec.layers) {
    if (problems.full()) break;
    shapes.add(layer);
    work.tokens |= layer.op == Op::embedding;
    work.convolutional |= layer.op == Op::conv;
  }
  check_rotary(spec, problems);
  problems.raise();
  work.layers = std::move(shapes).take();
  for (const Layer& loss : work.layers)
    if (work.tokens && loss.op == Op::loss) mark_logits(work.layers, loss);
  for (Layer& layer : work.layers)
    if (layer.op == Op::attention) mark_keys(work.layers, layer);
  number_classes(work.layers);
  for (std::size_t i = 0; i < split_names.size(); ++i) work.split[i] = read_rule(spec, split_names[i]);
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
