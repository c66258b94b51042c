#include "paradl/console/deliver.hpp"

#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "paradl/console/files.hpp"

namespace paradl {
namespace {

using Print = std::function<std::string(const FormatRow& format, const Style& style)>;

void deliver(const Session& session, const Options& options, bool draws, const Print& print_as) {
  const std::string main = print_as(options.format(draws), session.style());
  // Nothing is written before everything is rendered.
  std::vector<std::pair<std::string, std::string>> texts;
  for (const std::string& path : options.outputs())
    texts.emplace_back(path, print_as(format_of_file(path, draws), Style{}));
  write_files(texts);
  print(main);
}

}  // namespace

void check_delivery(const Options& options, bool draws) {
  options.format(draws);
  for (const std::string& path : options.outputs()) {
    format_of_file(path, draws);
    demand_writable_folder(path);
  }
}

void deliver(const Session& session, const Options& options, const Output& output) {
  deliver(session, options, bool(output.picture),
          [&](const FormatRow& format, const Style& style) { return format.print(output, style); });
}

void deliver(const Session& session, const Options& options, const Render& render) {
  deliver(session, options, false, [&](const FormatRow& format, const Style& style) {
    return render(std::string(format.name), style);
  });
}

std::string render_table(const std::string& format, const Table& table) {
  return read_format(format).print({.table = [&](ReadBy) { return table; }}, {});
}

}  // namespace paradl
