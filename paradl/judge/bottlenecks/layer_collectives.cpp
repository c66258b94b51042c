// Layer-wise collectives: exchanges of activations between layers.
#include "paradl/judge/bottleneck.hpp"
#include "paradl/judge/changes.hpp"

namespace paradl {
namespace {

std::optional<Reading> read(const Evidence& e) {
  return read_term(e, Term::activation_exchange, "exchanges of activations between layers take");
}

constexpr std::array own_measures{
    Measure{BottleneckKind::layer_collectives, "layer-collectives",
            "exposed activation exchange / iteration",
            Reads::share, Sense::above, 0.2, 0, 1, false, read}};

constexpr std::array remedies{
    ChangeKind::direct_halos, ChangeKind::direct_exchanges, ChangeKind::reduce_scatter,
    ChangeKind::sequence_parallelism, ChangeKind::tensor_instead, ChangeKind::more_data,
    ChangeKind::data_between_nodes, ChangeKind::faster_activation_links};

}  // namespace

extern constinit const Entry layer_collectives_entry{
    .name = "layer_collectives",
    .title = "layer-wise collectives",
    .nature = Nature::limit,
    .meaning =
        "activations and their gradients are gathered or summed between layers, and each layer waits for "
        "them",
    .measures = own_measures,
    .remedies = remedies};

}  // namespace paradl
