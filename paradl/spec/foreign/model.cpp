#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/core/format.hpp"
#include "paradl/spec/foreign/formats.hpp"
#include "paradl/spec/foreign/net.hpp"

// Writes an imported network as a model file.
namespace paradl::foreign {
namespace {

/// `2` if all are equal, otherwise `2x1`.
std::string sizes(const Numbers& numbers) {
  const bool equal = std::ranges::all_of(numbers, [&](std::int64_t n) { return n == numbers.front(); });
  return equal ? fmt::format("{}", numbers.front()) : text(numbers);
}

std::string window_keys(const NetLayer& layer, const Window& window, const Numbers& default_stride) {
  std::string keys = fmt::format(", kernel: {}", text(layer.window()));
  if (window.stride != default_stride) keys += fmt::format(", stride: {}", sizes(window.stride));
  if (window.same)
    keys += ", padding: same";
  else if (sizes(window.padding) != "0")
    keys += fmt::format(", padding: {}", sizes(window.padding));
  if (window.ceil) keys += ", ceil: true";
  return keys;
}

/// The keys after name and op.
std::string keys_of(const Net& net, std::size_t i, const Wiring& wiring) {
  const NetLayer& layer = net.layers[i];
  const auto named = [&](int index) { return index < 0 ? "in" : net.names[std::size_t(index)].name; };
  switch (net.names[i].op) {
    case Op::conv: {
      const Numbers ones(layer.x.size() - 1, 1);
      return fmt::format(", filters: {}{}, bias: false", layer.y[0], window_keys(layer, wiring.window, ones));
    }
    case Op::fc:
      return fmt::format(", filters: {}, bias: false", layer.y[0]);
    case Op::max_pool:
    case Op::avg_pool:
      return window_keys(layer, wiring.window, layer.window());
    case Op::batch_norm:
      return ", affine: false";  // the files count no weights for it
    case Op::add:
      return fmt::format(", from: [{}, {}]", named(int(i) - 1), named(wiring.shortcut));
    default:  // relu and dropout; these files have no other operations
      return {};
  }
}

/// If only the first layer has a time, it is that of the whole network.
bool time_is_of_all(const Net& net) {
  const auto timed = std::ranges::count_if(
      net.layers, [](const NetLayer& l) { return l.time.value_or(Seconds{}) > Seconds{}; });
  return net.layers.size() > 1 && timed == 1 && net.layers.front().time.value_or(Seconds{}) > Seconds{};
}

std::string layer_lines(const Net& net, const std::vector<Wiring>& wiring) {
  const bool whole = time_is_of_all(net);
  std::string out = "layers:\n";
  for (std::size_t i = 0; i < net.layers.size(); ++i) {
    if (wiring[i].flatten) out += "  - {name: flatten, op: flatten}\n";
    const auto& time = net.layers[i].time;
    const std::string timed = whole || !time ? "" : ", time: " + exact_text(*time);
    out += fmt::format("  - {{name: {}, op: {}{}{}}}\n", net.names[i].name, traits(net.names[i].op).name,
                       keys_of(net, i, wiring[i]), timed);
  }
  return out;
}

/// The .lc file must list the network's layers, one for one.
void check_marks(const Net& net, const Marks& marks, const SourceText& source) {
  Problems problems(source);
  const std::size_t common = std::min(net.names.size(), marks.layers.size());
  for (std::size_t i = 0; i < common && !problems.any(); ++i) {
    const Field& here = marks.layers[i].written;
    const Field& there = net.names[i].written;
    if (lower(here.text) != lower(there.text))
      problems.add(here.spot,
                   fmt::format("`{}` does not match the network, which has `{}` here", here.text, there.text),
                   fmt::format("compare with line {} of the network", there.spot.line));
  }
  if (!problems.any() && marks.layers.size() != net.names.size())
    problems.add(
        marks.layers[std::min(net.names.size(), marks.layers.size() - 1)].written.spot,
        fmt::format("{} layers are listed, but the network has {}", marks.layers.size(), net.names.size()),
        "use the list of this network");
  problems.raise();
}

using Split = std::map<std::string, std::vector<std::string>>;

/// The contents of the given .lc files, by strategy.
Split read_splits(const Net& net, const ImportOptions& options) {
  Split split;
  for (const auto& [strategy, source] : options.splits) {
    check_strategy(strategy);
    if (split.contains(strategy))
      throw UsageError(fmt::format("two files list what `{}` splits", strategy), "give only one of them");
    const Marks marks = read_marks(source);
    check_marks(net, marks, source);
    split[strategy] = split_words(net.names, marks.cut);
  }
  return split;
}

std::string split_lines(const Net& net, const ImportOptions& options) {
  Split split = read_splits(net, options);
  std::string notes;
  for (const auto& [strategy, source] : options.splits)
    notes += fmt::format("# {}: as in {}\n", strategy, base_name(source.file));
  const bool convolutional = std::ranges::find(net.names, Op::conv, &Listed::op) != net.names.end();
  for (const char* strategy : {"filter", "channel"})
    if (convolutional && split.emplace(strategy, std::vector<std::string>{"conv"}).second)
      notes += fmt::format("# {}: the authors' framework splits convolutions only\n", strategy);
  if (split.empty()) return {};
  std::vector<std::string> rules;
  for (const auto& [strategy, words] : split)
    rules.push_back(fmt::format("{}: [{}]", strategy, fmt::join(words, ", ")));
  return notes + fmt::format("split: {{{}}}\n", fmt::join(rules, ", "));
}

std::string model_file(const Net& net, const std::vector<Wiring>& wiring, const std::string& name,
                       const std::string& file, const ImportOptions& options) {
  std::string out = fmt::format(
      "# Imported from {} by paradl import. The file gives only shapes: strides and paddings are\n"
      "# derived from them.\n",
      file);
  out += fmt::format("name: {}\n", scalar(name));
  out += fmt::format("summary: {}\n",
                     scalar(fmt::format("{} on {}, {} layers", net.model, net.dataset, net.layers.size())));
  out += fmt::format("source: {}\n", scalar(file + ", a network of the ParaDL authors' format"));
  out += fmt::format("input: {}\n", text(net.input));
  out += fmt::format("dataset: {{name: {}, samples: {}}}\n", scalar(net.dataset), net.samples);
  out += "batch: 32    # not in the file\n";
  if (time_is_of_all(net))
    out +=
        fmt::format("time: {}    # forward + backward of one sample\n", exact_text(*net.layers.front().time));
  return out + split_lines(net, options) + layer_lines(net, wiring);
}

std::string summary_of(const Net& net) {
  int weighty = 0;
  double weights = 0;
  for (std::size_t i = 0; i < net.layers.size(); ++i) {
    if (!traits(net.names[i].op).product) continue;
    ++weighty;
    weights += product(net.layers[i].w);
  }
  return fmt::format("Read {} layer{} ({} with weights, {} parameters).", net.layers.size(),
                     net.layers.size() == 1 ? "" : "s", weighty, count(weights));
}

}  // namespace

Imported import_network(const SourceText& source, const ImportOptions& options) {
  Net net = read_net(source);
  Imported result{.kind = Imported::Kind::model};
  const std::vector<Wiring> wiring = wire(net, source, result.warnings);
  result.name = result_name(options.name, plain_name(net.model));
  result.yaml = model_file(net, wiring, result.name, base_name(source.file), options);
  result.summary = summary_of(net);
  return result;
}

}  // namespace paradl::foreign
