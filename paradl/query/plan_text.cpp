#include "paradl/query/plan_text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/core/text.hpp"
#include "paradl/cost/sweep.hpp"
#include "paradl/query/words.hpp"

namespace paradl {
namespace {

constexpr std::array<std::string_view, 2> on_off{"off", "on"};

bool read_switch(std::string_view key, std::string_view word) {
  if (const auto found = find_name<int>(on_off, word)) return *found == 1;
  throw UsageError(fmt::format("{}={}: not known", key, word), fmt::format("write {0}=on or {0}=off", key));
}

/// One option of a plan: its key, its text and how to read it. The text is empty if a plan has the default.
struct PlanOption {
  std::string_view key;
  std::string (*text)(const Plan&);
  void (*read)(const std::string& word, Plan&);
};

std::string schedule_word(const Plan& p) {
  return p.schedule == PipelineSchedule::gpipe ? "" : schedule_text(p);
}

void set_schedule(const std::string& word, Plan& p) {
  const PipelineOrder order = read_schedule(word);
  p.schedule = order.schedule, p.chunks = order.chunks;
}

std::string recompute_word(const Plan& p) {
  return p.recompute == Recompute::none ? "" : recompute_text(p);
}

void set_recompute(const std::string& word, Plan& p) {
  const Recomputation what = read_recompute(word);
  p.recompute = what.kind, p.recomputed_blocks = what.blocks;
}

void set_allreduce(const std::string& word, Plan& p) {
  const AlgorithmWord sum = read_algorithm("allreduce", word, Operation::allreduce);
  p.allreduce = {sum.algorithm, sum.density};
}

// clang-format off
const std::array plan_options{
    PlanOption{"batch", [](const Plan& p) { return fmt::format("{}", p.batch); },
               [](const std::string& word, Plan& p) { p.batch = read_number("batch", word, 1, 1e15); }},
    PlanOption{"micro-batches", [](const Plan& p) { return p.micro_batches == 1 ? "" : fmt::format("{}", p.micro_batches); },
               [](const std::string& word, Plan& p) { p.micro_batches = read_count("micro-batches", word, 1, 1'000'000); }},
    PlanOption{"schedule", schedule_word, set_schedule},
    PlanOption{"recompute", recompute_word, set_recompute},
    PlanOption{"zero", [](const Plan& p) { return p.zero == 0 ? "" : fmt::format("{}", p.zero); },
               [](const std::string& word, Plan& p) { p.zero = read_count("zero", word, 0, 3); }},
    PlanOption{"sequence-parallel", [](const Plan& p) -> std::string { return p.sequence_parallel ? "on" : ""; },
               [](const std::string& word, Plan& p) { p.sequence_parallel = read_switch("sequence-parallel", word); }},
    PlanOption{"allreduce", allreduce_text, set_allreduce},
    PlanOption{"out-of-core", [](const Plan& p) -> std::string { return p.out_of_core ? "on" : ""; },
               [](const std::string& word, Plan& p) { p.out_of_core = read_switch("out-of-core", word); }},
};
// clang-format on

/// "data=16,layer=8" names its strategies; "1" is one GPU.
Mesh read_mesh(const std::string& grid, const Case& about) {
  if (grid == "1") return {};
  std::string names;
  for (const std::string& axis : split_list(grid, ','))
    names += fmt::format("{}{}", names.empty() ? "" : "+", axis.substr(0, axis.find('=')));
  const StrategyName strategy = read_strategy(names);
  return meshes(strategy, read_grid(grid, strategy), std::max(1, about.work.input.dims)).front();
}

[[noreturn]] void refuse_option(const std::string& word, const std::string& key) {
  std::vector<std::string> known;
  for (const PlanOption& one : plan_options) known.emplace_back(one.key);
  const std::string near = did_you_mean(key, known);
  throw UsageError(fmt::format("`{}` is not an option of a plan", word),
                   near.empty() ? fmt::format("write KEY=VALUE; keys are {}", fmt::join(known, ", ")) : near);
}

}  // namespace

std::string text(const Plan& plan) {
  std::string out = grid_text(plan.mesh, false);
  for (const PlanOption& option : plan_options)
    if (const std::string word = option.text(plan); !word.empty())
      out += fmt::format(" {}={}", option.key, word);
  return out;
}

Plan parse_plan(std::string_view text, const Case& about) {
  const std::vector<std::string> words = split_list(text, ' ');
  if (words.empty()) throw UsageError("the plan is empty", "write a grid first: data=16,tensor=4 zero=1");
  Plan plan = about.plan;
  plan.mesh = read_mesh(words.front(), about);
  plan.batch = about.work.batch * plan.mesh.gpus();
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string key = words[i].substr(0, equals);
    const auto option = std::ranges::find(plan_options, key, &PlanOption::key);
    if (option == plan_options.end() || equals == std::string::npos) refuse_option(words[i], key);
    option->read(words[i].substr(equals + 1), plan);
  }
  return plan;
}

}  // namespace paradl
