#include "paradl/console/options.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "paradl/console/files.hpp"
#include "paradl/console/ranges.hpp"
#include "paradl/core/text.hpp"
#include "paradl/query/fields.hpp"
#include "paradl/query/words.hpp"
#include "paradl/spec/reader.hpp"

namespace paradl {
namespace {

struct OptionRow {
  const char *flags, *key, *meta, *help;
  const char* group;
  bool again = false;  // describes the machine or the training, so proposed commands repeat it
};

constexpr const char* question = "Question";
constexpr const char* training = "Training";
constexpr const char* output = "Output";

// clang-format off
constexpr OptionRow rows[] = {
    {"--on", "on", "SYSTEM", "name in systems/, or a path", question},
    {"-p,--gpus", "gpus", "RANGE", "64; 16,64; 16..1024 (doubling); 16..128:+16; 4..1024:x4; 16x4 (nodes x GPUs)", question},
    {"-b,--batch", "batch", "N", "2048 (whole mini-batch), 32/gpu or 64/node; default: the model file's, per GPU", question, true},
    {"-s,--strategy", "strategy", "LIST", "data,data+filter ...; default: all", question},
    {"--grid", "grid", "SIZES", "data=16,filter=4 or 16x4; space may be cut as spatial=2x2", question},
    {"--grids", "grids", "WHICH", "best (of each strategy) or all", question},
    {"--fidelity", "fidelity", "KIND", "detailed (the engine, default) or paper (the paper's closed forms)", question, true},
    {"--iterations", "iterations", "RULE", "I = D/B: exact, or rounded up (ceil) in exchanges and updates", question, true},
    {"--samples", "samples", "N", "samples per epoch; default: the model file's data set", question, true},
    {"--epochs", "epochs", "N", "adds the time, GPU-hours, price and energy of N epochs", question, true},
    {"--price", "price", "RATE", "price of one GPU, such as 2.5USD/h: adds the cost of the epochs; default: the system file's", question, true},
    {"--profile", "profile", "NAME", "measured layer times: name in profiles/, or a path; default: a matching one, if any", training, true},
    {"--layer-times", "layer-times", "LEVEL", "ideal (roofline), modelled (kernels) or profile (measured); default: the most accurate available", training, true},
    {"--convolutions", "convolutions", "WHICH", "algorithms for modelled times: best, no-winograd, or a workspace limit such as 1GB", training, true},
    {"--precision", "precision", "NAME", "fp32, tf32, fp16, bf16 (mixed) or fp8; default: the framework's, or fp32", training, true},
    {"--optimizer", "optimizer", "NAME", "sgd, momentum, adam or lamb; default: the framework's, or momentum", training, true},
    {"--framework", "framework", "NAME", "ideal (default), ddp, megatron, chainermn, or a path: its behaviour and costs; see `paradl help frameworks`", training, true},
    {"--transport", "transport", "WAY", "gpu, or host: exchanges are staged through host memory (no GPUDirect)", training, true},
    {"--input", "input", "FROM", "samples are read from `node` storage or the `shared` file system; default none: not counted; see `paradl help input`", training, true},
    {"--staging", "staging", "WHO", "who reads samples that several GPUs need: leader (one reads and distributes, default) or each", training, true},
    {"--prefetch", "prefetch", "on|off", "the next mini-batch is read during the iteration; default: the framework's, usually on", training, true},
    {"--shuffle", "shuffle", "HOW", "with --input node: global (every node has all samples, default), local, partial:Q (a fraction Q is exchanged each epoch)", training, true},
    {"--links", "links", "LEVEL", "ideal (specified) or measured; default: measured if the system file has it", training, true},
    {"--micro-batches", "micro-batches", "S", "micro-batches per pipeline and iteration; default 1", training, true},
    {"--schedule", "schedule", "NAME", "gpipe, 1f1b, or interleaved:V with V chunks of the network on each stage; default gpipe", training, true},
    {"--recompute", "recompute", "KIND", "in the backward pass: none, selective (scores of attention), full (blocks); full:N, selective:N: N blocks", training, true},
    {"--zero", "zero", "0..3", "shard optimizer state (1), also gradients (2), also weights (3, like FSDP) over axes that split samples or space; default 0", training, true},
    {"--sequence-parallel", "sequence-parallel", "on|off", "split the sequence between the pairs of products of `tensor`; default off", training, true},
    {"--flash", "flash", "on|off", "attention that does not store its scores; default: the model file's", training, true},
    {"--gradients", "gradients", "NAME", "with mixed precision, gradients are accumulated in fp32 (default) or fp16 (16 bits)", training, true},
    {"--reserve", "reserve", "SIZE", "memory for framework, driver and libraries on each GPU, such as 1GiB; default none", training, true},
    {"--fragmentation", "fragmentation", "SHARE", "memory lost to fragmentation, as a share of activations and workspace, such as 0.05; default 0", training, true},
    {"--overlap", "overlap", "on|off", "gradient exchange during the backward pass; default: the framework's, or on", training, true},
    {"--reduction", "reduction", "NAME", "sums of filter, channel and tensor: allreduce (default, as in the paper's framework) or reduce-scatter", training, true},
    {"--allreduce", "allreduce", "NAME", "algorithm that sums gradients: ring, ring+ring, shd, sparse-ring:0.0078 ...; default: a ring on every level, trees for few bytes", training, true},
    {"--batch-norm", "batch-norm", "NAME", "local statistics (default), or sync across GPUs", training, true},
    {"--gamma", "gamma", "G", "the paper's memory accounting with reuse factor G", training, true},
    {"--format,-f", "format", "NAME", "", output},  // its help lists the formats
    {"--columns", "columns", "LIST", "columns of the table; `all`, or `help` to list them", output},
    {"--sort", "sort", "COLUMN", "column to sort by", output},
};
// clang-format on

std::optional<std::filesystem::path> project_config() {
  namespace fs = std::filesystem;
  std::error_code nowhere, missing;
  fs::path here = fs::current_path(nowhere);
  if (nowhere) return {};
  while (!fs::is_regular_file(here / "paradl.yaml", missing)) {
    if (here == here.parent_path()) return {};
    here = here.parent_path();
  }
  return here / "paradl.yaml";
}

std::optional<std::filesystem::path> user_config() {
  namespace fs = std::filesystem;
  const char* xdg = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  if (!(xdg && *xdg) && !(home && *home)) return {};
  const fs::path path = (xdg && *xdg ? fs::path(xdg) : fs::path(home) / ".config") / "paradl" / "config.yaml";
  std::error_code failed;
  if (fs::is_regular_file(path, failed)) return path;
  return {};
}

/// PARADL_SYSTEM for --on, PARADL_MICRO_BATCHES for --micro-batches.
std::string variable_name(std::string key) {
  if (key == "on") key = "system";
  for (char& c : key) c = c == '-' ? '_' : char(std::toupper(static_cast<unsigned char>(c)));
  return "PARADL_" + key;
}

}  // namespace

void Options::define(const Arguments& command, const std::vector<std::string_view>& without) {
  std::vector<std::string_view> keys;
  for (const OptionRow& row : rows)
    if (std::ranges::find(without, row.key) == without.end()) keys.emplace_back(row.key);
  define_only(command, keys);
}

void Options::define_only(const Arguments& command, const std::vector<std::string_view>& keys,
                          const std::string& output_help) {
  if (command.left_out()) return;
  for (const OptionRow& row : rows)
    if (std::ranges::find(keys, row.key) != keys.end())
      command.text(row.flags, values_[row.key].text,
                   {.help = *row.help ? row.help : format_names(),
                    .meta = row.meta,
                    .group = row.group,
                    .once = row.group == output});
  if (std::ranges::find(keys, "on") != keys.end())
    command.texts(
        "--set", sets_,
        {.help = "change one value of the system file: device.memory=32GiB, or x2 for twice as much; "
                 "or of the framework: framework.halos=gpu; repeatable",
         .meta = "KEY=VALUE",
         .group = question});
  if (std::ranges::find(keys, "format") == keys.end()) return;
  command.flag("--json", json_, {.help = "short for -f json", .group = output});
  command.texts("-o", outputs_, {.help = output_help, .meta = "FILE", .group = output});
}

void Options::read_configuration(const SourceText& source) {
  files_.push_back(source.file);
  const YAML::Node root = parse_yaml(source);
  if (root.IsNull()) return;
  Problems problems(source);
  Reader map(root, problems, "a configuration file");
  const auto file = std::make_shared<const SourceText>(source);
  const auto take = [&](const std::string& key, const std::string& as) {
    if (!map.has(key)) return;
    Entry entry{map.text(key), source.file, file, map.spot(key)};
    if (key != as && map.has(as))
      map.wrong(key, fmt::format("`{}` and `{}` are two names of one option", key, as), "keep one");
    if (values_[as].text.empty()) values_[as] = std::move(entry);
  };
  for (const OptionRow& row : rows) take(row.key, row.key);
  take("system", "on");
  if (map.has("bottlenecks")) {
    Reader list(map.node("bottlenecks"), problems, "`bottlenecks`");
    const auto read = [&](const std::string& key, double least, double most) {
      if (list.has(key)) triggers_.emplace(key, list.number(key, least, most));
    };
    for (const Measure& measure : measures()) read(std::string(measure.key), measure.least, measure.most);
    read(std::string(least_share_key), 0, 1);
    list.finish();
  }
  map.finish();
  problems.raise();
}

OriginPtr Options::origin(const std::string& key) const {
  if (!has(key) || typed(key)) return {};
  const auto& [text, origin, file, spot] = values_.at(key);
  return std::make_shared<Origin>(Origin{origin, text, file, spot});
}

void Options::blame(std::initializer_list<std::string_view> keys, const UsageError& error) const {
  for (const std::string_view key : keys)
    if (const OriginPtr place = origin(std::string(key))) paradl::blame({place}, error);
  throw error;
}

Query Options::query() const {
  Query query;
  for (const Field& field : fields())
    if (const std::string name(field.name); has(name)) read_field(query, field, get(name), origin(name));
  for (const std::string& change : sets_) add_change(query, read_change(change));
  return query;
}

void Options::refuse_typed(const std::vector<std::string_view>& but, const std::string& what) const {
  for (const OptionRow& row : rows)
    if (typed(row.key) && std::ranges::find(but, row.key) == but.end())
      throw UsageError(fmt::format("--{} has no effect on {}", row.key, what), "leave it out");
  if (!sets_.empty()) throw UsageError(fmt::format("--set has no effect on {}", what), "leave it out");
}

std::vector<std::string> Options::configuration_keys() {
  std::vector<std::string> keys{"system"};
  for (const OptionRow& row : rows) keys.emplace_back(row.key);
  return keys;
}

void Options::complete() {
  refuse_twice(outputs_);
  for (auto& [key, entry] : values_)
    if (const char* value = std::getenv(variable_name(key).c_str()); entry.text.empty() && value && *value)
      entry = {value, variable_name(key), {}, {}};
  if (const auto path = project_config()) read_configuration(read_source(path->string()));
  if (const auto path = user_config()) read_configuration(read_source(path->string()));
  if (json_) set("format", std::string(typed_format(typed("format") ? get("format") : "", json_).name));
}

Triggers Options::triggers() const {
  Triggers out;
  for (std::size_t i = 0; i < out.value.size(); ++i)
    if (const auto set = triggers_.find(std::string(measures()[i].key)); set != triggers_.end())
      out.value[i] = set->second;
  if (const auto set = triggers_.find(std::string(least_share_key)); set != triggers_.end())
    out.least_share = set->second;
  return out;
}

const FormatRow& Options::format(bool draws) const {
  if (!has("format")) return row_of(Format::text);
  return *read("format", "", [&](const std::string& name) { return &read_format(name, draws); });
}

bool Options::writes(const FormatRow& row) const {
  const FormatRow* main = has("format") ? find_format(get("format")) : &row_of(Format::text);
  const auto is_written = [&](const std::string& path) { return path.ends_with(row.ending); };
  return main == &row || std::ranges::any_of(outputs_, is_written);
}

bool Options::wants(Prints prints) const {
  return std::ranges::any_of(formats(),
                             [&](const FormatRow& row) { return row.prints == prints && writes(row); });
}

bool Options::wants_bottlenecks() const {
  const std::vector<std::string> columns = split_list(get("columns"), ',');
  const auto shows = [](const std::string& id) {
    return id == "all" || id == "bottlenecks" || id == "limited by";
  };
  // Without --columns, a table for machines has all columns.
  const bool all = columns.empty() && std::ranges::any_of(formats(), [&](const FormatRow& row) {
                     return row.read_by == ReadBy::machines && writes(row);
                   });
  return all || wants(Prints::json) || std::ranges::any_of(columns, shows);
}

std::string Options::repeated() const {
  std::string out;
  for (const OptionRow& row : rows) {
    const auto entry = values_.find(row.key);
    if (entry == values_.end() || entry->second.text.empty() || entry->second.origin != typed_here) continue;
    if (row.again) out += fmt::format(" --{} {}", row.key, shell_word(entry->second.text));
  }
  for (const std::string& set : sets_) out += " --set " + shell_word(set);
  return out;
}

std::string Options::origins() const {
  std::string out;
  for (const auto& [key, entry] : values_)
    if (!entry.text.empty()) out += fmt::format("{} = {} ({})\n", key, entry.text, entry.origin);
  return out;
}

}  // namespace paradl
