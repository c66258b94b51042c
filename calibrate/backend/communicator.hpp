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

/// Ranks that exchange numbers. The collectives here are rings of messages, as the oracle's formulas have
/// them; a library's own may take their place. All calls are made by all ranks, and return when the data may
/// be used.
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

  /// The time on this rank's clock, which began at some moment.
  virtual Seconds now() const;
  /// The node that each rank sits on; nodes are counted in the order of their first rank.
  virtual std::vector<int> nodes() const;
  /// A number of the host from each rank, in the order of ranks: what they must agree on.
  virtual std::vector<double> gather(double mine);

  /// data[i] becomes the sum over all ranks.
  virtual void allreduce(float* data, std::size_t items);
  /// `data` holds the parts of all ranks one after the other, `items[r]` of rank r; each rank brings its own
  /// in place, and has all of them afterwards.
  virtual void allgather(float* data, std::span<const std::size_t> items);
  /// `data` holds the parts for all ranks one after the other; the own part becomes the sum over all ranks,
  /// the others are undefined afterwards.
  virtual void reduce_scatter(float* data, std::span<const std::size_t> items);

 protected:
  /// Adds `items` numbers of device memory; host memory unless a back end says otherwise.
  virtual void add(float* to, const float* from, std::size_t items);
  /// Room for one part on the device.
  virtual float* scratch(std::size_t items);

 private:
  std::vector<float> scratch_;
};

/// Whether it is so on any rank. All ranks call it, and all learn.
inline bool on_any(Communicator& ranks, bool mine) {
  return std::ranges::max(ranks.gather(mine ? 1 : 0)) > 0;
}

/// One rank alone, which may send to itself.
std::unique_ptr<Communicator> make_single_rank();

/// Names of nodes as numbers, in the order in which they first appear: what nodes() gives.
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
