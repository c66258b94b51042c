#include "calibrate/files/system_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <map>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/core/text.hpp"
#include "paradl/spec/foreign/text.hpp"
#include "paradl/spec/reader.hpp"

namespace paradl::calibrate {
namespace {

using Lines = std::vector<std::string>;

std::string words(Seconds time, int digits = 6) {
  return fmt::format("{:.{}g} us", time.base() * 1e6, digits);
}

std::string words(Bandwidth rate, int digits = 6) {
  return fmt::format("{:.{}g} GB/s", rate.base() / 1e9, digits);
}

std::string words(Bytes size) {
  const auto bytes = size.base();
  if (bytes >= 0x1p20 && std::fmod(bytes, 0x1p20) == 0) return fmt::format("{} MiB", bytes / 0x1p20);
  if (bytes >= 0x1p10 && std::fmod(bytes, 0x1p10) == 0) return fmt::format("{} KiB", bytes / 0x1p10);
  return fmt::format("{} B", bytes);
}

/// "+- 0.1 us, +- 2 %; 1.3 % off on average, 4 % at most, r2 0.998": 95 % confidence intervals.
std::string quality(const LineFit& line) {
  std::string out = fmt::format("+- {:.2g} us", 1e6 * line.alpha.interval());
  if (line.beta.value > 0) out += fmt::format(", +- {:.2g} %", 100 * line.beta.interval() / line.beta.value);
  return out + fmt::format("; {:.2g} % off on average, {:.2g} % at most, r2 {:.3f}", 100 * line.mean_error,
                           100 * line.worst_error, line.r2);
}

/// "gpus: 16, nodes: 2, ", if a group is named.
std::string words(const MeasuredGroup& group) {
  if (group.gpus == 0) return "";
  return fmt::format("gpus: {}, {}", group.gpus,
                     group.nodes > 1 ? fmt::format("nodes: {}, ", group.nodes) : "");
}

/// The comment above all ranges of one operation.
std::string heading(const LinkFit& fit) {
  if (!fit.origin.empty()) return fmt::format("{}: {}", fit.origin, fit.quality);
  std::size_t points = 0;
  for (const RangeFit& range : fit.ranges) points += range.line.points;
  return fmt::format("{} on {} ranks: {} points, {:.2g} % off on average",
                     collective_names[std::size_t(fit.operation)], fmt::join(fit.ranks, ", "), points,
                     100 * fit.mean_error);
}

/// `measured:` and its entries, indented by `indent`.
Lines measured_lines(const MeasuredLevel& level, const Provenance& provenance, const std::string& indent) {
  const std::string when =
      provenance.date.empty() ? "" : fmt::format(", {}; intervals of 95 %", provenance.date);
  Lines out{fmt::format("{}measured:  # by {}{}", indent, provenance.tool, when)};
  for (const LinkFit& fit : level.fits) {
    out.push_back(fmt::format("{}  # {}", indent, heading(fit)));
    const int digits = fit.origin.empty() ? 6 : 4;  // published tables have three or four
    for (const RangeFit& range : fit.ranges) {
      const MeasuredLinkSpec link = link_spec(fit, range);
      const std::string below =
          std::isfinite(link.below.base()) ? fmt::format(" below: {},", words(link.below)) : "";
      out.push_back(fmt::format("{}  - {{operation: {}, {}from: {},{} latency: {}, bandwidth: {}}}{}", indent,
                                collective_names[std::size_t(link.operation)], words(link.group),
                                words(link.from), below, words(link.latency, digits),
                                words(link.bandwidth, digits),
                                fit.quality.empty() ? fmt::format("  # {}", quality(range.line)) : ""));
    }
  }
  return out;
}

Lines summary_lines(const MeasuredLevel& level, const Provenance& provenance, const std::string& indent) {
  const LevelSpec spec = level_spec(level);
  const std::string comment =
      level.fits.empty() ? "placeholders, not measured: there was one rank"
                         : fmt::format("measured {}, {}", provenance.date, quality(summary_line(level)));
  return {fmt::format("{}latency: {}  # {}", indent, words(spec.latency), comment),
          fmt::format("{}bandwidth: {}", indent, words(spec.bandwidth))};
}

void append(Lines& to, const Lines& more) { to.insert(to.end(), more.begin(), more.end()); }

std::string joined(const Lines& lines) { return fmt::format("{}\n", fmt::join(lines, "\n")); }

// Changing a file line by line

std::size_t indent_of(std::string_view line) {
  const std::size_t at = line.find_first_not_of(' ');
  return at == line.npos ? line.size() : at;
}
bool says_nothing(std::string_view line) {
  const std::size_t at = line.find_first_not_of(" \t\r");
  return at == line.npos || line[at] == '#';
}

/// The lines of one level: [first, end), its dash and the column of its keys.
struct Extent {
  std::size_t first = 0, end = 0, dash = 0, keys = 0;
};

[[noreturn]] void refuse(const SourceText& source, const std::string& level) {
  throw UsageError(
      fmt::format("cannot change level `{}` of {} without losing other parts of it", level, source.file),
      "write each level on one line, `- {name: ..., ...}`, or one key per line");
}

Extent extent_of(const Lines& lines, const YAML::Node& level, const std::string& name,
                 const SourceText& source) {
  Extent out{.first = std::size_t(level.Mark().line), .keys = std::size_t(level.Mark().column)};
  const std::string& head = lines[out.first];
  out.dash = indent_of(head);
  if (out.dash >= head.size() || head[out.dash] != '-') refuse(source, name);
  out.end = out.first + 1;
  for (std::size_t i = out.end; i < lines.size(); ++i) {
    if (says_nothing(lines[i])) continue;
    if (indent_of(lines[i]) <= out.dash) break;
    out.end = i + 1;
  }
  return out;
}

/// Writes a level of one line as one key per line, with its comment above.
Lines unfolded(const Lines& lines, const Extent& at, const YAML::Node& level, const std::string& name,
               const SourceText& source) {
  const std::string& head = lines[at.first];
  const std::size_t close = head.rfind('}');
  if (at.end != at.first + 1 || close == head.npos) refuse(source, name);
  const std::string rest = head.substr(close + 1);
  if (!says_nothing(rest)) refuse(source, name);
  Lines out;
  if (const std::size_t comment = rest.find('#'); comment != rest.npos)
    out.push_back(std::string(at.dash, ' ') + rest.substr(comment));
  std::string lead = std::string(at.dash, ' ') + "- ";
  for (const auto& pair : level) {
    YAML::Emitter emitter;
    emitter << YAML::Flow << pair.second;
    out.push_back(fmt::format("{}{}: {}", lead, pair.first.as<std::string>(), emitter.c_str()));
    lead = std::string(at.dash + 2, ' ');
  }
  return out;
}

/// Removes a key and the lines indented below it from the lines of a level. Returns its position.
std::size_t remove_key(Lines& lines, std::size_t keys, const std::string& key) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool first = indent_of(lines[i]) < keys;  // "- name: node"
    if (says_nothing(lines[i]) || first || indent_of(lines[i]) != keys) continue;
    if (!lines[i].substr(keys).starts_with(key + ":")) continue;
    std::size_t end = i + 1;
    // A list may have the indentation of its key.
    while (end < lines.size() && (says_nothing(lines[end]) || indent_of(lines[end]) > keys ||
                                  lines[end].substr(keys).starts_with("- ")))
      ++end;
    while (end > i + 1 && says_nothing(lines[end - 1]) && indent_of(lines[end - 1]) <= keys) --end;
    lines.erase(lines.begin() + std::ptrdiff_t(i), lines.begin() + std::ptrdiff_t(end));
    return i;
  }
  return lines.size();
}

Lines changed_level(Lines lines, std::size_t keys, const MeasuredLevel& measured,
                    const Provenance& provenance) {
  const std::string indent(keys, ' ');
  remove_key(lines, keys, "measured");
  if (measured.keeps_specified) {
    append(lines, measured_lines(measured, provenance, indent));
    return lines;
  }
  const std::size_t latency_at = remove_key(lines, keys, "latency");
  const std::size_t bandwidth_at = remove_key(lines, keys, "bandwidth");
  const std::size_t at = std::min({latency_at, bandwidth_at, lines.size()});
  const Lines summary = summary_lines(measured, provenance, indent);
  lines.insert(lines.begin() + std::ptrdiff_t(at), summary.begin(), summary.end());
  append(lines, measured_lines(measured, provenance, indent));
  return lines;
}

/// The level of that name. In files with other names: the innermost level, or the one around it.
std::size_t place_of(const MeasuredLevel& level, const SystemSpec& spec) {
  const auto named = [&](std::string_view name) {
    return std::size_t(std::ranges::find(spec.levels, name, &LevelSpec::name) - spec.levels.begin());
  };
  const std::string name = name_of(level.level), node = name_of(GroupLevel::node);
  if (const std::size_t at = named(name); at < spec.levels.size()) return at;
  const bool inner = level.level == GroupLevel::node;
  const std::size_t at = inner ? 0 : named(node) < spec.levels.size() ? named(node) + 1 : 1;
  if (at >= spec.levels.size() || spec.levels[at].name == (inner ? name_of(GroupLevel::cluster) : node))
    throw UsageError(fmt::format("{} has no level `{}`, but it was measured", spec.source.file, name),
                     "add that level to the file, or write a new file");
  return at;
}

/// Whether everything but the links is unchanged.
bool same_but_links(const SystemSpec& a, const SystemSpec& b) {
  const auto keep = [](const LevelSpec& l) {
    return std::tuple(l.name, l.size, l.ports, l.oversubscription);
  };
  if (a.levels.size() != b.levels.size()) return false;
  for (std::size_t i = 0; i < a.levels.size(); ++i)
    if (keep(a.levels[i]) != keep(b.levels[i]) ||
        a.levels[i].watts.has_value() != b.levels[i].watts.has_value())
      return false;
  return a.name == b.name && a.summary == b.summary && a.origin == b.origin && a.topology == b.topology &&
         a.device.name == b.device.name && a.device.memory == b.device.memory &&
         a.half_duplex == b.half_duplex && a.host.has_value() == b.host.has_value();
}

}  // namespace

std::string today() {
  std::time_t now = std::time(nullptr);
  if (const char* epoch = std::getenv("SOURCE_DATE_EPOCH")) {
    char* end = nullptr;
    const long long seconds = std::strtoll(epoch, &end, 10);
    if (end != epoch && *end == '\0') now = std::time_t(seconds);
  }
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(now));
}

std::string system_text(const MeasuredSystem& system, const Provenance& provenance) {
  Lines out{fmt::format("# {}: measured by {}, {}", system.name, provenance.tool, provenance.date),
            fmt::format("name: {}", foreign::scalar(system.name))};
  const auto quoted = [](const std::string& text) {
    YAML::Emitter emitter;
    emitter << YAML::DoubleQuoted << text;
    return std::string(emitter.c_str());
  };
  if (!system.summary.empty()) out.push_back("summary: " + quoted(system.summary));
  out.push_back("source: " + quoted(fmt::format("{}, {}", provenance.tool, provenance.date)));
  Lines peaks;
  for (std::size_t i = 0; i < precision_names.size(); ++i)
    if (system.device.peak[i])
      peaks.push_back(
          fmt::format("{}: {:.6g} Gflop/s", precision_names[i], system.device.peak[i]->base() / 1e9));
  append(out, {"device:", "  name: " + quoted(system.device.name),
               fmt::format("  memory: {:.6g} GB", system.device.memory.base() / 1e9),
               fmt::format("  memory-bandwidth: {}", words(system.device.memory_bandwidth)),
               fmt::format("  peak: {{{}}}", fmt::join(peaks, ", ")), "levels:"});
  for (const MeasuredLevel& level : system.levels) {
    append(out, {fmt::format("  - name: {}", name_of(level.level)), fmt::format("    size: {}", level.size)});
    append(out, summary_lines(level, provenance, "    "));
    if (!level.fits.empty()) append(out, measured_lines(level, provenance, "    "));
  }
  return joined(out);
}

std::string updated_system(const SystemSpec& existing, const std::vector<MeasuredLevel>& levels,
                           const Provenance& provenance) {
  const SourceText& source = existing.source;
  std::map<std::size_t, const MeasuredLevel*> measured;  // by place in the file
  for (const MeasuredLevel& level : levels)
    if (!level.fits.empty()) measured[place_of(level, existing)] = &level;
  Lines lines;
  for (std::string_view line : split(source.text, '\n')) lines.emplace_back(line);
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  const YAML::Node list = parse_yaml(source)["levels"];
  if (list.Style() == YAML::EmitterStyle::Flow) refuse(source, existing.levels.front().name);
  // From the last to the first: lines above keep their numbers.
  for (auto at_level = measured.rbegin(); at_level != measured.rend(); ++at_level) {
    const std::size_t k = at_level->first;
    const YAML::Node level = list[k];
    const std::string& name = existing.levels[k].name;
    Extent at = extent_of(lines, level, name, source);
    Lines own(lines.begin() + std::ptrdiff_t(at.first), lines.begin() + std::ptrdiff_t(at.end));
    if (level.Style() == YAML::EmitterStyle::Flow) {
      own = unfolded(lines, at, level, name, source);
      at.keys = at.dash + 2;
    }
    own = changed_level(std::move(own), at.keys, *at_level->second, provenance);
    lines.erase(lines.begin() + std::ptrdiff_t(at.first), lines.begin() + std::ptrdiff_t(at.end));
    lines.insert(lines.begin() + std::ptrdiff_t(at.first), own.begin(), own.end());
  }
  const std::string text = joined(lines);
  try {
    if (!same_but_links(existing, read_system({source.file, text})))
      refuse(source, existing.levels.front().name);
  } catch (const SpecError&) {
    refuse(source, existing.levels.front().name);
  }
  return text;
}

}  // namespace paradl::calibrate
