#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/spec/foreign.hpp"
#include "paradl/spec/foreign/formats.hpp"
#include "paradl/spec/foreign/layers.hpp"

namespace paradl {
namespace foreign {
namespace {

/// The file type that a single line implies; nothing if it could be any.
std::optional<Imported::Kind> kind_of(const Line& line) {
  const auto& fields = line.fields;
  if (is_platform_key(fields.front().text)) return Imported::Kind::system;
  const std::string key = lower(fields.front().text.substr(0, longest_name));
  if (fields.size() == 2 && (key == "dataset" || key == "input" || key == "model"))
    return Imported::Kind::model;
  if ((fields.size() == 4 || fields.size() == 5) && fields[1].text.find('x') != std::string_view::npos)
    return Imported::Kind::model;
  if (fields.size() == 2 && (fields[1].text == "0" || fields[1].text == "1")) return Imported::Kind::split;
  return {};
}

Imported::Kind kind_of(const SourceText& source) {
  Problems problems(source);
  if (source.text.find('\0') != std::string::npos)
    problems.add({1, 1, 1}, "this is not a text file", "name a .net, .plat or .lc file");
  problems.raise();
  for (const Line& line : read_lines(source.text))
    if (const auto kind = kind_of(line)) return *kind;
  problems.add({1, 1, 1}, "paradl cannot import this file (its type is unknown)",
               "supported: networks (.net: NAME|x|w|y), platforms (.plat: BANDWIDTH|12.5E9|Bps) and lists of "
               "split layers (.lc: NAME|1) of the ParaDL authors' tool");
  problems.raise();
  return {};
}

}  // namespace

Imported import_marks(const SourceText& source, const ImportOptions& options) {
  const Marks marks = read_marks(source);
  const std::string file = base_name(source.file);
  Imported result{.kind = Imported::Kind::split, .name = result_name(options.name, stem_name(source.file))};
  std::string strategy = strategy_of(source.file);
  if (strategy.empty()) {
    strategy = "filter";
    result.warnings.emplace_back(
        "neither the file nor its name says which strategy splits these layers; using `filter`");
  }
  result.yaml = fmt::format(
      "# Imported from {} by paradl import. Copy this line into a model file.\nsplit: {{{}: [{}]}}\n", file,
      strategy, fmt::join(split_words(marks.layers, marks.cut), ", "));
  result.summary = fmt::format("Read {} layers ({} split). To use them: paradl import NET --split {}={}",
                               marks.layers.size(), std::ranges::count(marks.cut, true), strategy, file);
  return result;
}

}  // namespace foreign

Imported import_file(const SourceText& source, const ImportOptions& options) {
  const Imported::Kind kind = foreign::kind_of(source);
  if (kind == Imported::Kind::model) return foreign::import_network(source, options);
  if (!options.splits.empty())
    throw UsageError(fmt::format("`{}` is not a network, so there are no layers to split", source.file),
                     "give the .net file first");
  return kind == Imported::Kind::system ? foreign::import_platform(source, options)
                                        : foreign::import_marks(source, options);
}

}  // namespace paradl
