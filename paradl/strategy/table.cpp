#include "paradl/strategy/table.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "paradl/core/text.hpp"

namespace paradl {

std::span<const Strategy* const> strategies() {
  static const std::vector<const Strategy*> table = [] {
    std::vector<const Strategy*> rows;
    const auto add = [&rows](const Strategy& row) { rows.push_back(&row); };
    // clang-format off
    extern const Strategy data_strategy;
    add(data_strategy);
    extern const Strategy spatial_strategy;
    add(spatial_strategy);
    extern const Strategy layer_strategy;
    add(layer_strategy);
    extern const Strategy filter_strategy;
    add(filter_strategy);
    extern const Strategy channel_strategy;
    add(channel_strategy);
    extern const Strategy tensor_strategy;
    add(tensor_strategy);
    extern const Strategy context_strategy;
    add(context_strategy);
    extern const Strategy expert_strategy;
    add(expert_strategy);
    // clang-format on
    return rows;
  }();
  return table;
}

const Strategy* find_strategy(std::string_view name) {
  const auto rows = strategies();
  const auto row = std::ranges::find(rows, name, &Strategy::name);
  return row == rows.end() ? nullptr : *row;
}

const Strategy& outer_strategy() { return **std::ranges::find_if(strategies(), &Strategy::outer); }

bool names_strategy(std::string_view word) {
  const std::string_view first = word.substr(0, word.find_first_of("+/"));
  return first == serial_name || find_strategy(first);
}

std::string in_core(const StrategyName& strategy) {
  return strategy.text.substr(0,
                              strategy.text.size() - (strategy.out_of_core ? out_of_core_suffix.size() : 0));
}

StrategyName hybrid(std::vector<const Strategy*> axes) {
  std::string text;
  for (const Strategy* axis : axes) text += fmt::format("{}{}", text.empty() ? "" : "+", axis->name);
  return {text.empty() ? std::string(serial_name) : text, std::move(axes)};
}

StrategyName out_of_core(const StrategyName& strategy) {
  if (strategy.out_of_core) return strategy;
  StrategyName out = strategy;
  out.text += out_of_core_suffix;
  out.out_of_core = true;
  return out;
}

namespace {

/// Names of strategies in other software.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> other_names{{
    {"pipeline", "use `layer`"},
    {"pp", "use `layer`"},
    {"tp", "use `tensor`"},
    {"dp", "use `data`"},
    {"ddp", "use `data`; --framework ddp adds the behaviour of that framework"},
    {"fsdp", "use `data` with --zero 3"},
    {"zero", "use `data` with --zero 1, 2 or 3"},
    {"sequence", "use `context`, or `tensor` with --sequence-parallel on"},
}};

std::string strategy_help(std::string_view name) {
  for (const auto& [other, help] : other_names)
    if (other == name) return std::string(help);
  std::vector<std::string> known{std::string(serial_name)};
  for (const Strategy* s : strategies()) known.emplace_back(s->name);
  const std::string near = did_you_mean(name, known);
  return near.empty() ? "`paradl strategies` lists them; hybrids are joined with `+`, and /ooc at the end is "
                        "out of core"
                      : near;
}

}  // namespace

StrategyName read_strategy(std::string_view text) {
  if (text.ends_with(out_of_core_suffix)) {
    const StrategyName strategy = read_strategy(text.substr(0, text.size() - out_of_core_suffix.size()));
    if (strategy.out_of_core)
      throw UsageError(fmt::format("`{}` is out of core twice", text), fmt::format("use {}", strategy.text));
    return out_of_core(strategy);
  }
  StrategyName strategy{.text = std::string(text), .axes = {}};
  if (text == serial_name) return strategy;
  if (text.empty() || text.starts_with('+') || text.ends_with('+') || text.find("++") != text.npos)
    throw UsageError(text.empty() ? "the strategy has no name"
                                  : fmt::format("a strategy is missing before or after a `+` of `{}`", text),
                     "write data, data+filter or data/ooc");
  for (std::string_view rest = text;;) {
    const std::string_view name = rest.substr(0, rest.find('+'));
    const Strategy* axis = find_strategy(name);
    if (!axis) {
      if (const std::size_t equals = name.find('=');
          equals != name.npos && find_strategy(name.substr(0, equals)))
        throw UsageError(fmt::format("`{}` is a size, not a strategy", name),
                         fmt::format("sizes go to --grid {}", name));
      if (name == serial_name)
        throw UsageError("`serial` is one GPU and cannot be part of a hybrid", "leave it out");
      throw UsageError(fmt::format("no strategy is called `{}`", name), strategy_help(name));
    }
    if (std::ranges::find(strategy.axes, axis) != strategy.axes.end())
      throw UsageError(fmt::format("`{}` appears twice in `{}`", name, text), "name each axis once");
    if (strategy.axes.size() == most_axes)
      throw UsageError(fmt::format("`{}` has more than {} axes", text, most_axes), "use fewer axes");
    const auto same_extents = [&](const Strategy* other) {
      return axis->input == Placement::split_space && other->input == axis->input;
    };
    if (const auto other = std::ranges::find_if(strategy.axes, same_extents); other != strategy.axes.end())
      throw UsageError(
          fmt::format("`{}` and `{}` both split the extents of a sample", (*other)->name, axis->name),
          "use one of them");
    strategy.axes.push_back(axis);
    if (name.size() == rest.size()) return strategy;
    rest.remove_prefix(name.size() + 1);
  }
}

std::vector<StrategyName> default_strategies() {
  std::vector<StrategyName> list{hybrid({})};
  for (const Strategy* axis : strategies())
    if (axis->usual) list.push_back(hybrid({axis}));
  for (const Strategy* axis : strategies())
    if (!axis->outer && axis->usual) list.push_back(hybrid({&outer_strategy(), axis}));
  for (const Strategy* axis : strategies())
    if (!axis->within.empty()) list.push_back(read_strategy(fmt::format("{}+{}", axis->within, axis->name)));
  return list;
}

namespace {

std::optional<int> read_count(std::string_view text) {
  int value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size() || value < 1) return {};
  return value;
}

/// `4`, or `2x2` for an axis that cuts space.
Parts read_parts(std::string_view text, const Strategy& axis, std::string_view grid) {
  const auto numbers = split(text, 'x');
  Parts parts;
  double total = 1;
  for (std::size_t d = 0; d < numbers.size(); ++d) {
    const auto n = read_count(numbers[d]);
    if (!n || d >= 3 || (numbers.size() > 1 && axis.input != Placement::split_space))
      throw UsageError(fmt::format("cannot read `{}` in the grid `{}`", text, grid),
                       "write data=16,filter=4; a cut of space may be spatial=2x2");
    total *= *n;
    if (numbers.size() > 1) parts.cut[d] = *n;
  }
  if (total > 1e9)
    throw UsageError(fmt::format("the grid `{}` is larger than any machine", grid), "choose smaller sizes");
  parts.total = int(total);
  return parts;
}

}  // namespace

std::vector<Parts> read_grid(std::string_view text, const StrategyName& strategy) {
  std::vector<Parts> grid(strategy.axes.size());
  const auto mismatch = [&] {
    std::string example;
    for (const Strategy* axis : strategy.axes)
      example += fmt::format("{}{}=4", example.empty() ? "" : ",", axis->name);
    return UsageError(fmt::format("the grid `{}` does not fit the strategy `{}`", text, strategy.text),
                      example.empty() ? "serial has no grid" : "write " + example);
  };
  if (text.find('=') == text.npos) {
    const auto numbers = split(text, 'x');
    if (numbers.size() != grid.size() && !(grid.size() == 1 && numbers.size() <= 3)) throw mismatch();
    if (grid.size() == 1) return {read_parts(text, *strategy.axes[0], text)};
    for (std::size_t a = 0; a < grid.size(); ++a) grid[a] = read_parts(numbers[a], *strategy.axes[a], text);
    return grid;
  }
  std::vector<bool> given(grid.size());
  for (const std::string_view item : split(text, ',')) {
    const std::string_view name = item.substr(0, item.find('='));
    const auto axis = std::ranges::find(strategy.axes, name, &Strategy::name);
    if (axis == strategy.axes.end() || item.find('=') == item.npos) throw mismatch();
    const auto a = std::size_t(axis - strategy.axes.begin());
    if (given[a])
      throw UsageError(fmt::format("`{}` is given twice in the grid `{}`", name, text), "keep one of them");
    given[a] = true;
    grid[a] = read_parts(item.substr(name.size() + 1), **axis, text);
  }
  if (std::ranges::find(given, false) != given.end()) throw mismatch();
  return grid;
}

std::string grid_text(const Mesh& mesh, bool short_form) {
  std::string out;
  for (int a = 0; a < mesh.axes; ++a) {
    const auto& [strategy, parts] = mesh.axis[std::size_t(a)];
    const bool several = (parts.cut[0] > 1) + (parts.cut[1] > 1) + (parts.cut[2] > 1) > 1;
    if (short_form) {
      out += fmt::format("{}{}", a ? "x" : "", parts.total);
    } else {
      out += fmt::format("{}{}=", a ? "," : "", strategy->name);
      out += several ? fmt::format("{}x{}{}", parts.cut[0], parts.cut[1],
                                   parts.cut[2] > 1 ? fmt::format("x{}", parts.cut[2]) : "")
                     : fmt::format("{}", parts.total);
    }
  }
  return out.empty() ? "1" : out;
}

std::string exact_grid(const Mesh& mesh, int extents) {
  std::string out;
  for (int a = 0; a < mesh.axes; ++a) {
    const auto& [strategy, parts] = mesh.axis[std::size_t(a)];
    out += fmt::format("{}{}=", a ? "," : "", strategy->name);
    int last = strategy->input == Placement::split_space ? extents : 1;
    for (int d = last; d < 3; ++d)
      if (parts.cut[std::size_t(d)] > 1) last = d + 1;
    if (last < 2) out += fmt::format("{}", parts.total);
    for (int d = 0; d < last && last > 1; ++d)
      out += fmt::format("{}{}", d ? "x" : "", parts.cut[std::size_t(d)]);
  }
  return out;
}

}  // namespace paradl
