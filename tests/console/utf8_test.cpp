#include "paradl/console/utf8.hpp"

#include <doctest/doctest.h>

using namespace paradl;

TEST_CASE("utf8: letters stay, and other bytes are printed as escapes") {
  CHECK(valid_utf8("Σ α ± \x1b[0m 1\n") == "Σ α ± \x1b[0m 1\n");
  CHECK(valid_utf8("f\xff.net") == "f\\xff.net");
  CHECK(valid_utf8("\xc3") == "\\xc3");              // cut off
  CHECK(valid_utf8("\xe2\x82x") == "\\xe2\\x82x");  // cut off, before a letter
  CHECK(valid_utf8("") == "");
}
