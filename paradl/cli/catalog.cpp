// paradl models | systems | profiles | strategies: what there is, and what is in it.
#include <algorithm>
#include <array>
#include <cmath>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "paradl/cli/command.hpp"
#include "paradl/cli/ranges.hpp"
#include "paradl/core/format.hpp"
#include "paradl/cost/sweep.hpp"
#include "paradl/paper/row.hpp"

namespace paradl {
namespace {

using Json = nlohmann::ordered_json;

/// What was typed after the command's name.
struct Words {
  std::string verb = "list", name, format = "text", columns;
  bool json = false;
};

/// A paragraph, and the table that it stands above. Either may be empty.
struct Section {
  std::string before;
  Table table;
};

/// One answer for all formats: sections for people, one of their tables for spreadsheets, an object for
/// programs.
struct Listing {
  std::vector<Section> sections;
  std::size_t main = 0;  // the section whose table CSV and LaTeX print
  std::string after;
  Json json;
};

// ---------------------------------------------------------------------------------------------------------------------
// Printing

/// "25 557 032": every digit, where three would not do to check a count.
std::string whole(double number) {
  std::string digits = fmt::format("{:.0f}", number);
  for (std::size_t i = digits.size(); i > 3;) digits.insert(i -= 3, " ");
  return digits;
}

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

std::string title(const std::string& name, const std::string& summary) {
  return name + (summary.empty() ? "" : ": " + summary) + "\n";
}

void add_row(Table& table, std::vector<Value> values) {
  Row row;
  row.values = std::move(values);
  table.rows.push_back(std::move(row));
}

/// A table of names and values; a value of several lines takes several rows.
class Facts {
 public:
  void add(const std::string& name, const std::string& value) {
    std::string first = name;
    for (const std::string& line : split_list(value, '\n')) {
      add_row(table_, {std::exchange(first, ""), line});
    }
  }
  Table take() { return std::move(table_); }

 private:
  Table table_{.columns = {{"fact", "", Holds::text, 2}, {"value", "", Holds::text, 1}}};
};

/// The columns that --columns names, in that order.
Table chosen_columns(const Table& table, const std::string& list) {
  Table out{.columns = {}, .rows = table.rows, .notes = table.notes};
  for (Row& row : out.rows) row.values.clear();
  for (const std::string& id : split_list(list, ',')) {
    const auto found =
        std::ranges::find_if(table.columns, [&](const Column& c) { return c.id == id || c.title == id; });
    if (found == table.columns.end()) {
      std::vector<std::string> known;
      for (const Column& column : table.columns) known.push_back(column.id);
      const std::string near = did_you_mean(id, known);
      throw UsageError(fmt::format("no column is called `{}`", id),
                       near.empty() ? "`--columns help` lists them" : near);
    }
    const auto index = std::size_t(found - table.columns.begin());
    out.columns.push_back(*found);
    for (std::size_t r = 0; r < out.rows.size(); ++r)
      out.rows[r].values.push_back(value_at(table.rows[r], index));
  }
  if (out.columns.empty()) throw UsageError("--columns names none", "`--columns help` lists them");
  return out;
}

/// Paragraphs and tables with an empty line between any two.
template <class Print>
std::string document(const Listing& listing, Print print_table) {
  std::string out;
  const auto add = [&](const std::string& block) {
    if (!block.empty()) out += (out.empty() ? "" : "\n") + block;
  };
  for (const Section& section : listing.sections) {
    add(section.before);
    if (!section.table.rows.empty()) add(print_table(section.table));
  }
  add(listing.after);
  return out;
}

std::string text_document(const Session& session, const Words& words, const Listing& listing) {
  const Style style = session.style();
  const std::string out = document(listing, [&](const Table& table) {
    // A long list may lose columns on a narrow terminal; what was asked for by name is shown whole.
    const bool cut =
        words.verb == "list" && words.columns.empty() && &table == &listing.sections[listing.main].table;
    const Printed printed =
        to_text(table, {.width = cut ? style.width : 0, .colour = style.colour, .unicode = style.unicode});
    hint(session, printed.hint);
    return printed.text;
  });
  return style.unicode ? out : ascii(out);
}

void deliver(const Session& session, const Words& words, Listing listing) {
  const std::string format = words.json ? "json" : words.format;
  Table* const main = listing.sections.empty() ? nullptr : &listing.sections[listing.main].table;
  if (main && words.columns == "help") {
    for (const Column& column : main->columns) print(column.id + "\n");
    return;
  }
  if (main && !words.columns.empty() && words.columns != "all") *main = chosen_columns(*main, words.columns);

  if (format == "text")
    print(text_document(session, words, listing));
  else if (format == "markdown")
    print(document(listing, to_markdown));
  else if (format == "csv")
    print(main ? to_csv(*main) : "");
  else if (format == "latex")
    print(main ? to_latex(*main) : "");
  else if (format == "json")
    print(listing.json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  else
    throw UsageError(fmt::format("-f {}: not a format", format), "use text, markdown, csv, json or latex");
}

/// One row of a list, for a file that does not load: a list must not fail because of it.
template <class Load>
void add_or_explain(Table& table, const std::string& name, Load load) {
  try {
    load();
    return;
  } catch (const SpecError& error) {
    table.notes.push_back(fmt::format("`paradl check {}` tells what is wrong with it", error.file()));
  } catch (const std::runtime_error& error) {
    table.notes.emplace_back(error.what());
  }
  Row row;
  row.values = {name};
  row.emphasis = Emphasis::infeasible;
  row.notes = {int(table.notes.size())};
  table.rows.push_back(std::move(row));
}

// ---------------------------------------------------------------------------------------------------------------------
// Models

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

Listing list_models(const Session& session) {
  Table models{.columns = {{"name", "name", Holds::text, 9},
                           {"layers", "layers", Holds::count, 4},
                           {"parameters", "parameters", Holds::count, 6},
                           {"macs", "MACs", Holds::count, 5},
                           {"input", "input", Holds::shape, 3},
                           {"summary", "summary", Holds::text, 2}}};
  Table families{.columns = {{"name", "name", Holds::text, 9},
                             {"parameters", "parameters and their defaults", Holds::text, 5}}};
  Json known = Json::array(), known_families = Json::array();
  for (const std::string& name : session.catalog.names("models"))
    add_or_explain(models, name, [&] {
      const ModelSpec spec = session.catalog.model(name);
      const Workload work = build_workload(spec);
      if (spec.is_template) {
        add_row(families, {name, parameters_text(spec.parameters)});
        known_families.push_back(
            {{"name", name}, {"parameters", parameters_json(spec.parameters)}, {"summary", spec.summary}});
        return;
      }
      add_row(models, {name, double(work.layers.size()), work.parameters(), work.macs(),
                       shape_text(work.input), spec.summary});
      known.push_back({{"name", name},
                       {"layers", work.layers.size()},
                       {"parameters", std::llround(work.parameters())},
                       {"macs", std::llround(work.macs())},
                       {"input", shape_json(work.input)},
                       {"summary", spec.summary}});
    });
  Listing out{.sections = {{"", std::move(models)}}, .after = {}, .json = {}};
  if (!families.rows.empty())
    out.sections.push_back(
        {"Families, to be used with numbers of one's own (gpt:layers=24,hidden=2304,heads=24):\n",
         std::move(families)});
  out.json = {
      {"schema", "paradl.models/1"}, {"models", std::move(known)}, {"families", std::move(known_families)}};
  return out;
}

std::string dataset_text(const ModelSpec& spec) {
  if (spec.dataset.empty()) return "none named: give --samples";
  std::string out = fmt::format("{}, {} samples", spec.dataset, count(spec.samples));
  if (spec.sample > Bytes{}) out += fmt::format(" of {}", decimal(spec.sample));
  return out;
}

Table model_facts(const ModelSpec& spec, const Workload& work) {
  Facts facts;
  facts.add("source", spec.origin);
  for (const SourceText& source : spec.sources)
    facts.add(&source == &spec.sources.front() ? "file" : "based on", source.file);
  facts.add("numbers", parameters_text(spec.parameters));
  facts.add("input", shape_text(work.input));
  facts.add("data set", dataset_text(spec));
  facts.add("batch", fmt::format("{} a GPU, unless -b says otherwise", spec.batch));
  if (work.has_times())
    facts.add("time", "measured times come with it, and are used in place of the roofline");
  return facts.take();
}

Table layer_lines(const Workload& work, bool exact_text) {
  Table table{.columns = {{"layer", "layer", Holds::text, 9},
                          {"op", "op", Holds::text, 8},
                          {"x", "x", Holds::shape, 5},
                          {"y", "y", Holds::shape, 6},
                          {"parameters", "parameters", Holds::count, 7},
                          {"macs", "MACs", Holds::count, 7}}};
  const auto number = [&](double n) { return exact_text ? Value{whole(n)} : Value{n}; };
  for (const Layer& layer : work.layers) {
    add_row(table, {layer.name, std::string(traits(layer.op).name), shape_text(layer.x), shape_text(layer.y),
                    number(layer.weights), number(layer.macs)});
    if (layer.auxiliary) table.rows.back().notes = {1};
  }
  if (std::ranges::any_of(work.layers, &Layer::auxiliary))
    table.notes = {"trained, but not part of the published MACs"};
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
  Json out{{"schema", "paradl.model/1"},
           {"version", PARADL_VERSION},
           {"name", spec.name},
           {"summary", spec.summary},
           {"source", spec.origin}};
  out["files"] = Json::array();
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

Listing show_model(const Session& session, const Words& words) {
  const ModelSpec spec = session.catalog.model(words.name);
  const Workload work = build_workload(spec);
  const bool people = words.format == "text" || words.format == "markdown";
  Listing out{.sections = {{title(spec.name, spec.summary), model_facts(spec, work)},
                           {"", layer_lines(work, people)}},
              .main = 1,
              .after = fmt::format("layers     {}\nparameters {}\nMACs       {}\n", work.layers.size(),
                                   whole(work.parameters()), whole(work.macs())),
              .json = model_json(spec, work)};
  return out;
}

// ---------------------------------------------------------------------------------------------------------------------
// Systems

Listing list_systems(const Session& session) {
  Table table{.columns = {{"name", "name", Holds::text, 9},
                          {"devices", "devices", Holds::count, 6},
                          {"device", "per device", Holds::text, 5},
                          {"memory", "memory", Holds::bytes, 5},
                          {"links", "links (inner to outer)", Holds::text, 4},
                          {"summary", "summary", Holds::text, 2}}};
  Json known = Json::array();
  for (const std::string& name : session.catalog.names("systems"))
    add_or_explain(table, name, [&] {
      const SystemSpec spec = session.catalog.system(name);
      const Machine machine = build_machine(spec);
      std::vector<std::string> links;
      for (const LevelSpec& level : spec.levels) links.push_back(text(level.bandwidth));
      add_row(table, {name, machine.gpus(), spec.device.name, spec.device.memory.base(),
                      fmt::format("{}", fmt::join(links, ", ")), spec.summary});
      known.push_back({{"name", name},
                       {"gpus", std::llround(machine.gpus())},
                       {"device", spec.device.name},
                       {"memory_bytes", spec.device.memory.base()},
                       {"summary", spec.summary}});
    });
  return {.sections = {{"", std::move(table)}},
          .after = {},
          .json = {{"schema", "paradl.systems/1"}, {"systems", std::move(known)}}};
}

std::string peaks_text(const DeviceSpec& device) {
  std::vector<std::string> peaks;
  for (std::size_t i = 0; i < precision_names.size(); ++i)
    if (device.peak[i]) peaks.push_back(fmt::format("{} {}", precision_names[i], text(*device.peak[i])));
  return fmt::format("{}", fmt::join(peaks, ", "));
}

std::string host_text(const HostSpec& host) {
  std::vector<std::string> parts;
  if (host.memory) parts.push_back(fmt::format("{} a node", text(*host.memory)));
  if (host.bandwidth) parts.push_back(fmt::format("{} to each GPU", text(*host.bandwidth)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string storage_text(const StorageSpec& storage) {
  std::vector<std::string> parts;
  if (storage.capacity) parts.push_back(decimal(*storage.capacity));
  if (storage.read) parts.push_back(fmt::format("read at {}", text(*storage.read)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

Table system_facts(const SystemSpec& spec, const Machine& machine) {
  Facts facts;
  facts.add("GPUs", fmt::format("{}, {} a node", whole(machine.gpus()), whole(machine.gpus_per_node())));
  facts.add("device", spec.device.name);
  facts.add("memory", fmt::format("{} at {}", text(spec.device.memory), text(spec.device.memory_bandwidth)));
  facts.add("peak", peaks_text(spec.device));
  if (spec.host) facts.add("host", host_text(*spec.host));
  if (spec.node_storage) facts.add("storage of a node", storage_text(*spec.node_storage));
  if (spec.shared_storage) facts.add("shared storage", storage_text(*spec.shared_storage));
  facts.add("file", spec.source.file);
  facts.add("source", spec.origin);
  return facts.take();
}

Table level_lines(const SystemSpec& spec, const Machine& machine) {
  Table table{.columns = {{"level", "level", Holds::text, 9},
                          {"size", "joins", Holds::count, 7},
                          {"gpus", "GPUs", Holds::count, 7},
                          {"latency", "latency", Holds::seconds, 8},
                          {"bandwidth", "bandwidth", Holds::bandwidth, 8},
                          {"ports", "ports", Holds::count, 5}}};
  for (std::size_t i = 0; i < spec.levels.size(); ++i) {
    const LevelSpec& level = spec.levels[i];
    add_row(table, {level.name, double(level.size), machine.levels[i].gpus, level.latency.base(),
                    level.bandwidth.base(), machine.levels[i].ports});
  }
  return table;
}

Json storage_json(const StorageSpec& storage) {
  Json out = Json::object();
  if (storage.capacity) out["capacity_bytes"] = storage.capacity->base();
  if (storage.read) out["read_bytes_per_s"] = storage.read->base();
  return out;
}

Json device_json(const DeviceSpec& device) {
  Json peak = Json::object();
  for (std::size_t i = 0; i < precision_names.size(); ++i)
    if (device.peak[i]) peak[std::string(precision_names[i])] = device.peak[i]->base();
  return {{"name", device.name},
          {"memory_bytes", device.memory.base()},
          {"memory_bandwidth_bytes_per_s", device.memory_bandwidth.base()},
          {"peak_flops_per_s", std::move(peak)}};
}

Json system_json(const SystemSpec& spec, const Machine& machine) {
  Json out{{"schema", "paradl.system/1"},
           {"version", PARADL_VERSION},
           {"name", spec.name},
           {"summary", spec.summary},
           {"source", spec.origin},
           {"file", spec.source.file},
           {"gpus", std::llround(machine.gpus())},
           {"gpus_per_node", std::llround(machine.gpus_per_node())},
           {"device", device_json(spec.device)}};
  out["levels"] = Json::array();
  for (std::size_t i = 0; i < spec.levels.size(); ++i) {
    const LevelSpec& level = spec.levels[i];
    out["levels"].push_back({{"name", level.name},
                             {"size", level.size},
                             {"gpus", std::llround(machine.levels[i].gpus)},
                             {"latency_s", level.latency.base()},
                             {"bandwidth_bytes_per_s", level.bandwidth.base()},
                             {"ports", machine.levels[i].ports},
                             {"oversubscription", level.oversubscription}});
  }
  if (spec.host) {
    out["host"] = Json::object();
    if (spec.host->memory) out["host"]["memory_bytes"] = spec.host->memory->base();
    if (spec.host->bandwidth) out["host"]["bandwidth_bytes_per_s"] = spec.host->bandwidth->base();
  }
  if (spec.node_storage) out["storage"]["node"] = storage_json(*spec.node_storage);
  if (spec.shared_storage) out["storage"]["shared"] = storage_json(*spec.shared_storage);
  return out;
}

Listing show_system(const Session& session, const Words& words) {
  const SystemSpec spec = session.catalog.system(words.name);
  const Machine machine = build_machine(spec);
  return {.sections = {{title(spec.name, spec.summary), system_facts(spec, machine)},
                       {"", level_lines(spec, machine)}},
          .main = 1,
          .after =
              "A level joins units of the level before it (GPUs at first); each unit leaves through so many "
              "ports.\n",
          .json = system_json(spec, machine)};
}

// ---------------------------------------------------------------------------------------------------------------------
// Profiles

Listing list_profiles(const Session& session) {
  Table table{.columns = {{"name", "name", Holds::text, 9}, {"file", "file", Holds::text, 5}}};
  Json known = Json::array();
  for (const std::string& name : session.catalog.names("profiles")) {
    const std::string file = session.catalog.find("profiles", name).file;
    add_row(table, {name, file});
    known.push_back({{"name", name}, {"file", file}});
  }
  const bool none = table.rows.empty();
  return {.sections = {{"", std::move(table)}},
          .after = none ? "No profiles yet: `paradl-calibrate` measures them into profiles/; until then "
                          "layer times are a roofline's.\n"
                        : "",
          .json = {{"schema", "paradl.profiles/1"}, {"profiles", std::move(known)}}};
}

Listing show_profile(const Session& session, const Words& words) {
  const SourceText source = session.catalog.find("profiles", words.name);
  return {.sections = {},
          .after = source.text,
          .json = {{"schema", "paradl.profile/1"},
                   {"name", words.name},
                   {"file", source.file},
                   {"text", source.text}}};
}

// ---------------------------------------------------------------------------------------------------------------------
// Strategies

constexpr std::string_view serial_summary = "one GPU does everything";

/// What a bound counts.
struct RuleWords {
  std::string_view rule, words;
};
constexpr const char* limit_title = "at most as many parts as";
constexpr std::array rule_words{
    RuleWords{"p <= B", "samples in the mini-batch"},
    RuleWords{"rows <= min H", "positions of the smallest layer, along each extent"},
    RuleWords{"p <= min L", "positions of the smallest layer, along each extent"},
    RuleWords{"p <= G", "layers"},
    RuleWords{"p <= min F", "output channels of the narrowest layer"},
    RuleWords{"p <= min C", "input channels of the narrowest layer but the first"},
    RuleWords{"p <= heads", "attention heads, in transformers"},
};

/// A rule without words of its own speaks for itself.
std::string in_words(std::string_view rule) {
  const auto found = std::ranges::find(rule_words, rule, &RuleWords::rule);
  return std::string(found == rule_words.end() ? rule : found->words);
}

/// Two layers of one kind: enough to ask a strategy for its bound and the paper for its formulas, neither of
/// which depends on the numbers.
Workload probe(Op first, Op second, int extents) {
  const Shape shape{.channels = 8, .extent = {8, extents > 1 ? 8.0 : 1.0, 1}, .dims = extents};
  Workload work{.name = "probe", .layers = {}, .input = shape, .D = 16, .convolutional = first == Op::conv};
  for (const Op op : {first, second})
    work.layers.push_back({.name = "probe",
                           .op = op,
                           .x = shape,
                           .y = shape,
                           .x_items = shape.items(),
                           .weights = 1,
                           .macs = 1,
                           .heads = 8,
                           .kernel = {3, 3, 1},
                           .inputs = {int(work.layers.size()) - 1}});
  return work;
}

/// The bounds of one axis: for pictures, and for sequences where they differ.
std::vector<std::string> rules_of(const Strategy& strategy) {
  std::vector<std::string> rules;
  for (const Workload& work : {probe(Op::conv, Op::conv, 2), probe(Op::fc, Op::attention, 1)}) {
    std::string rule(strategy.limit(work, {.total = 2, .cut = {2, 1, 1}}, 2).rule);
    if (std::ranges::find(rules, rule) == rules.end()) rules.push_back(std::move(rule));
  }
  return rules;
}

std::string limit_text(const Strategy& strategy) {
  std::vector<std::string> sentences;
  for (const std::string& rule : rules_of(strategy))
    if (std::string words = in_words(rule); std::ranges::find(sentences, words) == sentences.end())
      sentences.push_back(std::move(words));
  return fmt::format("{}", fmt::join(sentences, "; "));
}

void add_strategy(Table& table, std::string_view name, std::string_view summary, const std::string& limit) {
  add_row(table, {std::string(name), std::string(summary), limit,
                  std::string(paper::find_row(name) ? "yes" : "no")});
}

Listing list_strategies(const Session&) {
  Table table{.columns = {{"name", "name", Holds::text, 9},
                          {"summary", "what it does", Holds::text, 8},
                          {"limit", limit_title, Holds::text, 5},
                          {"paper", "in the paper", Holds::text, 3}}};
  add_strategy(table, "serial", serial_summary, "one");
  Json known = Json::array(
      {{{"name", "serial"}, {"summary", serial_summary}, {"rules", {"p = 1"}}, {"closed_form", true}}});
  for (const Strategy* axis : strategies()) {
    add_strategy(table, axis->name, axis->summary, limit_text(*axis));
    known.push_back({{"name", axis->name},
                     {"summary", axis->summary},
                     {"rules", rules_of(*axis)},
                     {"closed_form", paper::find_row(axis->name) != nullptr}});
  }
  std::vector<std::string> hybrids;
  for (const std::string_view name : paper::row_names())
    if (name.find('+') != name.npos) hybrids.emplace_back(name);
  Json tried = Json::array();
  for (const StrategyName& strategy : default_strategies()) tried.push_back(strategy.text);
  return {.sections = {{"", std::move(table)}},
          .after = fmt::format(
              "Hybrids join them with `+`, outermost first, each once: data+filter, data+layer+tensor; the "
              "last sits on the closest GPUs.\n"
              "The paper has closed forms for {} too (--fidelity paper). More: paradl help strategies\n",
              fmt::join(hybrids, ", ")),
          .json = {{"schema", "paradl.strategies/1"},
                   {"strategies", std::move(known)},
                   {"closed_forms", paper::row_names()},
                   {"default", std::move(tried)}}};
}

/// The addends of the paper's row, as text. They need some question to stand in, whose numbers are not shown.
Table formula_lines(const StrategyName& strategy) {
  Table table{.columns = {{"term", "term", Holds::text, 9},
                          {"formula", "formula per epoch", Holds::text, 8},
                          {"source", "source", Holds::text, 2}}};
  if (!paper::find_row(strategy.text)) return table;
  const Workload work = probe(Op::conv, Op::conv, 2);
  Machine machine;
  machine.levels.push_back({.name = "node", .gpus = 64, .link = {Seconds{1}, SecondsPerByte{1}}});
  const LayerTimes times{.layer = {work.layers.size(), {Seconds{1}, Seconds{1}, Seconds{1}}}, .source = {}};
  const Setting setting{work, machine, times, {.micro_batches = 2}};  // a pipeline is one only with segments
  const Mesh mesh = meshes(strategy, 1 << strategy.axes.size(), 2).front();
  for (const paper::CostLine& line : paper::explain(setting, strategy, mesh, 8)) {
    add_row(table, {std::string(term_names[std::size_t(line.term)].title), std::string(line.formula),
                    std::string(line.source)});
  }
  return table;
}

Table axis_lines(const StrategyName& strategy) {
  Table table{.columns = {{"axis", "axis", Holds::text, 9},
                          {"summary", "what it does", Holds::text, 8},
                          {"limit", limit_title, Holds::text, 5}}};
  for (const Strategy* axis : strategy.axes) {
    add_row(table, {std::string(axis->name), std::string(axis->summary), limit_text(*axis)});
  }
  return table;
}

Listing show_strategy(const Session&, const Words& words) {
  const StrategyName strategy = read_strategy(words.name);
  const auto usual = default_strategies();
  const bool tried = std::ranges::find(usual, strategy.text, &StrategyName::text) != usual.end();
  const bool closed_form = paper::find_row(strategy.text) != nullptr;
  Json axes = Json::array();
  for (const Strategy* axis : strategy.axes)
    axes.push_back({{"name", axis->name}, {"summary", axis->summary}, {"rules", rules_of(*axis)}});
  Json terms = Json::array();
  Table formulas = formula_lines(strategy);
  for (const Row& row : formulas.rows)
    terms.push_back({{"term", std::get<std::string>(row.values[0])},
                     {"formula", std::get<std::string>(row.values[1])},
                     {"source", std::get<std::string>(row.values[2])}});

  std::string summary(serial_summary);
  if (strategy.axes.size() == 1) summary = strategy.axes.front()->summary;
  if (strategy.axes.size() > 1) summary = fmt::format("{} axes, outermost first", strategy.axes.size());
  const std::string paper =
      closed_form ? "In the paper: closed forms, used by --fidelity paper:\n"
                  : "Not in the paper: only the engine prices it (--fidelity detailed, the default).\n";
  return {.sections = {{title(strategy.text, summary), axis_lines(strategy)}, {paper, std::move(formulas)}},
          .after = fmt::format("{}{}\nTry: paradl explain {} resnet50 --on abci -p {}\n",
                               closed_form ? "The letters: paradl help strategies\n" : "",
                               tried ? "Tried where no -s is given."
                                     : fmt::format("Tried only when asked for: -s {}", strategy.text),
                               strategy.text, strategy.axes.empty() ? 1 : 64),
          .json = {{"schema", "paradl.strategy/1"},
                   {"name", strategy.text},
                   {"axes", std::move(axes)},
                   {"closed_form", closed_form},
                   {"terms", std::move(terms)},
                   {"default", tried}}};
}

// ---------------------------------------------------------------------------------------------------------------------
// The commands

/// One command: what it lists and what it shows.
struct Shelf {
  const char *word, *one, *summary;
  const char* names_are;
  Listing (*list)(const Session&);
  Listing (*show)(const Session&, const Words&);
  std::vector<std::string> (*names)(const Session&);
  const char* examples;
};

std::vector<std::string> strategy_names(const Session&) {
  std::vector<std::string> names;
  for (const StrategyName& strategy : default_strategies()) names.push_back(strategy.text);
  return names;
}

// clang-format off
const std::array shelves{
    Shelf{"models", "model", "the models: list, or show NAME", "name in models/, a path, or gpt:layers=24,hidden=...", list_models, show_model,
          [](const Session& s) { return s.catalog.names("models"); }, R"(Examples:
  paradl models
  paradl models show resnet50
  paradl models show gpt:layers=24,hidden=2304,heads=24 --json)"},
    Shelf{"systems", "system", "the systems: list, or show NAME", "name in systems/, or a path", list_systems, show_system,
          [](const Session& s) { return s.catalog.names("systems"); }, R"(Examples:
  paradl systems
  paradl systems show abci
  paradl systems -f csv --columns name,devices,memory)"},
    Shelf{"profiles", "profile", "the measured profiles: list, or show NAME", "name in profiles/, or a path", list_profiles, show_profile,
          [](const Session& s) { return s.catalog.names("profiles"); }, R"(Examples:
  paradl profiles
  paradl profiles show lab-a100-resnet50
  paradl profiles --json)"},
    Shelf{"strategies", "strategy", "the strategies: list, or show NAME", "data, data+filter ...", list_strategies, show_strategy, strategy_names, R"(Examples:
  paradl strategies
  paradl strategies show spatial
  paradl strategies show data+filter --json)"},
};
// clang-format on

int run(const Session& session, const Shelf& shelf, const Words& words) {
  if (words.verb == "list") {
    if (!words.name.empty())
      throw UsageError(fmt::format("`list` lists all; it takes no `{}`", words.name),
                       fmt::format("write `paradl {} show {}`", shelf.word, words.name));
    deliver(session, words, shelf.list(session));
    return answered;
  }
  if (words.verb == "show") {
    if (words.name.empty())
      throw UsageError(fmt::format("show which {}?", shelf.one),
                       fmt::format("`paradl {}` lists them", shelf.word));
    deliver(session, words, shelf.show(session, words));
    return answered;
  }
  const auto names = shelf.names(session);
  std::string help = did_you_mean(words.verb, {"list", "show"});
  if (std::ranges::find(names, words.verb) != names.end())
    help = fmt::format("write `paradl {} show {}`", shelf.word, words.verb);
  if (help.empty())
    help = fmt::format("write `paradl {0}`, or `paradl {0} show {1}`", shelf.word, words.verb);
  throw UsageError(fmt::format("`{}` is neither `list` nor `show`", words.verb), help);
}

}  // namespace

void define_catalog(CLI::App& root, Session& session, Action& action) {
  for (const Shelf& shelf : shelves) {
    auto words = std::make_shared<Words>();
    CLI::App* command = root.add_subcommand(shelf.word, shelf.summary);
    command->add_option("ACTION", words->verb, "list (the default) or show")->type_name("");
    command->add_option("NAME", words->name, shelf.names_are)->type_name("");
    command->add_option("-f,--format", words->format, "text, markdown, csv, json or latex")
        ->type_name("NAME");
    command->add_option("--columns", words->columns, "columns of the table; `all`, or `help` to list them")
        ->type_name("LIST");
    command->add_flag("--json", words->json, "short for -f json");
    command->footer(shelf.examples);
    command->callback([&session, &action, &shelf, words] {
      action = [&session, &shelf, words] { return run(session, shelf, *words); };
    });
  }
}

}  // namespace paradl
