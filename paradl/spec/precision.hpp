#pragma once
#include <array>
#include <optional>
#include <string_view>

#include "paradl/core/names.hpp"
#include "paradl/core/quantity.hpp"

namespace paradl {

/// The arithmetic a network is trained in: it sets the peak rate and the bytes of everything that is stored
/// or sent.
enum class Precision { fp32, tf32, fp16, bf16, fp8 };

inline constexpr std::array<std::string_view, 5> precision_names{"fp32", "tf32", "fp16", "bf16", "fp8"};
static_assert(names_every(Precision::fp8, precision_names), "name every Precision");

/// Bytes of one item. 16-bit and 8-bit training is *mixed*: the optimizer works on an fp32 master copy,
/// gradients are accumulated in fp32 and sent in 16 bits (as in Megatron-LM and apex); fp8 stores its tensors
/// in 16 bits and rounds them to 8 bits for each matrix product.
struct ItemBytes {
  Bytes activation, weight, gradient, sent_gradient, master;
};

constexpr ItemBytes item_bytes(Precision precision) {
  if (precision == Precision::fp32 || precision == Precision::tf32)
    return {.activation = Bytes{4},
            .weight = Bytes{4},
            .gradient = Bytes{4},
            .sent_gradient = Bytes{4},
            .master = Bytes{0}};
  return {.activation = Bytes{2},
          .weight = Bytes{2},
          .gradient = Bytes{4},
          .sent_gradient = Bytes{2},
          .master = Bytes{4}};
}

/// How weights are updated: it sets the state kept per weight and the bytes that one update touches.
enum class Optimizer { sgd, momentum, adam, lamb };

inline constexpr std::array<std::string_view, 4> optimizer_names{"sgd", "momentum", "adam", "lamb"};
static_assert(names_every(Optimizer::lamb, optimizer_names), "name every Optimizer");

/// fp32 values kept per weight, in addition to the weight and its gradient.
constexpr int optimizer_slots(Optimizer optimizer) {
  constexpr std::array slots{0, 1, 2, 2};
  static_assert(slots.size() == optimizer_names.size(), "one for each Optimizer");
  return slots[std::size_t(optimizer)];
}

/// Bytes read and written to update one weight: the gradient is read; the weight (or its master copy) and
/// each slot are read and written; a 16-bit weight is also written. In fp32 this is 3, 5 and 7 items for SGD,
/// momentum and Adam. LAMB reads the weight and the update once more for its two norms.
constexpr Bytes update_bytes(Optimizer optimizer, Precision precision) {
  const ItemBytes bytes = item_bytes(precision);
  const bool mixed = bytes.master > Bytes{0};
  const Bytes state = 2.0 * Bytes{4} * (1 + optimizer_slots(optimizer));
  const Bytes norms = optimizer == Optimizer::lamb ? Bytes{8} : Bytes{0};
  return bytes.gradient + state + (mixed ? bytes.weight : Bytes{0}) + norms;
}

template <class Enum, std::size_t N>
std::optional<Enum> find_name(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == name) return Enum(i);
  return {};
}

}  // namespace paradl
