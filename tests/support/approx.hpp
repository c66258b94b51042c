#pragma once
#include <doctest/doctest.h>

namespace paradl::test {

/// Equal but for rounding, whatever the size (zero too): doctest::Approx alone takes any two microseconds for equal.
inline doctest::Approx approx(double value) { return doctest::Approx(value).scale(1e-18); }

}  // namespace paradl::test
