#include "calibrate/rehearse/transfer.hpp"

#include <algorithm>
#include <numeric>

#include "paradl/core/error.hpp"

namespace paradl::calibrate {

Seat::Seat(Device& device, const Communicator& world, const Mesh& mesh)
    : device_(device), world_(world), mesh_(mesh), rank_(world.rank()), at_(coordinates_of(mesh, rank_)) {}

Communicator& Seat::group(AxisSet axes) {
  const auto known = std::ranges::find(groups_, axes, [](const auto& entry) { return entry.first; });
  if (known != groups_.end()) return *known->second;
  int colour = 0, key = 0;  // the coordinates on the other axes, and on these
  for (int a = 0; a < mesh_.axes; ++a) {
    int& number = axes & axis_bit(a) ? key : colour;
    number = number * mesh_.axis[std::size_t(a)].parts.total + at_[std::size_t(a)];
  }
  groups_.emplace_back(axes, world_.split(colour, key));
  return *groups_.back().second;
}

Box Seat::share(const Box& whole, const TensorPlacement& placement, std::size_t axis, int index) const {
  Coordinates at = at_;
  at[axis] = index;
  return share_of(whole, placement, mesh_, at);
}

namespace {

/// Consecutive parts as pieces.
template <class Visit>
void for_each_part(const std::vector<Box>& parts, float* data, Visit visit) {
  for (const Box& part : parts) {
    visit(Piece{data, part});
    data += part.items();
  }
}

}  // namespace

Passage::Passage(Seat& seat, const Box& whole, const Relayout& relayout) : seat_(seat) {
  TensorPlacement placement = relayout.given;
  start_ = seat.share(whole, placement);
  for (const PlacementChange& change : relayout.changes) {
    const TensorPlacement before = placement;
    placement[change.axis] = change.to;
    add_stop(whole, change, before, placement);
  }
}

void Passage::add_stop(const Box& whole, const PlacementChange& change, const TensorPlacement& before,
                       const TensorPlacement& after) {
  Stop stop{.change = change, .box = seat_.share(whole, after)};
  const auto operation = exchange(change.from, change.to);
  if (operation == Collective::allreduce) return stops_.push_back(std::move(stop));
  stop.data = seat_.device().allocate(stop.box.items());
  const Box had = seat_.share(whole, before);
  const bool gathers = operation == Collective::allgather;
  if (gathers ? common(had, stop.box) != had : !operation && common(had, stop.box) != stop.box)
    throw UsageError("two axes split the same channels, and their slices do not fit together",
                     "rehearse a hybrid whose axes split different dimensions");
  if (operation) {
    const int n = seat_.mesh().axis[change.axis].parts.total;
    for (int k = 0; k < n; ++k) {
      const Box theirs = seat_.share(whole, before, change.axis, k);
      const Box future = seat_.share(whole, after, change.axis, k);
      stop.parts.push_back(gathers ? theirs : common(future, had));
      stop.items.push_back(stop.parts.back().items());
      if (operation == Collective::all_to_all) stop.arriving.push_back(common(theirs, stop.box));
    }
    stop.packed =
        seat_.device().allocate(std::accumulate(stop.items.begin(), stop.items.end(), std::size_t{}));
    if (operation == Collective::all_to_all) stop.received = seat_.device().allocate(stop.box.items());
  }
  stops_.push_back(std::move(stop));
}

bool Passage::is_free() const {
  return std::ranges::none_of(stops_,
                              [](const Stop& s) { return exchange(s.change.from, s.change.to).has_value(); });
}

float* Passage::run(float* start) {
  Piece now{start, start_};
  for (const Stop& stop : stops_) {
    const Piece next{stop.data.get(), stop.box};
    const auto operation = exchange(stop.change.from, stop.change.to);
    if (operation == Collective::allreduce) {
      seat_.group_on(stop.change.axis).allreduce(now.data, now.box.items());
      continue;  // in place
    }
    if (!operation)
      seat_.device().copy(next, now, stop.box, Combine::replace);
    else if (*operation == Collective::allgather)
      allgather(stop, now);
    else if (*operation == Collective::reduce_scatter)
      reduce_scatter(stop, now);
    else
      all_to_all(stop, now);
    now = next;
  }
  return now.data;
}

void Passage::allgather(const Stop& stop, const Piece& from) {
  const int self = seat_.at()[stop.change.axis];
  const auto before = std::accumulate(stop.items.begin(), stop.items.begin() + self, std::size_t{});
  seat_.device().copy({stop.packed.get() + before, from.box}, from, from.box, Combine::replace);
  seat_.group_on(stop.change.axis).allgather(stop.packed.get(), stop.items);
  for_each_part(stop.parts, stop.packed.get(), [&](const Piece& part) {
    seat_.device().copy({stop.data.get(), stop.box}, part, part.box, Combine::replace);
  });
}

void Passage::reduce_scatter(const Stop& stop, const Piece& from) {
  for_each_part(stop.parts, stop.packed.get(),
                [&](const Piece& part) { seat_.device().copy(part, from, part.box, Combine::replace); });
  seat_.group_on(stop.change.axis).reduce_scatter(stop.packed.get(), stop.items);
  const int self = seat_.at()[stop.change.axis];
  const auto before = std::accumulate(stop.items.begin(), stop.items.begin() + self, std::size_t{});
  seat_.device().copy({stop.data.get(), stop.box}, {stop.packed.get() + before, stop.box}, stop.box,
                      Combine::replace);
}

void Passage::all_to_all(const Stop& stop, const Piece& from) {
  std::vector<Message> sends, receives;
  for_each_part(stop.parts, stop.packed.get(), [&](const Piece& part) {
    seat_.device().copy(part, from, part.box, Combine::replace);
    sends.push_back({int(sends.size()), part.data, part.box.items()});
  });
  for_each_part(stop.arriving, stop.received.get(), [&](const Piece& part) {
    receives.push_back({int(receives.size()), part.data, part.box.items()});
  });
  seat_.group_on(stop.change.axis).exchange(sends, receives);
  for_each_part(stop.arriving, stop.received.get(), [&](const Piece& part) {
    seat_.device().copy({stop.data.get(), stop.box}, part, part.box, Combine::replace);
  });
}

void HaloTrade::add(int peer, const Box& theirs, const Box& mine) {
  if (theirs.empty() && mine.empty()) return;
  Device& device = seat_.device();
  neighbours_.push_back({peer, theirs, mine, device.allocate(theirs.items()), device.allocate(mine.items())});
}

void HaloTrade::trade(Direction direction) {
  std::vector<Message> sends, receives;
  for (const Neighbour& n : neighbours_) {
    const Message theirs{n.peer, n.out.get(), n.theirs.items()}, mine{n.peer, n.in.get(), n.mine.items()};
    const bool forward = direction == Direction::forward;
    if (theirs.items > 0) (forward ? sends : receives).push_back(theirs);
    if (mine.items > 0) (forward ? receives : sends).push_back(mine);
  }
  seat_.group_on(axis_).exchange(sends, receives);
}

void HaloTrade::fetch(const Piece& own, const Piece& x) {
  Device& device = seat_.device();
  for (const Neighbour& n : neighbours_)
    if (!n.theirs.empty()) device.copy({n.out.get(), n.theirs}, own, n.theirs, Combine::replace);
  trade(Direction::forward);
  for (const Neighbour& n : neighbours_)
    if (!n.mine.empty()) device.copy(x, {n.in.get(), n.mine}, n.mine, Combine::replace);
}

void HaloTrade::give_back(const Piece& dx, const Piece& own) {
  Device& device = seat_.device();
  for (const Neighbour& n : neighbours_)
    if (!n.mine.empty()) device.copy({n.in.get(), n.mine}, dx, n.mine, Combine::replace);
  trade(Direction::backward);
  for (const Neighbour& n : neighbours_)
    if (!n.theirs.empty()) device.copy(own, {n.out.get(), n.theirs}, n.theirs, Combine::add);
}

}  // namespace paradl::calibrate
