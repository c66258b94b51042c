// One iteration on one stage, and on a pipeline of them.
#include <algorithm>
#include <bit>
#include <cmath>

#include "paradl/cost/price.hpp"

namespace paradl {
namespace {

/// For which a GPU waits for its host in a pass.
Seconds waiting(Seconds host, Seconds pass) { return Seconds{paced(pass.base(), host.base())} - pass; }

}  // namespace

void Pricer::price_single(const Layout& layout, Breakdown& out) const {
  const double S = setting_.training.micro_batches;
  CellCost sum;
  PieceTime passes;
  std::array<Bytes, most_gradient_groups> gradient{};
  Seconds packing;
  for (std::size_t i = 0; i < layout.cells.size(); ++i) {
    const Cell& cell = layout.cells[i];
    const CellCost& cost = cells_[i];
    sum.forward += cell.count * cost.forward;
    sum.backward += cell.count * cost.backward;
    sum.forward_exchange += cell.count * (cost.forward_exchange + cost.backward_exchange);
    sum.forward_halo += cell.count * (cost.forward_halo + cost.backward_halo);
    sum.update += cell.count * cost.update;
    sum.forward_host += cell.count * cost.forward_host;
    sum.backward_host += cell.count * cost.backward_host;
    passes.forward += cell.count * cost.forward_pass();
    passes.backward += cell.count * cost.backward_pass();
    packing += cell.count * packing_of(cell);
    for (std::size_t g = 0; g < gradients_; ++g)
      if (gradient_[g].has(cell)) gradient[g] += cell.count * cost.gradient;
  }
  sum.forward += waiting(sum.forward_host, passes.forward);
  sum.backward += waiting(sum.backward_host, passes.backward);
  out[Term::forward] = S * sum.forward;
  out[Term::backward] = S * sum.backward;
  out[Term::update] = sum.update;
  out[Term::activation_exchange] = S * sum.forward_exchange;
  out[Term::halo_exchange] = S * sum.forward_halo;

  Seconds whole = packing;
  for (std::size_t g = 0; g < gradients_; ++g)
    if (gradient[g] > Bytes{}) whole += gradient_[g].allreduce(gradient[g]);
  if (!setting_.training.overlap || !(whole > Seconds{})) {
    out[Term::gradient_exchange] = whole;
    return;
  }
  // Sent in pieces, gradients hide behind the backward pass but pay for more messages: where small pieces
  // cost more than they hide, larger ones are tried, up to one for all.
  Bytes total, bucket = setting_.training.bucket;
  for (const Bytes part : gradient) total += part;
  Seconds tail = gradient_tail(layout, bucket);
  while (tail >= whole && bucket < total) tail = gradient_tail(layout, bucket *= 4);
  out[Term::gradient_exchange] = std::min(tail, whole);
  out.hidden = whole - out[Term::gradient_exchange];
}

Pricer::Transfer Pricer::transfer(const StageKind::Chunk& chunk, double samples) const {
  if (chunk.sent.empty()) return {};
  Bytes sent;
  for (const Kept& tensor : chunk.sent)
    sent +=
        tensor.items * samples / parts_[tensor.divided] * item_bytes(setting_.training.precision).activation;
  const Hop& hop = stage_path_.outermost();
  if (!scatters(chunk)) return {sent, stage_message_(sent), hop};
  const auto tensor = std::size_t(std::countr_zero(unsigned(tensor_axis_)));
  return {sent, stage_message_(sent / tensor_) + cost_[tensor][std::size_t(Collective::allgather)](sent),
          hop};
}

/// What the passes of a stage take for one micro-batch, by what they do. `pieces_` gets the times of its
/// chunks.
Pricer::StagePasses Pricer::stage_passes(const StagePlan& plan, int stage, double samples) {
  const StageKind& kind = plan.kinds[std::size_t(plan.kind[std::size_t(stage)])];
  StagePasses out;
  for (std::size_t c = 0; c < kind.chunks.size(); ++c) {
    PieceTime& piece = pieces_[c * std::size_t(plan.stages) + std::size_t(stage)];
    if (stage != kind.first) {  // priced already
      piece = pieces_[c * std::size_t(plan.stages) + std::size_t(kind.first)];
      continue;
    }
    piece = {};
    Seconds forward_host, backward_host;
    for (const auto& [id, count] : kind.chunks[c].cells) {
      const CellCost& cost = cells_[std::size_t(id)];
      piece.forward += count * cost.forward_pass();
      piece.backward += count * cost.backward_pass();
      out.forward += count * cost.forward;
      out.backward += count * cost.backward;
      out.exchange += count * (cost.forward_exchange + cost.backward_exchange);
      out.halo += count * (cost.forward_halo + cost.backward_halo);
      forward_host += count * cost.forward_host;
      backward_host += count * cost.backward_host;
    }
    const Seconds forward_wait = waiting(forward_host, piece.forward);
    const Seconds backward_wait = waiting(backward_host, piece.backward);
    piece.forward += forward_wait, piece.backward += backward_wait;
    out.forward += forward_wait, out.backward += backward_wait;
    piece.sent = transfer(kind.chunks[c], samples).time;
  }
  return out;
}

/// The gradients that a stage has to sum when its last backward pass, of `backward`, is over: what they take
/// then, what they take in all, and the update after them.
Pricer::StageEnd Pricer::stage_end(const Layout& layout, const StageKind& kind, Seconds backward) const {
  StageEnd out;
  std::array<Bytes, most_gradient_groups> gradient{};
  for (const auto& [id, count] : kind.cells) {
    const CellCost& cost = cells_[std::size_t(id)];
    const Cell& cell = layout.cells[std::size_t(id)];
    out.update += count * cost.update;
    out.whole += count * packing_of(cell);
    for (std::size_t g = 0; g < gradients_; ++g)
      if (gradient_[g].has(cell)) gradient[g] += count * cost.gradient;
  }
  for (std::size_t g = 0; g < gradients_; ++g)
    if (gradient[g] > Bytes{}) out.whole += gradient_[g].allreduce(gradient[g]);
  out.exposed = setting_.training.overlap ? hidden_tail(gradient, out.whole, backward) : out.whole;
  return out;
}

LayerLoad Pricer::load_of(const CellCost& cost) {
  return {.forward = cost.forward_pass().base(),
          .backward = cost.backward_pass().base(),
          .forward_host = cost.forward_host.base(),
          .backward_host = cost.backward_host.base()};
}

SecondsPerByte Pricer::stage_pace(const Mesh& mesh, int axis) {
  constexpr Bytes large{1e8};
  const Path path = neighbours(mesh, axis, -1);
  if (!links_are_measured_) return cost(Collective::point_to_point, path).per_byte;
  const MessageCost message = axis_cost(Collective::point_to_point, mesh.axis[std::size_t(axis)], path);
  return (message(2 * large) - message(large)) / large;
}

Path Pricer::tied_path() const {
  Path pair = stage_path_;
  const std::string_view last = stage_path_.outermost().level;
  for (Hop& hop : pair.hop) hop.size = hop.level == last ? 2 : 1;
  pair.in_node = pair.hop[0].size;
  return pair;
}

/// What two stages that use the same weights need to sum their gradients.
Seconds Pricer::tied_sum(const StagePlan::Tied& tied) {
  return cost_of(Collective::allreduce, tied_path())(cells_[std::size_t(tied.cell)].gradient);
}

/// The schedule is executed twice, with and without messages. The busiest stage works all the time that its
/// passes take; the rest of the time without messages it waits for others; what messages add is theirs. So
/// the terms sum to what was executed.
void Pricer::price_pipeline(const Layout& layout, const StagePlan& plan, double samples, Breakdown& out) {
  const double S = setting_.training.micro_batches;
  const Pipeline pipeline = setting_.training.pipeline(plan.stages);
  pieces_.resize(std::size_t(pipeline.pieces()));
  ends_.resize(plan.kinds.size());
  StagePasses busiest;
  Seconds all_updates, gradient_whole;
  for (int s = 0; s < plan.stages; ++s) {
    const auto k = std::size_t(plan.kind[std::size_t(s)]);
    const StageKind& kind = plan.kinds[k];
    const StagePasses passes = stage_passes(plan, s, samples);
    if (s != kind.first) continue;
    if (passes.total() > busiest.total()) busiest = passes;
    Seconds backward;
    for (std::size_t c = 0; c < kind.chunks.size(); ++c)
      backward += pieces_[c * std::size_t(plan.stages) + std::size_t(s)].backward;
    ends_[k] = stage_end(layout, kind, backward);
    gradient_whole = std::max(gradient_whole, ends_[k].whole);
    all_updates += kind.count * ends_[k].update;
  }

  after_ = clock_.run(pipeline, pieces_);
  const Seconds executed = after_.end;
  for (PieceTime& piece : pieces_) piece.sent = {};
  const Seconds silent = clock_.run(pipeline, pieces_).end;
  out[Term::forward] = S * busiest.forward;
  out[Term::backward] = S * busiest.backward;
  out[Term::activation_exchange] = S * busiest.exchange;
  out[Term::halo_exchange] = S * busiest.halo;
  out[Term::bubble] = std::max(Seconds{}, silent - S * busiest.total());
  out[Term::stage_transfer] = executed - silent;

  // A stage sums its gradients and updates its weights as soon as its last backward pass is over: those that
  // are done early do so while others still work. Two that share weights wait for each other. Times count
  // from the end of the schedule.
  for (std::size_t s = 0; s < after_.stage_end.size(); ++s)
    after_.stage_end[s] += ends_[std::size_t(plan.kind[s])].exposed - executed;
  for (const StagePlan::Tied& tied : plan.tied) {
    Seconds& owner = after_.stage_end[std::size_t(tied.owner)];
    Seconds& user = after_.stage_end[std::size_t(tied.user)];
    const Seconds sum = tied_sum(tied);
    gradient_whole += sum;
    owner = user = std::max(owner, user) + sum;
  }
  Seconds latest, gradient;
  for (std::size_t s = 0; s < after_.stage_end.size(); ++s) {
    const Seconds updated = after_.stage_end[s] + ends_[std::size_t(plan.kind[s])].update;
    if (updated <= latest) continue;
    latest = updated;
    gradient = std::max(Seconds{}, after_.stage_end[s]);
  }
  // Without micro-batches nothing overlaps: one stage works at a time, in its update too (the paper's pure
  // form).
  out[Term::update] = S > 1 ? latest - gradient : all_updates;
  out[Term::gradient_exchange] = gradient;
  out.hidden = std::max(Seconds{}, gradient_whole - gradient);
}

std::vector<std::vector<PipelineClock::Event>> Pricer::timeline(const StagePlan& plan, double samples) {
  pieces_.resize(std::size_t(plan.stages * plan.chunks));
  for (int s = 0; s < plan.stages; ++s) stage_passes(plan, s, samples);
  return clock_.timeline(setting_.training.pipeline(plan.stages), pieces_);
}

/// Chunks keep different numbers of micro-batches.
double Pricer::in_flight(const Layout& layout, const StagePlan& plan, const StageKind& kind,
                         double samples) const {
  if (plan.stages == 1) return 1;  // one stage alone runs each micro-batch to its end before the next
  const Pipeline pipeline = setting_.training.pipeline(plan.stages);
  if (plan.chunks == 1) return pipeline.in_flight(kind.first, 0);
  Bytes one, all;
  for (int c = 0; c < plan.chunks; ++c) {
    const Bytes kept = memory_of(layout, kind.chunks[std::size_t(c)].cells, samples, 1).activations;
    one += kept;
    all += pipeline.in_flight(kind.first, c) * kept;
  }
  return one > Bytes{} ? all / one : 1;
}

}  // namespace paradl
