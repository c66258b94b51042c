// paradl check: are these spec files right?
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "paradl/cli/command.hpp"
#include "paradl/console/ranges.hpp"
#include "paradl/core/format.hpp"
#include "paradl/query/runs.hpp"
#include "paradl/spec/measured_under.hpp"
#include "paradl/spec/profile_spec.hpp"
#include "paradl/spec/reader.hpp"

namespace paradl {
namespace {

using Json = nlohmann::ordered_json;

/// A value that can be loaded, but is probably not intended.
struct Warning {
  std::string message, help;
};

/// The kinds of files that can be checked. Those of a catalog come first, in its order.
enum class FileKind { model, system, profile, framework, kernels, accuracy, configuration, unknown };
constexpr std::array<std::string_view, 8> file_kind_names{"model",   "system",   "profile",       "framework",
                                                          "kernels", "accuracy", "configuration", "unknown"};
static_assert(names_every(FileKind::unknown, file_kind_names), "name every FileKind");
static_assert(int(FileKind::accuracy) == int(SpecKind::accuracy), "in the order of SpecKind");

/// The findings for one file.
struct Checked {
  std::string path;
  FileKind kind = FileKind::unknown;
  std::optional<SpecError> error;  // none: the file is good
  std::vector<Warning> warnings;
};

/// Whether the file has one of these keys at the top level. Block style is found in the text, because parsing
/// is slow and the loader parses the file anyway.
bool has_any(const SourceText& source, const std::vector<std::string>& keys) {
  const auto at_line_start = [&](const std::string& key) {
    return source.text.starts_with(key + ":") || source.text.find("\n" + key + ":") != std::string::npos;
  };
  if (std::ranges::any_of(keys, at_line_start)) return true;
  const std::size_t first = source.text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || source.text[first] != '{') return false;
  const YAML::Node root = parse_yaml(source);
  return root.IsMap() &&
         std::ranges::any_of(keys, [&](const std::string& key) { return root[key].IsDefined(); });
}

/// The kind of a file by its folder and name.
FileKind kind_by_path(const std::string& file) {
  const std::filesystem::path path(file);
  const std::string folder = std::filesystem::absolute(path).parent_path().filename().string();
  if (path.filename() == "paradl.yaml" || (path.filename() == "config.yaml" && folder == "paradl"))
    return FileKind::configuration;
  const auto kind = find_name<SpecKind>(spec_kind_names, folder);
  return kind ? FileKind(*kind) : FileKind::unknown;
}

/// The kind of a file by its content, or by its path if the content is not clear.
FileKind kind_of(const SourceText& source) {
  if (is_record(source.text) || has_any(source, {"records", "networks"})) return FileKind::accuracy;
  if (has_any(source, {"layers", "total"}) && has_any(source, {"device"})) return FileKind::profile;
  if (has_any(source, {"kernels"}) && has_any(source, {"libraries"})) return FileKind::kernels;
  if (has_any(source, {"layers", "base", "blocks", "dataset"})) return FileKind::model;
  if (has_any(source, {"device", "levels"})) return FileKind::system;
  if (has_any(source, {"costs", "hybrid-gradients", "backward-of-allgather"})) return FileKind::framework;
  const FileKind kind = kind_by_path(source.file);
  const bool configures = has_any(source, Options::configuration_keys()) || has_any(source, {"bottlenecks"});
  if (kind != FileKind::unknown || !configures) return kind;
  return has_any(source, {"name"}) ? FileKind::framework
                                   : FileKind::configuration;  // a framework has options too
}

/// Names are looked up as files. A file with another name inside would be found under one name and reported
/// under the other.
void warn_of_name(const SourceText& source, std::string name, Checked& out) {
  std::string stem = std::filesystem::path(source.file).stem().string();
  if (source.file == standard_input) return;
  std::ranges::replace(stem, '_', '-');
  std::ranges::replace(name, '_', '-');
  if (stem != name)
    out.warnings.push_back({fmt::format("the name of the file is `{}`, but the name of the {} is `{}`", stem,
                                        file_kind_names[std::size_t(out.kind)], name),
                            "use one name for both (a name is looked up as a file)"});
}

void check_model(const Session& session, const SourceText& source, Checked& out) {
  const ModelSpec spec = read_model(
      source, [&](const std::string& base) { return session.catalog.find(SpecKind::models, base); });
  const Workload work = build_workload(spec);
  warn_of_name(source, spec.name, out);
  if (spec.dataset.empty())
    out.warnings.push_back({"the model has no data set, so the length of an epoch is unknown",
                            "add `dataset: {name: ..., samples: ...}`, or use --samples"});
  if (!(work.parameters() > 0))
    out.warnings.push_back(
        {"no layer has weights, so there is nothing to train", "is a `conv` or `fc` missing?"});
}

/// Sizes between two measured ranges of the same operation and group.
void warn_of_holes(const LevelSpec& level, Checked& out) {
  for (const MeasuredLinkSpec& link : level.measured) {
    const MeasuredLinkSpec* next = nullptr;  // the range after this one
    for (const MeasuredLinkSpec& other : level.measured)
      if (other.operation == link.operation && other.group == link.group && other.from >= link.below &&
          (!next || other.from < next->from))
        next = &other;
    if (next && next->from > link.below)
      out.warnings.push_back(
          {fmt::format("level `{}` has no measurement of {} from {} to {}", level.name,
                       collective_names[std::size_t(link.operation)], text(link.below), text(next->from)),
           "let one range begin where the other ends"});
  }
}

/// Checks a reference to another file by name; reports a mistake at its place if there is no such file.
void check_name(const Session& session, const SourceText& source, SpecKind kind, const std::string& name,
                Spot spot) {
  if (name.empty()) return;
  try {
    session.catalog.find(kind, name);
  } catch (const UsageError& error) {
    throw SpecError(source.file, source.text, {{spot, error.what(), error.help()}});
  }
}

void check_system(const Session& session, const SourceText& source, Checked& out) {
  const SystemSpec spec = read_system(source);
  network_of(spec, build_machine(spec), true);
  check_name(session, source, SpecKind::frameworks, spec.framework, spot_of(parse_yaml(source)["framework"]));
  check_name(session, source, SpecKind::kernels, spec.device.kernels_name, spec.device.kernels_spot);
  warn_of_name(source, spec.name, out);
  for (std::size_t i = 0; i < spec.levels.size(); ++i) {
    const LevelSpec& level = spec.levels[i];
    warn_of_holes(level, out);
    if (!(level.latency > Seconds{}))
      out.warnings.push_back({fmt::format("level `{}` has no latency", level.name),
                              "every link has a latency; write the time of a small message"});
    if (i > 0 && level.bandwidth > spec.levels[i - 1].bandwidth)
      out.warnings.push_back(
          {fmt::format("level `{}` is faster than `{}` inside it", level.name, spec.levels[i - 1].name),
           "levels are written innermost first"});
  }
}

void check_profile(const Session& session, const SourceText& source, Checked& out) {
  const ProfileSpec spec = read_profile(source);
  check_name(session, source, SpecKind::frameworks, measured_under(spec),
             spot_of(parse_yaml(source)["framework"]));
  warn_of_name(source, spec.name, out);
  if (spec.entries.empty() && !spec.total)
    out.warnings.push_back({"the profile has no layers", "`paradl-calibrate layers` measures them"});
  constexpr double much = 0.2;
  const auto noisy =
      std::ranges::count_if(spec.entries, [](const auto& entry) { return entry.time.noise > much; });
  if (noisy > 0)
    out.warnings.push_back(
        {fmt::format("{} of {} layers have a noise above 20 %", noisy, spec.entries.size()),
         "run `paradl-calibrate layers` again: it repeats noisy measurements"});
}

/// The readings of networks, or the record of errors.
void check_accuracy(const SourceText& source) {
  if (has_any(source, {"networks"}))
    check_readings(source);
  else
    read_record(source);
}

/// Reads every value of a configuration as a command would, if no model is needed for that.
void check_configuration(const Session& session, const SourceText& source) {
  Options options;
  options.read_configuration(source);
  const Query query = options.query();
  Library library(session.catalog);
  load_training(query, library);
  if (query.system) blaming({query.system.origin()}, [&] { library.system(*query.system); });
  if (query.profile) blaming({query.profile.origin()}, [&] { library.profile(*query.profile); });
}

[[noreturn]] void refuse_file(const SourceText& source) {
  throw SpecError(
      source.file, source.text,
      {{{1, 1, 1},
        "this is not a model, system, profile, framework or configuration",
        "a model has `layers` or `base`, a system `device` and `levels`, a profile `device` and `layers`, a "
        "framework `name` and `costs`"}});
}

Checked check(const Session& session, const SourceText& source) {
  Checked out{.path = source.file, .kind = kind_by_path(source.file), .error = {}, .warnings = {}};
  try {
    out.kind = kind_of(source);
    switch (out.kind) {
      case FileKind::model:
        check_model(session, source, out);
        break;
      case FileKind::system:
        check_system(session, source, out);
        break;
      case FileKind::profile:
        check_profile(session, source, out);
        break;
      case FileKind::framework:
        warn_of_name(source, read_framework(source).name, out);
        break;
      case FileKind::kernels:
        warn_of_name(source, read_kernels(source).name, out);
        break;
      case FileKind::accuracy:
        check_accuracy(source);
        break;
      case FileKind::configuration:
        check_configuration(session, source);
        break;
      case FileKind::unknown:
        refuse_file(source);
    }
  } catch (const SpecError& error) {
    out.error = error;
  } catch (const UsageError& error) {
    // A usage error of a loader is a mistake in the file here.
    out.error = SpecError(source.file, source.text, {{{}, error.what(), error.help()}});
  }
  return out;
}

std::string counted(std::size_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

/// The findings as text. Mistakes in a base that several files share are shown once.
std::string tell(const Checked& checked, std::set<std::string>& told) {
  std::string out;
  if (checked.error) {
    const std::string pictures = render(*checked.error);
    const bool in_base = checked.error->file() != checked.path;
    if (!told.insert(pictures).second)
      return fmt::format("{}: the errors above{}\n", checked.path,
                         in_base ? ", in its base " + checked.error->file() : "");
    out +=
        fmt::format("{}: {}{}\n{}", checked.error->file(), counted(checked.error->problems().size(), "error"),
                    in_base ? fmt::format(" (the base of {})", checked.path) : "", pictures);
  }
  if (!checked.warnings.empty())
    out += fmt::format("{}: {}\n", checked.path, counted(checked.warnings.size(), "warning"));
  for (const auto& [message, help] : checked.warnings)
    out += fmt::format("warning: {}\nhelp: {}\n", message, help);
  return out;
}

Json file_json(const Checked& checked) {
  Json out{{"path", checked.path},
           {"kind", file_kind_names[std::size_t(checked.kind)]},
           {"good", !checked.error},
           {"problems", Json::array()},
           {"warnings", Json::array()}};
  if (checked.error)
    for (const auto& [where, message, help] : checked.error->problems())
      out["problems"].push_back({{"file", checked.error->file()},
                                 {"line", where.line},
                                 {"column", where.column},
                                 {"message", message},
                                 {"help", help}});
  for (const auto& [message, help] : checked.warnings)
    out["warnings"].push_back({{"message", message}, {"help", help}});
  return out;
}

std::string to_json(const std::vector<Checked>& files) {
  Json out{{"schema", "paradl.check/1"}, {"version", PARADL_VERSION}, {"files", Json::array()}};
  for (const Checked& checked : files) out["files"].push_back(file_json(checked));
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_text(const std::vector<Checked>& files, std::size_t good) {
  std::string out;
  std::set<std::string> told;
  for (const Checked& checked : files) out += tell(checked, told);
  return out + fmt::format("{} checked, {} good.\n", counted(files.size(), "file"), good);
}

/// A file, or all files of a name: a model and a system may have the same name.
std::vector<SourceText> sources_of(const Catalog& catalog, const std::string& word) {
  std::error_code failed;
  if (Catalog::is_path(word) || std::filesystem::exists(word, failed)) return {read_source(word)};
  std::vector<SourceText> out;
  std::vector<std::string> known;
  std::string name = word;
  std::ranges::replace(name, '_', '-');
  for (std::size_t kind = 0; kind < spec_kind_names.size(); ++kind)
    for (const std::string& one : catalog.names(SpecKind(kind))) {
      if (one == word || one == name) out.push_back(catalog.find(SpecKind(kind), one));
      known.push_back(one);
    }
  if (!out.empty()) return out;
  const std::string near = did_you_mean(word, known);
  throw UsageError(
      fmt::format("`{}` is neither a file nor a known model, system, profile or framework", word),
      near.empty() ? "name a file, or an entry of `paradl models`, `systems`, `profiles` or "
                     "`frameworks`"
                   : near);
}

int run(const Session& session, const std::vector<std::string>& words, bool json) {
  std::vector<SourceText> sources;  // all are read first: an unknown name is a mistake of the command line
  for (const std::string& word : words)
    std::ranges::move(sources_of(session.catalog, word), std::back_inserter(sources));
  std::vector<Checked> files;
  files.reserve(sources.size());
  for (const SourceText& source : sources) files.push_back(check(session, source));
  const auto good = std::size_t(std::ranges::count_if(files, [](const Checked& c) { return !c.error; }));
  print(json ? to_json(files) : to_text(files, good));
  return good == files.size() ? answered : answered_no;
}

}  // namespace

void define_check(const Arguments& root, Session& session, Action& action) {
  struct Words {
    std::vector<std::string> files;
    bool json = false;
  };
  auto words = std::make_shared<Words>();
  const Arguments command = root.add_command("check", "are these spec files right?");
  command.texts(
      "FILE", words->files,
      {.help = "models, systems, profiles, frameworks, kernels, records and configurations, each by "
               "path or by name; the file type is detected from its content",
       .required = true});
  command.flag("--json", words->json, {.help = "print the findings as JSON"});
  command.footer(R"(Exit code: 0 if all files are good, 1 if not, 2 if there is no such file.

Examples:
  paradl check models/*.yaml systems/*.yaml
  paradl check resnet50 abci ddp
  paradl check paradl.yaml
  paradl check my-cluster.yaml --json)");
  command.runs(action, [&session, words] { return run(session, words->files, words->json); });
}

}  // namespace paradl
