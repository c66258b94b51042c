// Replays an out-of-core plan with independent bookkeeping of the memory: it uses only the sizes of blocks
// and the times of events.
#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "paradl/cost/out_of_core.hpp"

namespace paradl::test {

struct Replay {
  double peak = 0;          // bytes of activations on the device
  double weights_peak = 0;  // bytes of weights that are swapped
  std::string wrong;        // the first impossible event; empty if there is none
};

inline Replay replay(const std::vector<OutOfCoreBlock>& blocks, const std::vector<Fate>& fate,
                     const std::vector<OutOfCoreEvent>& events) {
  using Kind = OutOfCoreEvent::Kind;
  Replay out;
  const double slack = 1e-12;
  std::map<std::pair<Kind, int>, std::vector<OutOfCoreEvent>> done;
  for (const OutOfCoreEvent& e : events) done[{e.kind, e.block}].push_back(e);
  const auto blame = [&](const std::string& what, int block) {
    if (out.wrong.empty()) out.wrong = fmt::format("{} (block {})", what, block);
  };
  const auto first = [&](Kind kind, int block) -> const OutOfCoreEvent* {
    const auto found = done.find({kind, block});
    return found == done.end() ? nullptr : &found->second.front();
  };

  // The order of events. Events of zero length are not recorded.
  const int n = int(blocks.size());
  const auto follows = [&](const OutOfCoreEvent* later, const OutOfCoreEvent* earlier, const char* what,
                           int k) {
    if (later && earlier && later->begin.base() < earlier->end.base() - slack) blame(what, k);
  };
  for (int k = 0; k < n; ++k) {
    const auto i = std::size_t(k);
    const auto* forward = first(Kind::forward, k);
    const auto* backward = first(Kind::backward, k);
    const auto* swap_out = first(Kind::swap_out, k);
    const auto* swap_in = first(Kind::swap_in, k);
    const auto* again = first(Kind::recompute, k);
    if (blocks[i].forward > Seconds{} && !forward) blame("no forward pass", k);
    if (blocks[i].backward > Seconds{} && !backward) blame("no backward pass", k);
    if (k > 0) follows(forward, first(Kind::forward, k - 1), "forward pass before the one before it", k);
    if (k > 0)
      follows(first(Kind::backward, k - 1), backward, "backward pass before the one after it", k - 1);
    follows(swap_out, forward, "goes to the host before it is made", k);
    follows(swap_in, swap_out, "comes back before it has left", k);
    follows(backward, swap_in, "backward pass before the block is back", k);
    follows(backward, again, "backward pass before the block is made again", k);
    const bool moved = blocks[i].activations > Bytes{};
    if ((fate[i] == Fate::swapped && moved) != (swap_in != nullptr))
      blame("swapped in or not, against its fate", k);
    if ((fate[i] == Fate::recomputed && blocks[i].again > Seconds{}) != (again != nullptr))
      blame("recomputed or not, against its fate", k);
  }

  // No stream runs two events at once.
  const auto stream = [](Kind kind) {
    switch (kind) {
      case Kind::forward:
      case Kind::recompute:
      case Kind::backward:
        return 0;
      case Kind::swap_out:
      case Kind::store_gradients:
        return 1;
      case Kind::swap_in:
      case Kind::load_weights:
      case Kind::store_weights:
        return 2;
      case Kind::exchange:
        return 3;
      case Kind::host_update:
        return 4;
    }
    return 5;
  };
  for (int s = 0; s < 5; ++s) {
    std::vector<std::pair<double, double>> busy;
    for (const OutOfCoreEvent& e : events)
      if (stream(e.kind) == s) busy.emplace_back(e.begin.base(), e.end.base());
    std::ranges::sort(busy);
    for (std::size_t i = 1; i < busy.size(); ++i)
      if (busy[i].first < busy[i - 1].second - slack) blame("a stream does two things at once", int(i));
  }

  // Memory that is freed at a moment can be allocated at the same moment.
  struct Change {
    double when, bytes;
  };
  std::vector<Change> changes, weights;
  std::map<int, int> loads;
  for (const OutOfCoreEvent& e : events) {
    const OutOfCoreBlock& b = blocks[std::size_t(e.block)];
    const double activations = b.activations.base(), begin = e.begin.base(), end = e.end.base();
    switch (e.kind) {
      case Kind::forward:
        changes.push_back(
            {begin, fate[std::size_t(e.block)] == Fate::recomputed ? b.input.base() : activations});
        break;
      case Kind::swap_out:
        changes.push_back({end, -activations});
        break;
      case Kind::swap_in:
        changes.push_back({begin, activations});
        break;
      case Kind::recompute:
        changes.push_back({begin, activations});
        changes.push_back({end, -b.input.base()});
        break;
      case Kind::backward:
        changes.push_back({end, -activations});
        break;
      case Kind::load_weights: {
        // The weights of the last two blocks are still on the device when the backward pass begins.
        const Kind pass = loads[e.block]++ == 0 && e.block < n - 2 ? Kind::forward : Kind::backward;
        weights.push_back({begin, b.weights.base()});
        if (const auto* user = first(pass, e.block)) weights.push_back({user->end.base(), -b.weights.base()});
        break;
      }
      default:
        break;
    }
  }
  const auto highest = [](std::vector<Change>& list) {
    std::ranges::sort(list, [](const Change& a, const Change& b) {
      return a.when != b.when ? a.when < b.when : a.bytes < b.bytes;
    });
    double now = 0, most = 0;
    for (const Change& change : list) most = std::max(most, now += change.bytes);
    return most;
  };
  out.peak = highest(changes);
  out.weights_peak = highest(weights);
  return out;
}

}  // namespace paradl::test
