#include "paradl/spec/reader.hpp"

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/spec_text.hpp"

namespace paradl {
namespace {
using namespace test;

/// A mapping with its reader; problems() is the text of all mistakes so far.
struct Reading {
  SourceText source;
  Problems found{source};
  Reader reader;

  explicit Reading(const std::string& text, const std::string& what = "a level")
      : source(source_of(text)), reader(parse_yaml(source), found, what) {}
  std::string problems() const {
    return complaint([&] { found.raise(); });
  }
};

TEST_CASE("values are read with their unit") {
  Reading file(
      "name: node\nlatency: 9 us\nbandwidth: 100 Gb/s\nsize: 4\nspare: 0 s\nmaybe: 16 GiB\nflat: true\n");
  CHECK(file.reader.text("name") == "node");
  CHECK(file.reader.quantity<Seconds>("latency").base() == paradl::test::approx(9e-6));
  CHECK(file.reader.quantity<Bandwidth>("bandwidth") == Bandwidth{12.5e9});
  CHECK(file.reader.number("size", 1, 100) == 4);
  CHECK(file.reader.quantity_or_zero<Seconds>("spare") == Seconds{});
  CHECK(file.reader.optional<Bytes>("maybe") == Bytes{16.0 * 1'073'741'824});
  CHECK(file.reader.flag("flat", false));
  file.reader.finish();
  CHECK(file.problems().empty());
}

TEST_CASE("a missing key has its default") {
  Reading file("name: node\n");
  CHECK(file.reader.text("name", "other") == "node");
  CHECK(file.reader.text("summary", "none") == "none");
  CHECK(file.reader.number("ports", 1, 8, 2.0) == 2);
  CHECK(file.reader.flag("flat", true));
  CHECK_FALSE(file.reader.optional<Bytes>("maybe"));
  CHECK(file.reader.words("from").empty());
  CHECK_FALSE(file.reader.has("summary"));
  CHECK_FALSE(file.reader.node("summary").IsDefined());
  file.reader.finish();
  CHECK(file.problems().empty());
}

TEST_CASE("a value out of range is reported with a fix") {
  const auto reported = [](const char* text, auto read) {
    Reading file(text);
    read(file.reader);
    return file.problems();
  };
  const auto number = [](Reader& r) { r.number("n", 2, 8); };
  const auto whole = [](Reader& r) { r.whole("n", 2, 8); };
  CHECK(says(reported("n: 1\n", number), "^ write 2 or more\n"));
  CHECK(says(reported("n: 9\n", number), "^ write 8 or less\n"));
  CHECK(says(reported("n: 2.5\n", whole), "^^^ write 2 or 3\n"));
  CHECK(says(reported("n: 0 s\n", [](Reader& r) { r.quantity<Seconds>("n"); }),
             "^^^ write a time, such as `500 ns`\n"));
  CHECK(says(reported("n: 1e30 s\n", [](Reader& r) { r.quantity<Seconds>("n"); }),
             " write a time, such as `500 ns`\n"));
  CHECK(says(reported("n: [1]\n", number), " write one word or number after it\n"));
  CHECK(says(reported("n: ''\n", [](Reader& r) { r.text("n"); }), " write a word, or leave it out\n"));
  CHECK(says(reported("n: []\n", [](Reader& r) { r.words("n"); }), " name one, or leave it out\n"));
}

TEST_CASE("a missing key is reported at its mapping") {
  Reading file("\n\nname: node\n");
  CHECK(file.reader.quantity<Seconds>("latency") == Seconds{});
  CHECK(file.problems() ==
        "error: a level has no `latency`\n"
        " --> test.yaml:3:1\n"
        "3 | name: node\n"
        "  | ^ add `latency: ...`\n");
}

TEST_CASE("a bare number is reported with how to write it") {
  // The picture of the manual (cli.md, section 5).
  Reading file("levels:\n- name: node\n  size: 4\n\n\n\n\n\n  latency: 0.5\n");
  Problems found(file.source);
  Reader level(parse_yaml(file.source)["levels"][0], found, "a level");
  level.quantity<Seconds>("latency");
  CHECK(complaint([&] { found.raise(); }) ==
        "error: cannot read `latency`\n"
        " --> test.yaml:9:12\n"
        "9 |   latency: 0.5\n"
        "  |            ^^^ write a time, such as `500 ns`\n");
}

TEST_CASE("each kind of quantity shows an example of its unit") {
  Reading file("a: 1\nb: 16 GB/s\nc: -3 GB/s\nd: fast\ne: 0 GiB\n");
  file.reader.quantity<Seconds>("a");
  file.reader.quantity<Bytes>("b");
  file.reader.quantity<Bandwidth>("c");
  file.reader.quantity<FlopRate>("d");
  file.reader.quantity<Bytes>("e");
  const std::string out = file.problems();
  CHECK(mistakes(out) == 5);
  CHECK(says(out, "1 | a: 1\n  |    ^ write a time, such as `500 ns`\n"));
  CHECK(says(out, "2 | b: 16 GB/s\n  |    ^^^^^^^ write a size, such as `16 GiB`\n"));
  CHECK(says(out, "  |    ^^^^^^^ write a bandwidth, such as `12.5 GB/s` or `100 Gb/s`\n"));
  CHECK(says(out, "  |    ^^^^ write a compute rate, such as `15.7 Tflop/s`\n"));
  CHECK(says(out, "error: `e` must be more than zero\n"));
}

TEST_CASE("a list or a mapping is not a single value") {
  Reading file("name: [a, b]\nlatency: {a: 1 s}\nsize: [4]\nflat: {}\nempty:\n");
  CHECK(file.reader.text("name").empty());
  file.reader.quantity<Seconds>("latency");
  file.reader.number("size", 1, 9);
  CHECK(file.reader.flag("flat", true));
  file.reader.text("empty");
  const std::string out = file.problems();
  CHECK(mistakes(out) == 5);
  for (const std::string key : {"name", "latency", "size", "flat", "empty"}) {
    CAPTURE(key);
    CHECK(says(out, "error: `" + key + "` must be a single value\n"));
  }
}

TEST_CASE("an empty text is not a name") {
  Reading file("name: ''\n");
  file.reader.text("name");
  CHECK(says(file.problems(), "error: `name` is empty\n"));
}

TEST_CASE("numbers are within their bounds and have no unit") {
  Reading file("a: 0\nb: 101\nc: 4 GB\nd: nan\ne: inf\nf: 1e400\ng: 2.5e1\n");
  CHECK(file.reader.number("g", 1, 100) == 25);
  for (const std::string key : {"a", "b", "c", "d", "e", "f"}) CHECK(file.reader.number(key, 1, 100) == 1);
  const std::string out = file.problems();
  CHECK(mistakes(out) == 6);
  CHECK(says(out, "error: `a` must be from 1 to 100\n"));
  CHECK(says(out, "error: `b` must be from 1 to 100\n"));
  for (const std::string key : {"c", "d", "e", "f"}) {
    CAPTURE(key);
    CHECK(says(out, "error: cannot read `" + key + "`\n"));
  }
  CHECK(says(out, "^^^^ write a number without a unit\n"));
}

TEST_CASE("a flag is `true` or `false`, and nothing else") {
  Reading file("a: true\nb: false\nc: yes\nd: 1\n");
  CHECK(file.reader.flag("a", false));
  CHECK_FALSE(file.reader.flag("b", true));
  CHECK(file.reader.flag("c", true));
  CHECK_FALSE(file.reader.flag("d", false));
  CHECK(mistakes(file.problems()) == 2);
  CHECK(says(file.problems(), "3 | c: yes\n  |    ^^^ write true or false\n"));
}

TEST_CASE("one word or a list of words") {
  Reading file("a: conv\nb: [conv, fc]\nc: []\nd: {x: y}\ne: [[conv]]\nf:\n");
  CHECK(file.reader.words("a") == std::vector<std::string>{"conv"});
  CHECK(file.reader.words("b") == std::vector<std::string>{"conv", "fc"});
  CHECK(file.problems().empty());
  for (const std::string key : {"c", "d", "e", "f"}) CHECK(file.reader.words(key).empty());
  const std::string out = file.problems();
  CHECK(says(out, "error: `c` is empty\n"));
  CHECK(says(out, "error: `d` must be a name or a list of names\n"));
  CHECK(says(out, "error: `e` must be a name or a list of names\n"));
  CHECK(says(out, "error: `f` is empty\n"));
}

TEST_CASE("an unknown key gets a suggestion") {
  // The picture of the manual (style.md, section 7).
  Reading file("name: node\nsize: 4\nlatency: 9 us\nbandwith: 12.5 GB/s\n");
  for (const std::string key : {"name", "size", "latency", "bandwidth"}) file.reader.has(key);
  file.reader.finish();
  CHECK(file.problems() ==
        "error: unknown key `bandwith`\n"
        " --> test.yaml:4:1\n"
        "4 | bandwith: 12.5 GB/s\n"
        "  | ^^^^^^^^ did you mean `bandwidth`?\n");
}

TEST_CASE("for an unknown key without a similar one, all keys are listed") {
  Reading file("colour: red\n");
  for (const std::string key : {"size", "name", "latency"}) file.reader.has(key);
  file.reader.finish();
  CHECK(says(file.problems(), "  | ^^^^^^ a level takes: latency, name, size\n"));
}

TEST_CASE("a key given twice is a mistake, at its second place") {
  Reading file("name: a\nsize: 4\nname: b\n");
  CHECK(file.problems() ==
        "error: `name` is given twice in a level\n"
        " --> test.yaml:3:1\n"
        "3 | name: b\n"
        "  | ^^^^ keep one of them\n");
}

TEST_CASE("a key must be text") {
  Reading file("? [a, b]\n: c\n");
  file.reader.finish();
  CHECK(mistakes(file.problems()) == 1);
  CHECK(says(file.problems(), "error: a key must be a word\n"));
}

TEST_CASE("a node that is not a mapping is one mistake, and its missing keys are not reported") {
  for (const std::string text : {"", "# nothing but a comment\n", "---\n", "~\n", "[1, 2]\n", "a word\n"}) {
    CAPTURE(text);
    Reading file(text);
    file.reader.text("name");
    file.reader.quantity<Seconds>("latency");
    file.reader.finish();
    const std::string out = file.problems();
    CHECK(says(out, "error: a level must be a mapping\n"));
    CHECK(mistakes(out) == 1);
  }
}

TEST_CASE("at most ten mistakes are reported, each once") {
  const SourceText source = source_of("a: b\n");
  Problems found(source);
  CHECK_FALSE(found.any());
  CHECK_NOTHROW(found.raise());
  for (int i = 0; i < 3; ++i) found.add({1, 1, 1}, "the same");
  CHECK_FALSE(found.full());
  for (int i = 1; i < 30; ++i) found.add({i, 1, 1}, "another");
  CHECK(found.full());
  try {
    found.raise();
    FAIL("must throw");
  } catch (const SpecError& error) {
    CHECK(error.problems().size() == 10);
    CHECK(error.problems()[0].message == "the same");
    CHECK(error.problems()[1].message == "another");
    CHECK(error.file() == "test.yaml");
  }
}

TEST_CASE("not all of many unknown keys are reported") {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "key" + std::to_string(i) + ": 1\n";
  Reading file(text);
  file.reader.finish();
  CHECK(mistakes(file.problems()) == 10);
}

TEST_CASE("text that is not YAML is reported where the parser stops") {
  const auto out = [](const std::string& text) { return complaint([&] { parse_yaml(source_of(text)); }); };
  const std::string bracket = out("name: abci\nlevels: [a, b\nhost: 3\n");
  CHECK(says(bracket, "error: this is not YAML: "));
  CHECK(says(bracket, " --> test.yaml:"));
  CHECK(says(bracket, "look for a missing bracket, quote or colon, a tab, or a wrong indentation"));
  CHECK(mistakes(bracket) == 1);
  for (const std::string text :
       {"a: b: c\n", "{a: 1\n", "[a, b\n", "a: *nowhere\n", "a:\n\t- b\n", "@x\n", "a: b\n c: d\n"}) {
    CAPTURE(text);
    CHECK(says(out(text), "error: this is not YAML: "));
  }
}

TEST_CASE("a file with zero bytes is not text") {
  const std::string text("name: a\0b\n", 10);
  CHECK(complaint([&] { parse_yaml(source_of(text)); }) ==
        "error: this is not text\n"
        " --> test.yaml:1:8\n"
        "1 | name: a b\n"
        "  |        ^ write YAML in UTF-8, without control characters\n");
}

TEST_CASE("a file that is not UTF-8, or has control characters, is not text") {
  const auto place = [](const std::string& text) { return complaint([&] { parse_yaml(source_of(text)); }); };
  CHECK(says(place("a: 1\nb: gr\xfc\xdf\n"), "test.yaml:2:6"));  // Latin-1
  CHECK(says(place("a: 1\nb: \x1b[31m\n"), "test.yaml:2:4"));    // an escape
  CHECK(says(place("a: \xe2\x82"), "this is not text"));         // cut off
  CHECK(place("a: gr\xc3\xbc\xc3\x9f\n").empty());
  Reading file("name: \"a\\e[31m\"\n");
  file.reader.text("name");
  CHECK(says(file.problems(), "`name` has a control character"));
}

TEST_CASE("quantities too large for any machine are refused") {
  Reading file("slow: 1e-320 GB/s\nlong: 1e308 s\n");
  file.reader.quantity<Bandwidth>("slow");
  file.reader.quantity<Seconds>("long");
  CHECK(says(file.problems(), "`slow` must be from 1 kB/s to 1e6 TB/s"));
  CHECK(says(file.problems(), "`long` must be from 1e-6 ns to 1e9 s"));
}

TEST_CASE("brackets in comments and quotes are not counted as nesting") {
  std::string text = "# " + std::string(300, '[') + "\na: \"" + std::string(300, '{') + "\"\n";
  CHECK(complaint([&] { parse_yaml(source_of(text)); }).empty());
}

TEST_CASE("a second document in a file is not ignored silently") {
  CHECK_FALSE(complaint([] { parse_yaml(source_of("name: a\n---\nname: b\n")); }).empty());
  CHECK(complaint([] { parse_yaml(source_of("---\nname: a\n...\n")); }).empty());
}

TEST_CASE("text in which the parser finds endless documents is refused") {
  // yaml-cpp 0.7 makes an empty node of a stray comma and does not step over it: YAML::LoadAll never returns.
  for (const std::string text :
       {",name: x\n", "]\n", "}\n", "name: x\n,\n", "{a: b}, c\n", "[a] b\n", ": :\n"}) {
    CAPTURE(text);
    CHECK(comes_to_an_end([&] { complaint([&] { parse_yaml(source_of(text)); }); }));
  }
}

TEST_CASE("very deep nesting is refused, in any notation") {
  const auto refused = [](const std::string& text) {
    const std::string out = complaint([&] { parse_yaml(source_of(text)); });
    CHECK(mistakes(out) == 1);
    return out;
  };
  const std::size_t deep = 20'000;
  refused(std::string(deep, '['));
  refused(std::string(deep, '[') + std::string(deep, ']'));
  std::string maps, dashes;
  for (std::size_t i = 0; i < deep; ++i) maps += "{a: ", dashes += "- ";
  refused(maps);
  refused(dashes);
  // The help for a file that is merely too deep must not mention a missing bracket.
  CHECK(says(refused(std::string(1000, '[') + std::string(1000, ']')), "nested too deeply"));
  CHECK(says(refused("a: 1\n" + std::string(1000, '[') + std::string(1000, ']')), "test.yaml:2:201"));
}

TEST_CASE("a second document is refused where it begins") {
  const std::string out = complaint([] { parse_yaml(source_of("a: 1\n---\nb: 2\n")); });
  CHECK(says(out, "error: the file has a second document\n --> test.yaml:2:1\n"));
}

TEST_CASE("a very long line is shortened") {
  Reading file("latency: " + std::string(100'000, '9') + "\n");
  file.reader.quantity<Seconds>("latency");
  CHECK(mistakes(file.problems()) == 1);
  CHECK(file.problems().size() < 1000);
}

TEST_CASE("lines and columns count from one, as in editors") {
  const YAML::Node root = parse_yaml(source_of("a: first\nb:\n  c: second\n"));
  CHECK(spot_of(root["a"]).line == 1);
  CHECK(spot_of(root["a"]).column == 4);
  CHECK(spot_of(root["a"]).width == 5);
  CHECK(spot_of(root["b"]["c"]).line == 3);
  CHECK(spot_of(root["b"]["c"]).column == 6);
  CHECK(spot_of(YAML::Node("made by hand")).line == 0);
}

}  // namespace
}  // namespace paradl
