#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "paradl/cli/ask.hpp"
#include "paradl/spec/reader.hpp"

namespace paradl {
namespace {

struct Row {
  const char *flags, *key, *meta, *help;
  const char* group;
};

constexpr const char* question = "What to ask";
constexpr const char* training = "How it is trained";
constexpr const char* output = "How to answer";

// clang-format off
constexpr Row rows[] = {
    {"--on", "on", "SYSTEM", "name in systems/, or a path", question},
    {"-p,--gpus", "gpus", "RANGE", "64; 16,64; 16..1024 (doubling); 16..128:+16; 4..1024:x4; 16x4 (nodes x GPUs)", question},
    {"-b,--batch", "batch", "N", "2048 (whole mini-batch), 32/gpu or 64/node; default: the model file's, per GPU", question},
    {"-s,--strategy", "strategy", "LIST", "data,data+filter ...; default: all", question},
    {"--grid", "grid", "SIZES", "data=16,filter=4 or 16x4; space may be cut as spatial=2x2", question},
    {"--grids", "grids", "WHICH", "best (of each strategy) or all", question},
    {"--fidelity", "fidelity", "KIND", "detailed (the engine) or paper (its closed forms)", question},
    {"--iterations", "iterations", "RULE", "I = D/B: exact, or rounded up (ceil) in exchanges and updates", question},
    {"--samples", "samples", "N", "samples per epoch; default: the model file's data set", question},
    {"--epochs", "epochs", "N", "adds the time and GPU-hours of N epochs", question},
    {"--precision", "precision", "NAME", "fp32, tf32, fp16, bf16 (mixed) or fp8; default fp32", training},
    {"--optimizer", "optimizer", "NAME", "sgd, momentum, adam or lamb; default momentum", training},
    {"--framework", "framework", "NAME", "pytorch, or megatron (fp16 and Adam unless said otherwise)", training},
    {"--micro-batches", "micro-batches", "S", "micro-batches per pipeline and iteration; default 1", training},
    {"--schedule", "schedule", "NAME", "gpipe or 1f1b", training},
    {"--overlap", "overlap", "on|off", "gradient exchange behind the backward pass; default on", training},
    {"--reduction", "reduction", "NAME", "allreduce (as the paper's framework) or reduce-scatter, for filter, channel, tensor", training},
    {"--batch-norm", "batch-norm", "NAME", "local statistics, or sync across GPUs", training},
    {"--gamma", "gamma", "G", "the paper's memory accounting with reuse factor G", training},
    {"--format,-f", "format", "NAME", "text, markdown, csv, json, jsonl or latex", output},
    {"--columns", "columns", "LIST", "columns of the table; `all`, or `help` to list them", output},
    {"--sort", "sort", "COLUMN", "column to sort by", output},
};
// clang-format on

std::optional<std::filesystem::path> project_config() {
  namespace fs = std::filesystem;
  std::error_code failed;
  for (fs::path here = fs::current_path(failed); !failed;) {
    if (fs::is_regular_file(here / "paradl.yaml", failed)) return here / "paradl.yaml";
    if (here == here.parent_path()) break;
    here = here.parent_path();
  }
  return {};
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

void Options::define(const Arguments& command, bool single) {
  for (const Row& row : rows) {
    if (single && std::string_view(row.key) == "grids") continue;
    values_[row.key];
    command.text(row.flags, values_[row.key].text, {.help = row.help, .meta = row.meta, .group = row.group});
  }
  command.texts("--set", sets_,
                {.help = "override one value of the system file: device.memory=32GiB",
                 .meta = "KEY=VALUE",
                 .group = question});
  command.flag("--json", json_, {.help = "short for -f json", .group = output});
  command.texts(
      "-o", outputs_,
      {.help = "also write there; format from the extension; repeatable", .meta = "FILE", .group = output});
}

std::map<std::string, std::string> Options::read_configuration(const SourceText& source) {
  const YAML::Node root = parse_yaml(source);
  Problems problems(source);
  std::map<std::string, std::string> values;
  if (!root.IsNull()) {
    Reader map(root, problems, "a configuration file");
    for (const Row& row : rows)
      if (map.has(row.key)) values[row.key] = map.text(row.key);
    if (map.has("system")) values["on"] = map.text("system");
    map.finish();
  }
  problems.raise();
  return values;
}

std::vector<std::string> Options::configuration_keys() {
  std::vector<std::string> keys{"system"};
  for (const Row& row : rows) keys.emplace_back(row.key);
  return keys;
}

void Options::complete() {
  std::map<std::string, std::string> project, user;
  if (const auto path = project_config()) project = read_configuration(read_source(path->string()));
  if (const auto path = user_config()) user = read_configuration(read_source(path->string()));
  for (auto& [key, entry] : values_) {
    if (!entry.text.empty()) continue;
    if (const char* value = std::getenv(variable_name(key).c_str()); value && *value)
      entry = {value, variable_name(key)};
    else if (project.contains(key))
      entry = {project[key], "paradl.yaml"};
    else if (user.contains(key))
      entry = {user[key], "user configuration"};
  }
  if (json_) values_["format"] = {"json", "command line"};
}

std::string Options::origins() const {
  std::string out;
  for (const auto& [key, entry] : values_)
    if (!entry.text.empty()) out += fmt::format("{} = {} ({})\n", key, entry.text, entry.origin);
  return out;
}

}  // namespace paradl
