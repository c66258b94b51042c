#pragma once
#include <string_view>
#include <vector>

#include "paradl/cost/projection.hpp"

namespace paradl {

/// `64`, `16,64,256`, `16..1024` (doubling), `16..128:+16`, `4..1024:x4`, `16x4` (nodes x GPUs). UsageError
/// otherwise, and for more GPUs than the machine has.
std::vector<int> read_gpus(std::string_view text, const Machine& machine);

/// `2048`, `32/gpu`, `64/node`.
BatchRule read_batch(std::string_view text);

/// A number within bounds for option `name`.
double read_number(std::string_view name, std::string_view text, double least, double most);
int read_count(std::string_view name, std::string_view text, int least, int most);

/// Splits at a character; no empty pieces.
std::vector<std::string> split_list(std::string_view text, char at);

}  // namespace paradl
