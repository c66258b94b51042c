// Changes of how samples are read.
#include <fmt/format.h>

#include "paradl/judge/changes/values.hpp"

namespace paradl::changes {
namespace {

/// The gain is an upper bound if the rate of the storage is unknown.
std::string at_best(const Evidence& e) {
  if (e.projection.input->lacks != InputLacks::read_rate) return {};
  return fmt::format(", at best: storage.{}.read is unknown",
                     input_names[std::size_t(training(e).input.from)]);
}

}  // namespace

bool reads_known_input(const Evidence& e) { return e.projection.input && e.projection.input->known; }

Alternatives each_gpu_reads(const Evidence& e) {
  if (!reads_known_input(e) || training(e).input.readers != Readers::leader) return {};
  if (!(e.projection.input->space * e.projection.input->copies > 1)) return {};
  return {{.text = "every GPU reads what it needs instead of one leader" + at_best(e),
           .option = {},
           .training = [](Training& t) { t.input.readers = Readers::each; }}};
}

Alternatives twice_the_reader_rate(const Evidence& e) {
  if (!reads_known_input(e) || e.projection.input->bound != ReadBound::reader) return {};
  return {{.text = "twice the rate of a reader (more processes that read and prepare)" + at_best(e),
           .option = {},
           .training = [](Training& t) { t.framework.reader = 2 * *t.framework.reader; }}};
}

Alternatives twice_the_storage_rate(const Evidence& e) {
  if (!reads_known_input(e) || !e.system || e.projection.input->bound == ReadBound::reader) return {};
  const std::string_view from = input_names[std::size_t(training(e).input.from)];
  if (e.projection.input->bound == ReadBound::storage) return {improved(read_rate_of(from))};
  const auto& levels = e.system->levels;
  if (levels.size() < 2 || !levels[1].ports) return {};
  return {improved(ports_of(*e.system, 1))};
}

/// Samples from other storage, or distributed differently, if the system file has the numbers.
Alternatives other_storage(const Evidence& e) {
  Alternatives out;
  if (!reads_known_input(e)) return out;
  const auto add = [&](const char* text, const std::string& option, InputFrom from, Shuffle shuffle) {
    out.push_back({.text = text, .option = option, .training = [from, shuffle](Training& t) {
                     t.input.from = from, t.input.shuffle = shuffle;
                   }});
  };
  const Machine& machine = e.setting.machine;
  const InputPlan& plan = training(e).input;
  const Shuffle local{.global = false}, partial{.global = false, .Q = 0.1};
  const bool here = plan.from == InputFrom::node;
  if (const auto& node = machine.node_storage; node && node->read && node->capacity) {
    const std::string from = here ? "" : "--input node ";
    if (!here) add("all samples on each node", "--input node", InputFrom::node, {});
    if (plan.shuffle.global) {
      add("samples divided among the nodes, a tenth of them exchanged per epoch",
          from + "--shuffle partial:0.1", InputFrom::node, partial);
      add("samples divided among the nodes, none exchanged", from + "--shuffle local", InputFrom::node,
          local);
    } else if (plan.shuffle.Q > 0) {
      add("no samples exchanged", "--shuffle local", InputFrom::node, local);
    }
  }
  if (const auto& shared = machine.shared_storage; here && plan.shuffle.global && shared && shared->read)
    add("samples from the shared file system", "--input shared", InputFrom::shared, {});
  return out;
}

}  // namespace paradl::changes
