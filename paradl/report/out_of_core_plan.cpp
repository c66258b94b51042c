#include "paradl/report/out_of_core_plan.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "paradl/core/format.hpp"

namespace paradl {
namespace {

/// "1.52 times as long", or "does not fit".
std::string against(const OutOfCoreClock::Time& other, const OutOfCoreAccount& plan) {
  return other.possible ? fmt::format("{:.2f} times as long", other.end / plan.time.end)
                        : std::string("does not fit");
}

/// A stage's blocks are repeated for each micro-batch in memory: the micro-batch of each block.
std::vector<int> micro_batches(const std::vector<BlockLine>& lines) {
  std::vector<int> out;
  for (std::size_t b = 0; b < lines.size(); ++b) {
    const bool next = b > 0 && lines[b].block.first <= lines[b - 1].block.first;
    out.push_back(b == 0 ? 1 : out.back() + next);
  }
  return out;
}

}  // namespace

bool stages_stay(const Projection& p) { return p.out_of_core->stages > 1 && !p.out_of_core->plans(); }

std::string planned_stage(const Projection& p) {
  const int stages = p.out_of_core->stages;
  return stages == 1 ? ""
                     : fmt::format(", stage {} of {}, all micro-batches in its memory",
                                   p.cost->worst_stage + 1, stages);
}

Table plan_table(const OutOfCoreAccount& account) {
  Table table{.columns = {{"block", "block", Holds::count, 8},
                          {"micro_batch", "micro-batch", Holds::count, 6},
                          {"layers", "layers", Holds::text, 9},
                          {"forward", "forward", Holds::seconds, 5},
                          {"backward", "backward", Holds::seconds, 5},
                          {"activations", "activations", Holds::bytes, 7},
                          {"weights", "weights", Holds::bytes, 3},
                          {"fate", "action", Holds::text, 10},
                          {"again", "recompute", Holds::seconds, 6},
                          {"stall", "stall", Holds::seconds, 6}}};
  const bool streamed = account.home == WeightHome::streamed;
  const std::vector<BlockLine>& lines = account.blocks;
  const std::vector<int> micro_batch = micro_batches(lines);
  for (std::size_t b = 0; b < lines.size(); ++b) {
    const BlockLine& line = lines[b];
    const OutOfCoreBlock& block = line.block;
    const bool again = line.fate == Fate::recomputed;
    table.rows.push_back(
        {.values = {double(b + 1), micro_batch.back() > 1 ? Value{double(micro_batch[b])} : Value{},
                    line.layers, block.forward.base(), block.backward.base(), block.activations.base(),
                    streamed ? Value{block.weights.base()} : Value{},
                    std::string(fate_names[std::size_t(line.fate)]),
                    again ? Value{block.again.base()} : Value{},
                    line.stall > Seconds{} ? Value{line.stall.base()} : Value{}}});
  }
  return without_empty_columns(table);
}

std::string out_of_core_text(const Projection& p, const Machine& machine) {
  const auto& [kept, swapped, recomputed, weights, host, again, doubt, stages] = *p.out_of_core;
  const int blocks = kept + swapped + recomputed;
  if (stages_stay(p))
    return fmt::format("Out of core: not needed, each of the {} stages fits on its device.", stages);
  if (!p.out_of_core->plans())
    return fmt::format("Out of core: not needed, all {} blocks fit on the device.", blocks);
  constexpr std::array<std::string_view, weight_homes> homes{
      "", " The host stores the optimizer state and updates the weights.",
      " The host stores and updates the weights, which are copied to the device block by block."};
  return fmt::format(
      "Out of core{}: of {} blocks, {} {} kept, {} swapped and {} recomputed.{} It uses {} of {} host memory "
      "per node.",
      planned_stage(p), blocks, kept, kept == 1 ? "is" : "are", swapped, recomputed,
      homes[std::size_t(weights)], text(host), text(*machine.host->memory));
}

std::string plan_text(const OutOfCoreAccount& account) {
  const double gpus = account.host.gpus;
  std::string out = fmt::format(" host link: {} per direction{}\n", text(account.host.link),
                                gpus > 1 ? fmt::format(" for each of {} GPUs of a node", gpus) : "");
  const auto& others = account.others;
  out += fmt::format(
      " instead: swap every block, {}; swap only as many as necessary, {}; recompute every block, {}\n",
      against(others.swap_all, account), against(others.swap_only, account),
      against(others.recompute_all, account));
  return out;
}

nlohmann::ordered_json plan_json(const Workload& work, const OutOfCoreAccount& account) {
  using Json = nlohmann::ordered_json;
  Json blocks = Json::array();
  const std::vector<BlockLine>& lines = account.blocks;
  const std::vector<int> micro_batch = micro_batches(lines);
  for (std::size_t b = 0; b < lines.size(); ++b) {
    const BlockLine& line = lines[b];
    const OutOfCoreBlock& block = line.block;
    blocks.push_back({{"micro_batch", micro_batch[b]},
                      {"first_layer", work.layers[std::size_t(block.first)].name},
                      {"last_layer", work.layers[std::size_t(block.end) - 1].name},
                      {"forward_s", block.forward.base()},
                      {"backward_s", block.backward.base()},
                      {"again_s", block.again.base()},
                      {"activation_bytes", block.activations.base()},
                      {"input_bytes", block.input.base()},
                      {"weight_bytes", block.weights.base()},
                      {"fate", fate_names[std::size_t(line.fate)]},
                      {"stall_s", line.stall.base()}});
  }
  Json out{{"link_bytes_per_s", account.host.link.base()},
           {"passes_s", account.time.passes.base()},
           {"blocks", std::move(blocks)}};
  const auto& others = account.others;
  const auto tell = [&](const char* name, const OutOfCoreClock::Time& time) {
    out["instead_s"][name] = time.possible ? Json(time.end.base()) : Json(nullptr);
  };
  out["end_s"] = account.time.end.base();
  tell("swap_all", others.swap_all);
  tell("swap_only", others.swap_only);
  tell("recompute_all", others.recompute_all);
  return out;
}

}  // namespace paradl
