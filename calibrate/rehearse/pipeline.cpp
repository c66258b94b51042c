// The stages of a pipeline: who works on which micro-batch when, and what they pass to each other.
#include "calibrate/rehearse/worker.hpp"

namespace paradl::calibrate {

/// Tensors of a micro-batch to the next stage, gradients of one to the stage before, and what comes from
/// there in return: all at once, so that two stages that send to each other do not wait for each other. A
/// number below zero means that nothing goes that way.
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
  const int S = script_.training.micro_batches, stages = int(script_.first_layer.size());
  const bool alternate = script_.training.schedule == PipelineSchedule::one_forward_one_backward;
  // So many go forward before the first comes back: all of them, or as many as there are stages to come.
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
