#include "calibrate/backend/communicator.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <numeric>

namespace paradl::calibrate {
namespace {

/// Where each part begins.
std::vector<std::size_t> offsets(std::span<const std::size_t> items) {
  std::vector<std::size_t> out(items.size());
  std::exclusive_scan(items.begin(), items.end(), out.begin(), std::size_t{0});
  return out;
}

using Halves = std::array<float, 2>;  // the bits of one double, as messages carry them

}  // namespace

Seconds Communicator::now() const {
  return Seconds{std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count()};
}

std::vector<int> Communicator::nodes() const { return std::vector<int>(std::size_t(size()), 0); }

std::vector<double> Communicator::gather(double mine) {
  const auto p = std::size_t(size());
  std::vector<Halves> bits(p);
  bits[std::size_t(rank())] = std::bit_cast<Halves>(mine);
  const int next = (rank() + 1) % size(), before = (rank() + size() - 1) % size();
  for (std::size_t step = 0; step + 1 < p; ++step) {
    const auto sent = (std::size_t(rank()) + p - step) % p, got = (std::size_t(before) + p - step) % p;
    const Message send{next, bits[sent].data(), 2}, receive{before, bits[got].data(), 2};
    exchange({&send, 1}, {&receive, 1});
  }
  std::vector<double> out;
  for (const Halves& number : bits) out.push_back(std::bit_cast<double>(number));
  return out;
}

void Communicator::allgather(float* data, std::span<const std::size_t> items) {
  const int p = size(), next = (rank() + 1) % p, before = (rank() + p - 1) % p;
  const auto at = offsets(items);
  for (int step = 0; step + 1 < p; ++step) {
    const auto sent = std::size_t((rank() + p - step) % p), got = std::size_t((before + p - step) % p);
    const Message send{next, data + at[sent], items[sent]}, receive{before, data + at[got], items[got]};
    exchange({&send, 1}, {&receive, 1});
  }
}

// Part r starts at rank r + 1 and goes around the ring once; rank r adds the last summand.
void Communicator::reduce_scatter(float* data, std::span<const std::size_t> items) {
  const int p = size(), next = (rank() + 1) % p, before = (rank() + p - 1) % p;
  const auto at = offsets(items);
  float* room = scratch(*std::max_element(items.begin(), items.end()));
  for (int step = 0; step + 1 < p; ++step) {
    const auto sent = std::size_t((before + p - step) % p),
               got = std::size_t((before + p - step + p - 1) % p);
    const Message send{next, data + at[sent], items[sent]}, receive{before, room, items[got]};
    exchange({&send, 1}, {&receive, 1});
    add(data + at[got], room, items[got]);
  }
}

void Communicator::allreduce(float* data, std::size_t items) {
  const auto p = std::size_t(size());
  std::vector<std::size_t> parts(p);
  for (std::size_t r = 0; r < p; ++r) parts[r] = items * (r + 1) / p - items * r / p;
  reduce_scatter(data, parts);
  allgather(data, parts);
}

void Communicator::add(float* to, const float* from, std::size_t items) {
  for (std::size_t i = 0; i < items; ++i) to[i] += from[i];
}

float* Communicator::scratch(std::size_t items) {
  if (scratch_.size() < items) scratch_.resize(items);
  return scratch_.data();
}

namespace {

class SingleRank : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::unique_ptr<Communicator> split(int, int) const override { return make_single_rank(); }
  void exchange(std::span<const Message> sends, std::span<const Message> receives) override {
    for (std::size_t i = 0; i < sends.size(); ++i)
      std::copy_n(sends[i].data, sends[i].items, receives[i].data);
  }
  void barrier() override {}
};

}  // namespace

std::unique_ptr<Communicator> make_single_rank() { return std::make_unique<SingleRank>(); }

}  // namespace paradl::calibrate
