// paradl models: lists the models, and shows the layers of one.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "paradl/cli/listing.hpp"
#include "paradl/core/format.hpp"
#include "paradl/workload/workload.hpp"

namespace paradl {
namespace {

using Json = nlohmann::ordered_json;

/// "3x224x224"
std::string shape_text(const Shape& shape) {
  std::string out = fmt::format("{}", shape.channels);
  for (int d = 0; d < shape.dims; ++d) out += fmt::format("x{}", shape.extent[std::size_t(d)]);
  return out;
}

Json shape_json(const Shape& shape) {
  Json out = Json::array({std::llround(shape.channels)});
  for (int d = 0; d < shape.dims; ++d) out.push_back(std::llround(shape.extent[std::size_t(d)]));
  return out;
}

/// "layers=24,hidden=2304", as it would be typed after the model's name.
std::string parameters_text(const Parameters& parameters) {
  std::string out;
  for (const auto& [name, value] : parameters)
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", name, value);
  return out;
}

Json parameters_json(const Parameters& parameters) {
  Json out = Json::object();
  for (const auto& [name, value] : parameters) out[name] = value;
  return out;
}

/// The answer of `list`, as tables and as JSON. A family is a model whose parameters the user chooses.
struct Shelf {
  Table models{.columns = {{"name", "name", Holds::text, 9},
                           {"layers", "layers", Holds::count, 4},
                           {"parameters", "parameters", Holds::count, 6},
                           {"macs", "MACs", Holds::count, 5},
                           {"input", "input", Holds::shape, 3},
                           {"summary", "summary", Holds::text, 2}}};
  Table families{.columns = {{"name", "name", Holds::text, 9},
                             {"parameters", "parameters and their defaults", Holds::text, 5}}};
  Json json{{"schema", "paradl.models/1"}, {"models", Json::array()}, {"families", Json::array()}};
};

void add_model(Shelf& shelf, const std::string& name, const ModelSpec& spec) {
  const Workload work = build_workload(spec);
  if (spec.is_template) {
    shelf.families.rows.push_back({.values = {name, parameters_text(spec.parameters)}});
    shelf.json["families"].push_back(
        {{"name", name}, {"parameters", parameters_json(spec.parameters)}, {"summary", spec.summary}});
    return;
  }
  shelf.models.rows.push_back({.values = {name, double(work.layers.size()), work.parameters(), work.macs(),
                                          shape_text(work.input), spec.summary}});
  shelf.json["models"].push_back({{"name", name},
                                  {"layers", work.layers.size()},
                                  {"parameters", std::llround(work.parameters())},
                                  {"macs", std::llround(work.macs())},
                                  {"input", shape_json(work.input)},
                                  {"summary", spec.summary}});
}

Listing list_models(const Session& session) {
  Shelf shelf;
  for (const std::string& name : session.catalog.names(SpecKind::models))
    add_or_explain(shelf.models, name, [&] { add_model(shelf, name, session.catalog.model(name)); });
  Listing out{.sections = {{"", std::move(shelf.models)}}, .json = shelf.json};
  if (!shelf.families.rows.empty())
    out.sections.push_back({"Families, for parameters of your own (gpt:layers=24,hidden=2304,heads=24):\n",
                            std::move(shelf.families)});
  return out;
}

std::string dataset_text(const ModelSpec& spec) {
  if (spec.dataset.empty()) return "none: add --samples N";
  std::string out = fmt::format("{}, {} samples", spec.dataset, count(spec.samples));
  if (spec.sample > Bytes{}) out += fmt::format(" of {}", decimal(spec.sample));
  return out;
}

Table model_facts(const ModelSpec& spec, const Workload& work) {
  std::vector<Fact> facts{{"source", spec.origin}};
  for (const SourceText& source : spec.sources)
    facts.push_back({&source == &spec.sources.front() ? "file" : "based on", source.file});
  facts.push_back({"numbers", parameters_text(spec.parameters)});
  facts.push_back({"input", shape_text(work.input)});
  facts.push_back({"data set", dataset_text(spec)});
  facts.push_back({"batch", fmt::format("{} per GPU by default (option -b)", spec.batch)});
  if (work.has_times()) facts.push_back({"time", "measured times in the file replace the roofline"});
  return facts_table(facts);
}

Table layer_lines(const Workload& work) {
  Table table{.columns = {{"layer", "layer", Holds::text, 9},
                          {"op", "op", Holds::text, 8},
                          {"x", "x", Holds::shape, 5},
                          {"y", "y", Holds::shape, 6},
                          {"parameters", "parameters", Holds::count, 7},
                          {"macs", "MACs", Holds::count, 7}}};
  for (const Layer& layer : work.layers) {
    table.rows.push_back({.values = {layer.name, std::string(traits(layer.op).name), shape_text(layer.x),
                                     shape_text(layer.y), layer.weights, layer.macs}});
    if (layer.auxiliary) table.rows.back().notes = {1};
  }
  if (std::ranges::any_of(work.layers, &Layer::auxiliary))
    table.notes = {"trained, but not included in the published MACs"};
  return table;
}

Json layer_json(const Workload& work, const Layer& layer) {
  Json inputs = Json::array();
  for (const int i : layer.inputs)
    inputs.push_back(i < 0 ? Json("input") : Json(work.layers[std::size_t(i)].name));
  Json out{{"name", layer.name},
           {"op", traits(layer.op).name},
           {"from", std::move(inputs)},
           {"x", shape_json(layer.x)},
           {"y", shape_json(layer.y)},
           {"input_shape", shape_json(layer.x)},
           {"output_shape", shape_json(layer.y)},
           {"parameters", std::llround(layer.weights)},
           {"macs", std::llround(layer.macs)}};
  if (layer.auxiliary) out["auxiliary"] = true;
  return out;
}

Json model_json(const ModelSpec& spec, const Workload& work) {
  Json out{{"schema", "paradl.model/1"}, {"version", PARADL_VERSION}, {"name", spec.name},
           {"summary", spec.summary},    {"source", spec.origin},     {"files", Json::array()}};
  for (const SourceText& source : spec.sources) out["files"].push_back(source.file);
  if (!spec.parameters.empty()) out["numbers"] = parameters_json(spec.parameters);
  out["input"] = shape_json(work.input);
  if (!spec.dataset.empty()) out["dataset"] = {{"name", spec.dataset}, {"samples", spec.samples}};
  if (spec.sample > Bytes{}) out["dataset"]["sample_bytes"] = spec.sample.base();
  out["batch_per_gpu"] = spec.batch;
  out["parameters"] = std::llround(work.parameters());
  out["macs"] = std::llround(work.macs());
  out["layers"] = Json::array();
  for (const Layer& layer : work.layers) out["layers"].push_back(layer_json(work, layer));
  return out;
}

Listing show_model(const Session& session, const std::string& name) {
  const auto [spec, work] = load_model(session.catalog, name);
  return {.sections = {{title_line(spec.name, spec.summary), model_facts(spec, work)},
                       {"", layer_lines(work), Digits::all}},
          .main = 1,
          .after = fmt::format("layers     {}\nparameters {}\nMACs       {}\n", work.layers.size(),
                               all_digits(work.parameters()), all_digits(work.macs())),
          .json = model_json(spec, work)};
}

}  // namespace

void define_models(const Arguments& root, Session& session, Action& action) {
  define_listing(root, session, action,
                 {.word = "models",
                  .one = "model",
                  .summary = "the models: list, or show NAME",
                  .name_help = "name in models/, a path, or gpt:layers=24,hidden=...",
                  .examples = R"(Examples:
  paradl models
  paradl models show resnet50
  paradl models show gpt:layers=24,hidden=2304,heads=24 --json)",
                  .list = list_models,
                  .show = show_model,
                  .names = [](const Session& s) { return s.catalog.names(SpecKind::models); }});
}

}  // namespace paradl
