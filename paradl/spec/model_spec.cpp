#include "paradl/spec/model_spec.hpp"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/spec/layer_list.hpp"
#include "paradl/spec/reader.hpp"

namespace paradl {
namespace {

constexpr std::size_t most_parameters = 200;  // resolving them takes quadratic time

/// Values of `parameters:`: those given on the command line, then the file's own, which may refer to one
/// another.
Parameters read_parameters(Reader& map, Problems& problems, const Parameters& given) {
  Parameters known = given;
  if (!map.has("parameters")) return known;
  const YAML::Node node = map.node("parameters");
  Reader list(node, problems, "`parameters`");
  std::map<std::string, YAML::Node> open;
  if (is_map(node) && node.size() > most_parameters) {
    map.wrong("parameters", fmt::format("more than {} parameters", most_parameters), "");
    return known;
  }
  if (is_map(node))
    for (const auto& entry : node)
      if (entry.first.IsScalar() && !known.contains(entry.first.Scalar()))
        open[entry.first.Scalar()] = entry.second;
  // Each round resolves at least one name; otherwise the rest refer to each other or to unknown names.
  for (bool moved = true; moved && !open.empty();) {
    moved = false;
    for (auto it = open.begin(); it != open.end();) {
      try {
        known[it->first] = evaluate(scalar_text(it->second), known);
        it = open.erase(it);
        moved = true;
      } catch (const ExpressionError&) {
        ++it;
      }
    }
  }
  for (const auto& [name, value] : open) {
    try {
      evaluate(scalar_text(value), known);
    } catch (const ExpressionError& error) {
      problems.add(spot_of(value), fmt::format("parameter `{}`: {}", name, error.message), error.help);
    }
  }
  return known;
}

/// The file that sets the parameters: the one with the layers, or one that names it as its `base`.
struct Written {
  YAML::Node parameters;
  Problems& problems;
};

/// " with experts=0": the other parameters that a bound depends on.
std::string reasons_of(const std::string& bound, const Parameters& parameters) {
  std::string out;
  for (const auto& [name, value] : parameters)
    if (bound.find("$" + name) != bound.npos)
      out += fmt::format("{}{}={}", out.empty() ? " with " : ",", name, value);
  return out;
}

/// Checks `least` and `most`, the bounds of the parameters.
void check_bounds(Reader& map, Problems& problems, const Parameters& parameters, const std::string& key,
                  const Written& written) {
  if (!map.has(key)) return;
  const YAML::Node node = map.node(key);
  Reader list(node, problems, fmt::format("`{}`", key));
  if (!is_map(node)) return;
  for (const auto& entry : node) {
    const std::string name = scalar_text(entry.first);
    const auto found = parameters.find(name);
    list.has(name);
    if (found == parameters.end()) {
      problems.add(spot_of(entry.first), fmt::format("`{}`: there is no parameter `{}`", key, name), "");
      continue;
    }
    try {
      const std::string text = scalar_text(entry.second);
      const std::int64_t bound = evaluate(text, parameters);
      if (key == "least" ? found->second >= bound : found->second <= bound) continue;
      const YAML::Node own = is_map(written.parameters) ? written.parameters[name] : YAML::Node();
      const bool here = is_map(written.parameters) && own.IsDefined();
      (here ? written.problems : problems)
          .add(spot_of(here ? own : entry.second), fmt::format("`{}` is {}", name, found->second),
               fmt::format("it must be at {} {}{}", key, bound, reasons_of(text, parameters)));
    } catch (const ExpressionError& error) {
      problems.add(spot_of(entry.second), fmt::format("`{}` of `{}`: {}", key, name, error.message),
                   error.help);
    }
  }
}

std::vector<std::string> parameter_names(const YAML::Node& root) {
  std::vector<std::string> names;
  if (is_map(root) && has_key(root, "parameters") && is_map(root["parameters"]))
    for (const auto& entry : root["parameters"]) names.push_back(scalar_text(entry.first));
  return names;
}

std::string help_for_parameter(const std::string& name, const std::vector<std::string>& known) {
  const std::string near = did_you_mean(name, known);
  if (!near.empty()) return near;
  return known.empty() ? "this model has no parameters" : fmt::format("it has: {}", fmt::join(known, ", "));
}

/// Parameters of the command line under the file's spelling of their names, since `_` and `-` are equivalent.
/// Names that the file does not have are unchanged.
Parameters as_named(const Parameters& given, const std::vector<std::string>& known) {
  const auto normal = [](std::string name) {
    std::ranges::replace(name, '_', '-');
    return name;
  };
  Parameters named;
  for (const auto& [name, value] : given) {
    const auto same = [&](const std::string& other) { return normal(other) == normal(name); };
    const auto found = std::ranges::find_if(known, same);
    if (!named.emplace(found == known.end() ? name : *found, value).second)
      throw UsageError(fmt::format("`{}` is given twice", name), "keep one of them");
  }
  return named;
}

std::vector<std::int64_t> read_input(Reader& map, Problems& problems, const Parameters& parameters) {
  if (!map.require("input")) return {};
  const YAML::Node node = map.node("input");
  std::vector<std::int64_t> input;
  try {
    input = read_sizes(scalar_text(node), parameters);
  } catch (const ExpressionError& error) {
    problems.add(spot_of(node), "`input`: " + error.message, "write channels x extents, such as 3x224x224");
    return {};
  }
  if (input.size() < 2 || input.size() > 4 ||
      std::ranges::any_of(input, [](auto n) { return n < 1 || n > 1'000'000'000; }))
    problems.add(spot_of(node), "`input` must be channels and one to three extents",
                 "write 3x224x224, or 1x1024 for tokens");
  return input;
}

void read_dataset(Reader& map, Problems& problems, ModelSpec& spec) {
  if (!map.has("dataset")) return;
  Reader dataset(map.node("dataset"), problems, "`dataset`");
  spec.dataset = dataset.text("name");
  spec.samples = dataset.number("samples", 1, 1e15);
  if (dataset.has("sample")) spec.sample = dataset.quantity<Bytes>("sample");
  dataset.finish();
}

void read_split(Reader& map, Problems& problems, ModelSpec& spec) {
  if (!map.has("split")) return;
  const YAML::Node node = map.node("split");
  Reader split(node, problems, "`split`");
  for (const std::string_view name : split_names)
    if (const std::string key(name); split.has(key)) spec.split[key] = {split.words(key), split.spot(key)};
  split.finish();
  if (problems.any()) return;  // the names of layers with mistakes are not reliable
  std::unordered_set<std::string_view> names;
  for (const LayerSpec& layer : spec.layers) names.insert(layer.name);
  for (const auto& [strategy, rule] : spec.split)
    for (const std::string& word : rule.words) {
      if (!find_op(word) && !names.contains(word))
        problems.add(rule.spot, fmt::format("`split`: no layer or op is called `{}`", word), "");
    }
}

/// Keys that describe the model; a file with `base` has only these, no layers.
void read_header(Reader& map, Problems& problems, ModelSpec& spec, bool derived) {
  spec.name = map.text("name");
  spec.summary = map.text("summary", spec.summary);
  spec.origin = map.text("source", spec.origin);
  spec.is_template = !derived && map.flag("template", false);
  read_dataset(map, problems, spec);
  spec.batch = map.number("batch", 1.0 / 1024, 1e9, spec.batch);
  if (map.has("time")) spec.time = map.quantity<Seconds>("time");
  read_split(map, problems, spec);
}

void read_layers(Reader& map, const YAML::Node& root, Problems& problems, ModelSpec& spec,
                 const Parameters& overrides, const Written& written) {
  const std::vector<std::string> known = parameter_names(root);
  const Parameters given = as_named(overrides, known);
  spec.parameters = read_parameters(map, problems, given);
  for (const auto& [name, value] : given)
    if (std::ranges::find(known, name) == known.end())
      throw UsageError(fmt::format("`{}` is not a parameter of this model", name),
                       help_for_parameter(name, known));
  for (const char* key : {"least", "most"}) check_bounds(map, problems, spec.parameters, key, written);
  spec.input = read_input(map, problems, spec.parameters);
  map.has("blocks");
  if (map.require("layers") && !problems.any())
    spec.layers = lay_out(map.node("layers"), map.node("blocks"), spec.parameters, problems);
}

}  // namespace

ModelSpec read_model(SourceText source, const FindModel& find_base, const Parameters& overrides) {
  const YAML::Node root = shared_yaml(source);
  ModelSpec spec;
  Problems problems(source);
  Reader map(root, problems, "a model file");

  if (!map.has("base")) {
    read_layers(map, root, problems, spec, overrides, {map.node("parameters"), problems});
    read_header(map, problems, spec, false);
    map.finish();
    problems.raise();
    spec.sources = {source};
    spec.source = std::move(source);
    return spec;
  }

  const std::string base_name = map.text("base");
  const Parameters given = read_parameters(map, problems, as_named(overrides, parameter_names(root)));
  problems.raise();
  SourceText base;
  try {
    base = find_base(base_name);
  } catch (const UsageError& error) {
    map.wrong("base", error.what(), error.help());
    problems.raise();
  }
  const YAML::Node base_root = shared_yaml(base);
  const std::vector<std::string> known = parameter_names(base_root);
  if (map.has("parameters"))
    for (const auto& entry : map.node("parameters"))
      if (const std::string name = scalar_text(entry.first); std::ranges::find(known, name) == known.end())
        problems.add(spot_of(entry.first), fmt::format("`{}` is not a parameter of `{}`", name, base_name),
                     help_for_parameter(name, known));
  problems.raise();
  Problems base_problems(base);
  Reader base_map(base_root, base_problems, "a model file");
  if (base_map.has("base"))
    map.wrong("base", fmt::format("`{}` has a `base` of its own", base_name), "name that file instead");
  else
    read_layers(base_map, base_root, base_problems, spec, given, {map.node("parameters"), problems});
  if (!problems.any()) {
    read_header(base_map, base_problems, spec, false);
    base_map.finish();
    base_problems.raise();
    read_header(map, problems, spec, true);
    map.finish();
  }
  problems.raise();
  spec.sources = {source, base};
  spec.source = std::move(base);
  return spec;
}

}  // namespace paradl
