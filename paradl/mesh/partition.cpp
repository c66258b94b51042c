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
  Chain(std::span<const LayerLoad> layer, std::span<const double> border)
      : before_(layer.size() + 1), border_(layer.size() + 1) {
    for (std::size_t i = 0; i < layer.size(); ++i) {
      before_[i + 1] = before_[i];
      before_[i + 1] += layer[i];
    }
    for (std::size_t i = 0; i + 1 < layer.size() && i < border.size(); ++i) border_[i + 1] = border[i];
  }
  int layers() const { return int(before_.size()) - 1; }
  double total() const { return work(0, layers()); }
  /// Never more than that of its parts together, and never less than that of one of them.
  double work(int from, int to) const {
    const LayerLoad &a = before_[std::size_t(from)], &b = before_[std::size_t(to)];
    return paced(b.forward - a.forward, b.forward_host - a.forward_host) +
           paced(b.backward - a.backward, b.backward_host - a.backward_host);
  }
  double border(int at) const { return border_[std::size_t(at)]; }  // before layer `at`
  double part(int from, int to) const { return work(from, to) + border(from) + border(to); }
  /// Where a share of all passes is done, to the nearest layer.
  int at(double share) const {
    const auto done = [](const LayerLoad& sum) { return sum.forward + sum.backward; };
    const double wanted = share * done(before_.back());
    const int i = int(std::ranges::lower_bound(before_, wanted, {}, done) - before_.begin());
    return i > 0 && wanted - done(before_[std::size_t(i) - 1]) < done(before_[std::size_t(i)]) - wanted
               ? i - 1
               : i;
  }

 private:
  std::vector<LayerLoad> before_;
  std::vector<double> border_;
};

/// A plain cut into shares as equal as whole layers allow.
std::vector<int> plain_cut(const Chain& chain, int parts) {
  std::vector<int> first{0};
  for (int k = 1; k < parts; ++k)
    first.push_back(std::clamp(chain.at(double(k) / parts), first.back() + 1, chain.layers() - (parts - k)));
  return first;
}

double longest_part(const Chain& chain, const std::vector<int>& first) {
  double longest = 0;
  for (std::size_t k = 0; k < first.size(); ++k)
    longest = std::max(longest, chain.part(first[k], k + 1 < first.size() ? first[k + 1] : chain.layers()));
  return longest;
}

/// For each number of parts within `bound`, the layers before which the last of them may end: neither they
/// nor the others have more to do than such parts can. Both limits move on with k, so that each layer is
/// looked at once or twice in all.
class Ends {
 public:
  struct Range {
    int first = 0, last = 0;
    std::size_t size() const { return std::size_t(last - first + 1); }
  };
  Ends(const Chain& chain, int parts, double bound) : range_(std::size_t(parts) + 1) {
    const int n = chain.layers();
    const auto too_early = [&](int k, int to) { return chain.work(to, n) > (parts - k) * bound; };
    const auto too_late = [&](int k, int to) { return chain.work(0, to) > k * bound; };
    int first = 0, last = 0;
    for (int k = 1; k <= parts; ++k) {
      const int most = n - (parts - k);  // a layer for each part to come
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
  const Ends ends(chain, parts, bound);
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
  const Ends ends(chain, parts, bound);
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

/// Stages with several pieces each: a cut of the chain that borders can be moved in.
class Interleaved {
 public:
  Interleaved(const Chain& chain, int stages, std::vector<int> first)
      : chain_(&chain), stages_(stages), first_(std::move(first)), load_(std::size_t(stages)) {
    first_.push_back(chain.layers());
    for (int k = 0; k < pieces(); ++k) load_[stage(k)] += piece(k);
  }

  std::vector<int> borders() && {
    first_.pop_back();
    return std::move(first_);
  }
  double busiest() const { return std::ranges::max(load_); }

  /// Moves borders, alone and then two together, as long as that helps.
  void improve() {
    while (moves_one() || moves_two()) {
    }
  }

  /// Looks for a cut whose stages all have less to do, piece by piece, and gives up after so many steps.
  void search(int steps) {
    while (steps > 0) {
      std::vector<int> first{0};
      std::vector<double> load(load_.size());
      if (!fill(first, load, busiest() / rounding, steps)) return;
      *this = Interleaved(*chain_, stages_, first);
      improve();
    }
  }

 private:
  int pieces() const { return int(first_.size()) - 1; }
  std::size_t stage(int piece) const { return std::size_t(piece % stages_); }
  double piece(int k) const { return chain_->part(first_[std::size_t(k)], first_[std::size_t(k) + 1]); }

  /// Less on the busiest stage; as much on it, and less uneven; or the same, and shorter pieces.
  struct Worth {
    double busiest, squares, longest;
    bool beats(const Worth& other) const {
      if (busiest * rounding < other.busiest) return true;
      if (busiest > other.busiest * rounding) return false;
      if (squares * rounding < other.squares) return true;
      return squares <= other.squares * rounding && longest * rounding < other.longest;
    }
  };
  Worth worth() const {
    Worth out{0, 0, 0};
    for (const double load : load_) out.busiest = std::max(out.busiest, load), out.squares += load * load;
    for (int k = 0; k < pieces(); ++k) out.longest = std::max(out.longest, piece(k));
    return out;
  }

  void move(int border, int to) {
    for (const int k : {border - 1, border}) load_[stage(k)] -= piece(k);
    first_[std::size_t(border)] = to;
    for (const int k : {border - 1, border}) load_[stage(k)] += piece(k);
  }
  bool in_order(int border) const {
    const auto b = std::size_t(border);
    return first_[b - 1] < first_[b] && first_[b] < first_[b + 1];
  }

  bool moves_one() {
    bool moved = false;
    Worth best = worth();
    for (int b = 1; b < pieces(); ++b) {
      const int low = first_[std::size_t(b) - 1] + 1, high = first_[std::size_t(b) + 1] - 1;
      int kept = first_[std::size_t(b)];
      for (int to = low; to <= high; ++to) {
        move(b, to);
        if (const Worth one = worth(); one.beats(best)) best = one, kept = to, moved = true;
      }
      move(b, kept);
    }
    return moved;
  }

  /// One border of the busiest stage, and any other.
  bool moves_two() {
    constexpr int far = 2;
    const Worth before = worth();
    const auto worst = std::size_t(std::ranges::max_element(load_) - load_.begin());
    for (int a = 1; a < pieces(); ++a) {
      if (stage(a) != worst && stage(a - 1) != worst) continue;
      for (int b = 1; b < pieces(); ++b) {
        if (a == b) continue;
        const int a_was = first_[std::size_t(a)], b_was = first_[std::size_t(b)];
        for (int i = -far; i <= far; ++i)
          for (int k = -far; k <= far; ++k) {
            if (i == 0 || k == 0) continue;
            const int a_to = a_was + i, b_to = b_was + k;
            if (a_to < 1 || b_to < 1 || a_to >= chain_->layers() || b_to >= chain_->layers()) continue;
            first_[std::size_t(a)] = a_to, first_[std::size_t(b)] = b_to;
            const bool possible = in_order(a) && in_order(b);
            first_[std::size_t(a)] = a_was, first_[std::size_t(b)] = b_was;
            if (!possible) continue;
            move(a, a_to), move(b, b_to);
            if (worth().beats(before)) return true;
            move(b, b_was), move(a, a_was);
          }
      }
    }
    return false;
  }

  /// Appends pieces until every stage has less than `bound`; false: there is no such way, or no step is left.
  bool fill(std::vector<int>& first, std::vector<double>& load, double bound, int& steps) const {
    const int k = int(first.size()) - 1, from = first.back(), n = chain_->layers();
    double room = 0;
    for (const double one : load) room += bound - one;
    if (--steps < 0 || chain_->work(from, n) > room) return false;
    double& own = load[stage(k)];
    const double before = own;
    const bool last = k + 1 == pieces();
    for (int to = last ? n : from + 1; to <= n - (pieces() - 1 - k); ++to) {
      if (before + chain_->work(from, to) >= bound) break;
      own = before + chain_->part(from, to);
      if (own >= bound) continue;
      if (last) return own = before, true;
      first.push_back(to);
      const bool found = fill(first, load, bound, steps);
      if (found) return own = before, true;
      first.pop_back();
    }
    own = before;
    return false;
  }

  const Chain* chain_;
  int stages_;
  std::vector<int> first_;    // of each piece; and where the last one ends
  std::vector<double> load_;  // of each stage
};

std::vector<LayerLoad> loads(std::span<const double> weight) {
  std::vector<LayerLoad> out;
  for (const double w : weight) out.push_back({.forward = w});
  return out;
}

}  // namespace

LayerLoad& LayerLoad::operator+=(const LayerLoad& other) {
  for (const auto part :
       {&LayerLoad::forward, &LayerLoad::backward, &LayerLoad::forward_host, &LayerLoad::backward_host})
    this->*part += other.*part;
  return *this;
}

double paced(double pass, double host) {
  return host > 0 ? std::cbrt(host * host * host + pass * pass * pass) : pass;
}

std::vector<int> balanced_partition(std::span<const LayerLoad> layer, int stages,
                                    std::span<const double> border) {
  assert(stages >= 1 && stages <= int(layer.size()));
  if (stages == 1) return {0};
  const Chain chain(layer, border);
  // Many stages are mostly bound by one layer: then what no cut can do without is enough.
  if (const double least = least_possible(chain); least > chain.total() / stages)
    if (const auto first = cheapest_borders(chain, stages, least * rounding); !first.empty()) return first;
  // No better answer has to be looked for beyond a plain cut.
  const double longest = shortest(chain, stages, longest_part(chain, plain_cut(chain, stages)) * rounding);
  return cheapest_borders(chain, stages, longest * rounding);
}

std::vector<int> cheapest_partition(std::span<const LayerLoad> layer, int stages,
                                    std::span<const double> border) {
  assert(stages >= 1 && stages <= int(layer.size()));
  const Chain chain(layer, border);
  return cheapest_borders(chain, stages, longest_part(chain, plain_cut(chain, stages)) * rounding);
}

std::vector<int> interleaved_partition(std::span<const LayerLoad> layer, int stages, int chunks,
                                       std::span<const double> border) {
  constexpr int steps = 20'000;
  const int pieces = stages * chunks;
  assert(pieces >= 1 && pieces <= int(layer.size()));
  const Chain chain(layer, border);
  Interleaved cut(chain, stages, plain_cut(chain, pieces));
  cut.improve();
  cut.search(steps);
  return std::move(cut).borders();
}

std::vector<int> balanced_partition(std::span<const double> weight, int stages,
                                    std::span<const double> border) {
  return balanced_partition(loads(weight), stages, border);
}

std::vector<int> interleaved_partition(std::span<const double> weight, int stages, int chunks,
                                       std::span<const double> border) {
  return interleaved_partition(loads(weight), stages, chunks, border);
}

}  // namespace paradl
