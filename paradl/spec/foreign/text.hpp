#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/spec/document.hpp"

// Shared by the readers of the authors' formats: lines of fields between bars, shapes, and values as YAML
// text.
namespace paradl::foreign {

/// One field of a line, without the spaces around it; a view into the file's text.
struct Field {
  std::string_view text;
  Spot spot;
};

/// A line that is neither empty nor a comment, with at least one field.
struct Line {
  int number = 0;
  std::vector<Field> fields;
};

/// More lines than a model may have layers: reading a longer, wrong file to its end would only cost memory.
inline constexpr std::size_t most_lines = 25'000;

/// The lines of a file without comments and empty lines; at most most_lines + 1.
std::vector<Line> read_lines(std::string_view text);

/// The sizes of a shape: `64x56x56` is {64, 56, 56}.
using Numbers = std::vector<std::int64_t>;

inline constexpr std::size_t longest_name = 100;
inline constexpr std::int64_t largest_size = 1'000'000'000;  // what a model file may hold

/// Reads `64x56x56`; every number must be from `least` to `most`. Otherwise adds a mistake to `problems` and
/// returns nothing.
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

/// The last part of a path, without characters that cannot be in a comment.
std::string base_name(std::string_view path);

/// The default name of a file's content: `ABCI.plat` -> `abci`.
std::string stem_name(std::string_view path);

/// The name that the user gave, or `fallback` if it is empty. UsageError if it cannot be a name.
std::string result_name(const std::string& given, const std::string& fallback);

/// A YAML scalar, in quotes if necessary.
std::string scalar(std::string_view words);

/// A quantity with all its digits: 0.003119502 s is "3.119502 ms". Only the decimal point moves, so that
/// reading it gives the same number, or one that differs in the last bit. The value must be zero or from
/// 1e-30 to 1e30 in its base unit.
template <class Q>
std::string exact_text(Q value);

}  // namespace paradl::foreign
