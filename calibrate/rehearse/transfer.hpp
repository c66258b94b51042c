#pragma once
#include <memory>
#include <span>
#include <vector>

#include "calibrate/backend/communicator.hpp"
#include "calibrate/backend/device.hpp"
#include "calibrate/rehearse/share.hpp"

namespace paradl::calibrate {

/// One rank of a mesh, with the groups it belongs to.
class Seat {
 public:
  Seat(Device& device, const Communicator& world, const Mesh& mesh);

  Device& device() const { return device_; }
  const Mesh& mesh() const { return mesh_; }
  const Coordinates& at() const { return at_; }
  int rank() const { return rank_; }
  /// The ranks that differ from this one only on these axes. All ranks must ask for the same groups in the
  /// same order.
  Communicator& group(AxisSet axes);
  Communicator& group_on(std::size_t axis) { return group(axis_bit(int(axis))); }
  /// The share of the rank at `index` on an axis, with the other coordinates of this rank.
  Box share(const Box& whole, const TensorPlacement& placement, std::size_t axis, int index) const;
  Box share(const Box& whole, const TensorPlacement& placement) const {
    return share_of(whole, placement, mesh_, at_);
  }

 private:
  Device& device_;
  const Communicator& world_;
  Mesh mesh_;
  int rank_;
  Coordinates at_;
  std::vector<std::pair<AxisSet, std::unique_ptr<Communicator>>> groups_;
};

/// Moves a tensor from one placement to another. All buffers are allocated at the start, none in an
/// iteration.
class Passage {
 public:
  /// `given` is the first placement; `changes` may be empty.
  Passage(Seat& seat, const Box& whole, const Relayout& relayout);

  /// The data in the last placement: `start` itself if nothing changes.
  float* run(float* start);
  const Box& box_at_start() const { return start_; }
  const Box& box_at_end() const { return stops_.empty() ? start_ : stops_.back().box; }
  bool is_free() const;  // nothing has to be sent

 private:
  struct Stop {
    PlacementChange change;
    Box box;                         // after the change
    Buffer data;                     // after the change; an allreduce works in place
    std::vector<Box> parts;          // gather: the part of each rank; otherwise this rank's part for each
    std::vector<std::size_t> items;  // of each part
    std::vector<Box> arriving;       // all-to-all: the part of each rank for this one
    Buffer packed, received;         // parts one after the other
  };
  void add_stop(const Box& whole, const PlacementChange& change, const TensorPlacement& before,
                const TensorPlacement& after);
  void allgather(const Stop& stop, const Piece& from);
  void reduce_scatter(const Stop& stop, const Piece& from);
  void all_to_all(const Stop& stop, const Piece& from);

  Seat& seat_;
  Box start_;
  std::vector<Stop> stops_;
};

/// The halo: rows of other ranks that the windows of this rank read. They are fetched before a forward pass;
/// after a backward pass their gradients are sent back to the owners and added there.
class HaloTrade {
 public:
  /// `placement` is the placement of the tensor, `wanted(k)` the box that rank k of the axis reads.
  template <class Wanted>
  HaloTrade(Seat& seat, const Box& whole, const TensorPlacement& placement, std::size_t axis, Wanted wanted);

  void fetch(const Piece& own, const Piece& x);
  void give_back(const Piece& dx, const Piece& own);

 private:
  struct Neighbour {
    int peer;          // in the group of the axis
    Box theirs, mine;  // the part that the peer needs, and the part that this rank needs
    Buffer out, in;
  };
  enum class Direction { forward, backward };
  void trade(Direction direction);
  void add(int peer, const Box& theirs, const Box& mine);

  Seat& seat_;
  std::size_t axis_;
  std::vector<Neighbour> neighbours_;
};

template <class Wanted>
HaloTrade::HaloTrade(Seat& seat, const Box& whole, const TensorPlacement& placement, std::size_t axis,
                     Wanted wanted)
    : seat_(seat), axis_(axis) {
  const int n = seat.mesh().axis[axis].parts.total, self = seat.at()[axis];
  for (int k = 0; k < n; ++k)
    if (k != self)
      add(k, common(seat.share(whole, placement), wanted(k)),
          common(seat.share(whole, placement, axis, k), wanted(self)));
}

}  // namespace paradl::calibrate
