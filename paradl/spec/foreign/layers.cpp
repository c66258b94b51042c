#include "paradl/spec/foreign/layers.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/spec/model_spec.hpp"

namespace paradl::foreign {
namespace {

struct Kind {
  std::string_view word;
  Op op;
};

constexpr std::array kinds{Kind{"CONV", Op::conv}, Kind{"FC", Op::fc},          Kind{"BNORM", Op::batch_norm},
                           Kind{"RELU", Op::relu}, Kind{"MPOOL", Op::max_pool}, Kind{"APOOL", Op::avg_pool},
                           Kind{"ADD", Op::add},   Kind{"DROPOUT", Op::dropout}};

/// The letters at the start, in capitals: `Conv_1` gives CONV.
std::string upper_letters(std::string_view name) {
  std::string letters;
  for (const char c : lower(name)) {
    if (c < 'a' || c > 'z') break;
    letters += char(c - 'a' + 'A');
  }
  return letters;
}

std::map<Op, int> count_ops(const std::vector<Listed>& layers) {
  std::map<Op, int> ops;
  for (const Listed& layer : layers) ++ops[layer.op];
  return ops;
}

/// The name in `0 CONV_1` or `CONV_1`; checks the index before it.
Field name_of(const Field& field, std::size_t place, Problems& problems) {
  const std::size_t space = field.text.find_first_of(" \t");
  const auto index = read_whole(field.text.substr(0, space));
  if (space == field.text.npos || !index) return field;
  if (*index != std::int64_t(place))
    problems.add({field.spot.line, field.spot.column, int(space)},
                 fmt::format("this is layer {}, not {}", place, *index),
                 "number the layers from 0 without gaps");
  const std::size_t start = field.text.find_first_not_of(" \t", space);
  const std::string_view name = field.text.substr(start);
  return {name, {field.spot.line, field.spot.column + int(start), int(name.size())}};
}

void read_mark(const Line& line, Marks& marks, Problems& problems) {
  if (line.fields.size() != 2)
    return problems.add(line.fields.front().spot, "this line is not a layer and its flag",
                        "write `CONV_1|1`");
  const Field name = name_of(line.fields[0], marks.layers.size(), problems);
  const auto op = read_op(name, problems);
  const Field& flag = line.fields[1];
  if (flag.text != "0" && flag.text != "1")
    problems.add(flag.spot, "a flag must be 0 or 1", "write 1 if the strategy splits the layer");
  marks.layers.push_back({name, op.value_or(Op::relu), {}});
  marks.cut.push_back(flag.text == "1");
}

}  // namespace

std::optional<Op> read_op(const Field& name, Problems& problems) {
  const auto odd = [](char c) { return c < 0x20 || c >= 0x7f; };
  if (name.text.size() > longest_name || std::ranges::any_of(name.text, odd)) {
    problems.add(name.spot, "cannot read this layer's name",
                 fmt::format("write up to {} letters, digits and signs", longest_name));
    return {};
  }
  const std::string word = upper_letters(name.text);
  std::vector<std::string> known;
  for (const Kind& kind : kinds) {
    if (word == kind.word) return kind.op;
    known.emplace_back(kind.word);
  }
  const std::string near = did_you_mean(word, known);
  problems.add(name.spot, fmt::format("unknown kind of layer `{}`", word.empty() ? name.text : word),
               near.empty() ? fmt::format("start its name with {}", fmt::join(known, ", ")) : near);
  return {};
}

void give_names(std::vector<Listed>& layers) {
  std::unordered_map<std::string, int> uses;
  for (Listed& layer : layers) ++uses[layer.name = plain_name(layer.written.text)];
  const std::map<Op, int> ops = count_ops(layers);
  // In a `split` list `conv` means all convolutions, so none of several convolutions may have that name.
  const auto unclear = [&](const Listed& layer) {
    return uses[layer.name] > 1 || (find_op(layer.name) && ops.at(layer.op) > 1);
  };
  std::unordered_set<std::string> taken;
  for (const Listed& layer : layers)
    if (!unclear(layer)) taken.insert(layer.name);
  std::unordered_map<std::string, int> last;
  for (Listed& layer : layers) {
    if (!unclear(layer)) continue;
    const std::string base = layer.name;
    std::string name;
    do name = fmt::format("{}_{}", base, ++last[base]);
    while (!taken.insert(name).second);
    layer.name = name;
  }
}

Marks read_marks(const SourceText& source) {
  Problems problems(source);
  Marks marks;
  for (const Line& line : read_lines(source.text)) {
    if (problems.full()) break;
    if (marks.layers.size() == most_lines) {
      problems.add({line.number, 1, 1}, fmt::format("more than {} layers", most_lines),
                   "check the file name");
      break;
    }
    read_mark(line, marks, problems);
  }
  problems.raise();
  if (std::ranges::find(marks.cut, true) == marks.cut.end())
    problems.add({1, 1, 1}, "no layer is marked 1, so nothing would be split",
                 "mark the layers that the strategy splits");
  problems.raise();
  give_names(marks.layers);
  return marks;
}

std::vector<std::string> split_words(const std::vector<Listed>& layers, const std::vector<bool>& cut) {
  const std::map<Op, int> all = count_ops(layers);
  std::map<Op, int> chosen;
  for (std::size_t i = 0; i < layers.size(); ++i) chosen[layers[i].op] += cut[i];
  std::set<Op> said;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Listed& layer = layers[i];
    if (!cut[i]) continue;
    if (chosen[layer.op] < all.at(layer.op))
      words.push_back(layer.name);
    else if (said.insert(layer.op).second)
      words.emplace_back(traits(layer.op).name);
  }
  return words;
}

void check_strategy(const std::string& strategy) {
  if (std::ranges::find(split_names, strategy) != split_names.end()) return;
  const std::string near = did_you_mean(strategy, {split_names.begin(), split_names.end()});
  throw UsageError(fmt::format("`{}` is not a strategy that splits layers", strategy),
                   near.empty() ? fmt::format("choose from {}", fmt::join(split_names, ", ")) : near);
}

std::string strategy_of(std::string_view file) {
  const std::string name = stem_name(file);
  for (const std::string_view strategy : split_names)
    if (name.starts_with(strategy)) return std::string(strategy);
  return {};
}

}  // namespace paradl::foreign
