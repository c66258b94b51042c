#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace paradl {

/// What one GPU costs for an hour, in a currency that is a word: "2.5 USD/h".
struct Price {
  double per_hour = 0;
  std::string currency;
  friend bool operator==(const Price&, const Price&) = default;
};

/// "2.5 USD/h" -> Price. Nothing if it is not a number, a word of letters and `/h`, or too large to be meant.
std::optional<Price> parse_price(std::string_view text);

/// How to ask for one in an error message.
inline constexpr std::string_view wanted_price = "what a GPU costs for an hour, such as `2.5 USD/h`";

}  // namespace paradl
