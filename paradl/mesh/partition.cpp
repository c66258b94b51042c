#include "paradl/mesh/partition.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

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

/// The longest part of a plain cut into equal shares: no better answer has to be looked for beyond it.
double plain_cut(const Chain& chain, int stages) {
  double longest = 0;
  int from = 0;
  for (int s = 1; s <= stages; ++s) {
    const int most = chain.layers() - (stages - s);
    const int to = s == stages ? most : std::clamp(chain.at(double(s) / stages), from + 1, most);
    longest = std::max(longest, chain.part(from, to));
    from = to;
  }
  return longest;
}

/// What a cut is worth so far: the second number decides where the first is equal.
using Worth = std::pair<double, double>;
constexpr Worth nothing{never, never};

/// A dynamic programme over parts and layers: for each number of parts, the best cut of the layers up to each
/// one, and where its last part began.
class Programme {
 public:
  Programme(const Chain& chain, int stages)
      : chain_(chain), stages_(stages), begin_(std::size_t(stages + 1) * std::size_t(chain.layers() + 1)) {}

  /// The best cut into parts that take at most `bound` each; `join` adds one more part to what a cut is
  /// worth, and a part that takes more than `reach` of the best cut so far cannot make a better one.
  template <class Join, class Reach>
  Worth solve(double bound, Join join, Reach reach) {
    const int n = chain_.layers();
    std::vector<Worth> last(std::size_t(n) + 1, nothing), now(last.size(), nothing);
    last[0] = {0, 0};
    for (int k = 1; k <= stages_; ++k) {
      std::ranges::fill(now, nothing);
      const int most = n - (stages_ - k);  // a layer for each part to come
      for (int to = k == stages_ ? n : k; to <= most && chain_.work(0, to) <= k * bound; ++to) {
        if (chain_.work(to, n) > (stages_ - k) * bound) continue;  // too much is left for the others
        double most_work = bound - chain_.border(to);              // in the part that ends here
        for (int from = to - 1; from >= k - 1 && chain_.work(from, to) <= most_work; --from) {
          if (last[std::size_t(from)] == nothing || chain_.part(from, to) > bound) continue;
          const Worth worth = join(last[std::size_t(from)], from, to);
          if (worth >= now[std::size_t(to)]) continue;
          now[std::size_t(to)] = worth;
          begin(k, to) = from;
          most_work = std::min(most_work, reach(worth) - chain_.border(to));
        }
      }
      std::swap(last, now);
    }
    return last[std::size_t(n)];
  }
  /// Where the last of k parts that end before layer `to` began.
  int& begin(int k, int to) {
    return begin_[std::size_t(k) * std::size_t(chain_.layers() + 1) + std::size_t(to)];
  }

 private:
  const Chain& chain_;
  int stages_;
  std::vector<int> begin_;
};

/// The first layer of each part of the cut that was found last.
std::vector<int> borders_of(Programme& programme, const Chain& chain, int stages) {
  std::vector<int> first(static_cast<std::size_t>(stages));
  for (int k = stages, to = chain.layers(); k > 0; --k)
    to = first[std::size_t(k) - 1] = programme.begin(k, to);
  return first;
}

constexpr double rounding = 1 + 1e-9;  // sums in another order are the same sums

}  // namespace

std::vector<int> balanced_partition(std::span<const double> weight, int stages,
                                    std::span<const double> border) {
  assert(stages >= 1 && stages <= int(weight.size()));
  const Chain chain(weight, border);
  Programme programme(chain, stages);
  const auto longest_of = [&](const Worth& so_far, int from, int to) {
    return Worth{std::max(so_far.first, chain.part(from, to)), 0};
  };
  const auto reach = [](const Worth& best) { return best.first; };
  const double shortest = programme.solve(plain_cut(chain, stages) * rounding, longest_of, reach).first;
  const auto borders_and_squares = [&](const Worth& so_far, int from, int to) {
    const double work = chain.work(from, to);  // of cuts that cost the same, the more even one
    return Worth{so_far.first + chain.border(from), so_far.second + work * work};
  };
  programme.solve(shortest * rounding, borders_and_squares, [](const Worth&) { return never; });
  return borders_of(programme, chain, stages);
}

std::vector<int> even_partition(std::span<const double> weight, int pieces, std::span<const double> border) {
  assert(pieces >= 1 && pieces <= int(weight.size()));
  const Chain chain(weight, border);
  Programme programme(chain, pieces);
  const auto squares = [&](const Worth& so_far, int from, int to) {
    const double part = chain.part(from, to);
    return Worth{so_far.first + part * part, 0};
  };
  programme.solve(never, squares, [](const Worth& best) { return std::sqrt(best.first); });
  return borders_of(programme, chain, pieces);
}

}  // namespace paradl
