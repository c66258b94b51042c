#include "paradl/core/units.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace paradl {
namespace {

// clang-format off
constexpr std::array times{Unit{"s", 1}, Unit{"ms", 1e-3}, Unit{"us", 1e-6}, Unit{"ns", 1e-9}};
constexpr std::array sizes{Unit{"B", 1},       Unit{"kB", 1e3},     Unit{"MB", 1e6},     Unit{"GB", 1e9},
                           Unit{"TB", 1e12},   Unit{"PB", 1e15},    Unit{"KiB", 0x1p10}, Unit{"MiB", 0x1p20},
                           Unit{"GiB", 0x1p30}, Unit{"TiB", 0x1p40}};
constexpr std::array rates{Unit{"kB/s", 1e3},  Unit{"MB/s", 1e6},  Unit{"GB/s", 1e9}, Unit{"TB/s", 1e12},
                           Unit{"Mb/s", 1e6 / 8}, Unit{"Gb/s", 1e9 / 8}, Unit{"Tb/s", 1e12 / 8}};  // b = bit
constexpr std::array flop_rates{Unit{"Gflop/s", 1e9}, Unit{"Tflop/s", 1e12}, Unit{"Pflop/s", 1e15}};
// clang-format on

}  // namespace

template <>
std::span<const Unit> units_of<Seconds>() {
  return times;
}
template <>
std::span<const Unit> units_of<Bytes>() {
  return sizes;
}
template <>
std::span<const Unit> units_of<Bandwidth>() {
  return rates;
}
template <>
std::span<const Unit> units_of<FlopRate>() {
  return flop_rates;
}

template <>
std::string_view wanted<Seconds>() {
  return "a time, such as `500 ns`";
}
template <>
std::string_view wanted<Bytes>() {
  return "a size, such as `16 GiB`";
}
template <>
std::string_view wanted<Bandwidth>() {
  return "a bandwidth, such as `12.5 GB/s` or `100 Gb/s`";
}
template <>
std::string_view wanted<FlopRate>() {
  return "a compute rate, such as `15.7 Tflop/s`";
}

template <>
Range plausible<Seconds>() {
  return {1e-15, 1e9, "from 1e-6 ns to 1e9 s"};
}
template <>
Range plausible<Bytes>() {
  return {1, 1e21, "from 1 B to 1e6 PB"};
}
template <>
Range plausible<Bandwidth>() {
  return {1e3, 1e18, "from 1 kB/s to 1e6 TB/s"};
}
template <>
Range plausible<FlopRate>() {
  return {1e6, 1e24, "from 0.001 Gflop/s to 1e9 Pflop/s"};
}

template <class Q>
std::optional<Q> parse(std::string_view text) {
  double number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc{} || !std::isfinite(number) || number < 0) return {};
  text.remove_prefix(std::size_t(end - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  const auto units = units_of<Q>();
  const auto unit = std::ranges::find(units, text, &Unit::name);
  if (unit == units.end()) return {};
  // Dividing by a power of ten is exact, multiplying by its inverse is not: 10 us must be 1e-5 s to the last
  // bit.
  const double base = unit->base < 1 ? number / std::round(1 / unit->base) : number * unit->base;
  if (std::isfinite(base)) return Q{base};
  return {};
}
template std::optional<Seconds> parse(std::string_view);
template std::optional<Bytes> parse(std::string_view);
template std::optional<Bandwidth> parse(std::string_view);
template std::optional<FlopRate> parse(std::string_view);

}  // namespace paradl
