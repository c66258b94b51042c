#pragma once
#include <doctest/doctest.h>

namespace paradl::test {

/// Equal except for rounding, at any magnitude and for zero. doctest::Approx alone would treat any two times
/// of some microseconds as equal.
inline doctest::Approx approx(double value) { return doctest::Approx(value).scale(1e-18); }

}  // namespace paradl::test
