#include "paradl/cost/error_record.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "paradl/spec/framework_spec.hpp"
#include "paradl/spec/kernel_errors.hpp"

namespace paradl {
namespace {

/// Student's t, two-sided 90 %, by degrees of freedom.
double t_of(std::size_t freedom) {
  constexpr double table[] = {6.31, 2.92, 2.35, 2.13, 2.02, 1.94, 1.89, 1.86, 1.83, 1.81};
  if (freedom == 0) return table[0];
  return freedom <= std::size(table) ? table[freedom - 1] : 1.645 + 1.6 / double(freedom);
}

double log_error(const Judged& run) { return std::log(run.measured / run.unseen()); }

/// The error of a run, and its curve. Runs of one curve resemble each other, so curves, not runs, are the
/// independent samples: each curve has the same weight.
struct Off {
  std::string curve;
  double by = 0;
};

std::size_t curves_of(const std::vector<Judged>& runs) {
  std::set<std::string> out;
  for (const Judged& run : runs) out.insert(run.panel());
  return out.size();
}

constexpr double held = 0.9;
/// Whether there are enough curves for conformal prediction: the new curve is one of K + 1.
bool enough(std::size_t curves) { return held * double(curves + 1) <= double(curves); }

/// The half width of an interval for nine in ten new errors, if their curve is like these. It is the smallest
/// one that holds 0.9 (K+1) / K of K curves (hierarchical conformal prediction, which assumes no distribution
/// of errors). If fewer than nine curves (`tell`) predict others, it is their root mean square times
/// Student's t.
double reach_of(const std::vector<Off>& errors, std::size_t tell, std::size_t freedom) {
  std::map<std::string, double> runs;
  for (const Off& one : errors) ++runs[one.curve];
  std::vector<std::pair<double, double>> off;  // error and weight of a run
  double square = 0;
  for (const Off& one : errors) {
    off.emplace_back(std::abs(one.by), 1 / runs.at(one.curve));
    square += one.by * one.by / double(errors.size());
  }
  if (!enough(tell)) return t_of(freedom) * std::sqrt(square);
  std::ranges::sort(off);
  double share = 0;
  for (const auto& [error, part] : off)
    if ((share += part) >= held * double(runs.size() + 1) - 1e-9) return error;
  return off.back().first;
}

/// An interval of ln(measured / projected).
struct Interval {
  double low = 0, high = 0;
};

/// A few curves of one strategy may agree by chance: if there are too few, curves of all strategies are used
/// instead. The interval is centred on their mean if that stands out, as at large scale, else on the
/// projection.
Interval around_projection(const std::vector<Judged>& runs, const std::vector<Judged>& all) {
  const std::vector<Judged>& like = enough(curves_of(runs)) ? runs : all;
  const auto reach_about = [&](double centre) {
    std::vector<Off> off;
    for (const Judged& run : like) off.push_back({run.panel(), log_error(run) - centre});
    return reach_of(off, curves_of(like), curves_of(like));
  };
  double mean = 0;
  for (const Judged& run : like) mean += log_error(run) / double(like.size());
  const double reach = reach_about(0);
  if (std::abs(mean) <= reach / 2) return {-reach, reach};
  const double about_mean = reach_about(mean);
  return {mean - about_mean, mean + about_mean};
}

double mean_of(const std::map<std::string, std::vector<double>>& groups) {
  double out = 0;
  for (const auto& [name, values] : groups)
    for (const double value : values) out += value / double(values.size()) / double(groups.size());
  return out;
}

/// The mean of ln(measured / projected), each curve with the same weight.
double bias_of(const std::vector<Judged>& runs) {
  std::map<std::string, std::vector<double>> curves;
  for (const Judged& run : runs) curves[run.panel()].push_back(log_error(run));
  return mean_of(curves);
}

using ByStrategy = std::map<std::string, std::vector<Judged>>;

ByStrategy parted(const std::vector<Judged>& runs) {
  ByStrategy out;
  for (const Judged& run : runs) out[run.strategy].push_back(run);
  return out;
}

/// Adds the differences between runs of a strategy and what its other curves predict; if it has only one
/// curve, what its other runs predict.
void add_unforeseen(const std::vector<Judged>& runs, std::vector<Off>& out) {
  const bool one_curve = curves_of(runs) == 1;
  for (const Judged& run : runs) {
    std::vector<Judged> others;
    std::ranges::copy_if(runs, std::back_inserter(others), [&](const Judged& other) {
      return one_curve ? &other != &run : other.panel() != run.panel();
    });
    if (!others.empty()) out.push_back({run.panel(), log_error(run) - bias_of(others)});
  }
}

/// An interval around a strategy's own bias. Its width comes from the differences between its runs and what
/// its other curves predict or, if it has too few curves, from those of all strategies. Each strategy's bias
/// takes a degree of freedom.
Interval around_bias(const std::vector<Judged>& runs, const std::vector<Judged>& all) {
  std::vector<Off> off;
  std::size_t tell = 0, freedom = 0;
  for (const auto& [strategy, members] : parted(enough(curves_of(runs)) ? runs : all)) {
    const std::size_t curves = curves_of(members);
    if (curves > 1) tell += curves;
    freedom += curves - 1;
    add_unforeseen(members, off);
  }
  if (off.empty()) return around_projection(runs, all);  // one run of each strategy: none predicts another
  const double bias = bias_of(runs), reach = reach_of(off, tell, freedom);
  return {bias - reach, bias + reach};
}

/// For a strategy without runs: an interval around the mean of strategies, whose width comes from the
/// differences between each strategy and what the others predict.
Interval around_strategies(const std::vector<Judged>& all) {
  const ByStrategy strategies = parted(all);
  if (strategies.size() == 1) return around_bias(all, all);
  std::map<std::string, std::vector<double>> biases;
  for (const auto& [strategy, runs] : strategies) biases[strategy] = {bias_of(runs)};
  std::vector<Off> off;
  for (const auto& [strategy, runs] : strategies) {
    auto others = biases;
    others.erase(strategy);
    for (const Judged& run : runs) off.push_back({strategy, log_error(run) - mean_of(others)});
  }
  const double mean = mean_of(biases), reach = reach_of(off, strategies.size(), strategies.size() - 1);
  return {mean - reach, mean + reach};
}

/// The lowest ratio of measured to projected time under an ideal framework. A run can be faster than
/// projected because layer times are too long; or as much as the fastest run was, for example because closed
/// forms overestimate exchanges.
double lowest(const std::vector<Judged>& all) {
  double out = 1;
  for (const Judged& run : all)
    out = std::min({out, 1 - run.layer_error.value_or(1), run.measured / run.unseen()});
  return out;
}

RecordedError recorded(const std::vector<Judged>& runs, const std::vector<Judged>& all, RecordedError about) {
  const bool ideal = is_ideal(about.level.framework);
  const Interval errors = !ideal                           ? around_projection(runs, all)
                          : about.strategy == any_strategy ? around_strategies(all)
                                                           : around_bias(runs, all);
  const auto n = double(runs.size());
  about.runs = int(runs.size());
  about.mean_accuracy = tally(runs, "").mean;
  const auto ratio = [](const Judged& run) { return run.measured / run.projected; };
  about.least = ratio(*std::ranges::min_element(runs, {}, ratio));
  about.most = ratio(*std::ranges::max_element(runs, {}, ratio));
  if (std::ranges::all_of(runs, [](const Judged& run) { return run.left_out.has_value(); })) {
    about.left_out_accuracy = 0;
    for (const Judged& run : runs)
      *about.left_out_accuracy += std::max(0.0, 1 - std::abs(*run.left_out / run.measured - 1)) / n;
  }
  const double floor = std::max(1 / most_times, ideal ? lowest(all) : 0);
  about.low = std::clamp(std::exp(errors.low), floor, 1.0);
  about.high = std::clamp(std::exp(errors.high), 1.0, most_times);
  return about;
}

/// Adjusts an interval to that of a smaller scale of the same strategy. A few large runs may agree by chance,
/// and effects of scale only add time: so the interval begins where the smaller one does, and does not end
/// earlier.
void widen_from(const RecordedError& smaller, RecordedError& error) {
  if (smaller.level != error.level || smaller.strategy != error.strategy) return;
  error.low = smaller.low;
  error.high = std::max(error.high, smaller.high);
}

bool holds(const RecordedError& error, double ratio) { return ratio >= error.low && ratio <= error.high; }

}  // namespace

std::vector<RecordedError> record_errors(const std::vector<Judged>& runs,
                                         const std::vector<ParameterLevel>& levels) {
  std::vector<ParameterLevel> known;
  for (const ParameterLevel& level : levels)
    if (std::ranges::find(known, level) == known.end()) known.push_back(level);
  std::vector<Tally> strategies = by_strategy(runs);
  strategies.push_back({.name = any_strategy});
  std::vector<RecordedError> out;
  for (const ParameterLevel& level : known)
    for (const Tally& strategy : strategies)
      for (std::size_t scale = 0; scale < recorded_scales.size(); ++scale) {
        RecordedError about{.level = level, .strategy = strategy.name, .from = recorded_scales[scale]};
        if (scale + 1 < recorded_scales.size()) about.below = recorded_scales[scale + 1];
        std::vector<Judged> members, all;
        for (std::size_t i = 0; i < runs.size(); ++i) {
          if (runs[i].partial || levels[i] != level || runs[i].gpus < about.from ||
              runs[i].gpus >= about.below)
            continue;
          all.push_back(runs[i]);
          if (strategy.name == any_strategy || runs[i].strategy == strategy.name) members.push_back(runs[i]);
        }
        if (members.empty()) continue;
        out.push_back(recorded(members, all, about));
        if (out.size() > 1) widen_from(out[out.size() - 2], out.back());
      }
  return out;
}

std::optional<RecordedError> expected_error(const std::vector<RecordedError>& recorded,
                                            const ParameterLevel& level, const Judged& run) {
  const auto near = nearest_recorded(recorded, level, run.layer_error.value_or(data_sheet_errors.most));
  if (near.empty()) return {};
  const RecordedError* found = find_recorded(near, near.front().level, run.strategy, run.gpus);
  return found ? std::optional{*found} : std::nullopt;
}

Coverage coverage(const std::vector<Judged>& runs, const std::vector<ParameterLevel>& levels,
                  const std::vector<RecordedError>& recorded) {
  Coverage out;
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (runs[i].partial) {
      continue;
    } else if (const auto error = expected_error(recorded, levels[i], runs[i])) {
      ++out.n;
      out.inside += holds(*error, runs[i].measured / runs[i].projected);
    }
  return out;
}

Coverage left_out_coverage(const std::vector<Judged>& runs, const std::vector<ParameterLevel>& levels) {
  Coverage out;
  std::set<std::string> panels;
  for (const Judged& run : runs) panels.insert(run.panel());
  for (const std::string& panel : panels) {
    std::vector<Judged> others;
    std::vector<ParameterLevel> theirs;
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (runs[i].panel() != panel) others.push_back(runs[i]), theirs.push_back(levels[i]);
    const std::vector<RecordedError> recorded = record_errors(others, theirs);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (runs[i].partial || runs[i].panel() != panel) continue;
      const RecordedError* error = find_recorded(recorded, levels[i], runs[i].strategy, runs[i].gpus);
      if (!error) continue;
      ++out.n;
      out.inside += holds(*error, runs[i].measured / runs[i].unseen());
    }
  }
  return out;
}

}  // namespace paradl
