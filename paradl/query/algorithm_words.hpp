#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "paradl/network/algorithm.hpp"

namespace paradl {

/// An algorithm and, if it is for sparse buffers, the share of values that are not zero.
struct AlgorithmWord {
  const Algorithm* algorithm = nullptr;
  double density = 1;
  friend bool operator==(const AlgorithmWord&, const AlgorithmWord&) = default;
};

/// The least share of values that are not zero.
inline constexpr double least_density = 1e-9;

/// `shd`, or `sparse-ring:0.0078`, as typed after --`option`. `density` is the one given elsewhere, if any.
/// UsageError if there is no such algorithm, or if a density is missing or has no effect.
AlgorithmWord read_algorithm(std::string_view option, const std::string& text, Operation operation,
                             std::optional<double> density = {});

/// Throws the reason why an algorithm cannot be used: "what is wrong; what to do instead".
[[noreturn]] void refuse(const std::string& refusal);

}  // namespace paradl
