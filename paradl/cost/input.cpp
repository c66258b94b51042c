// How samples come to the GPUs: read, staged, shuffled.
//
//   N, M   samples of the data set, workers          B  samples of a mini-batch
//   s      stored bytes of a sample                  m  bytes of what a leader stages: B/M |x_0| delta
//   Q      fraction of N/M exchanged in an epoch     n  units that meet on one level of links
#include "paradl/cost/input.hpp"

#include <algorithm>
#include <cmath>

#include "paradl/strategy/strategy.hpp"

namespace paradl {
namespace {

/// Axes, grouped by the part of the network's input that GPUs along them need.
struct InputAxes {
  AxisSet samples = 0;  // different samples
  AxisSet space = 0;    // different parts of the same samples
  AxisSet copies = 0;   // the same samples; not a pipeline, where only the first stage needs input
};

InputAxes input_axes(const Mesh& mesh, const Workload& work) {
  InputAxes out;
  for (int a = 0; a < mesh.axes; ++a) {
    const Axis& axis = mesh.axis[std::size_t(a)];
    const Placement input = axis.strategy->input;
    if (input == Placement::split_sample)
      out.samples |= axis_bit(a);
    else if (input == Placement::split_space)
      out.space |= axis_bit(a);
    else if (!is_pipeline(axis, work))
      out.copies |= axis_bit(a);
  }
  return out;
}

/// The number of different coordinates along a set of axes among `unit` neighbouring GPUs.
double among(double unit, const Mesh& mesh, AxisSet set) {
  double out = 1;
  for (int a = 0; a < mesh.axes; ++a)
    if (set & axis_bit(a))
      out *=
          std::clamp(std::floor(unit / mesh.stride(a)), 1.0, double(mesh.axis[std::size_t(a)].parts.total));
  return out;
}

/// How samples pass through the host inside a node: as a message to each GPU, like halos, or as one copy in
/// memory that all GPUs read.
enum class InNode { messages, copies };

/// The path from the GPUs along `senders` to the groups of `set`: over the links, whose ports the senders of
/// a unit share; or through the hosts, at the rates measured there.
Path staging_path(const Setting& setting, const Mesh& mesh, AxisSet set, AxisSet senders, InNode in_node) {
  const Machine& machine = setting.machine;
  Path path = group_path(mesh, set, machine);
  double phi = 1;
  for (std::size_t k = 0; k < std::size_t(path.hops); ++k) {
    Hop& hop = path.hop[k];
    const Level& level = machine.levels[k];
    const double flows = among(level.inside, mesh, senders) * (machine.half_duplex ? 2 : 1);
    phi = std::max(phi, flows / level.ports);
    hop.phi = phi;
    if (setting.training.framework.staging == Transport::gpu) continue;
    hop.link = k == 0 && in_node == InNode::copies ? Link{hop.link.alpha, staged_copy(machine)}
                                                   : staged_message(machine, hop.link);
    hop.phi = 1;  // the measured rate is that of all GPUs of a node at once
  }
  return path;
}

/// Each member gets its part, from the outermost level in: (n-1)(alpha + m/n phi beta) on each level, where m
/// is the part so far.
Seconds scatter(Bytes m, const Path& path) {
  Seconds time;
  for (int k = path.hops - 1; k >= 0; --k) {
    const Hop& hop = path.hop[std::size_t(k)];
    time += (hop.size - 1) * (hop.link.alpha + m / hop.size * hop.phi * hop.link.beta);
    m = m / hop.size;
  }
  return time;
}

/// Each member gets the whole buffer, along a tree: ceil(log2 n)(alpha + m phi beta) on each level.
Seconds broadcast(Bytes m, const Path& path) {
  Seconds time;
  for (int k = path.hops - 1; k >= 0; --k) {
    const Hop& hop = path.hop[std::size_t(k)];
    time += std::ceil(std::log2(hop.size)) * (hop.link.alpha + m * hop.phi * hop.link.beta);
  }
  return time;
}

/// One sample as the network reads it. Token ids have four bytes.
Bytes tensor_of(const Setting& setting) {
  return setting.work.input.items() * (setting.work.tokens ? Bytes{4} : setting.training.bytes().activation);
}

/// Readers work in parallel, each at its own rate. Together they are limited by the rate of the storage and
/// by the ports of a node.
void price_reading(const Setting& setting, InputCost& out) {
  const Machine& machine = setting.machine;
  const InputFrom from = setting.training.input.from;
  const auto reader = setting.training.framework.reader;
  const StorageSpec* storage = input_storage(machine, from);
  if (!storage || !storage->read) out.lacks = storage ? InputLacks::read_rate : InputLacks::storage;
  out.known = storage && (storage->read || reader);
  if (!out.known) return;
  const auto bound = [&](Seconds time, ReadBound by) {
    if (time > out.reading) out.reading = time, out.bound = by;
  };
  if (reader) bound(out.read / *reader, ReadBound::reader);
  if (storage->read)
    bound((from == InputFrom::node ? out.at_once : out.readers) * out.read / *storage->read,
          ReadBound::storage);
  if (from == InputFrom::shared && machine.levels.size() > 1)
    bound(out.at_once * out.read / machine.levels[1].ports * machine.levels[1].link.beta, ReadBound::ports);
}

/// What node storage holds, and what workers send to each other in an epoch. With global shuffling a node has
/// all N samples; otherwise a worker has (1+Q)N/M and exchanges Q N/M of them.
void price_shuffle(const Setting& setting, const Mesh& mesh, const InputAxes& axes, double unit,
                   double iterations, InputCost& out) {
  const InputPlan& plan = setting.training.input;
  if (plan.from != InputFrom::node) return;
  const Bytes all = setting.work.D * setting.work.sample;
  if (plan.shuffle.global) {
    out.kept_by_worker = out.kept_by_node = all;
    return;
  }
  const double Q = plan.shuffle.Q;
  out.kept_by_worker = (1 + Q) * all / out.workers;
  // A node needs only the parts of its workers' samples that its own GPUs read.
  const double parts = plan.readers == Readers::each ? among(unit, mesh, axes.space) / out.space : 1;
  out.kept_by_node = among(unit, mesh, axes.samples) * parts * out.kept_by_worker;
  out.exchanged = Q * all / out.workers;
  if (out.workers > 1 && Q > 0)
    out.exchange = cost(Collective::all_to_all, staging_path(setting, mesh, axes.samples, axes.samples,
                                                             InNode::messages))(out.exchanged) /
                   iterations;
}

}  // namespace

const StorageSpec* input_storage(const Machine& machine, InputFrom from) {
  const auto& storage = from == InputFrom::node ? machine.node_storage : machine.shared_storage;
  return storage ? &*storage : nullptr;
}

double nodes_to_hold(const Workload& work, const StorageSpec& node, double Q) {
  return std::ceil((1 + Q) * work.D * work.sample / *node.capacity);
}

InputCost price_input(const Setting& setting, const Mesh& mesh, double batch, double iterations,
                      Seconds iteration) {
  const InputPlan& plan = setting.training.input;
  const InputAxes axes = input_axes(mesh, setting.work);
  const double gpus = mesh.gpus(), unit = std::min(gpus, setting.machine.gpus_per_node());
  const bool leader = plan.readers == Readers::leader;
  InputCost out;
  out.workers = among(gpus, mesh, axes.samples);
  out.space = among(gpus, mesh, axes.space);
  out.copies = among(gpus, mesh, axes.copies);
  const AxisSet reading = leader ? axes.samples : AxisSet(axes.samples | axes.space | axes.copies);
  out.readers = among(gpus, mesh, reading);
  out.at_once = among(unit, mesh, reading);
  if (!(setting.work.sample > Bytes{})) {
    out.lacks = InputLacks::sample_size;
    out.known = false;
    return out;
  }
  const double samples = batch / out.workers;
  out.read = samples / (leader ? 1 : out.space) * setting.work.sample;
  price_shuffle(setting, mesh, axes, unit, iterations, out);
  price_reading(setting, out);
  if (!out.known) return out;
  if (leader && out.space * out.copies > 1) {
    out.staged = samples * tensor_of(setting);
    const auto between = AxisSet(axes.samples | axes.space);
    out.staging =
        scatter(out.staged, staging_path(setting, mesh, axes.space, axes.samples, InNode::messages)) +
        broadcast(out.staged / out.space, staging_path(setting, mesh, axes.copies, between, InNode::copies));
  }
  if (plan.prefetch) out.hidden = std::min(out.total(), iteration);
  return out;
}

}  // namespace paradl
