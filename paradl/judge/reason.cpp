#include "paradl/judge/reason.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "paradl/core/format.hpp"

namespace paradl {
namespace {

bool is_whole(double number) { return number == std::floor(number); }
bool divides(double a, double b) { return std::fmod(b, a) == 0; }

/// "1 row", "7 rows", "1.5 samples".
std::string counted(double number, std::string_view what) {
  return fmt::format("{} {}{}", is_whole(number) ? fmt::format("{}", number) : fmt::format("{:g}", number),
                     what, number == 1 ? "" : "s");
}

std::string sentence(LimitRule rule, double value, double bound, std::string_view layer) {
  return fmt::format(fmt::runtime(row_of(rule).sentence), value, counted(bound, row_of(rule).unit),
                     layer.empty() ? "a layer" : fmt::format("layer {}", layer));
}

std::string in_layer(std::string_view layer) {
  return layer.empty() ? "" : fmt::format(" (layer {})", layer);
}

/// "nearest: 4 or 6", "nearest: 4": the numbers next to `value`, of 1 to `most`, that are `good`.
template <class Good>
std::string nearest(double value, double most, Good good) {
  double below = value, above = value;
  while (below > 1 && !good(below)) --below;
  while (above < most && !good(above)) ++above;
  const bool both = good(above) && above > below;
  return fmt::format("nearest: {}{}", below, both ? fmt::format(" or {}", above) : "");
}

/// "tensor=5 must divide the 12 heads; nearest: 4 or 6 (layer attention)".
std::string indivisible(LimitRule rule, double value, double bound, std::string_view layer) {
  const std::string problem = sentence(rule, value, bound, layer);
  if (!is_whole(bound))
    return fmt::format("{}, which is not a whole number; choose a --batch that makes it {}{}", problem,
                       bound > value ? fmt::format("{} or ", value * std::floor(bound / value)) : "",
                       value * std::ceil(bound / value));
  const std::string possible = value > bound
                                   ? fmt::format("the largest possible is {}", bound)
                                   : nearest(value, bound, [&](double p) { return divides(p, bound); });
  return fmt::format("{}; {}{}", problem, possible, in_layer(layer));
}

/// "tensor=8 must divide the 6 key and value heads, or be a multiple of them; nearest: 6 or 12 (layer ...)".
/// A number that is proposed must divide all heads, too.
std::string indivisible_attention(const Limit& limit, const Layer& attention) {
  const auto good = [&](double p) {
    return divides(p, attention.query_heads) &&
           (divides(p, attention.heads) || divides(attention.heads, p)) &&
           (limit.rule == LimitRule::kv_heads || divides(p, limit.bound));
  };
  return fmt::format("{}; {}{}", sentence(limit.rule, limit.value, limit.bound, attention.name),
                     nearest(limit.value, attention.query_heads, good), in_layer(attention.name));
}

std::string uneven_rounds(double stages, double micro_batches) {
  const double below = micro_batches - std::fmod(micro_batches, stages);
  return fmt::format("--micro-batches {} must be a multiple of the {} (interleaved schedule); nearest: {}{}",
                     micro_batches, counted(stages, "stage"), below > 0 ? fmt::format("{} or ", below) : "",
                     below + stages);
}

template <class Reason>
std::string broken(const Projection& projection, Reason reason_of) {
  std::string out;
  for (const Limit& limit : projection.limits.all()) {
    if (limit.holds()) continue;
    const bool refused = limit.rule == LimitRule::allreduce && !projection.refused.empty();
    out += (out.empty() ? "" : "; ") + (refused ? projection.refused : reason_of(limit));
  }
  return out;
}

}  // namespace

std::string reason(LimitRule rule, double value, double bound, std::string_view layer) {
  switch (rule) {
    case LimitRule::memory:
      return fmt::format("needs {}, the device has {}", text(Bytes{value}), text(Bytes{bound}));
    case LimitRule::storage:
      return fmt::format("a node would have to store {} of the data set, its storage has {}",
                         decimal(Bytes{value}), decimal(Bytes{bound}));
    case LimitRule::host_memory:
      return fmt::format("needs at least {} of host memory, a node has {}", enough(Bytes{value}),
                         text(Bytes{bound}));
    case LimitRule::host_update:
      return "the weights do not fit the device, and the update rate of its host is unknown: the system file "
             "has no host memory-bandwidth (add host: {memory-bandwidth: 256 GB/s})";
    case LimitRule::allreduce:
      return fmt::format("the chosen allreduce cannot run on {} ranks{}", value,
                         bound <= 1 ? ", nor on fewer"
                                    : fmt::format("; the largest possible number below is {}", bound));
    case LimitRule::interleaving:
      return uneven_rounds(value, bound);
    default:
      return row_of(rule).relation == Relation::at_most ? sentence(rule, value, bound, layer)
                                                        : indivisible(rule, value, bound, layer);
  }
}

std::string reason(std::string_view rule, double value, double bound, std::string_view layer) {
  const auto row = std::ranges::find(limit_rules, rule, &LimitRow::name);
  if (row != limit_rules.end()) return reason(LimitRule(row - limit_rules.begin()), value, bound, layer);
  return fmt::format("{} does not hold: {} and {}{}", rule, value, bound, in_layer(layer));
}

std::string reason(const Limit& limit, const Workload& work) {
  const Layer* layer = limit.layer >= 0 ? &work.layers[std::size_t(limit.layer)] : nullptr;
  switch (limit.rule) {
    case LimitRule::kv_heads:
    case LimitRule::tensor_sequence:
    case LimitRule::tensor_context:
      return indivisible_attention(limit, *layer);
    default:
      return reason(limit.rule, limit.value, limit.bound, layer ? std::string_view(layer->name) : "");
  }
}

std::string reasons(const Projection& projection, const Workload& work) {
  return broken(projection, [&](const Limit& limit) { return reason(limit, work); });
}

std::string footnote(const Projection& projection, const Workload& work) {
  return broken(projection, [&](const Limit& limit) {
    return limit.rule == LimitRule::memory
               ? fmt::format("needs more than the device's {}", text(Bytes{limit.bound}))
               : reason(limit, work);
  });
}

}  // namespace paradl
