#include "paradl/mesh/partition.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace paradl {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// A chain with sums ready, so that the cost of a part is one subtraction.
class Chain {
 public:
  Chain(std::span<const double> weight, std::span<const double> border)
      : before_(weight.size() + 1), border_(weight.size() + 1) {
    for (std::size_t i = 0; i < weight.size(); ++i) before_[i + 1] = before_[i] + weight[i];
    for (std::size_t i = 0; i + 1 < weight.size() && i < border.size(); ++i) border_[i + 1] = border[i];
  }
  int layers() const { return int(before_.size()) - 1; }
  double total() const { return before_.back(); }
  double work(int from, int to) const { return before_[std::size_t(to)] - before_[std::size_t(from)]; }
  double border(int at) const { return border_[std::size_t(at)]; }  // before layer `at`
  double part(int from, int to) const { return work(from, to) + border(from) + border(to); }
  /// Where a share of all work is done, to the nearest layer.
  int at(double share) const {
    const auto found = std::ranges::lower_bound(before_, share * total());
    const int i = int(found - before_.begin());
    return i > 0 && share * total() - before_[std::size_t(i) - 1] < before_[std::size_t(i)] - share * total()
               ? i - 1
               : i;
  }

 private:
  std::vector<double> before_, border_;
};

/// A plain cut into equal shares: beyond it no better answer has to be looked for.
struct PlainCut {
  double longest = 0, squares = 0;  // of its parts
};
PlainCut plain_cut(const Chain& chain, int stages) {
  PlainCut out;
  int from = 0;
  for (int s = 1; s <= stages; ++s) {
    const int most = chain.layers() - (stages - s);
    const int to = s == stages ? most : std::clamp(chain.at(double(s) / stages), from + 1, most);
    const double part = chain.part(from, to);
    out.longest = std::max(out.longest, part);
    out.squares += part * part;
    from = to;
  }
  return out;
}

/// For each number of parts, the layers before which the last of them may end. `too_early(k, to)` says that k
/// parts that end before layer `to` leave the others too much to do, `too_late(k, to)` that they have too
/// much themselves. Both limits move on with k, so that each layer is looked at once or twice in all.
class Ends {
 public:
  struct Range {
    int first = 0, last = 0;
    std::size_t size() const { return std::size_t(last - first + 1); }
  };
  template <class Early, class Late>
  Ends(int layers, int parts, Early too_early, Late too_late) : range_(std::size_t(parts) + 1) {
    int first = 0, last = 0;
    for (int k = 1; k <= parts; ++k) {
      const int most = layers - (parts - k);  // a layer for each part to come
      first = std::max(first, k);
      while (first < most && (k == parts || too_early(k, first))) ++first;
      last = std::max(last, first - 1);
      while (last < most && !too_late(k, last + 1)) ++last;
      const bool none = k < parts && too_early(k, first);
      range_[std::size_t(k)] = {first, none ? first - 1 : last};
    }
  }
  int parts() const { return int(range_.size()) - 1; }
  const Range& operator[](int k) const { return range_[std::size_t(k)]; }

 private:
  std::vector<Range> range_;  // of no parts: before the first layer
};

/// Of parts within `bound`.
Ends ends_within(const Chain& chain, int parts, double bound) {
  const int n = chain.layers();
  return {n, parts, [&, n](int k, int to) { return chain.work(to, n) > (parts - k) * bound; },
          [&](int k, int to) { return chain.work(0, to) > k * bound; }};
}

/// For each number of parts, where the last part of the best cut of the layers up to each end began.
class Beginnings {
 public:
  explicit Beginnings(const Ends& ends) : ends_(ends), offset_(std::size_t(ends.parts()) + 1) {
    std::size_t size = 0;
    for (int k = 1; k <= ends.parts(); ++k) {
      offset_[std::size_t(k)] = size;
      size += ends[k].size();
    }
    begin_.resize(size);
  }
  /// Of the last of k parts that end before layer `to`.
  int& at(int k, int to) { return begin_[offset_[std::size_t(k)] + std::size_t(to - ends_[k].first)]; }
  /// The first layer of each part of the whole chain's cut.
  std::vector<int> borders() {
    std::vector<int> first(std::size_t(ends_.parts()));
    for (int k = ends_.parts(), to = ends_[k].last; k > 0; --k) to = first[std::size_t(k) - 1] = at(k, to);
    return first;
  }

 private:
  const Ends& ends_;
  std::vector<std::size_t> offset_;
  std::vector<int> begin_;
};

/// A dynamic programme over parts and layers: `best(k, to, last)` finds the best cut into k parts of the
/// layers before `to`, given the best ones into k - 1 parts. Returns that of the whole chain.
template <class Cut, class Best>
Cut best_cut(const Chain& chain, const Ends& ends, Cut nothing, Cut none, Best best) {
  std::vector<Cut> last(std::size_t(chain.layers()) + 1, none), now(last.size(), none);
  now[0] = nothing;
  for (int k = 1; k <= ends.parts(); ++k) {
    std::swap(last, now);
    if (k > 1) std::fill_n(now.begin() + ends[k - 2].first, ends[k - 2].size(), none);
    for (int to = ends[k].first; to <= ends[k].last; ++to) now[std::size_t(to)] = best(k, to, last);
  }
  return now.back();
}

constexpr double rounding = 1 + 1e-9;  // sums in another order are the same sums

/// The length of the longest part where it is as short as can be, no cut being known that is better than
/// `bound`.
double shortest(const Chain& chain, int parts, double bound) {
  const Ends ends = ends_within(chain, parts, bound);
  return best_cut(chain, ends, 0.0, never, [&](int k, int to, const std::vector<double>& last) {
    double least = bound, found = never;
    const auto& [first, final] = ends[k - 1];
    for (int from = std::min(to - 1, final);
         from >= first && chain.work(from, to) + chain.border(to) <= least; --from) {
      const double longest = std::max(last[std::size_t(from)], chain.part(from, to));
      if (longest <= bound && longest < found) found = least = longest;
    }
    return found;
  });
}

/// What no cut can do without: every layer is in some part.
double least_possible(const Chain& chain) {
  double bound = 0;
  for (int i = 0; i < chain.layers(); ++i) {
    double least = never;  // of the parts that layer i can be in
    for (int from = i; from >= 0 && chain.work(from, i + 1) < least; --from)
      for (int to = i + 1; to <= chain.layers() && chain.work(from, to) + chain.border(from) < least; ++to)
        least = std::min(least, chain.part(from, to));
    bound = std::max(bound, least);
  }
  return bound;
}

/// Parts that are no longer than a bound, by where they end. Looked for once, however often they are asked
/// for.
class FittingParts {
 public:
  FittingParts(const Chain& chain, double bound)
      : chain_(chain), bound_(bound), range_(std::size_t(chain.layers()) + 1) {}
  struct Part {
    int from;
    double square;  // of its work
  };
  std::span<const Part> before(int to) {
    Range& range = range_[std::size_t(to)];
    if (range.begin < 0) {
      range.begin = std::ptrdiff_t(parts_.size());
      for (int from = to - 1; from >= 0; --from) {
        const double work = chain_.work(from, to);
        if (work + chain_.border(to) > bound_) break;
        if (chain_.part(from, to) <= bound_) parts_.push_back({from, work * work});
      }
      range.end = std::ptrdiff_t(parts_.size());
    }
    return {parts_.begin() + range.begin, parts_.begin() + range.end};
  }

 private:
  struct Range {
    std::ptrdiff_t begin = -1, end = -1;
  };
  const Chain& chain_;
  double bound_;
  std::vector<Range> range_;
  std::vector<Part> parts_;
};

/// Of the cuts without a part longer than `bound`, the one whose borders cost least; of those that cost the
/// same, the one that is more even: with the smallest sum of squares. Empty if there is none.
std::vector<int> cheapest_borders(const Chain& chain, int parts, double bound) {
  FittingParts fitting(chain, bound);
  struct Cut {
    double cost = never, squares = never;
  };
  const Ends ends = ends_within(chain, parts, bound);
  Beginnings begin(ends);
  const auto find = [&](int k, int to, const std::vector<Cut>& last) {
    Cut best;
    int at = 0;
    const auto& [first, final] = ends[k - 1];
    const auto parts_to = fitting.before(to);
    auto part = std::ranges::partition_point(
        parts_to, [&](int from) { return from > final; }, &FittingParts::Part::from);
    for (; part != parts_to.end() && part->from >= first; ++part) {
      const auto& [from, square] = *part;
      const auto& [cost, squares] = last[std::size_t(from)];
      if (cost > best.cost || cost == never) continue;
      if (cost < best.cost || squares + square < best.squares) best = {cost, squares + square}, at = from;
    }
    begin.at(k, to) = at;
    best.cost += chain.border(to);
    return best;
  };
  const Cut whole = best_cut(chain, ends, Cut{0, 0}, Cut{}, find);
  return whole.cost == never ? std::vector<int>{} : begin.borders();
}

}  // namespace

std::vector<int> balanced_partition(std::span<const double> weight, int stages,
                                    std::span<const double> border) {
  assert(stages >= 1 && stages <= int(weight.size()));
  if (stages == 1) return {0};
  const Chain chain(weight, border);
  // Many stages are mostly bound by one layer: then what no cut can do without is enough.
  if (const double least = least_possible(chain); least > chain.total() / stages)
    if (const auto first = cheapest_borders(chain, stages, least * rounding); !first.empty()) return first;
  const double longest = shortest(chain, stages, plain_cut(chain, stages).longest * rounding);
  return cheapest_borders(chain, stages, longest * rounding);
}

std::vector<int> even_partition(std::span<const double> weight, int pieces, std::span<const double> border) {
  assert(pieces >= 1 && pieces <= int(weight.size()));
  const Chain chain(weight, border);
  const int n = chain.layers();
  // By Cauchy and Schwarz, the squares of some parts are never less than those of equal ones. Cuts that would
  // so be worse than a plain one are not looked at.
  const double most = plain_cut(chain, pieces).squares * rounding;
  const auto least = [](double work, int parts) { return parts > 0 ? work * work / parts : work * work; };
  const auto worse = [&](int k, int to) {
    return least(chain.work(0, to), k) + least(chain.work(to, n), pieces - k) > most;
  };
  const auto early = [&](int k, int to) { return chain.work(0, to) * pieces < chain.total() * k; };
  const Ends ends(
      n, pieces, [&](int k, int to) { return early(k, to) && worse(k, to); },
      [&](int k, int to) { return !early(k, to) && worse(k, to); });
  Beginnings begin(ends);
  best_cut(chain, ends, 0.0, never, [&](int k, int to, const std::vector<double>& last) {
    const double before = chain.work(0, to), after = least(chain.work(to, n), pieces - k);
    double best = never;
    const auto& [first, final] = ends[k - 1];
    for (int from = std::min(to - 1, final); from >= first; --from) {
      const double work = chain.work(from, to), so_far = least(before - work, k - 1) + work * work;
      if (work * k > before && so_far > std::min(best * rounding, most - after)) break;  // as all before it
      const double part = chain.part(from, to), squares = last[std::size_t(from)] + part * part;
      if (squares < best) best = squares, begin.at(k, to) = from;
    }
    return best;
  });
  return begin.borders();
}

}  // namespace paradl
