#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "paradl/core/names.hpp"
#include "paradl/cost/cost.hpp"
#include "paradl/cost/formula.hpp"
#include "paradl/cost/message_cost.hpp"
#include "paradl/mesh/mesh.hpp"

namespace paradl {

struct Evaluation;

/// The kinds of charges.
enum class ChargeKind : std::uint8_t {
  forward,  // arithmetic of a layer
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
  packing,              // of their gradients, tensor by tensor
  weight_gather,        // of weights that ZeRO has sharded
  weight_gather_again,  // the same for a recomputed forward pass
  copied_gradient_sum,  // of weights for keys and values that several GPUs hold a copy of
  tied_gradient_sum,    // of weights that two stages use
  transfer,             // from stage to stage
};
// clang-format off
inline constexpr std::array<std::string_view, 21> charge_names{
    "forward", "backward", "recomputation", "update", "wait for host", "bubble", "swap", "output",
    "output gradient", "halo", "halo of dy", "keys and values", "their gradients", "statistics",
    "gradient sum", "packing", "weight gather", "weight gather again", "copied gradient sum",
    "tied gradient sum", "transfer"};
// clang-format on
static_assert(names_every(ChargeKind::transfer, charge_names), "name every ChargeKind");

/// One addend of a cost.
struct Charge {
  Term term;  // the term that it adds to
  ChargeKind kind;
  Formula formula = Formula::none;  // of one exchange
  int cell = -1;   // index into Layout::cells; -1: layers of several cells
  int layer = -1;  // the first layer of the cell, or the last layer of a stage
  int group = -1;  // index into GradientTable::groups, for sums and gathers
  int extent = -1;  // the extent along which a halo is exchanged
  std::optional<Collective> operation = {};  // none: computation, or waiting
  AxisSet axes = 0;                          // the axes over which it runs
  double count = 1;                          // in one iteration, over all layers and stages
  Bytes bytes = {};                          // the whole buffer of each
  Seconds each = {};
  Seconds on_links = {};  // of one exchange, without packing, copies through hosts and late ranks
  Seconds busy = {};      // all of them on the stage that sets the time of the term, one after the other
  Seconds exposed = {};  // what is left of `busy` behind overlap and schedule: what they add to the iteration
  Seconds hidden() const { return busy - exposed; }
};

/// The addends of a cost: their exposed times sum to the iteration, their bytes (count times each) to the
/// traffic.
///
/// `busy` follows from the same tables as the cost, and so does what hides it:
/// - Passes are those of the busiest stage. Their charges are exposed, except for rings behind their own layer
///   and sums behind products. Waiting for the host is a charge of its own. Only the split between backward
///   pass and recomputation may be that of another stage.
/// - Updates and gradient sums are those of the stage that is done last, or that has most of them. What other
///   stages or the backward pass hide is spread over the charges in proportion to `busy`.
/// - Transfers are those of all stages; the schedule exposes a part.
/// - Out of core, the executed plan exposes a part of host updates and gradient sums.
using Ledger = std::vector<Charge>;

/// "gradient sum: 1 x 350 MB, 12.3 ms each, 4.1 ms exposed".
std::string text(const Charge& charge);

/// The ledger of an evaluation, from the same tables as its cost.
Ledger ledger_of(const Evaluation& evaluation);

/// Its exchanges, the most expensive on links first. `busy` and `exposed` are not filled: finding bottlenecks
/// does not need them.
Ledger exchanges_of(const Evaluation& evaluation);

/// The charges of one layer of a cell whose forward pass runs `forward_passes` times for each micro-batch;
/// `count`, `busy` and `exposed` are those of one layer.
Ledger layer_charges(const Evaluation& evaluation, std::size_t cell, double forward_passes);

/// How often the forward pass of a cell's layer runs for a micro-batch: twice if it is recomputed; out of
/// core, the average over the cell's layers.
double forward_passes(const Evaluation& evaluation, std::size_t cell);

/// The path of a charge's exchange: how its groups of GPUs are spread over the machine.
Path path_of(const Charge& charge, const Evaluation& evaluation);
/// The cost of its messages on links that copy directly from GPU to GPU.
MessageCost message_of(const Charge& charge, const Evaluation& evaluation);

}  // namespace paradl

template <>
struct fmt::formatter<paradl::Charge> : fmt::formatter<std::string> {
  auto format(const paradl::Charge& charge, format_context& context) const {
    return formatter<std::string>::format(paradl::text(charge), context);
  }
};
