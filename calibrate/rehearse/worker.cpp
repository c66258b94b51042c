#include "calibrate/rehearse/worker.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace paradl::calibrate {

LayerData Worker::lend(std::size_t i, std::size_t m) {
  Part& p = part(i);
  LayerData data;
  for (Input& in : p.inputs) {
    const Tensor& t = tensor(in.tensor);
    data.x.push_back(in.in_place ? t.data[m] : in.x[m].get());
    data.x_channels.push_back(in.box.length(4));
    const bool ids = layer(i).op == Op::embedding;
    data.dx.push_back(ids ? nullptr : in.writes_in_place ? t.gradient.data : in.dx.get());
  }
  data.y = tensor(int(i)).given[m].get();
  data.dy = p.dy_now;
  data.kept = p.kept[m].get();
  data.statistics = p.statistics.get();
  data.counted = p.counted;
  if (layer(i).op == Op::position) data.first_row = p.y.begin[1];
  if (layer(i).op == Op::embedding) data.first_row = weights_->shares(i)[0].own.begin[0];
  weights_->lend(i, data);
  return data;
}

void Worker::read(Input& in, std::size_t m, Stopwatch& watch) {
  if (in.in_place) return;
  const Tensor& t = tensor(in.tensor);
  const Piece held{t.data[m], t.held}, x{in.x[m].get(), in.box};
  seat_.device().copy(x, held, common(in.box, t.held), Combine::replace);
  if (in.fetches && script_.fault != Fault::halo) in.halo->fetch(held, x);
  watch.lap(in.halo ? Term::halo_exchange : Term::activation_exchange);
}

void Worker::forward(std::size_t i, std::size_t m, Stopwatch& watch) {
  Part& p = part(i);
  for (Input& in : p.inputs) read(in, m, watch);
  const LayerData data = lend(i, m);
  if (p.statistics.items > 0) {
    p.work->forward_statistics(data);
    sum_statistics(p, watch, Term::forward);
  }
  p.work->forward(data);
  watch.lap(Term::forward);
  Tensor& t = tensor(int(i));
  t.data[m] = t.passage[m].run(t.given[m].get());
  watch.lap(Term::activation_exchange);
}

void Worker::sum_statistics(Part& p, Stopwatch& watch, Term so_far) {
  if (!p.summed) return;
  watch.lap(so_far);
  seat_.group(p.summed).allreduce(p.statistics.get(), p.statistics.items);
  watch.lap(Term::activation_exchange);
}

void Worker::backward(std::size_t i, std::size_t m, Stopwatch& watch) {
  Part& p = part(i);
  Tensor& t = tensor(int(i));
  if (!p.dy.empty()) {
    p.dy_now = p.dy[m].get();
  } else {
    if (!t.touched) seat_.device().fill(t.gradient.data, t.gradient.box.items(), 0);
    p.dy_now = t.back->run(t.gradient.data);
    t.touched = false;
    watch.lap(Term::activation_exchange);
  }
  const LayerData data = lend(i, m);
  if (p.statistics.items > 0) {
    p.work->backward_statistics(data);
    sum_statistics(p, watch, Term::backward);
  }
  p.work->backward_data(data);
  p.work->backward_weights(data);
  weights_->collect(i);
  watch.lap(Term::backward);
  if (layer(i).op == Op::embedding) return;  // token ids have no gradient
  for (Input& in : p.inputs) hand_back(in, watch);
}

void Worker::hand_back(Input& in, Stopwatch& watch) {
  Tensor& t = tensor(in.tensor);
  if (!in.writes_in_place) {
    if (!t.touched) seat_.device().fill(t.gradient.data, t.gradient.box.items(), 0);
    const Piece dx{in.dx.get(), in.box};
    const Box own = common(common(in.own, in.box), t.gradient.box);
    if (in.counts) seat_.device().copy(t.gradient, dx, own, Combine::add);
    if (in.counts && in.halo) in.halo->give_back(dx, t.gradient);
    watch.lap(in.halo ? Term::halo_exchange : Term::backward);
  }
  t.touched = true;
}

void Worker::forward(std::size_t m, Stopwatch& watch) {
  for (std::size_t i = first_; i < last_; ++i) forward(i, m, watch);
}

void Worker::backward(std::size_t m, Stopwatch& watch) {
  if (tensors_[0]) tensor(-1).touched = false;
  for (std::size_t i = last_; i-- > first_;) backward(i, m, watch);
}

void Worker::iterate(Stopwatch& watch) {
  watch.start();
  weights_->clear_gradients();
  watch.lap(Term::backward);
  run_stages(watch);
  weights_->sum_gradients();
  watch.lap(Term::gradient_exchange);
  if (script_.fault == Fault::gradient) spoil_gradients();
  weights_->update();
  watch.lap(Term::update);
}

/// As if a framework had averaged the gradient twice.
void Worker::spoil_gradients() {
  for (std::size_t kind = 0; kind <= layout_.gradients.size(); ++kind) {
    const Buffer& gradients = weights_->gradients_of_kind(kind);
    std::vector<float> values(gradients.items);
    seat_.device().read(values, gradients.get());
    for (float& value : values) value *= 0.5f;
    seat_.device().write(gradients.get(), values);
  }
}

std::vector<Outcome> Worker::outcomes() {
  std::vector<Outcome> out;
  const auto add = [&](std::string what, const Box& own, const float* data) {
    Outcome outcome{std::move(what), own, std::vector<float>(own.items())};
    seat_.device().read(outcome.values, data);
    out.push_back(std::move(outcome));
  };
  for (std::size_t i = first_; i < last_; ++i) {
    const Tensor& t = tensor(int(i));
    if (placed_.readers(int(i)).empty())
      for (std::size_t m = 0; m < micro_batches(); ++m)
        add(fmt::format("output of {}, micro-batch {}", layer(i).name, m), t.held, t.data[m]);
    for (std::size_t k = 0; k < 2; ++k)
      if (weights_->items(i, k) > 0)
        add(fmt::format("gradient of {}, array {}", layer(i).name, k), weights_->shares(i)[k].own,
            weights_->gradient(i, k));
  }
  if (tensors_[0] && tensor(-1).touched)
    add("gradient of the input", tensor(-1).back->box_at_end(),
        tensor(-1).back->run(tensor(-1).gradient.data));
  return out;
}

}  // namespace paradl::calibrate
