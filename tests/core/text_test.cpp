#include "paradl/core/text.hpp"

#include <doctest/doctest.h>

using namespace paradl;

TEST_CASE("text is split at commas, and empty pieces are kept") {
  CHECK(split("a,b", ',') == std::vector<std::string_view>{"a", "b"});
  CHECK(split(",a,", ',') == std::vector<std::string_view>{"", "a", ""});
  CHECK(split("", ',') == std::vector<std::string_view>{""});
}

TEST_CASE("a word is quoted if a shell would split it") {
  CHECK(shell_word("data=16,filter=4") == "data=16,filter=4");
  CHECK(shell_word("my cluster.yaml") == "'my cluster.yaml'");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("") == "''");
}
