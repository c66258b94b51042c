#pragma once
#include <cstdint>
#include <string_view>

#include "paradl/cost/cost.hpp"
#include "paradl/spec/collective.hpp"

namespace paradl {

/// The formulas by which an iteration is priced, with the letters of the paper: of terms, and of the
/// exchanges in them. `n_l`: the parts of layer l.
enum class Formula : std::uint8_t {
  none,
  forward,
  forward_of_stage,
  backward,
  backward_of_stage,
  update,
  update_of_stage,
  recompute,
  recompute_of_stage,
  bubble,
  gradient_exchange,
  activation_exchange,
  halo_exchange,
  stage_transfer,
  input,
  swap,
  ring,   // allgather, reduce-scatter
  rings,  // allreduce
  trees,  // allreduce of few bytes
  all_to_all,
  message,
  leaders,    // allreduce by the leaders of nodes
  requested,  // that of the algorithm that the plan names
};

/// As people read it; "" for `none` and `requested`.
std::string_view text(Formula formula);

/// Of a term, on one stage or on a pipeline.
Formula formula_of(Term term, bool pipeline);

/// Of an exchange over rings on each level of links, or in messages.
Formula ring_formula(Collective operation);

}  // namespace paradl
