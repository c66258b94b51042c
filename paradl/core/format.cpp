#include "paradl/core/format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>

namespace paradl {
namespace {

struct Scale {
  double base;
  const char* unit;
};

/// The value of one unit in the third significant digit.
double last_digit(double number) { return std::pow(10.0, std::floor(std::log10(std::abs(number))) - 2); }

/// Rounded to three significant digits.
double rounded(double number) {
  if (number == 0 || !std::isfinite(number)) return number;
  const double unit = last_digit(number);
  return std::round(number / unit) * unit;
}

/// Rounded up to three significant digits; the factor absorbs the rounding error of the division.
double rounded_up(double number) {
  if (number == 0 || !std::isfinite(number)) return number;
  const double unit = last_digit(number);
  return std::ceil(number / unit * (1 - 1e-15)) * unit;
}

/// Uses the largest unit in which the value, rounded to three digits, is at least one; otherwise the smallest
/// unit.
std::string scaled(double value, std::span<const Scale> largest_first) {
  if (value == 0) {
    const auto base = std::ranges::find(largest_first, 1.0, &Scale::base);
    return fmt::format("0{}", (base == largest_first.end() ? largest_first.back() : *base).unit);
  }
  for (const Scale& scale : largest_first)
    if (std::abs(rounded(value / scale.base)) >= 1) return three_digits(value / scale.base) + scale.unit;
  return three_digits(value / largest_first.back().base) + largest_first.back().unit;
}

constexpr std::array time_scales{Scale{1, " s"}, Scale{1e-3, " ms"}, Scale{1e-6, " us"}, Scale{1e-9, " ns"}};
constexpr std::array size_scales{Scale{0x1p30, " GiB"}, Scale{0x1p20, " MiB"}, Scale{0x1p10, " KiB"},
                                 Scale{1, " B"}};
constexpr std::array decimal_scales{Scale{1e12, " TB"}, Scale{1e9, " GB"}, Scale{1e6, " MB"},
                                    Scale{1e3, " kB"}, Scale{1, " B"}};
constexpr std::array rate_scales{Scale{1e12, " TB/s"}, Scale{1e9, " GB/s"}, Scale{1e6, " MB/s"},
                                 Scale{1e3, " kB/s"}, Scale{1, " B/s"}};
constexpr std::array flop_scales{Scale{1e15, " Pflop/s"}, Scale{1e12, " Tflop/s"}, Scale{1e9, " Gflop/s"},
                                 Scale{1, " flop/s"}};
constexpr std::array joule_scales{Scale{1e9, " GJ"}, Scale{1e6, " MJ"}, Scale{1e3, " kJ"}, Scale{1, " J"},
                                  Scale{1e-3, " mJ"}};
constexpr std::array watt_hour_scales{Scale{3.6e12, " GWh"}, Scale{3.6e9, " MWh"}, Scale{3.6e6, " kWh"},
                                      Scale{3.6e3, " Wh"}};
constexpr std::array beta_scales{Scale{1e-6, " us/B"}, Scale{1e-9, " ns/B"}, Scale{1e-12, " ps/B"}};
constexpr std::array count_scales{Scale{1e12, " T"}, Scale{1e9, " G"}, Scale{1e6, " M"}, Scale{1, ""}};

std::string grouped(std::string digits) {
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3;) digits.insert(i -= 3, " ");
  return digits;
}

constexpr double longest_grouped = 1e15;  // larger numbers are printed with an exponent
constexpr double seconds_per_day = 86'400;
constexpr double long_time = 100'000;  // s; longer times are printed in days

}  // namespace

std::string three_digits(double number) {
  if (number == 0) return "0";
  if (!std::isfinite(number)) return fmt::format("{}", number);
  // Round first: 999.6 has to become "1 000", not "1e+03" or "999.6".
  const double value = rounded(number), magnitude = std::abs(value);
  if (magnitude >= longest_grouped) return fmt::format("{:.2e}", value);
  if (magnitude >= 100) return grouped(fmt::format("{:.0f}", value));
  if (magnitude >= 10) return fmt::format("{:.1f}", value);
  if (magnitude >= 1) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3g}", value);
}

std::string count(double number) {
  if (std::abs(number) < 1e6 && number == std::floor(number)) return grouped(fmt::format("{:.0f}", number));
  return scaled(number, count_scales);
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string text(Seconds time) {
  const double s = time.base();
  if (std::isfinite(s) && std::abs(rounded(s)) >= long_time) return three_digits(s / seconds_per_day) + " d";
  return scaled(s, time_scales);
}
std::string text(Bytes size) { return scaled(size.base(), size_scales); }
std::string enough(Bytes size) {
  const auto unit = std::ranges::find_if(
      size_scales, [&](const Scale& scale) { return std::abs(rounded(size.base() / scale.base)) >= 1; });
  const double scale = unit == size_scales.end() ? 1 : unit->base;
  return text(Bytes{rounded_up(size.base() / scale) * scale});
}
std::string decimal(Bytes size) { return scaled(size.base(), decimal_scales); }
std::string text(Bandwidth rate) { return scaled(rate.base(), rate_scales); }
std::string text(FlopRate rate) { return scaled(rate.base(), flop_scales); }
std::string joules(double energy) { return scaled(energy, joule_scales); }
std::string watt_hours(double joules) { return scaled(joules, watt_hour_scales); }
std::string text(SecondsPerByte beta) { return scaled(beta.base(), beta_scales); }

}  // namespace paradl
