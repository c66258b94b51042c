#include "calibrate/commands/contention_job.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "calibrate/commands/interrupt.hpp"
#include "calibrate/commands/layer_job.hpp"
#include "calibrate/commands/progress.hpp"
#include "paradl/core/format.hpp"

namespace paradl::calibrate {
namespace {

const StoppingRule work_rule{.warm_up = 1, .least = 6, .most = 60, .noise = 0.02, .time = Seconds{3}};

/// Memory alone: numbers that no cache holds, read and written.
SharedWork copy_beside_others(const Bench& bench, Samples& kept) {
  Box box;
  box.end[4] = 4 << 20;
  Device& device = *bench.device;
  const Buffer a = device.allocate(box.items()), b = device.allocate(box.items());
  device.fill(b.get(), box.items(), 1);
  const auto copy = [&] {
    device.copy({a.get(), box}, {b.get(), box}, box, Combine::replace);
    device.synchronize();
  };
  const std::string name = fmt::format("copy of {}", decimal(Bytes{4.0 * double(box.items())}));
  return {name, measure_shared_memory(*bench.ranks, {name, copy, work_rule, interrupted}, kept)};
}

std::optional<SharedWork> layer_beside_others(const Bench& bench, const Workload& work,
                                              const BatchRule& batch, Samples& kept) {
  auto shapes = plan_shapes(work, {}, {}, batch);
  const Rates rates = nominal_rates("");
  const auto heaviest =
      std::ranges::max_element(shapes, {}, [&](const auto& s) { return guessed_turn(s.layer, rates); });
  const auto timer = LayerTimer::make(*bench.device, heaviest->layer, Optimizer::momentum);
  if (!timer) return {};
  const std::string name = fmt::format("{} of {}, all passes", heaviest->name, work.name);
  return SharedWork{name, measure_shared_memory(
                              *bench.ranks, {name, [&] { timer->turn(); }, work_rule, interrupted}, kept)};
}

std::string advice(const ContentionOutcome& outcome) {
  const SharingFit& fit = outcome.flows->fit;
  const Sharing& most = fit.phi.back();
  const double ports = most.flows / std::max(1.0, most.phi.value);
  if (!outcome.between_nodes)
    return fmt::format("All ranks are on one node: its links carry {} flows at {} times the time of one.\n",
                       most.flows, three_digits(most.phi.value));
  if (most.phi.value < 1.1)
    return fmt::format("{} flows do not meet: leave `ports` out of the level between nodes.\n", most.flows);
  return fmt::format(
      "In the system file: `ports: {}` at the level between nodes ({} flows take {} times as long: {} / "
      "{}).\n",
      three_digits(ports), most.flows, three_digits(most.phi.value), most.flows,
      three_digits(most.phi.value));
}

Table flows_table(const Contention& flows) {
  Table table{.columns = {{"flows", "flows", Holds::count, 9},
                          {"phi", "phi", Holds::text, 9},
                          {"interval", "±", Holds::text, 7},
                          {"fitted", "1 + slope (k - 1)", Holds::text, 6}}};
  for (const Sharing& s : flows.fit.phi)
    table.rows.push_back(
        {.values = {double(s.flows), fmt::format("{:.2f}", s.phi.value),
                    fmt::format("{:.2f}", s.phi.interval()), fmt::format("{:.2f}", flows.fit(s.flows))}});
  return table;
}

Table memory_table(const ContentionOutcome& outcome) {
  Table table{.columns = {{"work", "work beside others", Holds::text, 9},
                          {"active", "ranks", Holds::count, 9},
                          {"time", "time", Holds::seconds, 8},
                          {"noise", "noise", Holds::share, 5},
                          {"factor", "factor", Holds::text, 9}}};
  for (const SharedWork& work : outcome.memory)
    for (const Slowdown& s : work.slowdowns)
      table.rows.push_back({.values = {s.active == 1 ? work.name : "", double(s.active), s.time.median.base(),
                                       s.time.noise, fmt::format("{:.2f}", s.factor)}});
  return table;
}

ContentionOutcome measure(Progress& progress, const Bench& bench, int most, const ContentionOptions& given,
                          const Workload* work, const BatchRule& batch, Samples& kept) {
  Communicator& ranks = bench.between_devices();
  ContentionOutcome out;
  const auto nodes = ranks.nodes();
  auto pairs = crossing_pairs(nodes);
  pairs.resize(std::min(pairs.size(), std::size_t(most)));
  out.between_nodes = nodes[std::size_t(pairs.front().first)] != nodes[std::size_t(pairs.front().second)];
  if (pairs.size() > 1) {
    progress.show("flows", 0.1);
    ContentionOptions options = given;
    options.stop = interrupted;
    if (bench.links) options.allocate = [&](std::size_t items) { return bench.device->allocate(items); };
    out.flows = measure_contention(ranks, pairs, options, kept);
    out.interrupted = out.flows->interrupted;
  }
  if (std::ranges::count(nodes, 0) < 2 || out.interrupted) return out;
  progress.show("memory", 0.7);
  out.memory.push_back(copy_beside_others(bench, kept));
  out.interrupted = out.memory.back().slowdowns.empty();
  if (!work || out.interrupted) return out;
  if (auto layer = layer_beside_others(bench, *work, batch, kept)) {
    out.interrupted = layer->slowdowns.empty();
    out.memory.push_back(std::move(*layer));
  }
  return out;
}

}  // namespace

ContentionOutcome run_contention(const Session& session, const Bench& bench, int most,
                                 const ContentionOptions& options, const Workload* work,
                                 const BatchRule& batch, const KeptSamples& kept) {
  Progress progress(session, bench.speaks());
  Samples samples = bench.speaks() ? kept.read() : Samples{};
  const ContentionOutcome out = measure(progress, bench, most, options, work, batch, samples);
  progress.clear();
  if (!bench.speaks()) return out;
  if (!out.interrupted) {
    kept.remove();
    return out;
  }
  kept.write(samples);
  hint(session, fmt::format("interrupted: what was measured is in {}, and the next run goes on from there",
                            kept.path()));
  return out;
}

Table contention_table(const ContentionOutcome& outcome) {
  Table table{.columns = {{"of", "of", Holds::text, 9},
                          {"at_once", "at once", Holds::count, 9},
                          {"factor", "factor", Holds::text, 9},
                          {"interval", "±", Holds::text, 7},
                          {"time", "time", Holds::seconds, 6}}};
  if (outcome.flows)
    for (const Sharing& s : outcome.flows->fit.phi)
      table.rows.push_back({.values = {outcome.between_nodes ? "flows between nodes" : "flows between ranks",
                                       double(s.flows), fmt::format("{:.2f}", s.phi.value),
                                       fmt::format("{:.2f}", s.phi.interval()), Value{}}});
  for (const SharedWork& work : outcome.memory)
    for (const Slowdown& s : work.slowdowns)
      table.rows.push_back({.values = {work.name, double(s.active), fmt::format("{:.2f}", s.factor), Value{},
                                       s.time.median.base()}});
  return table;
}

std::string contention_text(const ContentionOutcome& outcome, Style style) {
  std::string out;
  if (outcome.flows) {
    const SharingFit& fit = outcome.flows->fit;
    out += fmt::format(
        "Flows {}: alpha = {}, 1/beta = {} alone; slope {:.2f} +- {:.2f}, {} off on average\n\n{}\n{}",
        outcome.between_nodes ? "between two nodes" : "between ranks of one node",
        text(Seconds{fit.alpha.value}), text(Bandwidth{1 / std::max(fit.beta.value, 1e-30)}), fit.slope.value,
        fit.slope.interval(), percent(fit.mean_error), to_text(flows_table(*outcome.flows), style).text,
        advice(outcome));
  } else {
    out += "Two flows need four ranks: no flows were measured.\n";
  }
  if (!outcome.memory.empty())
    out += fmt::format(
        "\n{}\nProfiles that are measured with as many ranks as will run have these factors in them.\n",
        to_text(memory_table(outcome), style).text);
  return out;
}

}  // namespace paradl::calibrate
