// Point-to-point messages through host memory.
#include <fmt/format.h>

#include "paradl/core/format.hpp"
#include "paradl/judge/bottleneck.hpp"
#include "paradl/judge/changes.hpp"

namespace paradl {
namespace {

std::optional<Reading> read(const Evidence& e) {
  if (!e.details) return {};
  const Cost& cost = *e.projection.cost;
  const Seconds now = cost[Term::halo_exchange] + cost[Term::stage_transfer], direct = e.details->direct;
  if (!(now > Seconds{})) return {};
  const double ratio = direct > Seconds{} ? now / direct : 1;
  const Term term = cost[Term::halo_exchange] > Seconds{} ? Term::halo_exchange : Term::stage_transfer;
  return Reading{
      ratio, share_of(e, now), busiest_exchange(e, term),
      ratio > 1
          ? fmt::format("point-to-point messages go through host memory: {} per iteration instead of {} "
                        "with direct GPU-to-GPU transfer",
                        text(now), text(direct))
          : fmt::format("point-to-point messages go directly from GPU to GPU: {} per iteration", text(now))};
}

constexpr std::array own_measures{
    Measure{BottleneckKind::point_to_point, "point-to-point",
            "point-to-point time divided by its time with direct GPU-to-GPU transfer",
            Reads::ratio, Sense::at_least, 2, 1, 1e6, true, read}};

constexpr std::array remedies{
    ChangeKind::direct_halos, ChangeKind::direct_exchanges, ChangeKind::more_data};

}  // namespace

extern constinit const Entry point_to_point_entry{
    .name = "point_to_point",
    .title = "point-to-point messages",
    .nature = Nature::bottleneck,
    .meaning = "halos and stage transfers go through host memory (no GPUDirect)",
    .measures = own_measures,
    .remedies = remedies};

}  // namespace paradl
