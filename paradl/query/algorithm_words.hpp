#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "paradl/network/algorithm.hpp"

namespace paradl {

/// An algorithm, and the share of values that are not zero where it is for sparse buffers.
struct AlgorithmWord {
  const Algorithm* algorithm = nullptr;
  double density = 1;
  friend bool operator==(const AlgorithmWord&, const AlgorithmWord&) = default;
};

/// The least share of values that are not zero.
inline constexpr double least_density = 1e-9;

/// `shd`, or `sparse-ring:0.0078`, as typed behind --`option`. `density` is what was said elsewhere.
/// UsageError if nothing is called so, or if a density is missing or means nothing.
AlgorithmWord read_algorithm(std::string_view option, const std::string& text, Operation operation,
                             std::optional<double> density = {});

/// Throws what an algorithm is refused for: "what is wrong; what to do instead".
[[noreturn]] void refuse(const std::string& refusal);

}  // namespace paradl
