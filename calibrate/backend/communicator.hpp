#pragma once
#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "paradl/core/quantity.hpp"

namespace paradl::calibrate {

/// One message of a rank: `items` numbers in device memory, to or from `peer`.
struct Message {
  int peer = 0;
  float* data = nullptr;
  std::size_t items = 0;
};

/// Ranks that exchange numbers. The collectives here are rings of messages, as in the formulas of the
/// projection; a back end may override them with those of a library. All ranks make all calls, and a call
/// returns when the data may be used.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The ranks that give the same colour, in the order of their keys.
  virtual std::unique_ptr<Communicator> split(int colour, int key) const = 0;

  /// All messages at once. Messages between two ranks arrive in the order they are listed.
  virtual void exchange(std::span<const Message> sends, std::span<const Message> receives) = 0;
  virtual void barrier() = 0;

  /// The time on this rank's clock, from an arbitrary start.
  virtual Seconds now() const;
  /// The node of each rank; nodes are numbered in the order of their first rank.
  virtual std::vector<int> nodes() const;
  /// One number in host memory from each rank, in the order of ranks.
  virtual std::vector<double> gather(double mine);

  /// data[i] becomes the sum over all ranks.
  virtual void allreduce(float* data, std::size_t items);
  /// `data` has the parts of all ranks one after the other, `items[r]` of rank r. Each rank starts with its
  /// own part in place, and ends with all of them.
  virtual void allgather(float* data, std::span<const std::size_t> items);
  /// `data` has the parts for all ranks one after the other. The rank's own part becomes the sum over all
  /// ranks; the others are undefined afterwards.
  virtual void reduce_scatter(float* data, std::span<const std::size_t> items);

 protected:
  /// Adds `items` numbers of device memory; host memory, unless a back end overrides it.
  virtual void add(float* to, const float* from, std::size_t items);
  /// Room for one part on the device.
  virtual float* scratch(std::size_t items);

 private:
  std::vector<float> scratch_;
};

/// Whether the condition holds on any rank. All ranks call it and get the same answer.
inline bool on_any(Communicator& ranks, bool mine) {
  return std::ranges::max(ranks.gather(mine ? 1 : 0)) > 0;
}

/// A single rank, which may send to itself.
std::unique_ptr<Communicator> make_single_rank();

/// Numbers for names of nodes, in the order in which they first appear, as nodes() returns them.
template <class Name>
std::vector<int> numbered(const std::vector<Name>& names) {
  std::vector<int> out;
  std::vector<Name> seen;
  for (const Name& name : names) {
    const auto at = std::find(seen.begin(), seen.end(), name);
    out.push_back(int(at - seen.begin()));
    if (at == seen.end()) seen.push_back(name);
  }
  return out;
}

}  // namespace paradl::calibrate
