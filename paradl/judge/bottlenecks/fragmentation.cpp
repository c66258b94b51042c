// Memory fragmentation: little memory is free.
#include <fmt/format.h>

#include "paradl/core/format.hpp"
#include "paradl/judge/bottleneck.hpp"
#include "paradl/judge/changes.hpp"

namespace paradl {
namespace {

std::optional<Reading> read(const Evidence& e) {
  if (!e.projection.cost) return {};
  if (const auto& beyond = e.projection.out_of_core; beyond && beyond->plans()) return {};  // full on purpose
  const Bytes need = e.projection.cost->memory.total(), device = e.setting.machine.device.memory;
  const double share = need / device;
  if (share > 1) return {};  // does not fit anyway
  return Reading{share, share, "allocator",
                 fmt::format("{} of {} are in use: only {} are free for allocator fragmentation", text(need),
                             text(device), text(device - need))};
}

constexpr std::array own_measures{
    Measure{BottleneckKind::fragmentation, "fragmentation",
            "memory in use / memory of the device",
            Reads::share, Sense::above, 0.85, 0, 1, false, read}};

constexpr std::array remedies{
    ChangeKind::more_micro_batches, ChangeKind::sharded_optimizer, ChangeKind::selective_recomputation,
    ChangeKind::full_recomputation};

}  // namespace

extern constinit const Entry fragmentation_entry{
    .name = "fragmentation",
    .title = "memory fragmentation",
    .nature = Nature::bottleneck,
    .meaning = "so little memory is free that allocator fragmentation may cause an out-of-memory error",
    .measures = own_measures,
    .remedies = remedies,
    .worth = Worth::memory};

}  // namespace paradl
