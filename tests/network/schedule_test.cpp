#include "paradl/network/schedule.hpp"

#include <doctest/doctest.h>

#include "paradl/network/schedule_file.hpp"
#include "tests/support/spec_text.hpp"

using namespace paradl;
using namespace paradl::test;

namespace {

Schedule ring_allreduce_of(int ranks) {
  Schedule out;
  out.ranks = out.pieces = ranks;
  for (const Arrival arrival : {Arrival::add, Arrival::replace}) {
    out.begin(ranks - 1, -1);
    for (int r = 0; r < ranks; ++r)
      out.add({.source = r,
               .target = (r + 1) % ranks,
               .first = (arrival == Arrival::add ? r : r + 1) % ranks,
               .width = 1,
               .arrival = arrival,
               .bytes = Bytes{100}});
  }
  return out;
}

Schedule read(const std::string& text) { return read_schedule({"test.txt", text}); }
std::string complaint_about(const std::string& text) {
  return complaint([&] { read(text); });
}

}  // namespace

TEST_CASE("a ring sums all buffers") {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    CAPTURE(ranks);
    const std::size_t P = std::size_t(ranks);
    Buffers buffer(P, std::vector<double>(P));
    for (std::size_t r = 0; r < P; ++r)
      for (std::size_t i = 0; i < P; ++i) buffer[r][i] = double(100 * r + i);
    for (const auto& result : execute(ring_allreduce_of(ranks), buffer))
      for (std::size_t i = 0; i < P; ++i) CHECK(result[i] == 100.0 * double(P * (P - 1) / 2) + double(P * i));
  }
}

TEST_CASE("messages of a step carry the values from before the step") {
  Schedule swap;
  swap.ranks = 2;
  swap.begin();
  swap.add({.source = 0, .target = 1, .width = 1});
  swap.add({.source = 1, .target = 0, .width = 1});
  CHECK(execute(swap, {{1}, {2}}) == Buffers{{2}, {1}});
}

TEST_CASE("repetitions advance by whole widths and wrap around within their block") {
  Schedule moving;
  moving.ranks = 2;
  moving.pieces = 8;
  moving.begin(3, 1, 2);  // blocks of two widths of two pieces: 4, 6, 4
  moving.add({.source = 0, .target = 1, .first = 4, .width = 2, .arrival = Arrival::add});
  const Buffers before{{1, 1, 1, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 0, 0, 0}};
  CHECK(execute(moving, before)[1] == std::vector<double>{0, 0, 0, 0, 2, 2, 1, 1});
}

TEST_CASE("length and bytes count repetitions; messages from a rank to itself are not sent") {
  Schedule ring = ring_allreduce_of(4);
  CHECK(ring.length() == 6);
  CHECK(ring.largest_sent() == Bytes{600});
  ring.begin();
  ring.add({.source = 2, .target = 2, .bytes = Bytes{1000}});
  CHECK(ring.largest_sent() == Bytes{600});
  CHECK(Schedule{}.largest_sent() == Bytes{0});
}

TEST_CASE("a schedule is read from its lines") {
  const Schedule s = read("4 2\n0 3 0 1 1e3\n0 3 2 3 0\n\n 1 1\t3 3 7.5\r\n");
  CHECK(s.ranks == 4);
  REQUIRE(s.steps.size() == 2);
  CHECK(s.steps[0].repeat == 3);
  CHECK(s.of(s.steps[0]).size() == 2);
  CHECK(s.of(s.steps[0])[0].bytes == Bytes{1000});
  CHECK(s.of(s.steps[1])[0].source == 3);
  CHECK(s.of(s.steps[1])[0].bytes == Bytes{7.5});
}

TEST_CASE("a schedule that cannot be run is refused, with the place and the reason") {
  const auto refuses = [](const std::string& text, const std::string& place, const std::string& words) {
    const std::string said = complaint_about(text);
    CAPTURE(said);
    return says(said, "test.txt:" + place) && says(said, words);
  };
  CHECK(refuses("", "1:1", "empty"));
  CHECK(refuses(" \n\n", "1:1", "empty"));
  CHECK(refuses("4\n", "1:1", "this line has 1 number, not 2"));
  CHECK(refuses("4 1 1\n", "1:5", "this line has 3 numbers, not 2"));
  CHECK(refuses("0 1\n", "1:1", "number of ranks 0 is out of range"));
  CHECK(refuses("99999999999999999999 1\n", "1:1", "out of range"));
  CHECK(refuses("4 1\n", "1:3", "1 step, but 0 follow"));
  CHECK(refuses("4 2\n0 1 0 1 8\n", "1:3", "2 steps, but 1 follows"));
  CHECK(refuses("4 1\n0 1 0 4 8\n", "2:7", "rank 4 is out of range"));
  CHECK(refuses("4 1\n0 1 -1 2 8\n", "2:5", "rank -1 is out of range"));
  CHECK(refuses("4 1\n0 1 0 one 8\n", "2:7", "`one` is not a whole number"));
  CHECK(refuses("4 1\n0 1 0 1\n", "2:7", "this line has 4 numbers, not 5"));
  CHECK(refuses("4 1\n0 1 0 1 -8\n", "2:9", "-8 bytes cannot be sent"));
  CHECK(refuses("4 1\n0 1 0 1 8MB\n", "2:9", "`8MB` is not a number of bytes"));
  CHECK(refuses("4 1\n0 1 0 1 nan\n", "2:9", "not a number of bytes"));
  CHECK(refuses("4 1\n0 1 0 1 inf\n", "2:9", "too many"));
  CHECK(refuses("4 1\n0 0 0 1 8\n", "2:3", "number of repetitions 0 is out of range"));
  CHECK(refuses("4 1\n1 1 0 1 8\n", "2:1", "step 1 is out of range"));
  CHECK(refuses("4 3\n0 1 0 1 8\n2 1 0 1 8\n", "3:1", "step 1 is missing"));
  CHECK(refuses("4 2\n0 1 0 1 8\n1 1 0 1 8\n0 1 2 3 8\n", "4:1", "step 0 after step 1"));
  CHECK(refuses("4 1\n0 2 0 1 8\n0 3 1 2 8\n", "3:3",
                "step 0 is repeated 3 times here, and 2 times on line 2: its ranks would wait for ever"));
}

TEST_CASE("all mistakes of a schedule are reported at once, up to ten") {
  std::string text = "4 1\n";
  for (int i = 0; i < 50; ++i) text += "0 1 0 9 8\n";
  CHECK(mistakes(complaint_about(text)) == 10);
}
