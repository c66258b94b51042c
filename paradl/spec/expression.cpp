#include "paradl/spec/expression.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "paradl/core/error.hpp"

namespace paradl {
namespace {

constexpr std::int64_t largest = (std::int64_t{1} << 31) - 1;  // far more than any size of a network

constexpr std::size_t longest =
    200;  // letters; an expression is evaluated for each layer of a repeated block

class Parser {
 public:
  Parser(std::string_view text, const Parameters& parameters) : rest_(text), parameters_(parameters) {}

  std::int64_t whole() {
    const std::int64_t value = sum();
    if (!rest_.empty()) fail();
    return value;
  }

 private:
  [[noreturn]] void fail() const {
    throw ExpressionError{"cannot read this number",
                          "write a whole number, or one with `$names`, + - * / and min(,)"};
  }

  /// Absolute values stay below 2^31, so that a product of two cannot overflow before it is checked.
  static std::int64_t checked(std::int64_t value) {
    if (value > largest || value < -largest) throw ExpressionError{"this number is too large", ""};
    return value;
  }

  bool take(char c) {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::int64_t sum() {
    std::int64_t value = product();
    for (;;) {
      if (take('+'))
        value = checked(value + product());
      else if (take('-'))
        value = checked(value - product());
      else
        return value;
    }
  }

  std::int64_t product() {
    std::int64_t value = atom();
    for (;;) {
      if (take('*')) {
        value = checked(value * atom());
      } else if (take('/')) {
        const std::int64_t by = atom();
        if (by == 0 || value % by != 0)
          throw ExpressionError{fmt::format("{} is not a multiple of {}", value, by),
                                "choose values that divide evenly"};
        value /= by;
      } else {
        return value;
      }
    }
  }

  std::int64_t atom() {
    if (take('(')) {
      if (++depth_ > 32) fail();
      const std::int64_t value = sum();
      if (!take(')')) fail();
      --depth_;
      return value;
    }
    if (take('$')) return name();
    if (rest_.starts_with("min(")) {
      rest_.remove_prefix(4);
      if (++depth_ > 32) fail();
      const std::int64_t first = sum();
      if (!take(',')) fail();
      const std::int64_t value = std::min(first, sum());
      if (!take(')')) fail();
      --depth_;
      return value;
    }
    std::int64_t value = 0;
    const auto [end, failed] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (failed == std::errc::result_out_of_range) throw ExpressionError{"this number is too large", ""};
    if (failed != std::errc{}) fail();
    rest_.remove_prefix(std::size_t(end - rest_.data()));
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    return checked(value);
  }

  /// Takes the longest known name: `$kv-heads` is one name if there is such a parameter, otherwise `$kv -
  /// heads`.
  std::int64_t name() {
    const std::string_view words = rest_.substr(0, rest_.find_first_of(" +*/(),$"));
    for (std::size_t end = words.size(); end != words.npos;
         end = end == 0 ? words.npos : words.rfind('-', end - 1)) {
      const auto found = parameters_.find(std::string(words.substr(0, end)));
      if (found == parameters_.end()) continue;
      rest_.remove_prefix(end);
      while (rest_.starts_with(' ')) rest_.remove_prefix(1);
      return found->second;
    }
    std::vector<std::string> known;
    for (const auto& [key, value] : parameters_) known.push_back(key);
    const std::string word(words.substr(0, words.find('-')));
    throw ExpressionError{fmt::format("there is no parameter `{}`", word), did_you_mean(word, known)};
  }

  std::string_view rest_;
  const Parameters& parameters_;
  int depth_ = 0;
};

}  // namespace

std::int64_t evaluate(std::string_view text, const Parameters& parameters) {
  if (text.size() > longest)
    throw ExpressionError{"this number is too long", "name its parts in `parameters`"};
  return Parser(text, parameters).whole();
}

}  // namespace paradl
