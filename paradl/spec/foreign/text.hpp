#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/spec/document.hpp"

// What the authors' formats share: lines of fields between bars, shapes, and how values are written as YAML.
namespace paradl::foreign {

/// One field of a line, without the spaces around it. Views the text it was read from.
struct Field {
  std::string_view text;
  Spot spot;
};

/// A line that says something: neither empty nor a comment. Has at least one field.
struct Line {
  int number = 0;
  std::vector<Field> fields;
};

/// Cuts a text into lines and fields.
/// More lines than a model may have layers: a longer file is wrong, and reading on would only cost memory.
inline constexpr std::size_t most_lines = 25'000;

/// The lines of a file that say something; of one that is too long, most_lines + 1.
std::vector<Line> read_lines(std::string_view text);

/// The sizes of a shape: `64x56x56` is {64, 56, 56}.
using Numbers = std::vector<std::int64_t>;

inline constexpr std::size_t longest_name = 100;
inline constexpr std::int64_t largest_size = 1'000'000'000;  // what a model file may hold

/// Reads `64x56x56`; every number from `least` to `most`. Nothing if there is a mistake, which goes to
/// `problems`.
std::optional<Numbers> read_shape(const Field& field, std::int64_t least, std::int64_t most,
                                  Problems& problems);

/// A whole number without a sign; nothing if it is not one or has more than 18 digits.
std::optional<std::int64_t> read_whole(std::string_view text);

/// A number such as `16e9`; nothing if it is not one, or not finite.
std::optional<double> read_real(std::string_view text);

std::string text(const Numbers& shape);  // "64x56x56"
double product(const Numbers& numbers);

std::string lower(std::string_view word);

/// `ResNet 50` -> `resnet_50`: letters, digits, `-` and `_`.
std::string plain_name(std::string_view words);

/// The last part of a path, as it may stand in a comment.
std::string base_name(std::string_view path);

/// The name of what a file holds where the file itself does not say: `ABCI.plat` -> `abci`.
std::string stem_name(std::string_view path);

/// What the user called the result, or `fallback` if nothing was given. UsageError if it cannot be a name.
std::string result_name(const std::string& given, const std::string& fallback);

/// A YAML scalar: as it is where that is safe, in quotes otherwise.
std::string scalar(std::string_view words);

/// A quantity with all its digits: 0.003119502 s is "3.119502 ms". Only the decimal point moves, so that
/// reading it back gives the same number, to the last bit or its neighbour. The value is zero or an everyday
/// one, from 1e-30 to 1e30 of its base unit.
template <class Q>
std::string exact_text(Q value);

}  // namespace paradl::foreign
