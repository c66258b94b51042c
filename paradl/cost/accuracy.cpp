#include "paradl/cost/accuracy.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace paradl {
namespace {

template <class Name>
std::vector<Tally> grouped(const std::vector<Judged>& runs, Name name) {
  std::vector<std::string> names;
  for (const Judged& run : runs)
    if (std::ranges::find(names, name(run)) == names.end()) names.push_back(name(run));
  std::vector<Tally> out;
  for (const std::string& one : names) {
    std::vector<Judged> members;
    std::ranges::copy_if(runs, std::back_inserter(members),
                         [&](const Judged& run) { return name(run) == one; });
    out.push_back(tally(members, one));
  }
  return out;
}

double per_sample(const Judged& run, Seconds time) { return time.base() / run.batch; }

double accuracy_of(double error) { return std::max(0.0, 1 - std::abs(error)); }

}  // namespace

double Judged::accuracy() const { return accuracy_of(error()); }

std::optional<Seconds> Judged::unexplained() const {
  if (!compute || !communication) return {};
  return gap() - Seconds{compute->gap()} - Seconds{communication->gap()};
}

Tally tally(const std::vector<Judged>& runs, std::string name) {
  Tally out{.name = std::move(name), .n = runs.size()};
  if (runs.empty()) return out;
  std::vector<double> all;
  for (const Judged& run : runs) all.push_back(run.accuracy());
  std::ranges::sort(all);
  for (const double a : all) out.mean += a / double(all.size());
  const std::size_t half = all.size() / 2;
  out.median = all.size() % 2 ? all[half] : (all[half - 1] + all[half]) / 2;
  out.worst = all.front();
  return out;
}

std::vector<Tally> by_strategy(const std::vector<Judged>& runs) {
  return grouped(runs, [](const Judged& run) { return run.strategy; });
}

std::vector<Tally> by_model(const std::vector<Judged>& runs) {
  return grouped(runs, [](const Judged& run) { return run.model; });
}

std::vector<Tally> by_gpus(const std::vector<Judged>& runs) {
  std::vector<Judged> sorted = runs;
  std::ranges::stable_sort(sorted, {}, &Judged::gpus);
  return grouped(sorted, [](const Judged& run) { return fmt::format("{}", run.gpus); });
}

std::vector<Tally> by_term(const std::vector<Judged>& runs) {
  std::vector<Tally> out;
  for (std::size_t t = 0; t < terms; ++t) {
    std::vector<Judged> members;
    for (const Judged& run : runs)
      if (const auto& part = run.by_term[t]; part && part->measured > 0)
        members.push_back({.measured = Seconds{part->measured}, .projected = Seconds{part->projected}});
    if (!members.empty()) out.push_back(tally(members, std::string(term_names[t].title)));
  }
  return out;
}

Ranking ranking(const std::vector<Judged>& runs) {
  Ranking out;
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (std::size_t j = i + 1; j < runs.size(); ++j) {
      const Judged &a = runs[i], &b = runs[j];
      if (a.partial || b.partial) continue;
      if (a.model != b.model || a.system != b.system || a.gpus != b.gpus || a.strategy == b.strategy)
        continue;
      const double measured = per_sample(a, a.measured) / per_sample(b, b.measured);
      if (std::max(measured, 1 / measured) <= 1 + clear_difference) continue;
      const double projected = per_sample(a, a.projected) / per_sample(b, b.projected);
      ++out.pairs;
      if ((measured < 1) == (projected < 1)) {
        ++out.agree;
      } else {
        const Judged &fast = measured < 1 ? a : b, &slow = measured < 1 ? b : a;
        out.wrong.push_back(
            fmt::format("{}, {} GPUs: {} was faster than {}", a.model, a.gpus, fast.strategy, slow.strategy));
      }
    }
  return out;
}

}  // namespace paradl
