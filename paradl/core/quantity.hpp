#pragma once
#include <compare>

namespace paradl {

/// A double that remembers its dimension: second^S * byte^B * flop^F.
/// Stored in base units (s, B, flop). Mixing dimensions does not compile.
template <int S, int B, int F>
class Quantity {
 public:
  constexpr Quantity() = default;
  explicit constexpr Quantity(double base) : base_{base} {}
  constexpr double base() const { return base_; }
  constexpr double seconds() const requires(S == 1 && B == 0 && F == 0) { return base_; }
  constexpr double gib() const requires(S == 0 && B == 1 && F == 0) { return base_ / 0x1p30; }

  constexpr Quantity& operator+=(Quantity q) {
    base_ += q.base_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity q) {
    base_ -= q.base_;
    return *this;
  }
  constexpr Quantity& operator*=(double k) {
    base_ *= k;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator*(double k, Quantity q) { return Quantity{k * q.base_}; }
  friend constexpr Quantity operator*(Quantity q, double k) { return k * q; }
  friend constexpr Quantity operator/(Quantity q, double k) { return Quantity{q.base_ / k}; }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  // Written out because the versions derived from <=>, whose order is partial, take far more instructions.
  friend constexpr bool operator<(Quantity a, Quantity b) { return a.base_ < b.base_; }
  friend constexpr bool operator>(Quantity a, Quantity b) { return a.base_ > b.base_; }
  friend constexpr bool operator<=(Quantity a, Quantity b) { return a.base_ <= b.base_; }
  friend constexpr bool operator>=(Quantity a, Quantity b) { return a.base_ >= b.base_; }

 private:
  double base_ = 0.0;
};

namespace detail {
template <int S, int B, int F>
constexpr auto make(double base) {
  if constexpr (S == 0 && B == 0 && F == 0)
    return base;  // a ratio is a plain number
  else
    return Quantity<S, B, F>{base};
}
}  // namespace detail

template <int S1, int B1, int F1, int S2, int B2, int F2>
constexpr auto operator*(Quantity<S1, B1, F1> a, Quantity<S2, B2, F2> b) {
  return detail::make<S1 + S2, B1 + B2, F1 + F2>(a.base() * b.base());
}
template <int S1, int B1, int F1, int S2, int B2, int F2>
constexpr auto operator/(Quantity<S1, B1, F1> a, Quantity<S2, B2, F2> b) {
  return detail::make<S1 - S2, B1 - B2, F1 - F2>(a.base() / b.base());
}
template <int S, int B, int F>
constexpr auto operator/(double k, Quantity<S, B, F> q) {
  return Quantity<-S, -B, -F>{k / q.base()};
}

// clang-format off
using Seconds        = Quantity<1, 0, 0>;
using Bytes          = Quantity<0, 1, 0>;
using Flop           = Quantity<0, 0, 1>;   // work, not a rate
using Bandwidth      = Quantity<-1, 1, 0>;  // B/s
using SecondsPerByte = Quantity<1, -1, 0>;  // the paper's beta
using FlopRate       = Quantity<-1, 0, 1>;  // flop/s

namespace literals {
constexpr Seconds   operator""_s(long double v)    { return Seconds{double(v)}; }
constexpr Seconds   operator""_ms(long double v)   { return Seconds{double(v) * 1e-3}; }
constexpr Seconds   operator""_us(long double v)   { return Seconds{double(v) * 1e-6}; }
constexpr Bytes     operator""_B(long double v)    { return Bytes{double(v)}; }
constexpr Bytes     operator""_MB(long double v)   { return Bytes{double(v) * 1e6}; }
constexpr Bytes     operator""_GB(long double v)   { return Bytes{double(v) * 1e9}; }      // 10^9
constexpr Bytes     operator""_GiB(long double v)  { return Bytes{double(v) * 0x1p30}; }   // 2^30
constexpr Bandwidth operator""_GBps(long double v) { return Bandwidth{double(v) * 1e9}; }
constexpr FlopRate  operator""_Tflops(long double v) { return FlopRate{double(v) * 1e12}; }
}  // namespace literals
// clang-format on

}  // namespace paradl
