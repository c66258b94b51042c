#include "paradl/network/algorithm.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace paradl {
namespace {

constexpr std::array<std::pair<Operation, std::string_view>, 9> names{{
    {Operation::allreduce, "allreduce"},
    {Operation::reduce_scatter, "reduce-scatter"},
    {Operation::allgather, "allgather"},
    {Operation::broadcast, "broadcast"},
    {Operation::reduce, "reduce"},
    {Operation::scatter, "scatter"},
    {Operation::all_to_all, "all-to-all"},
    {Operation::halo, "halo"},
    {Operation::point_to_point, "point-to-point"},
}};
constexpr bool in_order = [] {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::size_t(names[i].first) != i || names[i].second.empty()) return false;
  return names.size() == std::size_t(Operation::point_to_point) + 1;
}();
static_assert(in_order, "name every Operation");
constexpr auto every = [] {
  std::array<Operation, names.size()> list{};
  for (std::size_t i = 0; i < names.size(); ++i) list[i] = names[i].first;
  return list;
}();

}  // namespace

std::span<const Operation> operations() { return every; }

std::string_view text_of(Operation operation) { return names[std::size_t(operation)].second; }

std::optional<Operation> find_operation(std::string_view name) {
  for (const auto& [operation, text] : names)
    if (text == name) return operation;
  return {};
}

bool Algorithm::serves(Operation operation) const {
  return std::ranges::find(operations, operation) != operations.end();
}

bool Algorithm::pipelines(Operation operation) const {
  return std::ranges::find(pipelined, operation) != pipelined.end();
}

std::span<const Algorithm* const> algorithms() {
  static const std::vector<const Algorithm*> table = [] {
    std::vector<const Algorithm*> rows;
    const auto add = [&rows](const Algorithm& row) { rows.push_back(&row); };
    extern const Algorithm ring_algorithm;
    add(ring_algorithm);
    extern const Algorithm ring_bidirectional_algorithm;
    add(ring_bidirectional_algorithm);
    extern const Algorithm ring_2d_algorithm;
    add(ring_2d_algorithm);
    extern const Algorithm hd_algorithm;
    add(hd_algorithm);
    extern const Algorithm hd_far_algorithm;
    add(hd_far_algorithm);
    extern const Algorithm doubling_algorithm;
    add(doubling_algorithm);
    extern const Algorithm tree_algorithm;
    add(tree_algorithm);
    extern const Algorithm tree_pipelined_algorithm;
    add(tree_pipelined_algorithm);
    extern const Algorithm double_tree_algorithm;
    add(double_tree_algorithm);
    extern const Algorithm leader_algorithm;
    add(leader_algorithm);
    extern const Algorithm ring_ring_algorithm;
    add(ring_ring_algorithm);
    extern const Algorithm ring_hd_algorithm;
    add(ring_hd_algorithm);
    extern const Algorithm ring_doubling_algorithm;
    add(ring_doubling_algorithm);
    extern const Algorithm ps_algorithm;
    add(ps_algorithm);
    extern const Algorithm ps_sharded_algorithm;
    add(ps_sharded_algorithm);
    extern const Algorithm sparse_pairwise_algorithm;
    add(sparse_pairwise_algorithm);
    extern const Algorithm sparse_ring_algorithm;
    add(sparse_ring_algorithm);
    extern const Algorithm sparse_ring_ring_algorithm;
    add(sparse_ring_ring_algorithm);
    extern const Algorithm shd_algorithm;
    add(shd_algorithm);
    extern const Algorithm multitree_algorithm;
    add(multitree_algorithm);
    extern const Algorithm pairwise_algorithm;
    add(pairwise_algorithm);
    extern const Algorithm direct_algorithm;
    add(direct_algorithm);
    extern const Algorithm auto_algorithm;
    add(auto_algorithm);
    return rows;
  }();
  return table;
}

const Algorithm* find_algorithm(std::string_view name) {
  const auto rows = algorithms();
  const auto row = std::ranges::find(rows, name, &Algorithm::name);
  return row == rows.end() ? nullptr : *row;
}

namespace {

/// "`tree`", "`ring` or `hd`", "`ring`, `hd`, `tree`, `auto` or one of 5 more".
std::string algorithms_for(Operation operation) {
  constexpr std::size_t most = 4;
  std::vector<std::string> names;
  for (const Algorithm* algorithm : algorithms())
    if (algorithm->serves(operation)) names.push_back(fmt::format("`{}`", algorithm->name));
  std::string last = names.back();
  names.pop_back();
  if (names.size() >= most) last = fmt::format("one of {} more", names.size() + 1 - most), names.resize(most);
  return names.empty() ? last : fmt::format("{} or {}", fmt::join(names, ", "), last);
}

}  // namespace

SecondsPerByte selection_of(const Algorithm& algorithm, const Job& job) {
  return algorithm.sparse && job.ranks > 1 ? job.selection : SecondsPerByte{};
}

std::string refusal(const Algorithm& algorithm, const Job& job) {
  if (job.ranks < 1) return fmt::format("{} ranks cannot communicate", job.ranks);
  if (!algorithm.serves(job.operation))
    return fmt::format("`{}` does not support {}; use {}", algorithm.name, text_of(job.operation),
                       algorithms_for(job.operation));
  return algorithm.limit ? algorithm.limit(job) : "";
}

}  // namespace paradl
