#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace paradl {

/// A queue of the next event of each of several objects, earliest first. An object has at most one event,
/// whose time may be changed.
class EventQueue {
 public:
  explicit EventQueue(std::size_t things) : place_(things, nowhere) { heap_.reserve(things); }

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  double time() const { return heap_.front().time; }
  double time_of(std::uint32_t thing) const { return heap_[place_[thing]].time; }

  void set(std::uint32_t thing, double time) {
    std::uint32_t at = place_[thing];
    if (at == nowhere) {
      at = std::uint32_t(heap_.size());
      heap_.push_back({});
      rise(at, {time, thing});
    } else if (time < heap_[at].time) {
      rise(at, {time, thing});
    } else {
      sink(at, {time, thing});
    }
  }

  std::uint32_t pop() {
    const std::uint32_t thing = heap_.front().thing;
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(0, last);
    place_[thing] = nowhere;
    return thing;
  }

  /// Delays all events by the same time.
  void postpone(double by) {
    for (Event& event : heap_) event.time += by;
  }

 private:
  struct Event {
    double time;
    std::uint32_t thing;
  };
  static constexpr std::uint32_t nowhere = ~std::uint32_t{0};
  static constexpr std::uint32_t arity = 4;  // flatter than a binary heap, and children share a cache line

  void put(std::uint32_t at, Event event) {
    heap_[at] = event;
    place_[event.thing] = at;
  }
  void rise(std::uint32_t at, Event event) {
    for (; at > 0; at = (at - 1) / arity) {
      const Event& parent = heap_[(at - 1) / arity];
      if (parent.time <= event.time) break;
      put(at, parent);
    }
    put(at, event);
  }
  void sink(std::uint32_t at, Event event) {
    const auto size = std::uint32_t(heap_.size());
    std::uint32_t child = at * arity + 1;
    for (; child + arity <= size; child = at * arity + 1) {
      // Without branches, because a processor cannot predict which event is the earliest.
      const std::uint32_t a = child + (heap_[child + 1].time < heap_[child].time);
      const std::uint32_t b = child + 2 + (heap_[child + 3].time < heap_[child + 2].time);
      child = heap_[b].time < heap_[a].time ? b : a;
      if (heap_[child].time >= event.time) return put(at, event);
      put(at, heap_[child]);
      at = child;
    }
    if (child < size) {
      for (std::uint32_t other = child + 1; other < size; ++other)
        if (heap_[other].time < heap_[child].time) child = other;
      if (heap_[child].time < event.time) {
        put(at, heap_[child]);
        at = child;
      }
    }
    put(at, event);
  }

  std::vector<Event> heap_;
  std::vector<std::uint32_t> place_;  // of each object in the heap
};

}  // namespace paradl
