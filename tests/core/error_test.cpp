#include "paradl/core/error.hpp"

#include <doctest/doctest.h>

namespace paradl {
namespace {

std::string picture(const std::string& source, Problem problem) {
  return render(SpecError("systems/abci.yaml", source, {std::move(problem)}));
}

TEST_CASE("similar words are suggested, and others are not") {
  const std::vector<std::string> known{"latency", "bandwidth", "name"};
  CHECK(nearest("bandwith", known) == "bandwidth");   // one of eight letters is missing
  CHECK(nearest("badnwidth", known) == "bandwidth");  // two letters swapped
  CHECK(nearest("latencies", known) == "latency");    // three of nine
  CHECK(nearest("nam", known) == "name");             // one of three
  CHECK(nearest("bandwidth", known) == "bandwidth");
  CHECK(nearest("colour", known).empty());
  CHECK(nearest("", known).empty());
  CHECK(nearest("latency", {}).empty());
}

TEST_CASE("at most a third of the letters may differ") {
  CHECK(nearest("abcdef", {"abcdXY"}) == "abcdXY");  // two of six
  CHECK(nearest("abcdef", {"abcXYZ"}).empty());      // three of six
  CHECK(nearest("abcde", {"abcdX"}) == "abcdX");     // one of five
  CHECK(nearest("abcde", {"abcXY"}).empty());        // two of five
  CHECK(nearest("abc", {"abX"}) == "abX");
}

TEST_CASE("a word of one letter is similar to no other letter") { CHECK(nearest("x", {"y", "z"}).empty()); }

TEST_CASE("the nearest of several words wins, the first of equals") {
  CHECK(nearest("resnet5", {"resnet152", "resnet50", "resnet18"}) == "resnet50");
  CHECK(nearest("vgg1", {"vgg16", "vgg19"}) == "vgg16");
}

TEST_CASE("words too long to be misspelt get no suggestion") {
  const std::string word(65, 'a');
  CHECK(nearest(word, {word}).empty());
  CHECK(nearest(std::string(64, 'a'), {std::string(63, 'a')}) == std::string(63, 'a'));
}

TEST_CASE("a suggestion is a question, or empty") {
  CHECK(did_you_mean("abcii", {"abci", "selene"}) == "did you mean `abci`?");
  CHECK(did_you_mean("frontier", {"abci", "selene"}).empty());
}

TEST_CASE("a mistake is shown with its place, its line and what to do") {
  // As in the manual.
  const std::string source = "name: abci\nlevels:\n- name: node\n  bandwith: 12.5 GB/s\n";
  CHECK(picture(source, {{4, 3, 8}, "unknown key `bandwith`", "did you mean `bandwidth`?"}) ==
        "error: unknown key `bandwith`\n"
        " --> systems/abci.yaml:4:3\n"
        "4 |   bandwith: 12.5 GB/s\n"
        "  |   ^^^^^^^^ did you mean `bandwidth`?\n");
}

TEST_CASE("the margin is as wide as the line number") {
  std::string source;
  for (int line = 1; line < 17; ++line) source += "\n";
  source += "  - {name: conv2_1, channels: 64, filters: 128, kernel: 3x3}\n";
  CHECK(picture(source, {{17, 31, 2},
                         "layer `conv2_1` expects 64 input channels, but `conv1_2` gives 128",
                         "write 128, or correct `conv1_2`"}) ==
        "error: layer `conv2_1` expects 64 input channels, but `conv1_2` gives 128\n"
        "  --> systems/abci.yaml:17:31\n"
        "17 |   - {name: conv2_1, channels: 64, filters: 128, kernel: 3x3}\n"
        "   |                               ^^ write 128, or correct `conv1_2`\n");
}

TEST_CASE("a mistake without help, and one without a place, are shown too") {
  CHECK(picture("a: b\n", {{1, 4, 1}, "no", ""}) ==
        "error: no\n"
        " --> systems/abci.yaml:1:4\n"
        "1 | a: b\n"
        "  |    ^\n");
  CHECK(picture("", {{}, "a system file has no `name`", "add `name: ...`"}) ==
        "error: a system file has no `name`\n"
        " --> systems/abci.yaml\n"
        "help: add `name: ...`\n");
  CHECK(picture("", {{}, "empty", ""}) ==
        "error: empty\n"
        " --> systems/abci.yaml\n");
}

TEST_CASE("the caret stays inside the line it points to") {
  SUBCASE("a value longer than its line, such as a text of several lines") {
    CHECK(picture("a: |\n  b\n", {{1, 4, 900}, "no", ""}) ==
          "error: no\n"
          " --> systems/abci.yaml:1:4\n"
          "1 | a: |\n"
          "  |    ^\n");
  }
  SUBCASE("a place after the end of the line") {
    CHECK(picture("ab\n", {{1, 40, 3}, "no", ""}) ==
          "error: no\n"
          " --> systems/abci.yaml:1:40\n"
          "1 | ab\n"
          "  |   ^\n");
  }
  SUBCASE("a line number after the end of the file") {
    CHECK(picture("ab\n", {{9, 1, 1}, "no", ""}) ==
          "error: no\n"
          " --> systems/abci.yaml:9:1\n"
          "9 | \n"
          "  | ^\n");
  }
}

TEST_CASE("control characters and other systems' line ends do not disturb the picture") {
  CHECK(picture("a:\tb\x1b[31m\r\n", {{1, 4, 1}, "no", ""}) ==
        "error: no\n"
        " --> systems/abci.yaml:1:4\n"
        "1 | a: b [31m\n"
        "  |    ^\n");
}

TEST_CASE("letters of more than one byte do not shift the caret") {
  // The u with two dots has two bytes, and yaml-cpp counts bytes: b is the ninth letter of the line and its
  // tenth byte.
  CHECK(picture("Z\xc3\xbcrich: b\n", {{1, 10, 1}, "no", ""}) ==
        "error: no\n"
        " --> systems/abci.yaml:1:10\n"
        "1 | Z\xc3\xbcrich: b\n"
        "  |         ^\n");
}

TEST_CASE("only the part around the mistake is shown of a very long line") {
  const std::string source = std::string(5000, 'a') + "X" + std::string(5000, 'b') + "\n";
  const std::string out = picture(source, {{1, 5001, 1}, "no", ""});
  CHECK(out.size() < 400);
  CHECK(out.find(std::string(60, ' ') + "^\n") != out.npos);
  CHECK(out.find("aXb") != out.npos);
  CHECK(out.find("systems/abci.yaml:1:5001\n") != out.npos);
}

TEST_CASE("all mistakes are shown, in the order they were found") {
  const SpecError error("f.yaml", "a: 1\nb: 2\n",
                        {{{1, 1, 1}, "first", ""}, {{2, 1, 1}, "second", "fix it"}});
  CHECK(std::string(error.what()) == "first");
  CHECK(error.problems().size() == 2);
  CHECK(render(error) ==
        "error: first\n"
        " --> f.yaml:1:1\n"
        "1 | a: 1\n"
        "  | ^\n"
        "error: second\n"
        " --> f.yaml:2:1\n"
        "2 | b: 2\n"
        "  | ^ fix it\n");
}

TEST_CASE("other errors have a message and a help line") {
  const UsageError usage("the system is missing", "add `--on abci`");
  CHECK(std::string(usage.what()) == "the system is missing");
  CHECK(usage.help() == "add `--on abci`");
  CHECK(UsageError("no").help().empty());
  CHECK(EnvironmentError("no CUDA device is visible", "use --backend cpu").help() == "use --backend cpu");
}

}  // namespace
}  // namespace paradl
