#include "paradl/query/plan_text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/core/text.hpp"
#include "paradl/query/fields.hpp"
#include "paradl/query/words.hpp"

namespace paradl {
namespace {

constexpr std::string_view one_gpu = "1";
constexpr std::string_view default_sum = "default";  // no allreduce algorithm was requested

std::string allreduce_word(const Plan& plan) {
  return plan.allreduce.algorithm ? allreduce_text(plan) : std::string(default_sum);
}

/// One option of a plan: the field of a query that reads it, and its text.
struct PlanOption {
  std::string_view field;
  std::string (*text)(const Plan&);
};

const std::array plan_options{
    PlanOption{"batch", [](const Plan& p) { return fmt::format("{}", p.batch); }},
    PlanOption{"micro-batches", [](const Plan& p) { return fmt::format("{}", p.micro_batches); }},
    PlanOption{"schedule", schedule_text},
    PlanOption{"recompute", recompute_text},
    PlanOption{"zero", [](const Plan& p) { return fmt::format("{}", p.zero); }},
    PlanOption{"sequence-parallel",
               [](const Plan& p) -> std::string { return p.sequence_parallel ? "on" : "off"; }},
    PlanOption{"allreduce", allreduce_word},
};

/// "data=16,layer=8" names its strategies. A plain number of parts cuts the first extent.
Mesh read_mesh(const std::string& grid) {
  Mesh mesh;
  if (grid == one_gpu) return mesh;
  Query query;
  read_field(query, *find_field("grid"), grid);
  for (const Strategy* strategy : query.strategies->front().axes) {
    Parts parts = (*query.grid)[std::size_t(mesh.axes)];
    const bool open = parts.cut == std::array{1, 1, 1};
    if (open && strategy->input == Placement::split_space) parts.cut[0] = parts.total;
    mesh.axis[std::size_t(mesh.axes++)] = {strategy, parts};
  }
  return mesh;
}

[[noreturn]] void refuse_option(const std::string& word, const std::string& key) {
  std::vector<std::string> known;
  for (const PlanOption& one : plan_options) known.emplace_back(one.field);
  const std::string near = did_you_mean(key, known);
  throw UsageError(fmt::format("`{}` is not an option of a plan", word),
                   near.empty() ? fmt::format("write KEY=VALUE; keys are {}", fmt::join(known, ", ")) : near);
}

/// Reads `key=value` into the field of a query with that name.
void read_option(const std::string& word, Query& query) {
  const std::size_t equals = word.find('=');
  const std::string key = word.substr(0, equals);
  const auto option = std::ranges::find(plan_options, key, &PlanOption::field);
  if (option == plan_options.end()) refuse_option(word, key);
  if (equals == word.npos)
    throw UsageError(fmt::format("`{}` has no value", key),
                     fmt::format("write {}={}", key, option->text({})));
  const std::string value = word.substr(equals + 1);
  if (key == "allreduce" && value == default_sum)
    query.allreduce = AlgorithmWord{};
  else
    read_field(query, *find_field(key), value);
}

}  // namespace

std::string text(const Plan& plan) {
  std::string out = plan.mesh.axes > 0 ? exact_grid(plan.mesh, 1) : std::string(one_gpu);
  if (plan.out_of_core) out += out_of_core_suffix;
  for (const PlanOption& option : plan_options) out += fmt::format(" {}={}", option.field, option.text(plan));
  return out;
}

Plan parse_plan(std::string_view text, const Case& about) {
  const std::vector<std::string> words = split_list(text, ' ');
  if (words.empty()) throw UsageError("the plan is empty", "write a grid first: data=16,tensor=4 zero=1");
  Query query;
  for (std::size_t i = 1; i < words.size(); ++i) read_option(words[i], query);
  Plan plan = plan_of(query, about.plan);
  std::string grid = words.front();
  plan.out_of_core = grid.ends_with(out_of_core_suffix);
  if (plan.out_of_core) grid.resize(grid.size() - out_of_core_suffix.size());
  plan.mesh = read_mesh(grid);
  const BatchRule per_gpu{.per = BatchRule::Per::gpu, .value = about.work.batch};
  plan.batch = query.batch.value_or(per_gpu).batch(plan.mesh.gpus(), about.machine);
  return plan;
}

}  // namespace paradl
