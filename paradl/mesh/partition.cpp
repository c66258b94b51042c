#include "paradl/mesh/partition.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <initializer_list>
#include <limits>

namespace paradl {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// A chain with prefix sums, so that the cost of a part is one subtraction.
class Chain {
 public:
  Chain(std::span<const LayerLoad> layer, std::span<const double> border)
      : before_(layer.size() + 1), border_(layer.size() + 1) {
    for (std::size_t i = 0; i < layer.size(); ++i) {
      before_[i + 1] = before_[i];
      before_[i + 1] += layer[i];
    }
    for (std::size_t i = 0; i + 1 < layer.size() && i < border.size(); ++i) border_[i + 1] = border[i];
    highest_border_ = std::ranges::max(border_);
    additive_ = before_.back().forward_host == 0 && before_.back().backward_host == 0;
  }
  int layers() const { return int(before_.size()) - 1; }
  double total() const { return work(0, layers()); }
  /// The work of layers [from, to): at most the sum of its parts' work, and at least that of each part.
  double work(int from, int to) const {
    const LayerLoad &a = before_[std::size_t(from)], &b = before_[std::size_t(to)];
    if (additive_) return (b.forward - a.forward) + (b.backward - a.backward);
    return paced(b.forward - a.forward, b.forward_host - a.forward_host) +
           paced(b.backward - a.backward, b.backward_host - a.backward_host);
  }
  double border(int at) const { return border_[std::size_t(at)]; }  // before layer `at`
  double highest_border() const { return highest_border_; }
  /// Whether the work of a part is the sum of the work of its layers.
  bool is_additive() const { return additive_; }
  /// The work of all layers before `at`, if the chain is additive.
  double before(int at) const { return before_[std::size_t(at)].forward + before_[std::size_t(at)].backward; }
  double part(int from, int to) const { return work(from, to) + border(from) + border(to); }
  /// The layer before which `share` of the work of all passes is done, to the nearest layer.
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
  double highest_border_ = 0;
  bool additive_ = true;
};

/// Cuts at equal shares of the work, rounded to whole layers.
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

/// For each k, the layers before which part k may end if no part is longer than `bound`: the first k parts
/// can do the work before that layer, the others the work after it. Both ends of the range grow with k, so
/// each layer is visited once or twice in all.
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
  std::vector<Range> range_;  // by k; 0 parts end before the first layer
};

/// A dynamic programme over parts and layers: `best(k, to, last)` finds the best cut of the layers before
/// `to` into k parts, given the best cuts into k - 1 parts. Returns the best cut of the whole chain.
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

constexpr double rounding = 1 + 1e-9;  // sums that differ less are equal: they were added in another order

/// The least possible length of the longest part; `never` if it exceeds `bound`.
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

/// A lower bound for the longest part: every layer is in some part, and that part has a least length.
double least_possible(const Chain& chain) {
  double bound = 0;
  if (chain.is_additive()) {
    // The part from a to b takes before(b) + border(b) - (before(a) - border(a)).
    const int n = chain.layers();
    std::vector<double> end(std::size_t(n) + 1, never);  // by layer: the least before + border behind it
    for (int i = n; i > 0; --i)
      end[std::size_t(i) - 1] = std::min(end[std::size_t(i)], chain.before(i) + chain.border(i));
    double begin = -never;
    for (int i = 0; i < n; ++i) {
      begin = std::max(begin, chain.before(i) - chain.border(i));
      bound = std::max(bound, end[std::size_t(i)] - begin);
    }
    return bound;
  }
  for (int i = 0; i < chain.layers(); ++i) {
    double least = never;  // the shortest part that can have layer i
    for (int from = i; from >= 0 && chain.work(from, i + 1) < least; --from)
      for (int to = i + 1; to <= chain.layers() && chain.work(from, to) + chain.border(from) < least; ++to)
        least = std::min(least, chain.part(from, to));
    bound = std::max(bound, least);
  }
  return bound;
}

/// Where a part may begin so that it is at most `bound` long, for each layer before which it may end. Parts
/// that begin with layer `surely` or later all fit; of those that begin in [first, surely), some fit; earlier
/// ones do not.
class FittingParts {
 public:
  struct Range {
    int first = 0, surely = 0;
  };
  FittingParts(const Chain& chain, double bound)
      : chain_(chain), bound_(bound), range_(std::size_t(chain.layers()) + 1) {
    const double highest = chain.highest_border();
    for (int to = 1; to <= chain.layers(); ++to) {
      const Range& guess = range_[std::size_t(to) - 1];  // ranges of neighbours are close to each other
      const double room = bound - chain.border(to);
      range_[std::size_t(to)] = {edge(guess.first, to, room), edge(guess.surely, to, room - highest)};
    }
  }
  const Range& before(int to) const { return range_[std::size_t(to)]; }
  bool has(int from, int to) const { return chain_.part(from, to) <= bound_; }

 private:
  /// The first layer from which the work up to `to` is at most `room`.
  int edge(int guess, int to, double room) const {
    int from = std::min(guess, to);
    while (from < to && chain_.work(from, to) > room) ++from;
    while (from > 0 && chain_.work(from - 1, to) <= room) --from;
    return from;
  }

  const Chain& chain_;
  double bound_;
  std::vector<Range> range_;
};

/// Finds the least of the newest values, where values are added one by one: it keeps only those that are less
/// than all later ones.
class SuffixMinimum {
 public:
  explicit SuffixMinimum(std::size_t most) : index_(most) {}
  void clear() { size_ = 0; }
  void add(int index, const double* values) {
    while (size_ > 0 && values[index_[size_ - 1]] >= values[index]) --size_;
    index_[size_++] = index;
  }
  /// The index of the least of the values from index `first` on; -1 if there is none. `guess` is where the
  /// last look-up ended: `first` mostly moves little.
  int from(int first, std::size_t& guess) const {
    guess = std::min(guess, size_);
    while (guess > 0 && index_[guess - 1] >= first) --guess;
    while (guess < size_ && index_[guess] < first) ++guess;
    return guess == size_ ? -1 : index_[guess];
  }

 private:
  std::vector<int> index_;  // rising, and so are their values
  std::size_t size_ = 0;
};

/// Finds the cut whose borders cost least, among cuts without a part longer than `bound`. Among equal costs
/// it takes the most even cut: the one with the smallest sum of squares. Empty if there is none.
class CheapestBorders {
 public:
  CheapestBorders(const Chain& chain, int parts, double bound)
      : chain_(chain), ends_(chain, parts, bound), fitting_(chain, bound), offset_(std::size_t(parts) + 1) {
    std::ptrdiff_t size = 0;
    for (int k = 0; k <= parts; ++k) {
      offset_[std::size_t(k)] = size - ends_[k].first;
      size += std::ptrdiff_t(ends_[k].size());
    }
    cost_.resize(std::size_t(size));
    cheapest_.resize(std::size_t(size));
    wanted_.resize(std::size_t(size));
  }

  std::vector<int> find() {
    const int parts = ends_.parts(), n = chain_.layers();
    if (ends_[parts].size() == 0) return {};
    if (chain_.highest_border() > 0) {
      find_costs();
      if (costs(parts)[n] == never) return {};
      find_wanted();
    } else {  // all cuts cost nothing
      std::ranges::fill(wanted_, true);
    }
    if (!find_squares()) return {};
    std::vector<int> first(static_cast<std::size_t>(parts));
    for (int k = parts, to = n; k > 0; --k) to = first[std::size_t(k) - 1] = begin_[std::size_t(at(k, to))];
    return first;
  }

 private:
  std::ptrdiff_t at(int k, int to) const { return offset_[std::size_t(k)] + to; }
  double* costs(int k) { return cost_.data() + offset_[std::size_t(k)]; }

  void find_costs() {
    SuffixMinimum least(std::size_t(chain_.layers()) + 1);
    costs(0)[0] = 0;
    for (int k = 1; k <= ends_.parts(); ++k) {
      const auto& [first, final] = ends_[k - 1];
      const double* const before = costs(k - 1);
      int next = first;
      std::size_t at_sure = 0, at_best = 0;
      least.clear();
      for (int to = ends_[k].first; to <= ends_[k].last; ++to) {
        for (; next <= std::min(to - 1, final); ++next) least.add(next, before);
        const auto& fits = fitting_.before(to);
        const int perhaps = std::max(first, fits.first),
                  surely = std::min(std::max(first, fits.surely), next);
        const int sure = least.from(surely, at_sure);
        double cheapest = sure < 0 ? never : before[sure];
        // The cheapest of all beginnings mostly fits; if it does not, look for the cheapest that does.
        if (const int best = perhaps < surely ? least.from(perhaps, at_best) : sure; best != sure) {
          if (fitting_.has(best, to))
            cheapest = before[best];
          else
            for (int from = perhaps; from < surely; ++from)
              if (before[from] < cheapest && fitting_.has(from, to)) cheapest = before[from];
        }
        cheapest_[std::size_t(at(k, to))] = cheapest;
        costs(k)[to] = cheapest + chain_.border(to);
      }
    }
  }

  /// Calls `use(from)` for each layer `from` at which the last part of a cheapest cut into k parts can begin,
  /// the last one first, until it returns false.
  template <class Use>
  void each_beginning(int k, int to, Use use) {
    const auto& [first, final] = ends_[k - 1];
    const auto& fits = fitting_.before(to);
    const double cheapest = cheapest_[std::size_t(at(k, to))];
    const double* const before = costs(k - 1);
    const int earliest = std::max(first, fits.first);
    for (int from = std::min(to - 1, final); from >= earliest; --from)
      if (before[from] == cheapest && (from >= fits.surely || fitting_.has(from, to)) && !use(from))
        return;
  }

  /// Marks the cuts with which a cheapest cut of the whole chain can begin.
  void find_wanted() {
    wanted_[std::size_t(at(ends_.parts(), chain_.layers()))] = true;
    for (int k = ends_.parts(); k > 0; --k)
      for (int to = ends_[k].last; to >= ends_[k].first; --to)
        if (wanted_[std::size_t(at(k, to))])
          each_beginning(k, to, [&](int from) { return wanted_[std::size_t(at(k - 1, from))] = true; });
  }

  /// The most even cut; false if there is none.
  bool find_squares() {
    std::vector<double> squares(cost_.size(), never);
    begin_.resize(cost_.size());
    squares[0] = 0;
    for (int k = 1; k <= ends_.parts(); ++k)
      for (int to = ends_[k].first; to <= ends_[k].last; ++to) {
        const auto here = std::size_t(at(k, to));
        if (!wanted_[here]) continue;
        const double mean = chain_.before(to) / k;
        each_beginning(k, to, [&](int from) {
          const double work = chain_.work(from, to),
                       sum = squares[std::size_t(at(k - 1, from))] + work * work;
          if (sum < squares[here]) squares[here] = sum, begin_[here] = from;
          // Squares of k - 1 parts sum to least if the parts are equal. Beyond the mean, longer last parts
          // only make that sum larger.
          const double before = chain_.before(from);
          return !chain_.is_additive() || work < mean || k == 1 ||
                 work * work + before * before / (k - 1) < rounding * squares[here];
        });
      }
    return squares[std::size_t(at(ends_.parts(), chain_.layers()))] < never;
  }

  const Chain& chain_;
  Ends ends_;
  FittingParts fitting_;
  // By k and `to`, at(k, to): the best cut of the layers before `to` into k parts.
  std::vector<std::ptrdiff_t> offset_;  // by k
  std::vector<double> cost_;            // of all its borders
  std::vector<double> cheapest_;        // of its borders but the last one
  std::vector<char> wanted_;
  std::vector<int> begin_;  // of its last part
};

std::vector<int> cheapest_borders(const Chain& chain, int parts, double bound) {
  return CheapestBorders(chain, parts, bound).find();
}

/// Whether an additive chain could be cut so that no part is longer than `bound`, if empty parts were
/// allowed. A part from a to b takes before(b) + border(b) - (before(a) - border(a)), so the best place to
/// begin a part is where before(a) - border(a) is greatest.
bool may_fit(const Chain& chain, int parts, double bound) {
  const int n = chain.layers();
  double begin = 0;
  for (int k = 1; k < parts; ++k) {
    const double most = begin + bound;
    if (most >= chain.before(n)) return true;
    int low = 0, high = n;  // no border after `low` can be reached
    while (low < high)
      if (const int middle = (low + high + 1) / 2; chain.before(middle) <= most)
        low = middle;
      else
        high = middle - 1;
    const double before = begin;
    for (int to = low; to > 0 && chain.before(to) > begin; --to)
      if (chain.before(to) + chain.border(to) <= most)
        begin = std::max(begin, chain.before(to) - chain.border(to));
    if (begin == before) return false;
  }
  return begin + bound >= chain.before(n);
}

/// The least bound between `low` and `high` for which may_fit() holds, to thirteen digits.
double least_fit(const Chain& chain, int parts, double low, double high) {
  if (may_fit(chain, parts, low)) return low;
  while (high - low > 1e-13 * high) {
    const double middle = (low + high) / 2;
    (may_fit(chain, parts, middle) ? high : low) = middle;
  }
  return high;
}

/// A cut for stages with several pieces each, improved by moving borders.
class Interleaved {
 public:
  Interleaved(const Chain& chain, int stages, std::vector<int> first)
      : chain_(&chain), stages_(stages), first_(std::move(first)), load_(std::size_t(stages)) {
    first_.push_back(chain.layers());
    for (int k = 0; k < pieces(); ++k) {
      piece_.push_back(length(k));
      load_[stage(k)] += piece(k);
    }
  }

  std::vector<int> borders() && {
    first_.pop_back();
    return std::move(first_);
  }
  double busiest() const { return std::ranges::max(load_); }

  /// Moves borders, one at a time and then two together, as long as that helps. The number of sweeps is
  /// limited because rounding could make each of two equal cuts look better than the other.
  void improve() {
    for (int sweeps = 1'000; sweeps > 0 && (moves_one() || moves_two()); --sweeps) {
    }
  }

  /// Tries all cuts in order to find one whose busiest stage has less to do; gives up after `steps` steps.
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
  double piece(int k) const { return piece_[std::size_t(k)]; }
  double length(int k) const { return chain_->part(first_[std::size_t(k)], first_[std::size_t(k) + 1]); }

  /// A cut is better if its busiest stage has less to do; if equal, if stages are more even; if equal again,
  /// if its longest piece is shorter.
  struct Worth {
    double busiest, squares, longest;
    bool beats(const Worth& other) const {
      if (busiest * rounding < other.busiest) return true;
      if (busiest > other.busiest * rounding) return false;
      if (squares * rounding < other.squares) return true;
      return squares <= other.squares * rounding && longest * rounding < other.longest;
    }
  };
  void add_stage(Worth& out, std::size_t stage) const {
    out.busiest = std::max(out.busiest, load_[stage]), out.squares += load_[stage] * load_[stage];
  }
  void add_piece(Worth& out, int k) const { out.longest = std::max(out.longest, piece(k)); }
  /// The worth of all stages and pieces that are not next to one of `borders`: moving these changes none.
  Worth worth_beside(std::initializer_list<int> borders) const {
    const auto beside = [&](auto of, auto one) {
      return std::ranges::any_of(borders, [&](int b) { return of(b - 1) == one || of(b) == one; });
    };
    Worth out{0, 0, 0};
    for (std::size_t s = 0; s < load_.size(); ++s)
      if (!beside([&](int k) { return stage(k); }, s)) add_stage(out, s);
    for (int k = 0; k < pieces(); ++k)
      if (!beside([](int one) { return one; }, k)) add_piece(out, k);
    return out;
  }
  /// The worth of the whole cut, given `out` = worth_beside(borders).
  Worth worth(Worth out, std::initializer_list<int> borders) const {
    std::array<std::size_t, 4> seen{};
    std::size_t count = 0;
    for (const int b : borders)
      for (const int k : {b - 1, b}) {
        add_piece(out, k);
        const auto last = seen.begin() + std::ptrdiff_t(count);
        if (std::find(seen.begin(), last, stage(k)) != last) continue;
        seen[count++] = stage(k);
        add_stage(out, stage(k));
      }
    return out;
  }
  Worth worth() const { return worth_beside({}); }

  void move(int border, int to) {
    for (const int k : {border - 1, border}) load_[stage(k)] -= piece(k);
    first_[std::size_t(border)] = to;
    for (const int k : {border - 1, border}) load_[stage(k)] += piece_[std::size_t(k)] = length(k);
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
      const Worth others = worth_beside({b});
      for (int to = low; to <= high; ++to) {
        move(b, to);
        if (const Worth one = worth(others, {b}); one.beats(best)) best = one, kept = to, moved = true;
      }
      move(b, kept);
    }
    return moved;
  }

  /// Moves one border of the busiest stage together with any other border.
  bool moves_two() {
    constexpr int far = 2;
    const Worth before = worth();
    const auto worst = std::size_t(std::ranges::max_element(load_) - load_.begin());
    for (int a = 1; a < pieces(); ++a) {
      if (stage(a) != worst && stage(a - 1) != worst) continue;
      for (int b = 1; b < pieces(); ++b) {
        if (a == b) continue;
        const int a_was = first_[std::size_t(a)], b_was = first_[std::size_t(b)];
        const Worth others = worth_beside({a, b});
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
            if (worth(others, {a, b}).beats(before)) return true;
            move(b, b_was), move(a, a_was);
          }
      }
    }
    return false;
  }

  /// Appends pieces so that every stage stays below `bound`; false if that is impossible or no step is left.
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
  std::vector<int> first_;     // the first layer of each piece, and the end of the last one
  std::vector<double> piece_;  // the length of each piece
  std::vector<double> load_;   // of each stage
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
  // The best cut is at least as good as a plain one, which bounds the search.
  const double plain = longest_part(chain, plain_cut(chain, stages)) * rounding;
  // If there are many stages, one layer mostly sets the longest part, and the lower bound can be reached. If
  // there are few, the longest part is mostly as long as if empty parts were allowed. Try these bounds first.
  double least = std::max(least_possible(chain), chain.total() / stages);
  if (chain.is_additive()) least = least_fit(chain, stages, least, plain);
  if (chain.is_additive() || least > chain.total() / stages)
    if (const auto first = cheapest_borders(chain, stages, least * rounding); !first.empty()) return first;
  const double longest = shortest(chain, stages, plain);
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
