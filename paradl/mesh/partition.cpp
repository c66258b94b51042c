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

/// For each number of parts, where the last part of the best cut of the layers up to each one began.
class Beginnings {
 public:
  Beginnings(int layers, int parts)
      : layers_(layers), parts_(parts), begin_(std::size_t(parts + 1) * std::size_t(layers + 1)) {}
  /// Of the last of k parts that end before layer `to`.
  int& at(int k, int to) { return begin_[std::size_t(k) * std::size_t(layers_ + 1) + std::size_t(to)]; }
  /// The first layer of each part of the whole chain's cut.
  std::vector<int> borders() {
    std::vector<int> first(static_cast<std::size_t>(parts_));
    for (int k = parts_, to = layers_; k > 0; --k) to = first[std::size_t(k) - 1] = at(k, to);
    return first;
  }

 private:
  int layers_, parts_;
  std::vector<int> begin_;
};

/// A dynamic programme over parts and layers. `best(k, to)` finds the best cut into k parts of the layers
/// before `to`; it is asked for those only that leave the others enough layers, and neither them nor itself
/// more work than parts within `bound` can do.
template <class Next, class Best>
void for_each_end(const Chain& chain, int parts, double bound, Next next, Best best) {
  const int n = chain.layers();
  int least = 0;  // that leaves the others no more than they can do
  for (int k = 1; k <= parts; ++k) {
    next();
    const int most = n - (parts - k);  // a layer for each part to come
    while (least < most && (k == parts || chain.work(least, n) > (parts - k) * bound)) ++least;
    for (int to = std::max(k, least); to <= most && chain.work(0, to) <= k * bound; ++to)
      if (k == parts || chain.work(to, n) <= (parts - k) * bound) best(k, to);
  }
}

constexpr double rounding = 1 + 1e-9;  // sums in another order are the same sums

/// The length of the longest part where it is as short as can be, no cut being known that is better than
/// `bound`.
double shortest(const Chain& chain, int parts, double bound) {
  std::vector<double> last(std::size_t(chain.layers()) + 1, never), now(last.size(), never);
  now[0] = 0;
  const auto next = [&] {
    std::swap(last, now);
    std::ranges::fill(now, never);
  };
  for_each_end(chain, parts, bound, next, [&](int k, int to) {
    double least = bound, found = never;
    for (int from = to - 1; from >= k - 1 && chain.work(from, to) + chain.border(to) <= least; --from) {
      const double longest = std::max(last[std::size_t(from)], chain.part(from, to));
      if (longest <= bound && longest < found) found = least = longest;
    }
    now[std::size_t(to)] = found;
  });
  return now.back();
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
  const int n = chain.layers();
  FittingParts fitting(chain, bound);
  struct Cut {
    double cost = never, squares = never;
  };
  std::vector<Cut> last(std::size_t(n) + 1), now(last.size());
  now[0] = {0, 0};
  Beginnings begin(n, parts);
  const auto next = [&] {
    std::swap(last, now);
    std::ranges::fill(now, Cut{});
  };
  for_each_end(chain, parts, bound, next, [&](int k, int to) {
    Cut best;
    int at = 0;
    for (const auto& [from, square] : fitting.before(to)) {
      const auto& [cost, squares] = last[std::size_t(from)];
      if (cost > best.cost || cost == never) continue;
      if (cost < best.cost || squares + square < best.squares) best = {cost, squares + square}, at = from;
    }
    now[std::size_t(to)] = {best.cost + chain.border(to), best.squares};
    begin.at(k, to) = at;
  });
  return now.back().cost == never ? std::vector<int>{} : begin.borders();
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
  std::vector<double> last(weight.size() + 1, never), now(last.size(), never);
  now[0] = 0;
  Beginnings begin(n, pieces);
  const auto next = [&] {
    std::swap(last, now);
    std::ranges::fill(now, never);
  };
  for_each_end(chain, pieces, never, next, [&](int k, int to) {
    const double before = chain.work(0, to), after = least(chain.work(to, n), pieces - k);
    if (least(before, k) + after > most) return;
    double best = never;
    for (int from = to - 1; from >= k - 1; --from) {
      const double work = chain.work(from, to), so_far = least(before - work, k - 1) + work * work;
      if (work * k > before && so_far > std::min(best * rounding, most - after)) break;  // as all before it
      const double part = chain.part(from, to), squares = last[std::size_t(from)] + part * part;
      if (squares < best) best = squares, begin.at(k, to) = from;
    }
    now[std::size_t(to)] = best;
  });
  return begin.borders();
}

}  // namespace paradl
