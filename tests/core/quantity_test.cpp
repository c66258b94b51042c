#include "paradl/core/quantity.hpp"

#include <concepts>
#include <type_traits>

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"

namespace paradl {
namespace {
using namespace literals;

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};

TEST_CASE("seconds cannot be added to bytes, and neither converts to a plain number") {
  CHECK(Addable<Seconds, Seconds>);
  CHECK_FALSE(Addable<Seconds, Bytes>);
  CHECK_FALSE(Addable<Bandwidth, FlopRate>);
  CHECK_FALSE(Addable<Seconds, double>);
  CHECK_FALSE(std::convertible_to<double, Seconds>);
  CHECK_FALSE(std::convertible_to<Seconds, double>);
}

TEST_CASE("products and quotients have the right dimension") {
  CHECK(std::same_as<decltype(1.0_B / 1.0_GBps), Seconds>);          // B / (B/s)
  CHECK(std::same_as<decltype(1.0 / 1.0_GBps), SecondsPerByte>);     // the paper's beta
  CHECK(std::same_as<decltype(1.0_B * (1.0 / 1.0_GBps)), Seconds>);  // m beta
  CHECK(std::same_as<decltype(Flop{1} / 1.0_Tflops), Seconds>);
  CHECK(std::same_as<decltype(1.0_B / 1.0_s), Bandwidth>);
  CHECK(std::same_as<decltype(1.0_s / 1.0_ms), double>);  // a ratio is a plain number
}

TEST_CASE("arithmetic with quantities is that of numbers") {
  // 100 MB over 12.5 GB/s: 1e8 / 1.25e10 = 8 ms
  CHECK((100.0_MB / 12.5_GBps).base() == paradl::test::approx(8e-3));
  // 31.4 Tflop at 15.7 Tflop/s: 2 s
  CHECK((Flop{31.4e12} / 15.7_Tflops).base() == paradl::test::approx(2));
  CHECK(1.0_s + 500.0_ms - 250.0_ms == 1.25_s);
  CHECK(2.0 * 3.0_us * 4.0 / 8.0 == 3.0_us);
  CHECK(1.0_ms < 1.0_s);
  CHECK(Seconds{} == 0.0_s);

  Bytes sum;
  sum += 3.0_B;
  sum -= 1.0_B;
  sum *= 2;
  CHECK(sum == 4.0_B);
}

TEST_CASE("literals have the units of their names") {
  CHECK((1.0_s).base() == 1);
  CHECK((1.0_ms).base() == 0.001);
  CHECK((1.0_us).base() == 0.000001);
  CHECK((1.0_MB).base() == 1'000'000);
  CHECK((1.0_GB).base() == 1'000'000'000);
  CHECK((1.0_GiB).base() == 1'073'741'824);
  CHECK((1.0_GBps).base() == 1'000'000'000);
  CHECK((1.0_Tflops).base() == 1'000'000'000'000);
}

}  // namespace
}  // namespace paradl
