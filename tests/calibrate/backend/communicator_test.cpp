#include "calibrate/backend/communicator.hpp"

#include <atomic>

#include <doctest/doctest.h>

#include "calibrate/backend/threads.hpp"
#include "tests/support/approx.hpp"

namespace paradl::calibrate {
namespace {

// Whole numbers, so that sums are exact in any order.
float number(int rank, std::size_t i) { return float((rank + 1) * 100 + int(i) * (rank + 3)); }
float total(int ranks, std::size_t i) {
  float sum = 0;
  for (int r = 0; r < ranks; ++r) sum += number(r, i);
  return sum;
}
/// Parts of 0, 3, 6, 1, 4, 0, ... numbers.
std::vector<std::size_t> uneven(int ranks) {
  std::vector<std::size_t> parts;
  for (int r = 0; r < ranks; ++r) parts.push_back(std::size_t(r) * 3 % 8 % 7);
  return parts;
}
std::size_t sum(const std::vector<std::size_t>& parts, int count) {
  std::size_t out = 0;
  for (int r = 0; r < count; ++r) out += parts[std::size_t(r)];
  return out;
}

/// doctest's checks are not thread-safe: ranks count errors, and the test checks the count.
int wrong_on(int ranks, const std::function<int(Communicator&)>& rank_work) {
  std::atomic<int> wrong = 0;
  run_threads(ranks, [&](Communicator& ranks_of) { wrong += rank_work(ranks_of); });
  return wrong;
}

TEST_CASE("communicator: allreduce gives every rank the sum, for any number of ranks and values") {
  for (int p = 1; p <= 7; ++p)
    for (std::size_t items : {0, 1, 5, 7, 1000}) {
      CAPTURE(p);
      CAPTURE(items);
      CHECK(wrong_on(p, [&](Communicator& c) {
              std::vector<float> data(items);
              for (std::size_t i = 0; i < items; ++i) data[i] = number(c.rank(), i);
              c.allreduce(data.data(), items);
              int wrong = 0;
              for (std::size_t i = 0; i < items; ++i) wrong += data[i] != total(p, i);
              return wrong;
            }) == 0);
    }
}

TEST_CASE("communicator: allgather brings every part to every rank, uneven and empty parts too") {
  for (int p = 1; p <= 7; ++p) {
    CAPTURE(p);
    CHECK(wrong_on(p, [&](Communicator& c) {
            const auto parts = uneven(p);
            std::vector<float> data(sum(parts, p), -1);
            for (std::size_t i = sum(parts, c.rank()); i < sum(parts, c.rank() + 1); ++i)
              data[i] = number(0, i);
            c.allgather(data.data(), parts);
            int wrong = 0;
            for (std::size_t i = 0; i < data.size(); ++i) wrong += data[i] != number(0, i);
            return wrong;
          }) == 0);
  }
}

TEST_CASE("communicator: reduce-scatter leaves each rank the sum of its part") {
  for (int p = 1; p <= 7; ++p) {
    CAPTURE(p);
    CHECK(wrong_on(p, [&](Communicator& c) {
            const auto parts = uneven(p);
            std::vector<float> data(sum(parts, p));
            for (std::size_t i = 0; i < data.size(); ++i) data[i] = number(c.rank(), i);
            c.reduce_scatter(data.data(), parts);
            int wrong = 0;
            for (std::size_t i = sum(parts, c.rank()); i < sum(parts, c.rank() + 1); ++i)
              wrong += data[i] != total(p, i);
            return wrong;
          }) == 0);
  }
}

TEST_CASE("communicator: gather keeps every bit of a double") {
  for (int p = 1; p <= 5; ++p)
    CHECK(wrong_on(p, [&](Communicator& c) {
            const auto all = c.gather(1.0 / 3 * (c.rank() + 1));
            int wrong = 0;
            for (int r = 0; r < p; ++r) wrong += all[std::size_t(r)] != 1.0 / 3 * (r + 1);
            return wrong;
          }) == 0);
}

TEST_CASE("communicator: split orders ranks by key, and messages stay within a part") {
  // 0, 2, 4 and 1, 3, 5; each in the opposite order of ranks
  CHECK(wrong_on(6, [&](Communicator& c) {
          const auto part = c.split(c.rank() % 2, -c.rank());
          if (part->size() != 3 || part->rank() != 2 - c.rank() / 2) return 1;
          float data = float(c.rank());
          part->allreduce(&data, 1);
          const auto again = part->split(0, part->rank());
          return int(data != (c.rank() % 2 ? 9 : 6)) + int(again->size() != 3);
        }) == 0);
}

TEST_CASE("communicator: messages between two ranks arrive in the order they are listed") {
  CHECK(wrong_on(2, [&](Communicator& c) {
          std::vector<float> mine{1, 2, 3}, theirs(3);
          const int peer = 1 - c.rank();
          const std::vector<Message> sends{{peer, &mine[0], 1}, {peer, &mine[1], 2}};
          const std::vector<Message> receives{{peer, &theirs[0], 1}, {peer, &theirs[1], 2}};
          c.exchange(sends, receives);
          return int(theirs != mine);
        }) == 0);
}

TEST_CASE(
    "threads: a rank that fails, or waits for a message that no rank sends, ends all ranks with its "
    "message") {
  CHECK_THROWS_WITH(run_threads(3,
                                [](Communicator& c) {
                                  if (c.rank() == 1) throw std::runtime_error("rank 1 gives up");
                                  c.barrier();
                                }),
                    "rank 1 gives up");
  CHECK_THROWS_WITH(run_threads(2,
                                [](Communicator& c) {
                                  float x = 0;
                                  const Message from_other{1 - c.rank(), &x, 1};
                                  c.exchange({}, {&from_other, 1});
                                }),
                    "deadlock: all ranks wait for messages that no rank sends");
  CHECK_THROWS_WITH(run_threads(2,
                                [](Communicator& c) {
                                  std::vector<float> x(4);
                                  const Message send{1 - c.rank(), &x[0], 1}, receive{1 - c.rank(), &x[1], 2};
                                  c.exchange({&send, 1}, {&receive, 1});
                                }),
                    "the sender and the receiver of a message disagree about its length");
}

// 10 us and 1 ns a byte within a node of two, 100 us and 4 ns a byte between nodes.
const FakeNetwork known{.ranks_per_node = 2,
                        .inside = {Seconds{10e-6}, SecondsPerByte{1e-9}},
                        .between = {Seconds{100e-6}, SecondsPerByte{4e-9}}};

/// The time of `work` on the slowest rank.
double slowest(const FakeNetwork& network, int ranks, const std::function<void(Communicator&)>& work) {
  std::vector<double> times(static_cast<std::size_t>(ranks));
  run_threads(network, ranks, [&](Communicator& c) {
    c.barrier();
    const Seconds start = c.now();
    work(c);
    times[std::size_t(c.rank())] = (c.now() - start).base();
  });
  return *std::max_element(times.begin(), times.end());
}

TEST_CASE("fake network: the time of a ring is that of its formula") {
  std::vector<std::vector<float>> data(4, std::vector<float>(4000));  // 16 kB
  const auto allreduce = [&](Communicator& c) { c.allreduce(data[std::size_t(c.rank())].data(), 4000); };
  // 2 (p-1) (alpha + m/p beta) = 2 (10 us + 8 kB 1 ns)
  CHECK(slowest(known, 2, allreduce) == test::approx(36e-6));
  // = 6 (100 us + 4 kB 4 ns): every step waits for the messages between nodes
  CHECK(slowest(known, 4, allreduce) == test::approx(696e-6));
}

TEST_CASE("fake network: messages of one sender follow each other, and messages on a trunk share it") {
  std::vector<float> buffer(4000);
  const auto pairs = [&](Communicator& c) {  // 0 -> 2 and 1 -> 3, 4 kB each: both between the nodes
    const Message message{(c.rank() + 2) % 4, &buffer[std::size_t(c.rank()) * 1000], 1000};
    if (c.rank() < 2)
      c.exchange({&message, 1}, {});
    else
      c.exchange({}, {&message, 1});
  };
  FakeNetwork network = known;
  CHECK(slowest(network, 4, pairs) == test::approx(116e-6));  // 100 us + 4 kB 4 ns
  network.trunk = SecondsPerByte{4e-9};                       // two at once: 100 us + 2 * 4 kB 4 ns
  CHECK(slowest(network, 4, pairs) == test::approx(132e-6));
  network.trunk = SecondsPerByte{1e-9};  // wide enough for four
  CHECK(slowest(network, 4, pairs) == test::approx(116e-6));
  // One rank to two others of its node: 2 (10 us + 4 kB 1 ns)
  network.ranks_per_node = 4;
  CHECK(slowest(network, 3, [&](Communicator& c) {
          const Message one{c.rank() ? 0 : 1, &buffer[std::size_t(c.rank()) * 1000], 1000};
          const Message two{2, &buffer[3000], 1000};
          const std::vector<Message> both{one, two};
          if (c.rank() == 0)
            c.exchange(both, {});
          else
            c.exchange({}, {&one, 1});
        }) == test::approx(28e-6));
}

TEST_CASE("fake network: nodes are numbered in the order of ranks, in parts too") {
  std::vector<std::vector<int>> all(5), part(5);
  run_threads(known, 5, [&](Communicator& c) {
    all[std::size_t(c.rank())] = c.nodes();
    part[std::size_t(c.rank())] = c.split(c.rank() >= 3, 0)->nodes();
  });
  CHECK(all[0] == std::vector{0, 0, 1, 1, 2});
  CHECK(part[0] == std::vector{0, 0, 1});
  CHECK(part[4] == std::vector{0, 1});
}

TEST_CASE("fake network: noise only adds, is bounded, and is the same every time") {
  FakeNetwork network = known;
  network.noise = 0.1;
  const auto measure = [&] {
    return slowest(network, 4, [](Communicator& c) {
      std::vector<float> data(4000);
      c.allreduce(data.data(), data.size());
    });
  };
  const double once = measure();
  CHECK(once > 696e-6);
  CHECK(once < 1.1 * 696e-6);
  CHECK(measure() == once);
}

}  // namespace
}  // namespace paradl::calibrate
