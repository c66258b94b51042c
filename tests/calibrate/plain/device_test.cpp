#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include "calibrate/plain/plain.hpp"

// Memory, copies of boxes, and updates.

namespace {

using namespace paradl;
using namespace paradl::calibrate;
using Numbers = std::vector<float>;

std::size_t index(const Box& box, const std::array<std::int64_t, 5>& at) {
  std::size_t out = 0;
  for (std::size_t d = 0; d < 5; ++d)
    out = out * std::size_t(box.length(d)) + std::size_t(at[d] - box.begin[d]);
  return out;
}

template <class Visit>
void for_each_item(const Box& b, Visit visit) {
  std::array<std::int64_t, 5> i{};
  for (i[0] = b.begin[0]; i[0] < b.end[0]; ++i[0])
    for (i[1] = b.begin[1]; i[1] < b.end[1]; ++i[1])
      for (i[2] = b.begin[2]; i[2] < b.end[2]; ++i[2])
        for (i[3] = b.begin[3]; i[3] < b.end[3]; ++i[3])
          for (i[4] = b.begin[4]; i[4] < b.end[4]; ++i[4]) visit(i);
}

Numbers after_updates(Optimizer optimizer, Numbers w, const Numbers& dw, int times) {
  const auto device = make_plain_device();
  Numbers state(std::size_t(optimizer_slots(optimizer)) * w.size(), 0.0f);
  for (int t = 0; t < times; ++t) device->update(optimizer, w.size(), w.data(), dw.data(), state.data());
  return w;
}

}  // namespace

TEST_CASE("plain: a region is copied between boxes of any shape") {
  const auto device = make_plain_device();
  std::mt19937 random(7);
  const auto up_to = [&](std::int64_t n) { return std::int64_t(random() % unsigned(n)); };
  for (int round = 0; round < 300; ++round) {
    // Two boxes around a region. Often they end where it ends, so that contiguous runs span several
    // dimensions.
    Box region, a, b;
    for (std::size_t d = 0; d < 5; ++d) {
      region.begin[d] = up_to(4);
      region.end[d] = region.begin[d] + up_to(4) + (round % 20 ? 1 : 0);
      for (Box* box : {&a, &b}) {
        const bool wider = random() % 3 == 0;
        box->begin[d] = region.begin[d] - (wider ? up_to(3) : 0);
        box->end[d] = region.end[d] + (wider ? up_to(3) : 0);
      }
    }
    Numbers from(a.items()), to(b.items());
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = float(i + 1);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = -float(i + 1);
    for (const Combine how : {Combine::replace, Combine::add}) {
      Numbers expected = to;
      for_each_item(region, [&](const auto& at) {
        const float number = from[index(a, at)];
        expected[index(b, at)] = how == Combine::add ? expected[index(b, at)] + number : number;
      });
      Numbers got = to;
      device->copy({got.data(), b}, {from.data(), a}, region, how);
      CHECK(got == expected);
    }
  }
}

TEST_CASE("plain: memory is written, read, filled") {
  const auto device = make_plain_device();
  const Buffer buffer = device->allocate(5);
  CHECK(buffer.items == 5);
  CHECK(reinterpret_cast<std::uintptr_t>(buffer.get()) % 64 == 0);
  Numbers back(5, 1.0f);
  device->read(back, buffer.get());
  CHECK(back == Numbers(5, 0.0f));
  device->write(buffer.get() + 1, Numbers{1, 2});
  device->fill(buffer.get() + 3, 1, 9);
  device->read(back, buffer.get());
  CHECK(back == Numbers{0, 1, 2, 9, 0});
  CHECK(device->allocate(0).get() != nullptr);
}

TEST_CASE("plain: updates by hand") {
  // sgd: 1 - 0.01 * 2 = 0.98, 5 + 0.01 * 3 = 5.03
  CHECK(after_updates(Optimizer::sgd, {1, 5}, {2, -3}, 1)[0] == doctest::Approx(0.98));
  CHECK(after_updates(Optimizer::sgd, {1, 5}, {2, -3}, 1)[1] == doctest::Approx(5.03));
  // momentum: velocities 2, then 0.9 * 2 + 2 = 3.8: 1 - 0.01 * (2 + 3.8) = 0.942
  CHECK(after_updates(Optimizer::momentum, {1}, {2}, 2)[0] == doctest::Approx(0.942));
  // adam: m = 0.1 * 2 = 0.2, v = 0.001 * 4 = 0.004: 1 - 0.01 * 0.2 / 0.0632456 = 0.968377
  CHECK(after_updates(Optimizer::adam, {1}, {2}, 1)[0] == doctest::Approx(0.968377));
  // lamb: m / sqrt(v) = 3.162278 each, with decay steps of 3.192278 and 3.202278 for weights 3 and 4:
  // trust 5 / sqrt(3.192278^2 + 3.202278^2) = 5 / 4.521649; w0 = 3 - 0.01 * 1.105791 * 3.192278 = 2.964700
  CHECK(after_updates(Optimizer::lamb, {3, 4}, {2, 2}, 1)[0] == doctest::Approx(2.964700).epsilon(1e-6));
}

TEST_CASE("plain: the device describes itself and measures time") {
  const auto device = make_plain_device();
  CHECK(device->facts().libraries == "plain loops, 1 thread");
  CHECK_FALSE(device->facts().name.empty());
  CHECK(device->facts().memory > Bytes{1e6});
  double total = 0;
  const Seconds taken = device->time([&] {
    for (int i = 0; i < 100000; ++i) total += std::sqrt(double(i));
  });
  CHECK(total > 0);
  CHECK(taken > Seconds{0});
}
