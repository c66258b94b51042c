#include "calibrate/rehearse/rehearsal.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "calibrate/fit/robust.hpp"
#include "calibrate/measure/other_load.hpp"
#include "calibrate/measure/stopping.hpp"
#include "calibrate/rehearse/survey.hpp"
#include "paradl/core/error.hpp"
#include "paradl/cost/evaluator.hpp"
#include "paradl/cost/profiled_times.hpp"

namespace paradl::calibrate {
namespace {

bool cuts_space(const Mesh& mesh) {
  for (int a = 0; a < mesh.axes; ++a)
    if (mesh.axis[std::size_t(a)].strategy->input == Placement::split_space) return true;
  return false;
}

/// Links are measured with ranks that start together. In an iteration ranks finish their passes at different
/// times, and each collective waits for the last rank.
void add_skew(Machine& machine, Seconds skew) {
  for (Level& level : machine.levels)
    for (MeasuredLink& link : level.measured) {
      const double p = level.gpus / level.inside;
      const double messages = link.operation == Collective::allreduce ? 2 * (p - 1) : p - 1;
      // Not for point-to-point messages: the bubble of a pipeline includes that wait.
      if (link.operation != Collective::point_to_point && messages > 0)
        link.link.alpha += 1.0 / messages * skew;
    }
}

/// Halos are sent in both directions at once, as in an all-to-all of two ranks, where each sends half of its
/// buffer. Point-to-point times are for one direction.
void use_two_way_messages(Machine& machine) {
  for (Level& level : machine.levels) {
    std::vector<MeasuredLink> messages;
    for (MeasuredLink link : level.measured)
      if (link.operation == Collective::all_to_all) {
        link.operation = Collective::point_to_point;
        link.from = 0.5 * link.from;
        link.below = 0.5 * link.below;
        messages.push_back(link);
      }
    if (messages.empty()) continue;
    std::erase_if(level.measured,
                  [](const MeasuredLink& l) { return l.operation == Collective::point_to_point; });
    level.measured.insert(level.measured.end(), messages.begin(), messages.end());
  }
}

class Rehearser {
 public:
  Rehearser(const Workload& work, const std::vector<Candidate>& candidates, const RehearsalOptions& options,
            Device& device, Communicator& ranks)
      : work_(work),
        options_(options),
        training_(rehearsal_training(options.training)),
        device_(device),
        ranks_(ranks),
        survey_(std::in_place, device, ranks, options.training.optimizer, options.stop) {
    for (const Candidate& c : candidates) out_.results.push_back({.candidate = c});
    pieces_ = double(candidates.size() * (options.timed ? 1 + std::size_t(options.rounds) : 1) +
                     (options.timed ? 2 * std::size_t(options.rounds) + 1 : 0));
  }

  Rehearsal run() {
    find_balance();
    for (Rehearsed& r : out_.results) check(r);
    if (options_.timed) {
      LoadWatch watch;
      int repeated = 0;
      for (int round = 0; round < options_.rounds && !stopped(); ++round) {
        watch.look();
        if (!run_round(repeated < options_.rounds)) {
          --round;
          ++repeated;
        }
      }
      watch.look();
      out_.warnings = watch.warnings();
      if (repeated > 0)
        out_.warnings.push_back(fmt::format("{} round{} repeated, because other processes used the cores",
                                            repeated, repeated == 1 ? " was" : "s were"));
      project();
    }
    return std::move(out_);
  }

 private:
  void show_progress(const std::string& what) {
    if (options_.progress && ranks_.rank() == 0) options_.progress(what, std::min(1.0, done_ / pieces_));
    ++done_;
  }

  /// Measures and times everything once. False if other processes used the cores and the round may be
  /// repeated; then the round is discarded.
  bool run_round(bool may_be_repeated) {
    constexpr double much = 0.15;  // cores
    const Survey survey = *survey_;
    const std::vector<Rehearsed> results = out_.results;
    const OtherLoad load(ranks_);
    measure();
    for (Rehearsed& r : out_.results)
      if (r.refused.empty() && !stopped()) time(r);
    if (load.cores() <= much || !may_be_repeated || stopped()) return true;
    survey_.emplace(survey);
    out_.results = results;
    return false;
  }

  bool stopped() {
    out_.interrupted = out_.interrupted || on_any(ranks_, options_.stop && options_.stop());
    return out_.interrupted;
  }

  std::set<LocalLayer> shapes() const {
    std::vector<Mesh> meshes{{}};
    for (const Rehearsed& r : out_.results)
      if (r.refused.empty()) meshes.push_back(without_ones(r.candidate.mesh));
    return shapes_on(work_, meshes, training_, options_.plan);
  }

  /// Stages are balanced once, by the times of whole layers, so that the run and the projection have the same
  /// stages.
  void find_balance() {
    balance_.layer.resize(work_.layers.size(), {Seconds{1}, Seconds{1}, Seconds{1}});
    if (!options_.timed) return;
    if (options_.profile) {
      balance_ = profiled_times(std::move(balance_), work_, options_.profile, options_.plan.batch);
      return;
    }
    show_progress("whole layers");
    Survey first(device_, ranks_, training_.optimizer, options_.stop);
    first.measure_layers(shapes_on(work_, std::vector<Mesh>{{}}, training_, options_.plan), 2);
    balance_ = profiled_times(std::move(balance_), work_, std::make_shared<Profile>(first.profile()),
                              options_.plan.samples());
  }

  Script script(const Mesh& mesh) const {
    Script script{.work = work_, .plan = options_.plan, .training = training_};
    script.plan.mesh = mesh;
    const Layout layout = place(work_, mesh, training_.placing(script.plan));
    for (const Layout::Gradients& kind : layout.gradients) script.gradient_sets.push_back(kind.summed);
    for (int a = 0; a < mesh.axes; ++a)
      if (layout.role[std::size_t(a)].front() == Role::stage)
        script.first_layer =
            plan_stages(layout, work_, balance_, mesh.axis[std::size_t(a)].parts.total).first_layer;
    return script;
  }

  const std::vector<Outcome>& serial() {
    if (serial_.empty()) {
      alone_ = ranks_.split(ranks_.rank(), 0);
      Worker worker(script({}), device_, *alone_);
      Stopwatch watch(device_);
      worker.iterate(watch);
      serial_ = worker.outcomes();
    }
    return serial_;
  }

  /// Every rank compares its part with its own serial run; the largest difference counts.
  void check(Rehearsed& r) {
    if (stopped()) {
      r.refused = "interrupted before it was run";
      return;
    }
    show_progress(r.candidate.strategy.text);
    std::optional<Worker> worker;
    try {
      Script run = script(without_ones(r.candidate.mesh));
      run.fault = options_.fault;
      worker.emplace(run, device_, ranks_);
    } catch (const UsageError& error) {
      r.refused = error.what();
    }
    // If one rank cannot run it, no rank does: the others would wait.
    if (on_any(ranks_, !worker)) {
      if (r.refused.empty()) r.refused = "another rank cannot run its part";
      return;
    }
    Stopwatch watch(device_);
    worker->iterate(watch);
    r.difference = compare(worker->outcomes(), serial());
    r.difference.largest = std::ranges::max(ranks_.gather(r.difference.largest));
    r.correct = r.difference.largest <= rounding;
  }

  void measure() {
    show_progress("layers");
    if (!options_.profile) survey_->measure_layers(shapes(), options_.turns);
    show_progress("links");
    if (!options_.machine)
      survey_->measure_links(largest_buffer(work_, options_.plan.batch), options_.link_time);
  }

  void time(Rehearsed& r) {
    show_progress(r.candidate.strategy.text);
    Worker worker(script(without_ones(r.candidate.mesh)), device_, ranks_);
    Stopwatch warm_up(device_);
    worker.iterate(warm_up);
    std::vector<double> slowest;
    Stopwatch watch(device_);
    for (int i = 0; i < options_.iterations; ++i) {
      if (stopped()) return;
      ranks_.barrier();
      const Seconds took = device_.time([&] { worker.iterate(watch); });
      slowest.push_back(std::ranges::max(ranks_.gather(took.base())));
    }
    const double share = 1.0 / ++r.rounds;
    r.measured += share * (Seconds{median(slowest)} - r.measured);
    for (std::size_t t = 0; t < terms; ++t) {
      const auto all = ranks_.gather(watch.spent()[t].base() / options_.iterations);
      const Seconds mean{std::accumulate(all.begin(), all.end(), 0.0) / double(all.size())};
      r.spent[t] += share * (mean - r.spent[t]);
    }
  }

  Machine measured_machine() {
    const int nodes = 1 + std::ranges::max(ranks_.nodes());
    Machine machine = build_machine(system_spec({.name = "here",
                                                 .summary = "",
                                                 .device = measure_device(device_, ranks_.size() / nodes),
                                                 .levels = survey_->levels()}));
    add_skew(machine, survey_->skew());
    return machine;
  }

  void project() {
    if (std::ranges::none_of(out_.results, [](const Rehearsed& r) { return r.rounds > 0; })) return;
    out_.machine = options_.machine ? *options_.machine : measured_machine();
    LayerTimes times = balance_;
    times.profile = options_.profile ? options_.profile : std::make_shared<Profile>(survey_->profile());
    times.source =
        options_.profile ? "profile " + options_.profile->name() : "measured together with the runs";
    for (Rehearsed& r : out_.results) {
      if (r.rounds == 0) continue;
      Machine machine = *out_.machine;
      if (!options_.machine && cuts_space(r.candidate.mesh)) use_two_way_messages(machine);
      const Setting setting{work_, machine, times, training_};
      const auto& [strategy, mesh] = r.candidate;
      const Plan plan = options_.plan.on(strategy, mesh, options_.plan.batch);
      r.projection = Evaluator(setting).project(plan);
    }
    out_.times = std::move(times);
  }

  const Workload& work_;
  const RehearsalOptions& options_;
  Training training_;
  Device& device_;
  Communicator& ranks_;
  std::optional<Survey> survey_;  // always has a value; optional, so that a disturbed round can be undone
  LayerTimes balance_;
  std::unique_ptr<Communicator> alone_;
  std::vector<Outcome> serial_;
  Rehearsal out_;
  double done_ = 0, pieces_ = 1;
};

}  // namespace

Bytes largest_buffer(const Workload& work, double batch) {
  double items = work.parameters();
  for (const Layer& layer : work.layers) items = std::max(items, layer.y.items() * batch);
  return items * Bytes{4};
}

double Rehearsed::accuracy() const {
  if (!timed()) return 0;
  return std::max(0.0, 1 - std::abs(projection->iteration() / measured - 1));
}

Training rehearsal_training(Training training) {
  training.overlap = false;
  training.synchronised_batch_norm = true;
  training.halos_of_dx = true;
  training.wide_sums = false;
  training.stage_cut = StageCut::balanced_layers;  // the links are not measured yet
  return training;
}

Rehearsal rehearse(const Workload& work, const std::vector<Candidate>& candidates,
                   const RehearsalOptions& options, Device& device, Communicator& ranks) {
  return Rehearser(work, candidates, options, device, ranks).run();
}

bool ranking_agrees(const std::vector<Rehearsed>& results, double tie) {
  for (const Rehearsed& a : results)
    for (const Rehearsed& b : results) {
      if (!a.timed() || !b.timed()) continue;
      const bool clearly_faster = a.measured < (1 - tie) * b.measured;
      const bool clearly_projected_slower = (1 - tie) * a.projection->iteration() > b.projection->iteration();
      if (clearly_faster && clearly_projected_slower) return false;
    }
  return true;
}

bool winner_agrees(const std::vector<Rehearsed>& results, double tie) {
  const Rehearsed *fastest = nullptr, *projected = nullptr;
  for (const Rehearsed& r : results) {
    if (!r.timed()) continue;
    if (!fastest || r.measured < fastest->measured) fastest = &r;
    if (!projected || r.projection->iteration() < projected->projection->iteration()) projected = &r;
  }
  return !fastest || (1 - tie) * projected->measured <= fastest->measured;
}

bool all_right(const Rehearsal& rehearsal) {
  const auto run = [](const Rehearsed& r) { return r.refused.empty(); };
  return std::ranges::any_of(rehearsal.results, run) &&
         std::ranges::none_of(rehearsal.results, [&](const Rehearsed& r) { return run(r) && !r.correct; });
}

double mean_accuracy(const Rehearsal& rehearsal) {
  double sum = 0, n = 0;
  for (const Rehearsed& r : rehearsal.results)
    if (r.timed()) sum += r.accuracy(), ++n;
  return n > 0 ? sum / n : 1;
}

double worst_accuracy(const Rehearsal& rehearsal) {
  double worst = 1;
  for (const Rehearsed& r : rehearsal.results)
    if (r.timed()) worst = std::min(worst, r.accuracy());
  return worst;
}

}  // namespace paradl::calibrate
