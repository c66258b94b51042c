#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "paradl/core/names.hpp"
#include "paradl/cost/cost.hpp"
#include "paradl/mesh/mesh.hpp"

namespace paradl {

struct Evaluation;

/// The kinds of charges.
enum class ChargeKind : std::uint8_t {
  forward,              // arithmetic of a layer
  backward,
  recompute,            // a forward pass that runs again
  update,               // of weights
  wait_for_host,        // the host launches kernels too late
  bubble,               // a stage waits for others
  swap,                 // waits for copies to and from the host
  output,               // a layer's y changes its placement
  output_gradient,      // and dy
  halo,                 // rows of x from neighbours
  gradient_halo,        // rows of dy
  keys,                 // keys and values around a ring
  key_gradients,        // the same backward, with their gradients
  statistics,           // of a batch-norm, over all samples
  gradient_sum,         // of weights
  weight_gather,        // of weights that ZeRO has sharded
  weight_gather_again,  // the same for a recomputed forward pass
  copied_gradient_sum,  // of weights for keys and values that several GPUs hold a copy of
  tied_gradient_sum,    // of weights that two stages use
  transfer,             // from stage to stage
};
inline constexpr std::array<std::string_view, 20> charge_names{
    "forward",    "backward",       "recomputation",    "update",           "wait for host",
    "bubble",     "swap",           "output",           "output gradient",  "halo",
    "halo of dy", "keys and values", "their gradients", "statistics",       "gradient sum",
    "weight gather", "weight gather again", "copied gradient sum", "tied gradient sum", "transfer"};
static_assert(names_every(ChargeKind::transfer, charge_names), "name every ChargeKind");

/// One addend of a cost.
struct Charge {
  Term term;  // the term that it adds to
  ChargeKind kind;
  int cell = -1;   // index into Layout::cells; -1: layers of several cells
  int layer = -1;  // the first layer of the cell, or the last layer of a stage
  int group = -1;  // index into GradientTable::groups, for sums and gathers
  int extent = -1;  // the extent along which a halo is exchanged
  std::optional<Collective> operation = {};  // none: computation, or waiting
  AxisSet axes = 0;                          // the axes over which it runs
  double count = 1;                          // in one iteration, over all layers and stages
  Bytes bytes = {};                          // the whole buffer of each
  Seconds each = {};
  Seconds exposed = {};  // what all of them add to the iteration
};

/// The addends of a cost: their exposed times sum to the iteration, their bytes (count times each) to the
/// traffic.
using Ledger = std::vector<Charge>;

/// "gradient sum: 1 x 350 MB, 12.3 ms each, 4.1 ms exposed".
std::string text(const Charge& charge);

/// The ledger of an evaluation, from the same tables as its cost.
Ledger ledger_of(const Evaluation& evaluation);

/// The exchanges of one layer of a cell whose forward pass runs `forward_passes` times for each micro-batch;
/// `count` is that of one layer.
Ledger layer_charges(const Evaluation& evaluation, std::size_t cell, double forward_passes);

/// How often the forward pass of a cell's layer runs for a micro-batch: twice if it is recomputed; out of
/// core, the average over the cell's layers.
double forward_passes(const Evaluation& evaluation, std::size_t cell);

/// The path of a charge's exchange: how its groups of GPUs are spread over the machine.
Path path_of(const Charge& charge, const Evaluation& evaluation);

}  // namespace paradl

template <>
struct fmt::formatter<paradl::Charge> : fmt::formatter<std::string> {
  auto format(const paradl::Charge& charge, format_context& context) const {
    return formatter<std::string>::format(paradl::text(charge), context);
  }
};
