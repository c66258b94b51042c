#pragma once
#include <limits>
#include <vector>

#include "paradl/network/collective.hpp"

namespace paradl {

inline Linear operator+(Linear a, Linear b) { return {a.fixed + b.fixed, a.per_byte + b.per_byte}; }

/// One message that carries `share` of the buffer.
inline Linear message(Link link, double share) { return {link.alpha, share * link.beta}; }

/// Time as a function of bytes: the minimum of a few linear functions. An algorithm that chooses its
/// segments, or a library that chooses its algorithm, is the lower envelope of its choices.
class Curve {
 public:
  /// A choice for buffers of `from` bytes up to, but not including, `below`.
  struct Choice {
    Linear time;
    Bytes from{0}, below{std::numeric_limits<double>::infinity()};
  };

  Curve() = default;
  Curve(const Linear& only) : choices_{{only}} {}
  void add(const Choice& choice) { choices_.push_back(choice); }
  const std::vector<Choice>& choices() const { return choices_; }

  /// The minimum of the choices for m bytes; zero if there are no choices at all.
  Seconds operator()(Bytes m) const;
  /// Which choice that is: the first of equal ones; -1 if there is none for m bytes.
  int best(Bytes m) const;

 private:
  std::vector<Choice> choices_;
};

}  // namespace paradl
