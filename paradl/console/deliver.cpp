#include "paradl/console/deliver.hpp"

#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "paradl/console/files.hpp"

namespace paradl {
namespace {

std::string format_of(const std::string& path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension == ".json") return "json";
  if (extension == ".jsonl") return "jsonl";
  if (extension == ".csv") return "csv";
  if (extension == ".md") return "markdown";
  if (extension == ".tex") return "latex";
  if (extension == ".txt") return "text";
  if (extension == ".svg") return "svg";
  throw UsageError(fmt::format("-o {}: no format goes with `{}`", path, extension),
                   "use .json, .jsonl, .csv, .md, .tex or .txt; `validate` draws .svg, too");
}

}  // namespace

std::string render_table(const std::string& format, const Table& table) {
  if (format == "markdown") return to_markdown(table);
  if (format == "csv") return to_csv(table);
  if (format == "latex") return to_latex(table);
  throw UsageError(fmt::format("-f {}: not a format", format),
                   "use text, markdown, csv, json, jsonl or latex");
}

void check_delivery(const Options& options) {
  options.read("format", "text", [](const std::string& format) {
    for (const std::string_view known : {"text", "json", "jsonl"})
      if (format == known) return format;
    return render_table(format, {});
  });
  for (const std::string& path : options.outputs()) {
    format_of(path);
    demand_writable_folder(path);
  }
}

void deliver(const Session& session, const Options& options, const Render& render) {
  const std::string main = options.read(
      "format", "text", [&](const std::string& format) { return render(format, session.style()); });
  // Nothing is written before everything is rendered.
  std::vector<std::pair<std::string, std::string>> texts;
  for (const std::string& path : options.outputs())
    texts.emplace_back(path, render(format_of(path), Style{}));
  write_files(texts);
  print(main);
}

}  // namespace paradl
