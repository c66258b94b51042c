#include "paradl/spec/foreign/net.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace paradl::foreign {
namespace {

constexpr std::size_t most_layers =
    19'999;  // a model file may have 20 000, and one of them may be a `flatten`
constexpr std::int64_t most_samples = 1'000'000'000'000'000;
constexpr double least_time = 1e-12, most_time = 1e6;  // plausible times in seconds

class NetReader {
 public:
  explicit NetReader(const SourceText& source) : lines_(read_lines(source.text)), problems_(source) {}

  Net read() {
    for (const Line& line : lines_)
      if (is_header(line)) read_header(line);
    if (headers_.empty() && !problems_.any()) {  // one error: probably this is not a network
      problems_.add({1, 1, 1}, "`Input`, `Dataset` and `Model` are missing in this network",
                    "add lines such as `Input|1280000x3x226x226`, `Dataset|ImageNet` and `Model|ResNet50`");
      problems_.raise();
    }
    read_input();
    net_.dataset = header_text("dataset");
    net_.model = header_text("model");
    for (const Line& line : lines_)
      if (!is_header(line) && !problems_.full()) read_layer(line);
    if (net_.layers.empty() && !problems_.any())
      problems_.add({1, 1, 1}, "this network has no layers", "write one as NAME|x|w|y");
    if (net_.layers.size() > most_layers)
      problems_.add({net_.layers[most_layers].line, 1, 1}, fmt::format("more than {} layers", most_layers));
    problems_.raise();
    give_names(net_.names);
    return std::move(net_);
  }

 private:
  static bool is_header(const Line& line) {
    const std::string word = lower(line.fields.front().text.substr(0, longest_name));
    return word == "dataset" || word == "input" || word == "model";
  }

  void read_header(const Line& line) {
    const Field& key = line.fields.front();
    if (line.fields.size() != 2 || line.fields[1].text.empty())
      return problems_.add(key.spot, fmt::format("`{}` takes one value", key.text),
                           "write it after a single `|`");
    if (!headers_.emplace(lower(key.text), line.fields[1]).second)
      problems_.add(key.spot, fmt::format("`{}` is given twice", key.text), "keep one of them");
  }

  /// The field of a header line; null if it is missing, which is reported.
  const Field* header(const std::string& key, const std::string& example) {
    const auto found = headers_.find(key);
    if (found != headers_.end()) return &found->second;
    problems_.add({1, 1, 1}, fmt::format("this network has no `{}`", example.substr(0, example.find('|'))),
                  fmt::format("add a line such as `{}`", example));
    return nullptr;
  }

  std::string header_text(const std::string& key) {
    const Field* field = header(key, key == "dataset" ? "Dataset|ImageNet" : "Model|ResNet50");
    if (!field) return {};
    const auto odd = [](char c) { return c < 0x20 || c >= 0x7f; };
    if (field->text.size() > longest_name || std::ranges::any_of(field->text, odd))
      problems_.add(field->spot, fmt::format("cannot read `{}`", key),
                    fmt::format("write up to {} letters, digits and signs", longest_name));
    return std::string(field->text.substr(0, longest_name));
  }

  void read_input() {
    const Field* field = header("input", "Input|1280000x3x226x226");
    if (!field) return;
    net_.input_field = *field;
    const auto shape = read_shape(*field, 1, most_samples, problems_);
    if (!shape) return;
    if (shape->size() < 3)
      return problems_.add(field->spot, "an input must be samples x channels x extents",
                           "write 1280000x3x226x226");
    net_.samples = shape->front();
    net_.input.assign(shape->begin() + 1, shape->end());
    for (const std::int64_t size : net_.input)
      if (size > largest_size)
        problems_.add(field->spot, fmt::format("{} is out of range", size),
                      fmt::format("channels and extents are at most {}", largest_size));
  }

  void read_layer(const Line& line) {
    const Field& name = line.fields.front();
    if (line.fields.size() < 4 || line.fields.size() > 5)
      return problems_.add(name.spot, "this line is not a layer", "write NAME|x|w|y or NAME|x|w|y|seconds");
    const auto op = read_op(name, problems_);
    NetLayer layer{.line = line.number};
    layer.x_field = line.fields[1];
    layer.w_field = line.fields[2];
    layer.y_field = line.fields[3];
    layer.x = shape(layer.x_field, 1, 0);
    layer.w = shape(layer.w_field, 0, 1);
    layer.y = shape(layer.y_field, 1, 0);
    if (line.fields.size() == 5) layer.time = time(line.fields[4]);
    net_.layers.push_back(std::move(layer));
    net_.names.push_back({name, op.value_or(Op::relu), {}});
  }

  /// Reads a shape with as many extents as the input; `more` is the number of its sizes beyond those of the
  /// input.
  Numbers shape(const Field& field, std::int64_t least, std::size_t more) {
    const auto sizes = read_shape(field, least, largest_size, problems_);
    if (!sizes) return {};
    const std::size_t wanted = net_.input.size() + more;
    if (!net_.input.empty() && sizes->size() != wanted)
      problems_.add(field.spot, fmt::format("this shape has {} sizes, not {}", sizes->size(), wanted),
                    fmt::format("the input has {} extents", net_.input.size() - 1));
    return *sizes;
  }

  std::optional<Seconds> time(const Field& field) {
    if (field.text.empty()) return {};
    const auto value = read_real(field.text);
    if (!value)
      problems_.add(field.spot, "cannot read this time", "write seconds, such as 0.003119502");
    else if (*value != 0 && !(*value >= least_time && *value <= most_time))
      problems_.add(field.spot, "this time is out of range",
                    fmt::format("write 0, or seconds from {} to {}", least_time, most_time));
    return Seconds{value.value_or(0)};
  }

  std::vector<Line> lines_;
  Problems problems_;
  std::map<std::string, Field> headers_;
  Net net_;
};

}  // namespace

Net read_net(const SourceText& source) { return NetReader(source).read(); }

}  // namespace paradl::foreign
