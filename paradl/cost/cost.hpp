#pragma once
#include <array>
#include <string_view>

#include "paradl/core/quantity.hpp"

namespace paradl {

/// The terms of the time of one iteration, in the order of every table and chart.
enum class Term {
  forward,
  backward,
  update,
  recompute,
  bubble,
  gradient_exchange,
  activation_exchange,
  halo_exchange,
  stage_transfer,
  swap,
  io,
};
inline constexpr std::size_t terms = std::size_t(Term::io) + 1;

struct TermName {
  std::string_view json;    // as in the JSON
  std::string_view title;   // as people read it
  std::string_view column;  // heading of a table
};
// clang-format off
inline constexpr std::array term_names{
    TermName{"forward", "forward", "forward"},
    TermName{"backward", "backward", "backward"},
    TermName{"update", "update", "update"},
    TermName{"recompute", "recompute", "recompute"},
    TermName{"bubble", "bubble", "bubble"},
    TermName{"gradient_exchange", "gradient exchange", "gradient"},
    TermName{"activation_exchange", "activation exchange", "activation"},
    TermName{"halo_exchange", "halo exchange", "halo"},
    TermName{"stage_transfer", "stage transfer", "transfer"},
    TermName{"swap", "swap", "swap"},
    TermName{"io", "input/output", "io"},
};
// clang-format on
static_assert(term_names.size() == terms, "name every Term");

constexpr bool is_communication(Term t) { return t >= Term::gradient_exchange && t <= Term::stage_transfer; }
constexpr bool is_compute(Term t) { return t <= Term::bubble; }

/// Bytes that one GPU needs, by purpose. Totals are derived, never stored.
struct Memory {
  Bytes weights, gradients, optimizer, activations, workspace;
  Bytes buffers;  // of exchanges
  Bytes reserve;  // of the framework, and fragmentation
  Bytes total() const;
};

/// The parts by name, in the order of every table and of the JSON.
struct MemoryName {
  std::string_view name;
  Bytes Memory::*part;
};
inline constexpr std::array memory_names{
    MemoryName{"weights", &Memory::weights},     MemoryName{"gradients", &Memory::gradients},
    MemoryName{"optimizer", &Memory::optimizer}, MemoryName{"activations", &Memory::activations},
    MemoryName{"workspace", &Memory::workspace}, MemoryName{"buffers", &Memory::buffers},
    MemoryName{"reserve", &Memory::reserve},
};
static_assert(memory_names.size() == sizeof(Memory) / sizeof(Bytes), "name every part of Memory");

inline Bytes Memory::total() const {
  Bytes sum;
  for (const MemoryName& one : memory_names) sum += this->*one.part;
  return sum;
}

/// Time of one iteration by term, and memory by part. Fixed size, no strings: a search prices a million of
/// these.
struct Cost {
  std::array<Seconds, terms> exposed{};  // not hidden behind other work: sums to the iteration
  Seconds hidden;                        // communication that runs behind computation
  Memory memory;
  int worst_stage = 0;  // the stage that needs most memory: `memory` is its
  /// Total buffer size of all collectives and messages in one iteration, over all stages; an allreduce counts
  /// its buffer once.
  Bytes traffic;

  Seconds& operator[](Term t) { return exposed[std::size_t(t)]; }
  Seconds operator[](Term t) const { return exposed[std::size_t(t)]; }
  Seconds iteration() const {
    return sum([](Term) { return true; });
  }
  Seconds compute() const { return sum(is_compute); }
  Seconds exposed_communication() const { return sum(is_communication); }
  Seconds communication() const { return exposed_communication() + hidden; }

 private:
  template <class Wanted>
  Seconds sum(Wanted wanted) const {
    Seconds total;
    for (std::size_t t = 0; t < terms; ++t)
      if (wanted(Term(t))) total += exposed[t];
    return total;
  }
};

}  // namespace paradl
