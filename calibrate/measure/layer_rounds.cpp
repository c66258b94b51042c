#include "calibrate/measure/layer_rounds.hpp"

#include <algorithm>
#include <cmath>
#include <new>

#include "calibrate/measure/stopping.hpp"

namespace paradl::calibrate {
namespace {

constexpr std::size_t least_turns = 6;   // fewer have no 95 % confidence interval
constexpr int least_rounds = 2;          // the speed of a machine changes between rounds
constexpr std::size_t most_turns = 300;  // in one round
constexpr Seconds short_turns{10e-3};    // fast layers run more turns, up to this total
constexpr Seconds between_keeps{10};
constexpr double unknown = 1;  // noise: higher values carry no information

Seconds all_of(const PassTimes& t) { return t.forward + t.backward() + t.update; }

/// One shape and its measurements so far.
struct State {
  std::vector<PassTimes> turns;
  PassTimes time;
  Seconds spent;
  int rounds = 0;
  bool refused = false, settled = false;
};

class Rounds {
 public:
  Rounds(Device& device, Communicator& ranks, const std::vector<LocalLayer>& shapes,
         const LayerRoundsOptions& options)
      : device_(device), ranks_(ranks), shapes_(shapes), options_(options), states_(shapes.size()) {}

  LayerRounds run() {
    const Seconds start = ranks_.now();
    LoadWatch watch;
    watch.look();
    while (out_.rounds < options_.rule.rounds && any_open()) {
      const bool late = out_.rounds > 0 && ranks_.now() - start >= options_.rule.time;
      if (on_any(ranks_, late) || !round()) break;
      ++out_.rounds;
      watch.look();
      keep();
    }
    out_.warnings = watch.warnings();
    out_.entries = entries();
    for (std::size_t i = 0; i < shapes_.size(); ++i)
      if (states_[i].refused) out_.refused.push_back(shapes_[i]);
    return std::move(out_);
  }

 private:
  bool open(const State& s) const { return !s.refused && !s.settled; }
  bool any_open() const {
    return std::ranges::any_of(states_, [&](const State& s) { return open(s); });
  }

  /// False if it was interrupted.
  bool round() {
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      if (!open(states_[i])) continue;
      if (on_any(ranks_, options_.stop && options_.stop())) {
        out_.interrupted = true;
        return false;
      }
      if (options_.progress && ranks_.rank() == 0) options_.progress(i, share());
      measure(i);
      if (ranks_.now() - kept_ > between_keeps) keep();
    }
    return true;
  }

  void measure(std::size_t i) {
    State& state = states_[i];
    std::unique_ptr<LayerTimer> timer;
    try {
      timer = LayerTimer::make(device_, shapes_[i], options_.optimizer);
    } catch (const std::bad_alloc&) {
    }
    if (on_any(ranks_, !timer)) {
      state.refused = true;
      return;
    }
    timer->turn();  // first touches
    Seconds spent;
    for (std::size_t t = 0; t < std::size_t(options_.rule.turns) || (t < most_turns && spent < short_turns);
         ++t) {
      state.turns.push_back(timer->turn());
      spent += all_of(state.turns.back());
    }
    ++state.rounds;
    state.spent += spent;
    state.time = mean_over(ranks_, median_of(state.turns));
    if (!(state.time.noise <= unknown)) state.time.noise = unknown;
    const bool enough = state.turns.size() >= least_turns && state.rounds >= least_rounds &&
                        (state.spent >= options_.rule.least || state.turns.size() >= most_turns) &&
                        state.time.noise <= options_.rule.noise;
    state.settled = !on_any(ranks_, !enough);
  }

  double share() const {
    double done = 0;
    for (const State& s : states_)
      done += open(s) ? 0.95 * std::min(1.0, s.rounds / double(least_rounds)) : 1;
    return done / double(states_.size());
  }

  std::vector<ProfileSpec::Entry> entries() const {
    std::vector<ProfileSpec::Entry> out;
    for (std::size_t i = 0; i < shapes_.size(); ++i)
      if (states_[i].rounds > 0 && !states_[i].refused) out.push_back({shapes_[i], states_[i].time});
    return out;
  }

  void keep() {
    kept_ = ranks_.now();
    if (options_.keep && ranks_.rank() == 0) options_.keep(entries());
  }

  Device& device_;
  Communicator& ranks_;
  const std::vector<LocalLayer>& shapes_;
  const LayerRoundsOptions& options_;
  std::vector<State> states_;
  Seconds kept_;
  LayerRounds out_;
};

}  // namespace

LayerRounds measure_layer_rounds(Device& device, Communicator& ranks, const std::vector<LocalLayer>& shapes,
                                 const LayerRoundsOptions& options) {
  return Rounds(device, ranks, shapes, options).run();
}

}  // namespace paradl::calibrate
