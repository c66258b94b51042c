// paradl import: bring in a model or a system from another tool.
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

/// A file is found by its own name, so a name that was not given is the output's, if that can be one.
std::string name_of(const Words& words) {
  if (!words.name.empty() || words.output == "-") return words.name;
  const auto plain = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; };
  const std::string stem = fs::path(words.output).stem().string();
  return std::ranges::all_of(stem, plain) ? stem : "";
}

/// Names are looked up with `-` for `_`, hence files are called so.
std::string file_name(std::string name) {
  std::ranges::replace(name, '_', '-');
  return name + ".yaml";
}

/// models/NAME.yaml or systems/NAME.yaml where there is such a folder here, else NAME.yaml.
std::string default_output(const Imported& imported) {
  const fs::path folder = imported.kind == Imported::Kind::model ? "models" : "systems";
  std::error_code failed;
  return (fs::is_directory(folder, failed) ? folder / file_name(imported.name)
                                           : fs::path(file_name(imported.name)))
      .string();
}

/// What cannot be read back must not be left behind: it would be our mistake in the user's folder.
void check_loads(const Session& session, const Imported& imported, const std::string& file) {
  const SourceText made{file, imported.yaml};
  try {
    switch (imported.kind) {
      case Imported::Kind::model:
        build_workload(
            read_model(made, [&](const std::string& base) { return session.catalog.find("models", base); }));
        break;
      case Imported::Kind::system:
        build_machine(read_system(made));
        break;
      case Imported::Kind::split:
        parse_yaml(made);
        break;
    }
  } catch (const SpecError& error) {
    throw std::logic_error(fmt::format("what import made does not load: line {}, {}",
                                       error.problems().front().where.line, error.what()));
  }
}

/// Where the name leads to now; empty if nowhere.
std::string found_at(const Session& session, const Imported& imported) {
  const std::string folder = imported.kind == Imported::Kind::model ? "models" : "systems";
  const auto names = session.catalog.names(folder);
  std::string name = imported.name;
  std::ranges::replace(name, '_', '-');
  return std::ranges::find(names, name) == names.end() ? "" : session.catalog.find(folder, name).file;
}

void refuse_to_replace(const std::string& path) {
  std::error_code failed;
  if (fs::exists(path, failed))
    throw UsageError(fmt::format("there is a file `{}` already", path),
                     "add --force to replace it, or name another with -o");
}

int run(const Session& session, const Words& words) {
  ImportOptions options{.splits = {}, .name = name_of(words)};
  for (const std::string& split : words.splits) options.splits.push_back(read_split(split));
  const Imported imported = import_file(read_source(words.file), options);

  // A list of cut layers is a part of a model file: it is shown, and written only where -o says so.
  const bool shown = words.output == "-" || (words.output.empty() && imported.kind == Imported::Kind::split);
  const std::string path = shown ? "-" : words.output.empty() ? default_output(imported) : words.output;
  check_loads(session, imported, path);
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
               "warning: from here `{}` means this file now, no longer {}; --name gives it another name",
               imported.name, before));
    print(fmt::format("{} Wrote {}\n", imported.summary, path));
  }
  return answered;
}

}  // namespace

void define_import(const Arguments& root, Session& session, Action& action) {
  auto words = std::make_shared<Words>();
  const Arguments command = root.add_command("import", "bring in a model or a system from another tool");
  command.text(
      "FILE", words->file,
      {.help = "a network (.net), a platform (.plat) or a list of cut layers (.lc); `-` is standard input",
       .required = true});
  command.text("-o", words->output,
               {.help = "where to write; default: models/NAME.yaml or systems/NAME.yaml if there is such a "
                        "folder, else NAME.yaml; `-` prints it",
                .meta = "OUT.yaml"});
  command.text("--name", words->name,
               {.help = "of the result; default: that of OUT.yaml, or what the file says", .meta = "NAME"});
  command.texts(
      "--split", words->splits,
      {.help = "which layers a strategy cuts, from a list; repeatable", .meta = "STRATEGY=FILE.lc"});
  command.flag("--force", words->force, {.help = "replace a file that is there already"});
  command.footer(R"(Examples:
  paradl import RESNET50_ImageNet.net -o models/resnet50-authors.yaml --split filter=filter_resnet.lc
  paradl import ABCI.plat --name abci-flat
  paradl import COSMOFLOW.net -o - | less)");
  command.when_chosen(
      [&session, &action, words] { action = [&session, words] { return run(session, *words); }; });
}

}  // namespace paradl
