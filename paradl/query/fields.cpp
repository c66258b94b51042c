#include "paradl/query/fields.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/core/units.hpp"
#include "paradl/query/words.hpp"

namespace paradl {
namespace {

template <class Enum, std::size_t N>
Enum choose(std::string_view name, const std::string& word, const std::array<std::string_view, N>& names) {
  if (const auto found = find_name<Enum>(names, word)) return *found;
  const std::vector<std::string> known(names.begin(), names.end());
  const std::string near = did_you_mean(word, known);
  throw UsageError(fmt::format("--{} {}: not known", name, word),
                   near.empty() ? fmt::format("use {}", fmt::join(known, ", ")) : near);
}

using Names = std::array<std::string_view, 2>;
constexpr Names on_off{"off", "on"};
constexpr Names iteration_rules{"exact", "ceil"};
constexpr Names batch_norms{"local", "sync"};
constexpr Names gradient_precisions{"fp32", "fp16"};
constexpr Names grid_choices{"best", "all"};
static_assert(names_every(Grids::all, grid_choices), "name all Grids");

Bytes read_bytes(std::string_view name, const std::string& text) {
  if (const auto size = parse<Bytes>(text)) return *size;
  throw UsageError(fmt::format("--{} {}: not a size", name, text), "write 1GiB");
}

AlgorithmWord read_allreduce(const std::string& text) {
  const AlgorithmWord word = read_algorithm("allreduce", text, Operation::allreduce);
  if (!word.algorithm->serves(Operation::allreduce)) refuse(refusal(*word.algorithm, {}));
  return word;
}

ConvolutionPolicy read_convolutions(const std::string& text) {
  if (const auto policy = convolution_policy(text)) return *policy;
  throw UsageError(fmt::format("--convolutions {}: not known", text),
                   "use best, no-winograd, or a size such as 1GB");
}

Price read_price(const std::string& text) {
  if (const auto price = parse_price(text)) return *price;
  throw UsageError(fmt::format("--price {}: not a price per hour", text),
                   "write the price of a GPU hour, such as --price 2.5USD/h");
}

/// `data=16,filter=4` names the axes in their order.
StrategyName strategy_of_grid(const std::string& grid) {
  if (grid.find('=') == grid.npos)
    throw UsageError(fmt::format("--grid {}: the strategy is missing", grid),
                     "write data=16,filter=4, or add -s data+filter");
  std::string name;
  for (const std::string& item : split_list(grid, ','))
    name += fmt::format("{}{}", name.empty() ? "" : "+", item.substr(0, item.find('=')));
  return read_strategy(name);
}

void read_grid_field(Query& q, std::string_view, const std::string& text, const OriginPtr& origin) {
  if (!q.strategies) q.strategies = {{strategy_of_grid(text)}, origin};
  if (q.strategies->size() != 1)
    blame({q.strategies.origin()}, UsageError(fmt::format("--grid {} is for one strategy, and -s names {}",
                                                          text, q.strategies->size()),
                                              "leave one of them out"));
  q.grid = {read_grid(text, q.strategies->front()), origin};
}

/// Reads a text with `parse` into a member.
template <auto member, auto parse>
void take(Query& q, std::string_view name, const std::string& text, const OriginPtr& origin) {
  q.*member = {parse(name, text), origin};
}

std::string name_of_file(std::string_view, const std::string& text) { return text; }

/// For parsers that know the name of their option.
template <auto parse>
auto plain(std::string_view, const std::string& text) {
  return parse(text);
}
template <class Enum, const auto& names>
Enum one_of(std::string_view name, const std::string& text) {
  return choose<Enum>(name, text, names);
}
/// Whether the text is the second of two words.
template <const Names& names>
bool second_of(std::string_view name, const std::string& text) {
  return choose<int>(name, text, names) == 1;
}
template <int least, int most>
int count(std::string_view name, const std::string& text) {
  return read_count(name, text, least, most);
}
struct Bounds {
  double least, most;
};
template <Bounds bounds>
double number(std::string_view name, const std::string& text) {
  return read_number(name, text, bounds.least, bounds.most);
}

using Q = Query;
constexpr Field table[] = {
    {"on", take<&Q::system, name_of_file>},
    {"gpus", take<&Q::gpus, plain<read_gpu_counts>>},
    {"batch", take<&Q::batch, plain<read_batch>>},
    {"strategy", take<&Q::strategies, plain<read_strategies>>},
    {"grid", read_grid_field},
    {"grids", take<&Q::grids, one_of<Grids, grid_choices>>},
    {"fidelity", take<&Q::fidelity, one_of<Fidelity, fidelity_names>>},
    {"iterations", take<&Q::ceil_iterations, second_of<iteration_rules>>},
    {"samples", take<&Q::samples, number<Bounds{1, 1e15}>>},
    {"epochs", take<&Q::epochs, number<Bounds{1e-6, 1e9}>>},
    {"price", take<&Q::price, plain<read_price>>},
    {"profile", take<&Q::profile, name_of_file>},
    {"layer-times", take<&Q::layer_times, one_of<LayerLevel, layer_level_names>>},
    {"convolutions", take<&Q::convolutions, plain<read_convolutions>>},
    {"precision", take<&Q::precision, one_of<Precision, precision_names>>},
    {"optimizer", take<&Q::optimizer, one_of<Optimizer, optimizer_names>>},
    {"framework", take<&Q::framework, name_of_file>},
    {"transport", take<&Q::transport, one_of<Transport, transport_names>>},
    {"input", take<&Q::input, one_of<InputFrom, input_names>>},
    {"staging", take<&Q::staging, one_of<Readers, reader_names>>},
    {"prefetch", take<&Q::prefetch, second_of<on_off>>},
    {"shuffle", take<&Q::shuffle, plain<read_shuffle>>},
    {"links", take<&Q::links, one_of<LinkLevel, link_level_names>>},
    {"micro-batches", take<&Q::micro_batches, count<1, most_micro_batches>>},
    {"schedule", take<&Q::schedule, plain<read_schedule>>},
    {"recompute", take<&Q::recompute, plain<read_recompute>>},
    {"zero", take<&Q::zero, count<0, most_zero>>},
    {"sequence-parallel", take<&Q::sequence_parallel, second_of<on_off>>},
    {"flash", take<&Q::flash, second_of<on_off>>},
    {"gradients", take<&Q::short_gradients, second_of<gradient_precisions>>},
    {"reserve", take<&Q::reserve, read_bytes>},
    {"fragmentation", take<&Q::fragmentation, number<Bounds{0, 1}>>},
    {"overlap", take<&Q::overlap, second_of<on_off>>},
    {"reduction", take<&Q::reduction, one_of<Reduction, reduction_names>>},
    {"allreduce", take<&Q::allreduce, plain<read_allreduce>>},
    {"batch-norm", take<&Q::synchronised_batch_norm, second_of<batch_norms>>},
    {"gamma", take<&Q::gamma, number<Bounds{1e-3, 1e3}>>},
};

}  // namespace

std::span<const Field> fields() { return table; }

const Field* find_field(std::string_view name) {
  const auto found = std::ranges::find(table, name, &Field::name);
  return found == std::end(table) ? nullptr : found;
}

void read_field(Query& query, const Field& field, const std::string& text, const OriginPtr& origin) {
  blaming({origin}, [&] { field.read(query, field.name, text, origin); });
}

}  // namespace paradl
