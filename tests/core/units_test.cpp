#include "paradl/core/units.hpp"

#include <map>
#include <string>

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"

namespace paradl {
namespace {

using Textbook = std::map<std::string, double>;

/// Every unit of the table is in the textbook with the same number, and every unit of the textbook can be
/// read.
template <class Q>
void check_table(const Textbook& book) {
  for (const Unit& unit : units_of<Q>()) {
    CAPTURE(unit.name);
    CHECK(book.contains(std::string(unit.name)));
  }
  CHECK(units_of<Q>().size() == book.size());
  for (const auto& entry : book) {
    const std::string& name = entry.first;
    const double base = entry.second;
    CAPTURE(name);
    const auto one = parse<Q>("1 " + name);
    REQUIRE(one);
    CHECK(one->base() == paradl::test::approx(base).epsilon(1e-15));
    const auto many = parse<Q>("2.5" + name);  // the space may be left out
    REQUIRE(many);
    CHECK(many->base() == paradl::test::approx(2.5 * base).epsilon(1e-15));
  }
}

TEST_CASE("every unit has its textbook value") {
  SUBCASE("times") { check_table<Seconds>({{"s", 1}, {"ms", 0.001}, {"us", 0.000001}, {"ns", 0.000000001}}); }
  SUBCASE("sizes: k, M, G, T, P are powers of ten, Ki to Ti of two") {
    check_table<Bytes>({{"B", 1},
                        {"kB", 1000},
                        {"MB", 1'000'000},
                        {"GB", 1'000'000'000},
                        {"TB", 1'000'000'000'000},
                        {"PB", 1'000'000'000'000'000},
                        {"KiB", 1024},
                        {"MiB", 1'048'576},
                        {"GiB", 1'073'741'824},
                        {"TiB", 1'099'511'627'776}});
  }
  SUBCASE("bandwidths: b is a bit, an eighth of a byte") {
    check_table<Bandwidth>({{"kB/s", 1000},
                            {"MB/s", 1'000'000},
                            {"GB/s", 1'000'000'000},
                            {"TB/s", 1'000'000'000'000},
                            {"Mb/s", 125'000},
                            {"Gb/s", 125'000'000},
                            {"Tb/s", 125'000'000'000}});
  }
  SUBCASE("rates of work") {
    check_table<FlopRate>({{"Gflop/s", 1e9}, {"Tflop/s", 1e12}, {"Pflop/s", 1e15}});
  }
}

TEST_CASE("values of data sheets are read as they are written") {
  CHECK(parse<Bandwidth>("100 Gb/s") == Bandwidth{12.5e9});  // EDR InfiniBand
  CHECK(parse<Bytes>("16 GiB") == Bytes{17'179'869'184});
  CHECK(parse<FlopRate>("15.7 Tflop/s") == FlopRate{15.7e12});
  CHECK(parse<Seconds>("500 ns")->base() == paradl::test::approx(5e-7));
  CHECK(parse<Seconds>("1e-3 s") == Seconds{1e-3});
  CHECK(parse<Seconds>("0 us") == Seconds{0});
}

TEST_CASE("a value without its unit is refused") {
  CHECK_FALSE(parse<Seconds>("0.5"));
  CHECK_FALSE(parse<Bytes>("16"));
  CHECK_FALSE(parse<Bandwidth>("12.5e9"));
  CHECK_FALSE(parse<FlopRate>("1"));
  CHECK_FALSE(parse<Seconds>("0"));
}

TEST_CASE("a unit of another kind is refused, and so is another spelling") {
  CHECK_FALSE(parse<Seconds>("16 GiB"));
  CHECK_FALSE(parse<Bytes>("12.5 GB/s"));
  CHECK_FALSE(parse<Bandwidth>("12.5 GB"));
  CHECK_FALSE(parse<FlopRate>("15.7 Tflop"));
  CHECK_FALSE(parse<FlopRate>("15.7 TFLOPS"));
  CHECK_FALSE(parse<Bytes>("16 gib"));
  CHECK_FALSE(parse<Bytes>("16 Gb"));  // bits are for rates only
  CHECK_FALSE(parse<Bytes>("16 KB"));  // kB or KiB: which one?
  CHECK_FALSE(parse<Seconds>("5 sec"));
  CHECK_FALSE(parse<Seconds>("5 us us"));
}

TEST_CASE("text that is not a quantity is refused") {
  for (const std::string text : {"-1 s", "-0.001 s", "inf s", "nan s", "-inf s", "infinity s", "1e999 s",
                                 "",     " ",        "s",     "x s",   "1..5 s", "1,5 s",      "0x10 s",
                                 "1  s", " 1 s",     "1 s ",  "1\ts",  "+1 s",   "--1 s",      "1 s\n"}) {
    CAPTURE(text);
    CHECK_FALSE(parse<Seconds>(text));
  }
}

TEST_CASE("a number that is too large only with its unit is refused") {
  CHECK(parse<Bytes>("1e308 B"));
  CHECK_FALSE(parse<Bytes>("1e308 GB"));
  CHECK_FALSE(parse<FlopRate>("1e300 Pflop/s"));
}

TEST_CASE("examples in error messages can be read") {
  // wanted() shows examples in backquotes; a user who copies one must not be refused again.
  const auto example = [](std::string_view text) {
    text.remove_prefix(text.find('`') + 1);
    return std::string(text.substr(0, text.find('`')));
  };
  CHECK(parse<Seconds>(example(wanted<Seconds>())));
  CHECK(parse<Bytes>(example(wanted<Bytes>())));
  CHECK(parse<Bandwidth>(example(wanted<Bandwidth>())));
  CHECK(parse<FlopRate>(example(wanted<FlopRate>())));
  CHECK(wanted<Seconds>() == "a time, such as `500 ns`");
}

}  // namespace
}  // namespace paradl
