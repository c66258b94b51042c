// paradl import: converts a model or a system of another tool.
#include <algorithm>
#include <cctype>
#include <filesystem>

#include <fmt/format.h>

#include "paradl/cli/command.hpp"
#include "paradl/spec/foreign.hpp"
#include "paradl/spec/reader.hpp"

namespace paradl {
namespace {

namespace fs = std::filesystem;

struct Words {
  std::string file, output, name;
  std::vector<std::string> splits;
  bool force = false;
};

/// `filter=filter_resnet.lc`
std::pair<std::string, SourceText> read_split(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == word.npos || equals == 0 || equals + 1 == word.size())
    throw UsageError(fmt::format("--split {}: not STRATEGY=FILE", word),
                     "write --split filter=filter_resnet.lc");
  return {word.substr(0, equals), read_source(word.substr(equals + 1))};
}

/// A spec is found by its file name, so the default name is that of the output file, if it is a valid name.
std::string name_of(const Words& words) {
  if (!words.name.empty() || words.output == "-") return words.name;
  const auto plain = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; };
  const std::string stem = fs::path(words.output).stem().string();
  return std::ranges::all_of(stem, plain) ? stem : "";
}

/// Names are looked up with `-` instead of `_`, so files are named with `-`.
std::string file_name(std::string name) {
  std::ranges::replace(name, '_', '-');
  return name + ".yaml";
}

/// models/NAME.yaml or systems/NAME.yaml if there is such a folder here, otherwise NAME.yaml.
std::string default_output(const Imported& imported) {
  const fs::path folder = imported.kind == Imported::Kind::model ? "models" : "systems";
  std::error_code failed;
  return (fs::is_directory(folder, failed) ? folder / file_name(imported.name)
                                           : fs::path(file_name(imported.name)))
      .string();
}

/// Checks that the result can be read: a wrong file in the user's folder would be our mistake.
void check_loads(const Session& session, const Imported& imported, const std::string& file) {
  const SourceText made{file, imported.yaml};
  try {
    switch (imported.kind) {
      case Imported::Kind::model:
        build_workload(read_model(
            made, [&](const std::string& base) { return session.catalog.find(SpecKind::models, base); }));
        break;
      case Imported::Kind::system:
        build_machine(read_system(made));
        break;
      case Imported::Kind::split:
        parse_yaml(made);
        break;
    }
  } catch (const SpecError& error) {
    throw std::logic_error(fmt::format("the imported file cannot be read: line {}, {}",
                                       error.problems().front().where.line, error.what()));
  }
}

/// The file that the name refers to now; empty if there is none.
std::string found_at(const Session& session, const Imported& imported) {
  const SpecKind kind = imported.kind == Imported::Kind::model ? SpecKind::models : SpecKind::systems;
  const auto names = session.catalog.names(kind);
  std::string name = imported.name;
  std::ranges::replace(name, '_', '-');
  return std::ranges::find(names, name) == names.end() ? "" : session.catalog.find(kind, name).file;
}

void refuse_to_replace(const std::string& path) {
  std::error_code failed;
  if (fs::exists(path, failed))
    throw UsageError(fmt::format("`{}` already exists", path),
                     "add --force to replace it, or name another with -o");
}

int run(const Session& session, const Words& words) {
  ImportOptions options{.splits = {}, .name = name_of(words)};
  for (const std::string& split : words.splits) options.splits.push_back(read_split(split));
  const SourceText source = read_source(words.file);
  const Imported imported = import_file(source, options);

  // A list of cut layers is only a part of a model file: it is printed, and written only with -o.
  const bool shown = words.output == "-" || (words.output.empty() && imported.kind == Imported::Kind::split);
  const std::string path = shown ? "-" : words.output.empty() ? default_output(imported) : words.output;
  check_loads(session, imported, path);
  std::vector<std::string> read{source.file};
  for (const auto& [strategy, list] : options.splits) read.push_back(list.file);
  if (!shown) refuse_overwriting({path}, read);
  if (!shown && !words.force) refuse_to_replace(path);
  const std::string before = found_at(session, imported);
  if (!shown) write_file(path, imported.yaml);
  for (const std::string& warning : imported.warnings) hint(session, "warning: " + warning);
  if (shown) {
    print(imported.yaml);
    hint(session, imported.summary);
  } else {
    if (!before.empty() && before != found_at(session, imported))
      hint(session,
           fmt::format(
               "warning: in this directory `{}` now means this file, not {}; --name gives it another name",
               imported.name, before));
    print(fmt::format("{} Wrote {}\n", imported.summary, path));
  }
  return answered;
}

}  // namespace

void define_import(const Arguments& root, Session& session, Action& action) {
  auto words = std::make_shared<Words>();
  const Arguments command = root.add_command("import", "convert a model or a system of another tool");
  command.text(
      "FILE", words->file,
      {.help = "a network (.net), a platform (.plat) or a list of cut layers (.lc); `-` is standard input",
       .required = true});
  command.text("-o", words->output,
               {.help = "output file; default: models/NAME.yaml or systems/NAME.yaml if there is such a "
                        "folder, otherwise NAME.yaml; `-` prints it",
                .meta = "OUT.yaml"});
  command.text(
      "--name", words->name,
      {.help = "name of the result; default: that of OUT.yaml, or the one in the file", .meta = "NAME"});
  command.texts("--split", words->splits,
                {.help = "list of the layers that a strategy cuts; repeatable", .meta = "STRATEGY=FILE.lc"});
  command.flag("--force", words->force, {.help = "replace an existing file"});
  command.footer(R"(Examples:
  paradl import RESNET50_ImageNet.net -o models/resnet50-authors.yaml --split filter=filter_resnet.lc
  paradl import ABCI.plat --name abci-flat
  paradl import COSMOFLOW.net -o - | less)");
  command.runs(action, [&session, words] { return run(session, *words); });
}

}  // namespace paradl
