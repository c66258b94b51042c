#include "paradl/network/schedule.hpp"

#include <algorithm>
#include <cassert>

namespace paradl {
namespace {

/// The pieces of a flow in one repetition of its step.
class Window {
 public:
  Window(const Flow& flow, const Step& step, int repetition, int pieces) {
    block_ = std::max(1, step.modulus > 0 ? step.modulus * flow.width : pieces);
    base_ = flow.first / block_ * block_;
    const long long moved = flow.first - base_ + static_cast<long long>(repetition) * step.shift * flow.width;
    offset_ = static_cast<int>((moved % block_ + block_) % block_);
  }
  /// The piece that is the flow's `index`-th: around within the block.
  std::size_t operator[](int index) const { return std::size_t(base_ + (offset_ + index) % block_); }

 private:
  int block_ = 1, base_ = 0, offset_ = 0;
};

void execute_once(const Schedule& schedule, const Step& step, int repetition, Buffers& buffer,
                  std::vector<double>& messages) {
  messages.clear();
  for (const Flow& flow : schedule.of(step)) {
    const Window at(flow, step, repetition, schedule.pieces);
    for (int i = 0; i < flow.width; ++i) messages.push_back(buffer[std::size_t(flow.source)][at[i]]);
  }
  auto message = messages.begin();
  for (const Flow& flow : schedule.of(step)) {
    const Window at(flow, step, repetition, schedule.pieces);
    for (int i = 0; i < flow.width; ++i) {
      double& mine = buffer[std::size_t(flow.target)][at[i]];
      mine = flow.arrival == Arrival::add ? mine + *message : *message;
      ++message;
    }
  }
}

}  // namespace

int Schedule::length() const {
  int sum = 0;
  for (const Step& step : steps) sum += step.repeat;
  return sum;
}

Bytes Schedule::largest_sent() const {
  std::vector<Bytes> sent(static_cast<std::size_t>(ranks));
  for (const Step& step : steps)
    for (const Flow& flow : of(step))
      if (flow.source != flow.target) sent[std::size_t(flow.source)] += step.repeat * flow.bytes;
  return sent.empty() ? Bytes{} : *std::max_element(sent.begin(), sent.end());
}

void Schedule::begin(int repeat, int shift, int modulus) {
  steps.push_back({.first = flows.size(), .count = 0, .repeat = repeat, .shift = shift, .modulus = modulus});
}

void Schedule::add(const Flow& flow) {
  assert(!steps.empty() && steps.back().first + steps.back().count == flows.size());
  flows.push_back(flow);
  ++steps.back().count;
}

Buffers execute(const Schedule& schedule, Buffers buffer) {
  std::vector<double> messages;
  for (const Step& step : schedule.steps)
    for (int r = 0; r < step.repeat; ++r) execute_once(schedule, step, r, buffer, messages);
  return buffer;
}

}  // namespace paradl
