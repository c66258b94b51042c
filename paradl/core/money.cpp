#include "paradl/core/money.hpp"

#include <algorithm>
#include <charconv>

namespace paradl {

std::optional<Price> parse_price(std::string_view text) {
  constexpr double dearest = 1e9;
  constexpr std::string_view per_hour = "/h";
  Price price;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), price.per_hour);
  if (failed != std::errc{} || !(price.per_hour >= 0 && price.per_hour <= dearest)) return {};
  text.remove_prefix(std::size_t(end - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  if (!text.ends_with(per_hour)) return {};
  text.remove_suffix(per_hour.size());
  const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  if (text.empty() || !std::ranges::all_of(text, is_letter)) return {};
  price.currency = text;
  return price;
}

}  // namespace paradl
