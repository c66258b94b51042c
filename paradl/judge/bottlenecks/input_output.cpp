// Input and output: reading, staging and storing samples.
#include <algorithm>

#include <fmt/format.h>

#include "paradl/core/format.hpp"
#include "paradl/judge/bottleneck.hpp"
#include "paradl/judge/changes.hpp"
#include "paradl/judge/reason.hpp"

namespace paradl {
namespace {

/// Which of reading, staging and shuffling takes longest, and what limits it.
std::string slowest_part(const Evidence& e, const InputCost& input) {
  if (input.staging > std::max(input.reading, input.exchange))
    return fmt::format("leaders distribute {} to {:g} GPUs", decimal(input.staged),
                       input.space * input.copies);
  if (input.exchange > input.reading)
    return fmt::format("workers exchange {} of samples per epoch", decimal(input.exchanged));
  const Machine& machine = e.setting.machine;
  const InputFrom from = e.setting.training.input.from;
  switch (input.bound) {
    case ReadBound::reader:
      return fmt::format("each reader reads {} at {}", decimal(input.read),
                         text(*e.setting.training.framework.reader));
    case ReadBound::storage:
      return fmt::format("{:g} readers share the {} of {}",
                         from == InputFrom::node ? input.at_once : input.readers,
                         text(*input_storage(machine, from)->read),
                         from == InputFrom::node ? "node storage" : "the shared file system");
    case ReadBound::ports:
      return fmt::format("{:g} readers of a node share its ports, level {}", input.at_once,
                         machine.levels[1].name);
  }
  return {};
}

std::optional<Reading> read_exposed(const Evidence& e) {
  if (!e.projection.cost || !e.projection.input || !e.projection.input->known) return {};
  const InputCost& input = *e.projection.input;
  const double share = exposed(e, Term::io);
  const Seconds rest = e.projection.iteration() - (*e.projection.cost)[Term::io];
  return Reading{
      share, share, slowest_part(e, input),
      share > 0
          ? fmt::format("exposed input/output takes {} of the iteration; in total it takes {}, {:.2g} times "
                        "as long as computation and communication",
                        percent(share), text(input.total()), input.total() / rest)
          : fmt::format("input/output of {} overlaps with the iteration", text(input.total()))};
}

std::optional<Reading> read_storage(const Evidence& e) {
  for (const Limit& limit : e.projection.limits.all())
    if (limit.rule == LimitRule::storage) {
      const double share = limit.value / limit.bound;
      return Reading{share, 0, "storage of a node",
                     limit.holds() ? fmt::format("a node stores {} of the data set, of {}",
                                                 decimal(Bytes{limit.value}), decimal(Bytes{limit.bound}))
                                   : reason(limit, e.setting.work),
                     !limit.holds()};
    }
  return {};
}

constexpr std::array own_measures{
    Measure{BottleneckKind::input_output, "input-output",
            "exposed input/output / iteration",
            Reads::share, Sense::above, 0.05, 0, 1, false, read_exposed},
    Measure{BottleneckKind::input_output, "node-storage",
            "part of the data set that a node keeps / its storage",
            Reads::share, Sense::above, 1, 0, 1e6, false, read_storage}};

constexpr std::array remedies{
    ChangeKind::prefetch, ChangeKind::reading_by_each, ChangeKind::direct_staging, ChangeKind::faster_reader,
    ChangeKind::faster_storage, ChangeKind::moved_samples};

}  // namespace

extern constinit const Entry input_output_entry{
    .name = "input_output",
    .title = "input/output",
    .nature = Nature::bottleneck,
    .meaning = "reading and staging samples takes longer than the iteration, or a node cannot store them",
    .measures = own_measures,
    .remedies = remedies};

}  // namespace paradl
