// Changes of how to train, and the conditions of the others.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "paradl/cost/modelled_times.hpp"
#include "paradl/judge/changes/values.hpp"
#include "paradl/network/measured_cost.hpp"
#include "paradl/strategy/recomputed.hpp"

namespace paradl::changes {
namespace {

double samples_of_pipeline(const Evidence& e) { return e.projection.plan.batch / sample_parts(e.mesh); }

/// Numbers of micro-batches that divide the samples, smallest first.
std::vector<double> divisors(double samples, double most) {
  std::vector<double> small, large;
  for (double i = 1; i <= std::min(std::sqrt(samples), most); ++i) {
    if (std::fmod(samples, i) != 0) continue;
    small.push_back(i);
    if (samples / i > i && samples / i <= most) large.push_back(samples / i);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

/// Those above `least` that differ enough to be tried, and the last.
std::vector<double> thinned(const std::vector<double>& numbers, double least) {
  constexpr double step = 1.25;
  std::vector<double> out;
  for (const double n : numbers)
    if (n > least && (out.empty() || n >= step * out.back() || n == numbers.back())) out.push_back(n);
  return out;
}

}  // namespace

bool stores_scores(const Evidence& e) {
  return std::ranges::any_of(e.setting.work.layers, [](const Layer& l) { return l.scores > 0; });
}

bool has_blocks(const Evidence& e) { return !recomputable_blocks(e.setting.work).empty(); }

bool has_split_channels(const Evidence& e) {
  return std::ranges::any_of(e.mesh.all(),
                             [&](const Axis& axis) { return splits_channels(axis, e.setting.work); });
}

bool can_split_sequence(const Evidence& e) {
  const auto attends = [](const Layer& l) { return l.op == Op::attention; };
  return !now(e).sequence_parallel && !training(e).whole_sums &&
         std::ranges::any_of(e.mesh.all(), [](const Axis& axis) { return axis.strategy->pairs; }) &&
         std::ranges::any_of(e.setting.work.layers, attends);
}

bool can_shard(const Evidence& e, int stage) {
  const auto splits_samples = [](const Axis& axis) { return is_split(axis.strategy->input); };
  return now(e).zero < stage && !now(e).allreduce.algorithm &&
         std::ranges::any_of(e.mesh.all(), splits_samples);
}

Alternatives smaller_micro_batches_of(const Evidence& e) {
  const int current = now(e).micro_batches, stages = stages_of(e);
  Alternatives out;
  const auto add = [&](double S, bool one_by_one) {
    const auto count = int(S);
    std::string option = count > current ? fmt::format("--micro-batches {}", count) : "";
    if (one_by_one) option += option.empty() ? "--schedule 1f1b" : " --schedule 1f1b";
    out.push_back({.text = fmt::format("{} micro-batches", count),
                   .option = std::move(option),
                   .plan = [count, one_by_one](Plan& p) {
                     p.micro_batches = count;
                     if (one_by_one) p.schedule = PipelineSchedule::one_forward_one_backward, p.chunks = 1;
                   }});
  };
  const bool interleaved = now(e).schedule == PipelineSchedule::interleaved;
  const bool keeps_more = now(e).schedule == PipelineSchedule::gpipe ? current > 1 : interleaved;
  if (stages > 1 && keeps_more) add(current, true);
  for (const double S : thinned(divisors(samples_of_pipeline(e), most_micro_batches), current)) {
    if (interleaved && stages > 1 && std::fmod(S, stages) == 0) add(S, false);
    add(S, stages > 1);
  }
  return out;
}

Alternatives more_micro_batches_of(const Evidence& e) {
  Alternatives out;
  for (const int factor : {2, 4, 8})
    if (const int count = factor * now(e).micro_batches; std::fmod(samples_of_pipeline(e), count) == 0)
      out.push_back({.text = fmt::format("{} micro-batches", count),
                     .option = fmt::format("--micro-batches {}", count),
                     .plan = [count](Plan& p) { p.micro_batches = count; }});
  return out;
}

Alternatives other_allreduces(const Evidence& e) {
  Alternatives out;
  // Named algorithms use specified links: they would look faster than a measured ring.
  if (now(e).allreduce.algorithm || now(e).zero > 0 || has_measured_links(e.setting.machine)) return out;
  for (const char* name : {"hd", "double-tree"})
    if (const Algorithm* algorithm = find_algorithm(name))
      out.push_back({.text = fmt::format("another allreduce: {}", algorithm->summary),
                     .option = fmt::format("--allreduce {}", name),
                     .plan = [algorithm](Plan& p) { p.allreduce = {.algorithm = algorithm}; }});
  return out;
}

Alternatives fused_kernels(const Evidence& e) {
  if (training(e).framework.update_kernels == UpdateKernels::fused) return {};
  const auto work_in = [&](UpdateKernels kernels) {
    return update_work(training(e).optimizer, training(e).precision, kernels);
  };
  const auto times = with_update(e.setting.times, e.setting.work, work_in(UpdateKernels::separate),
                                 work_in(UpdateKernels::fused));
  if (!times) return {};
  return {{.text = {},
           .option = {},
           .training = [](Training& t) { t.framework.update_kernels = UpdateKernels::fused; },
           .times = std::make_shared<const LayerTimes>(*times)}};
}

/// With measured updates, the time of the update stays.
Alternatives updates_without_state(const Evidence& e) {
  const Training& now = training(e);
  if (optimizer_slots(now.optimizer) == 0) return {};
  const auto work_of = [&](Optimizer optimizer) {
    return update_work(optimizer, now.precision, now.framework.update_kernels);
  };
  const auto times =
      with_update(e.setting.times, e.setting.work, work_of(now.optimizer), work_of(Optimizer::sgd));
  return {{.text = {},
           .option = {},
           .training = [](Training& t) { t.optimizer = Optimizer::sgd; },
           .times = times ? std::make_shared<const LayerTimes>(*times) : nullptr}};
}

}  // namespace paradl::changes
