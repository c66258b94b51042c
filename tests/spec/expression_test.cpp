#include "paradl/spec/expression.hpp"

#include <doctest/doctest.h>

#include "paradl/spec/layer_list.hpp"

namespace paradl {
namespace {

const Parameters gpt{{"hidden", 768}, {"heads", 12}, {"kv", 7}, {"kv-heads", 4}, {"h", 2}, {"seq", 1024}};

/// The error message, or "" if there is a value.
std::string refusal(std::string_view text, const Parameters& parameters = gpt) {
  try {
    evaluate(text, parameters);
  } catch (const ExpressionError& error) {
    return error.message;
  }
  return {};
}
std::string advice(std::string_view text) {
  try {
    evaluate(text, gpt);
  } catch (const ExpressionError& error) {
    return error.help;
  }
  return {};
}

TEST_CASE("a number is an expression") {
  CHECK(evaluate("0", {}) == 0);
  CHECK(evaluate("64", {}) == 64);
  CHECK(evaluate("-3", {}) == -3);
  CHECK(evaluate(" 64 ", {}) == 64);
  CHECK(evaluate("007", {}) == 7);
}

TEST_CASE("products bind closer than sums, and equal operators are evaluated from left to right") {
  CHECK(evaluate("2+3*4", {}) == 14);
  CHECK(evaluate("2*3+4", {}) == 10);
  CHECK(evaluate("(2+3)*4", {}) == 20);
  CHECK(evaluate("10-3-2", {}) == 5);
  CHECK(evaluate("24/4/2", {}) == 3);
  CHECK(evaluate("24/4*2", {}) == 12);
  CHECK(evaluate("3--2", {}) == 5);
  CHECK(evaluate("4*-2", {}) == -8);
  CHECK(evaluate("  ( 1 + 2 )  *  3  ", {}) == 9);
  CHECK(evaluate("((((((7))))))", {}) == 7);
}

TEST_CASE("names are replaced by their values") {
  CHECK(evaluate("$hidden", gpt) == 768);
  CHECK(evaluate("4*$hidden", gpt) == 3072);
  CHECK(evaluate("$hidden/$heads", gpt) == 64);
  // GPT's product of queries, keys and values: 768 + 2 * 64 * 4
  CHECK(evaluate("$hidden + 2*$hidden/$heads*$kv-heads", gpt) == 1280);
}

TEST_CASE("a hyphen belongs to a name if there is such a name, and is a minus otherwise") {
  CHECK(evaluate("$kv-heads", gpt) == 4);      // the parameter kv-heads
  CHECK(evaluate("$kv - $heads", gpt) == -5);  // 7 - 12
  CHECK(evaluate("$hidden-$heads", gpt) == 756);
  CHECK(evaluate("$heads-1", gpt) == 11);
  CHECK(evaluate("$kv-1", gpt) == 6);
}

TEST_CASE("a longer word is not read as a shorter name") {
  CHECK(refusal("$hid") == "there is no parameter `hid`");  // not `h` followed by `id`
  CHECK(refusal("$headsx") == "there is no parameter `headsx`");
  CHECK(refusal("$") == "there is no parameter ``");
  CHECK(refusal("$ heads") == "there is no parameter ``");
}

TEST_CASE("a misspelt name gets a suggestion") {
  CHECK(advice("$hiden") == "did you mean `hidden`?");
  CHECK(advice("$width") == "");
}

TEST_CASE("every division must be exact") {
  CHECK(evaluate("-6/3", {}) == -2);
  CHECK(refusal("7/2") == "7 is not a multiple of 2");
  CHECK(refusal("$hidden/7") == "768 is not a multiple of 7");
  CHECK(refusal("1/0") == "1 is not a multiple of 0");
  CHECK(refusal("0/0") == "0 is not a multiple of 0");
  CHECK(advice("7/2") == "choose values that divide evenly");
  // From left to right: 7*2/2 is 14/2, while 7/2*2 stops at 7/2.
  CHECK(evaluate("7*2/2", {}) == 7);
  CHECK(evaluate("min(7, 2+1)*2", {}) == 6);
  CHECK(evaluate("1 - min($e, 1)", {{"e", 8}}) == 0);
  CHECK(refusal("7/2*2") == "7 is not a multiple of 2");
}

TEST_CASE("text that is not an expression is refused") {
  for (const std::string text :
       {"",     " ",   "+",   "1+",   "*2",  "(1",  "1)",   "()",  "1 2",  "1.5", "1e3",  "0x10",  "abc",
        "true", "1;2", "1,2", "2**3", "2^3", "7%2", "same", "-$h", "-(1)", "+1",  "$h$h", "1\t+1", "3x3"}) {
    CAPTURE(text);
    CHECK(refusal(text) == "cannot read this number");
  }
  CHECK(advice("abc") == "write a whole number, or one with `$names`, + - * / and min(,)");
}

TEST_CASE("numbers too large for any network are refused, also as intermediate results") {
  CHECK(evaluate("2147483647", {}) == 2'147'483'647);
  CHECK(refusal("2147483648") == "this number is too large");
  CHECK(refusal("-2147483648") == "this number is too large");
  CHECK(refusal("65536*65536") == "this number is too large");
  CHECK(refusal("2147483647+1") == "this number is too large");
  CHECK(refusal("-2147483647-1") == "this number is too large");
  CHECK(refusal("2147483647*2147483647*2147483647") == "this number is too large");
  CHECK(refusal("99999999999999999999999") == "this number is too large");  // not even 64 bits hold it
}

TEST_CASE("brackets nest up to a limit") {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '(') + "1" + std::string(depth, ')');
  };
  CHECK(evaluate(nested(32), {}) == 1);
  CHECK(refusal(nested(33)) == "cannot read this number");
  CHECK(refusal(std::string(150, '(')) == "cannot read this number");
}

TEST_CASE("an expression has at most 200 characters") {
  std::string text = "1";
  for (int i = 1; i < 100; ++i) text += "+1";
  CHECK(evaluate(text, {}) == 100);
  CHECK(refusal(text + "+1") == "this number is too long");
}

TEST_CASE("sizes are numbers separated by `x`") {
  using List = std::vector<std::int64_t>;
  CHECK(read_sizes("3", {}) == List{3});
  CHECK(read_sizes("3x3", {}) == List{3, 3});
  CHECK(read_sizes("3x224x224", {}) == List{3, 224, 224});
  CHECK(read_sizes("4x128x128x128", {}) == List{4, 128, 128, 128});
  CHECK(read_sizes("1x$seq", gpt) == List{1, 1024});
  CHECK(read_sizes("($h)x1", gpt) == List{2, 1});
  CHECK(read_sizes("(2*$h)x(1+2)", gpt) == List{4, 3});
  CHECK(read_sizes("2*$h", gpt) == List{4});
  CHECK(read_sizes("1x3x1x3x1", {}).size() == 5);  // each key limits the number of sizes itself
}

TEST_CASE("text that is not a list of sizes is refused") {
  for (const std::string text :
       {"", "x", "3x", "x3", "3xx3", "3 x 3", "3X3", "3*x3", "1x2x3x4x5x6", "$seqx3"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(read_sizes(text, gpt), ExpressionError);
  }
}

}  // namespace
}  // namespace paradl
