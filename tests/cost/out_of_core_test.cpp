// Out-of-core plans for chains of blocks with round numbers. Seconds and bytes are plain units here.
#include "paradl/cost/out_of_core.hpp"

#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include "tests/support/approx.hpp"
#include "tests/support/out_of_core_replay.hpp"

namespace paradl::test {
namespace {

using enum Fate;

/// Forward 1, backward 2, recomputation 1; 4 bytes of activations, computed from 1 byte of input.
OutOfCoreChain three_blocks(double room) {
  OutOfCoreChain chain;
  chain.blocks.assign(3, {.forward = Seconds{1},
                          .backward = Seconds{2},
                          .again = Seconds{1},
                          .activations = Bytes{4},
                          .input = Bytes{1}});
  chain.room.fill(Bytes{room});
  return chain;
}

OutOfCoreLimits link(double bandwidth) {
  return {.out = Bandwidth{bandwidth}, .in = Bandwidth{bandwidth}, .host = Bytes{1e12}};
}

double time_of(const OutOfCoreChain& chain, const std::vector<Fate>& fate, double bandwidth) {
  const auto time = OutOfCoreClock().run(chain, fate, WeightHome::device, link(bandwidth));
  return time.possible ? time.end.base() : -1;
}

/// Random chains: equal and unequal blocks, cheap and expensive to recompute.
OutOfCoreChain random_chain(std::mt19937& dice, int blocks, double share_of_room) {
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(dice);
  };
  const bool equal = between(0, 1) < 0.3;
  const double forward = between(0.5, 2), bytes = between(1, 3);
  OutOfCoreChain chain;
  double total = 0, largest = 0;
  for (int k = 0; k < blocks; ++k) {
    const double f = equal ? forward : between(0.1, 2), a = equal ? bytes : between(0.3, 3);
    chain.blocks.push_back({.first = k,
                            .end = k + 1,
                            .forward = Seconds{f},
                            .backward = Seconds{f * between(1.5, 2.5)},
                            .again = Seconds{f * between(0.6, 1)},
                            .activations = Bytes{a},
                            .input = Bytes{a * between(0.05, 1.1)},
                            .weights = Bytes{between(0, 1)},
                            .gradients = Bytes{between(0, 1)},
                            .exchange = Seconds{between(0, 0.5)},
                            .update = Seconds{between(0, 0.5)}});
    total += a, largest = std::max(largest, a);
  }
  chain.room.fill(Bytes{largest + share_of_room * (total - largest)});
  return chain;
}

/// The same chain with neighbouring blocks joined.
OutOfCoreChain coarser(const OutOfCoreChain& fine) {
  OutOfCoreChain out{.blocks = {}, .room = fine.room};
  for (std::size_t i = 0; i < fine.blocks.size(); i += 2) {
    OutOfCoreBlock b = fine.blocks[i];
    if (i + 1 < fine.blocks.size()) {
      const OutOfCoreBlock& next = fine.blocks[i + 1];
      b.again = b.forward + next.again;
      b.forward += next.forward, b.backward += next.backward, b.activations += next.activations;
      b.weights += next.weights, b.gradients += next.gradients;
      b.exchange += next.exchange, b.update += next.update, b.end = next.end;
    }
    out.blocks.push_back(b);
  }
  return out;
}

}  // namespace

TEST_CASE("out of core: three blocks by hand") {
  // In core: 3 x 1 forward, 3 x 2 backward.
  CHECK(time_of(three_blocks(12), {kept, kept, kept}, 2) == 9);
  CHECK(time_of(three_blocks(11.9), {kept, kept, kept}, 2) < 0);  // does not fit

  // Room for two. Block 0 is copied out from 1 to 3, so block 2 starts at 3 instead of 2. Block 0 is copied
  // back from 6 to 8, during the backward pass of block 1: 3 + 1 + 2 + 2 + 2 = 10.
  CHECK(time_of(three_blocks(8), {swapped, kept, kept}, 2) == 10);
  // Twice the bandwidth: it is out at 2, and nothing waits.
  CHECK(time_of(three_blocks(8), {swapped, kept, kept}, 4) == 9);

  // Room for one. Forward, each block waits until the one before is out: passes at 0, 3, 6, the last copy
  // from 7 to 9. Backward, each is first copied back in 2: 9 + 3 x (2 + 2) = 21.
  CHECK(time_of(three_blocks(4), {swapped, swapped, swapped}, 2) == 21);

  // Block 0 is recomputed from its 1 byte: 1 + 4 + 4 bytes, and one second more.
  CHECK(time_of(three_blocks(9), {recomputed, kept, kept}, 2) == 10);
  CHECK(time_of(three_blocks(8.9), {recomputed, kept, kept}, 2) < 0);
  // All are recomputed: 3 bytes of inputs and one block; 9 + 3.
  CHECK(time_of(three_blocks(7), {recomputed, recomputed, recomputed}, 2) == 12);
  CHECK(time_of(three_blocks(6.9), {recomputed, recomputed, recomputed}, 2) < 0);
}

TEST_CASE("out of core: the best plan of three blocks, by hand") {
  OutOfCorePlanner planner;
  const auto find = [&](double room, double bandwidth) {
    const std::vector<OutOfCoreChain> chains{three_blocks(room)};
    return planner.find(chains, link(bandwidth));
  };
  // Everything fits: nothing changes.
  CHECK(find(12, 2).time.end.base() == 9);
  CHECK(find(12, 2).fate == std::vector{kept, kept, kept});
  CHECK(find(12, 2).host.base() == 0);
  // A fast link: swapping block 0 costs no time.
  CHECK(find(8, 4).time.end.base() == 9);
  CHECK(find(8, 4).fate == std::vector{swapped, kept, kept});
  CHECK(find(8, 4).host.base() == 4);
  // A slow one (a copy takes 40 s): with room for 9 bytes the first block is recomputed.
  CHECK(find(9, 0.1).time.end.base() == 10);
  CHECK(find(9, 0.1).fate == std::vector{recomputed, kept, kept});
  CHECK(find(9, 0.1).host.base() == 0);
  // With room for 8, two of them: 1 + 1 + 4, and 4 while one is recomputed, after the last is done.
  CHECK(find(8, 0.1).time.end.base() == 11);
  CHECK(find(8, 0.1).recompute.base() == 2);
  // There is no room for any block.
  CHECK_FALSE(find(3.9, 2).time.possible);
}

TEST_CASE("out of core: weights on the host, by hand") {
  // One block: forward 1, backward 2, exchange 1, 2 bytes of gradients out at 2 B/s, update 3.
  OutOfCoreChain chain = three_blocks(4);
  chain.blocks.resize(1);
  OutOfCoreBlock& block = chain.blocks.front();
  block.weights = block.gradients = Bytes{2};
  block.exchange = Seconds{1};
  block.update = Seconds{3};
  OutOfCoreLimits limits = link(2);
  limits.after = Seconds{0.5};
  OutOfCoreClock clock;
  const std::vector fate{kept};
  CHECK(clock.run(chain, fate, WeightHome::device, limits).end.base() == 3.5);
  // 1 + 2, exchange 1, out 1, update 3, in 1
  CHECK(clock.run(chain, fate, WeightHome::updated_on_host, limits).end.base() == 9);
  // in 1, 1 + 2, exchange 1, out 1, update 3
  CHECK(clock.run(chain, fate, WeightHome::streamed, limits).end.base() == 9);

  // Three such blocks, updated on the host: the backward pass of the last runs from 3 to 5; its exchange ends
  // at 6, its gradients arrive at 7 and are updated at 10. The next gradients arrive at 9 and 11: the host
  // updates until 13 and 16, and the last weights are back at 17.
  chain.blocks.assign(3, block);
  chain.room.fill(Bytes{12});
  CHECK(clock.run(chain, {std::vector{kept, kept, kept}}, WeightHome::updated_on_host, limits).end.base() ==
        17);
}

TEST_CASE("out of core: no candidate is faster than the plan, wherever weights are stored") {
  std::mt19937 dice(7);
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(dice);
  };
  OutOfCorePlanner planner;
  OutOfCoreClock clock;
  for (int trial = 0; trial < 3000; ++trial) {
    CAPTURE(trial);
    const int blocks = 2 + trial / 3 % 13;
    const auto home = std::size_t(trial % 3);
    OutOfCoreChain chain = random_chain(dice, blocks, between(0, 1));
    const double heavy = between(0, 6);
    for (OutOfCoreBlock& block : chain.blocks) {
      block.weights *= heavy;
      block.again *= 0.5;  // so that the first blocks, too, are recomputed rather than swapped
      block.input *= 0.1;
    }
    for (std::size_t other = 0; other < weight_homes; ++other)
      if (other != home) chain.room[other] = Bytes{-1};
    OutOfCoreLimits limits = link(std::exp(between(-2, 2)));
    limits.in *= between(0.3, 3);
    limits.after = Seconds{0.3};
    limits.allowed.fill(true);
    const Seconds chosen = planner.find({{chain}}, limits).time.end;

    // The last blocks are kept; a number of the others, evenly spread, is recomputed and the rest is swapped.
    std::vector<int> order;
    for (int k = 0; k < 16; ++k)
      if (const int j = (k & 1) << 3 | (k & 2) << 1 | (k & 4) >> 1 | (k & 8) >> 3;
          j < blocks && chain.blocks[std::size_t(j)].activations > chain.blocks[std::size_t(j)].input)
        order.push_back(j);
    for (int from = 0; from <= blocks; ++from) {
      std::vector<Fate> fate(std::size_t(blocks), kept);
      std::fill_n(fate.begin(), from, swapped);
      const auto check = [&] {
        const auto time = clock.run(chain, fate, WeightHome(home), limits);
        if (time.possible) CHECK(chosen.base() <= time.end.base() * (1 + 1e-9));
      };
      check();
      for (const int k : order)
        if (k < from) fate[std::size_t(k)] = recomputed, check();
    }
  }
}

TEST_CASE("out of core: laws on many chains") {
  std::mt19937 dice(20201117);
  OutOfCorePlanner planner;
  for (int trial = 0; trial < 200; ++trial) {
    CAPTURE(trial);
    const int blocks = 3 + trial % 22;
    const double bandwidth = std::exp(std::uniform_real_distribution<double>(-2, 2)(dice));
    const double share = std::uniform_real_distribution<double>(0, 1)(dice);
    std::vector<OutOfCoreChain> chains{random_chain(dice, blocks, share)};
    chains.push_back(coarser(chains.front()));
    OutOfCoreLimits limits = link(bandwidth);
    limits.after = Seconds{0.3};
    limits.allowed = {true, trial % 3 == 0, trial % 3 == 0};
    const OutOfCorePlan plan = planner.find(chains, limits);
    REQUIRE(plan.time.possible);

    // If weights stay on the device: not faster than in core, and not slower than the simple plans.
    Seconds work = limits.after;
    for (const OutOfCoreBlock& block : chains.front().blocks) work += block.forward + block.backward;
    if (plan.home == WeightHome::device) CHECK(plan.time.end.base() >= work.base() * (1 - 1e-9));
    for (const auto& other : {planner.all(swapped, chains, limits), planner.all(recomputed, chains, limits),
                              planner.swap_only(chains, limits)})
      if (other.possible) CHECK(plan.time.end.base() <= other.end.base() * (1 + 1e-9));

    // The same holds if the host has little memory, for the simple plans too.
    OutOfCoreLimits scant = limits;
    scant.host = 0.6 * plan.host;
    if (const OutOfCorePlan less = planner.find(chains, scant); less.time.possible)
      for (const auto& other : {planner.all(swapped, chains, scant), planner.all(recomputed, chains, scant),
                                planner.swap_only(chains, scant)})
        if (other.possible) CHECK(less.time.end.base() <= other.end.base() * (1 + 1e-9));

    // More memory and a faster link never make it slower.
    for (const double more : {1.01, 1.1, 1.5}) {
      std::vector<OutOfCoreChain> wider = chains;
      for (OutOfCoreChain& chain : wider)
        for (Bytes& room : chain.room) room *= more;
      CHECK(planner.find(wider, limits).time.end.base() <= plan.time.end.base() * (1 + 1e-9));
      OutOfCoreLimits faster = limits;
      faster.out *= more, faster.in *= more;
      CHECK(planner.find(chains, faster).time.end.base() <= plan.time.end.base() * (1 + 1e-9));
    }

    // A replay never needs more memory than there is.
    std::vector<OutOfCoreEvent> events;
    const auto again = planner.clock().run(chains[plan.chain], plan.fate, plan.home, limits, &events);
    CHECK(again.end == plan.time.end);
    const Replay replayed = replay(chains[plan.chain].blocks, plan.fate, events);
    CHECK(replayed.wrong == "");
    CHECK(replayed.peak <= plan.time.peak.base() * (1 + 1e-9));
    CHECK(plan.time.peak <= chains[plan.chain].room[std::size_t(plan.home)]);
    double largest = 0;
    for (const OutOfCoreBlock& block : chains[plan.chain].blocks)
      largest = std::max(largest, block.weights.base());
    CHECK(replayed.weights_peak <= 2 * largest * (1 + 1e-9));
  }
}

TEST_CASE("out of core: any possible plan fits the memory, whatever blocks it chooses") {
  std::mt19937 dice(7);
  OutOfCoreClock clock;
  int possible = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    CAPTURE(trial);
    const OutOfCoreChain chain = random_chain(dice, 8, std::uniform_real_distribution<double>(0, 0.8)(dice));
    std::vector<Fate> fate(8);
    for (Fate& f : fate) f = Fate(std::uniform_int_distribution<int>(0, 2)(dice));
    std::vector<OutOfCoreEvent> events;
    const auto home = WeightHome(trial % 3);
    const auto time = clock.run(chain, fate, home, link(0.5), &events);
    if (!time.possible) continue;
    ++possible;
    const Replay replayed = replay(chain.blocks, fate, events);
    CHECK(replayed.wrong == "");
    CHECK(replayed.peak <= chain.room[std::size_t(home)].base() * (1 + 1e-9));
  }
  CHECK(possible > 500);
}

TEST_CASE("out of core: plans are close to the best of all 3^n") {
  std::mt19937 dice(3);
  OutOfCorePlanner planner;
  OutOfCoreClock clock;
  double sum = 0;
  constexpr int trials = 100, blocks = 6, all = 729;
  for (int trial = 0; trial < trials; ++trial) {
    const double share = std::uniform_real_distribution<double>(0, 1)(dice);
    const std::vector<OutOfCoreChain> chains{random_chain(dice, blocks, share)};
    const OutOfCoreLimits limits = link(std::uniform_real_distribution<double>(0.3, 3)(dice));
    double best = 1e300;
    for (int number = 0; number < all; ++number) {
      std::vector<Fate> fate;
      for (int k = 0, rest = number; k < blocks; ++k, rest /= 3) fate.push_back(Fate(rest % 3));
      const auto time = clock.run(chains.front(), fate, WeightHome::device, limits);
      if (time.possible) best = std::min(best, time.end.base());
    }
    sum += planner.find(chains, limits).time.end.base() / best;
  }
  CHECK(sum / trials >= 1);
  CHECK(sum / trials < 1.03);
}

TEST_CASE("out of core: blocks that do not fit the host are not swapped") {
  OutOfCorePlanner planner;
  const std::vector<OutOfCoreChain> chains{three_blocks(9)};
  OutOfCoreLimits limits = link(4);
  CHECK(planner.find(chains, limits).count(swapped) == 1);
  limits.host = Bytes{3.9};
  CHECK(planner.find(chains, limits).count(swapped) == 0);
  CHECK(planner.find(chains, limits).count(recomputed) == 1);
}

TEST_CASE("out of core: the least memory that the host must have, by hand") {
  OutOfCorePlanner planner;
  const auto least = [&](double room) {
    const std::vector<OutOfCoreChain> chains{three_blocks(room)};
    return planner.least_host(chains, link(100)).base();
  };
  CHECK(least(12) == 0);  // everything is kept
  // Room for one block and two inputs: the last block stays and the others are recomputed, although swapping
  // them would be faster.
  CHECK(least(6) == 0);
  CHECK(least(5.9) == 4);  // no room for one input: its block is swapped
  CHECK(least(5) == 4);
  CHECK(least(4) == 8);           // nor for the other
  CHECK(std::isinf(least(3.9)));  // no room for any block
}

TEST_CASE("out of core: with the least host memory there is a plan, and with less there is none") {
  std::mt19937 dice(31);
  int scarce = 0;
  for (int trial = 0; trial < 200; ++trial) {
    CAPTURE(trial);
    OutOfCoreChain fine = random_chain(dice, 2 + trial % 40, 0.02);
    for (OutOfCoreBlock& block : fine.blocks)  // inputs are not much smaller
      block.activations = 1e9 * block.activations, block.input = 0.9 * block.activations;
    for (Bytes& room : fine.room) room = 1e9 * room;
    if (trial % 2) fine.room[0] = Bytes{-1};  // weights are on the host
    const std::vector<OutOfCoreChain> chains{fine, coarser(fine)};
    OutOfCoreLimits limits = link(1e9);
    if (trial % 2) limits.allowed.fill(true), limits.host_weights = {Bytes{}, Bytes{7e9}, Bytes{5e9}};
    OutOfCorePlanner planner;
    limits.host = planner.least_host(chains, limits);
    const OutOfCorePlan plan = planner.find(chains, limits);
    REQUIRE(plan.time.possible);
    CHECK(plan.host <= limits.host);
    if (!(limits.host > Bytes{})) continue;
    ++scarce;
    CHECK(plan.host == limits.host);
    limits.host = limits.host - Bytes{1};
    CHECK_FALSE(planner.find(chains, limits).time.possible);
  }
  CHECK(scarce > 100);
}

}  // namespace paradl::test
