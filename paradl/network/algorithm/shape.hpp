#pragma once
#include <charconv>
#include <string_view>
#include <vector>

#include "paradl/network/algorithm.hpp"

namespace paradl {

/// The numbers of the job's topology if it is of that kind: `torus:8,4` -> {8, 4} for "torus". Else nothing.
inline std::vector<int> shape_of(const Job& job, std::string_view kind) {
  if (!job.topology) return {};
  std::string_view text = job.topology->text();
  if (!text.starts_with(kind) || text.substr(kind.size(), 1) != ":") return {};
  text.remove_prefix(kind.size() + 1);
  std::vector<int> numbers;
  for (int n = 0; !text.empty();) {
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (failed != std::errc{}) return {};
    numbers.push_back(n);
    text.remove_prefix(std::size_t(end - text.data()));
    if (!text.empty()) text.remove_prefix(1);
  }
  return numbers;
}

}  // namespace paradl
