#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace paradl {

/// The price of one GPU for an hour, in a currency named by letters: "2.5 USD/h".
struct Price {
  double per_hour = 0;
  std::string currency;
  friend bool operator==(const Price&, const Price&) = default;
};

/// "2.5 USD/h" -> Price. Nothing if it is not a number, letters and `/h`, or if it is implausibly large.
std::optional<Price> parse_price(std::string_view text);

/// How an error message asks for a price.
inline constexpr std::string_view wanted_price = "the price of a GPU for an hour, such as `2.5 USD/h`";

}  // namespace paradl
