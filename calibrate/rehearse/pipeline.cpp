// The stages of a pipeline: their order of micro-batches, and the tensors between them.
#include "calibrate/rehearse/worker.hpp"

namespace paradl::calibrate {

/// Sends tensors of a micro-batch to the next stage and gradients of one to the previous stage, and receives
/// theirs, all at once, so that two stages that send to each other do not deadlock. A negative number means
/// that nothing is sent in that direction.
void Worker::pass_on(int sent, int received, Stopwatch& watch) {
  if (is_last_stage()) return;
  std::vector<Message> sends, receives;
  for (const int i : outgoing_) {
    Tensor& t = tensor(i);
    if (sent >= 0) sends.push_back({stage_ + 1, t.data[std::size_t(sent)], t.held.items()});
    if (received >= 0) {
      receives.push_back({stage_ + 1, t.gradient.data, t.gradient.box.items()});
      t.touched = true;
    }
  }
  seat_.group_on(std::size_t(stage_axis_)).exchange(sends, receives);
  watch.lap(Term::stage_transfer);
}

void Worker::pass_back(int sent, int received, Stopwatch& watch) {
  if (is_first_stage()) return;
  std::vector<Message> sends, receives;
  for (const int i : incoming_) {
    Tensor& t = tensor(i);
    if (sent >= 0) {
      sends.push_back({stage_ - 1, t.gradient.data, t.gradient.box.items()});
      t.touched = false;
    }
    if (received >= 0) receives.push_back({stage_ - 1, t.data[std::size_t(received)], t.held.items()});
  }
  seat_.group_on(std::size_t(stage_axis_)).exchange(sends, receives);
  watch.lap(Term::stage_transfer);
}

void Worker::run_stages(Stopwatch& watch) {
  const int S = script_.plan.micro_batches, stages = int(script_.first_layer.size());
  const bool alternate = script_.plan.schedule == PipelineSchedule::one_forward_one_backward;
  // The micro-batches that go forward before the first backward pass: all, or as many as there are later
  // stages.
  const int ahead = alternate ? std::min(S, stages - 1 - stage_) : S;
  for (int m = 0; m < ahead; ++m) {
    pass_back(-1, m, watch);
    forward(std::size_t(m), watch);
    pass_on(m, -1, watch);
  }
  if (ahead < S) pass_back(-1, ahead, watch);
  for (int m = ahead; m < S; ++m) {  // one forward, one backward
    forward(std::size_t(m), watch);
    pass_on(m, m - ahead, watch);
    backward(std::size_t(m - ahead), watch);
    pass_back(m - ahead, m + 1 < S ? m + 1 : -1, watch);
  }
  for (int m = S - ahead; m < S; ++m) {
    pass_on(-1, m, watch);
    backward(std::size_t(m), watch);
    pass_back(m, -1, watch);
  }
}

}  // namespace paradl::calibrate
