#include "paradl/cost/stages.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace paradl {
namespace {

bool same(const std::vector<StageKind::Share>& a, const std::vector<StageKind::Share>& b) {
  return std::ranges::equal(a, b, [](const StageKind::Share& s, const StageKind::Share& t) {
    return s.cell == t.cell && s.count == t.count;
  });
}

bool same(const StageKind::Chunk& a, const StageKind::Chunk& b) {
  const auto equal_sent = [](const Kept& x, const Kept& y) {
    return x.items == y.items && x.divided == y.divided;
  };
  return same(a.cells, b.cells) && std::ranges::equal(a.sent, b.sent, equal_sent);
}

bool same(const StageKind& a, const StageKind& b) { return same(a.cells, b.cells) && a.piece == b.piece; }

/// The index of a chunk among the different pieces so far; a new one is added.
int piece_of(const StageKind::Chunk& chunk, std::vector<StageKind::Chunk>& pieces) {
  const auto twin = std::ranges::find_if(pieces, [&](const StageKind::Chunk& p) { return same(p, chunk); });
  const int number = int(twin - pieces.begin());
  if (twin == pieces.end()) pieces.push_back(chunk);
  return number;
}

/// Layers that use the weights of a layer on another stage.
std::vector<StageKind::Share> borrowed(const std::vector<StageKind::Share>& cells, const Layout& layout,
                                       const Workload& work) {
  std::vector<StageKind::Share> out;
  for (const StageKind::Share& share : cells) {
    const int tied = work.layers[std::size_t(layout.cells[std::size_t(share.cell)].layer)].tied;
    if (tied < 0) continue;
    const int owner = layout.order[std::size_t(tied)];
    if (std::ranges::find(cells, owner, &StageKind::Share::cell) == cells.end()) out.push_back(share);
  }
  return out;
}

/// The same number of blocks in each piece; layers before and after the blocks belong to the first and the
/// last piece. Empty if blocks do not split evenly.
std::vector<int> equal_blocks(std::span<const int> border, int pieces) {
  if (!can_share_blocks(border, pieces)) return {};
  const int blocks = int(border.size()) - 1;
  std::vector<int> first{0};
  for (int i = 1; i < pieces; ++i) first.push_back(border[std::size_t(i * (blocks / pieces))]);
  return first;
}

std::vector<int> find_borders(const StageBorders& borders) {
  const int pieces = borders.pipeline.pieces();
  if (pieces == 1) return {0};
  if (borders.cut == StageCut::equal_blocks)
    if (std::vector<int> first = equal_blocks(borders.blocks, pieces); !first.empty()) return first;
  const auto& [stages, S, chunks, schedule] = borders.pipeline;
  return chunks > 1 ? interleaved_partition(borders.layer, stages, chunks, borders.border)
                    : balanced_partition(borders.layer, pieces, borders.border);
}

/// The cells of some layers, with the number of layers of each.
std::vector<StageKind::Share> shares_of(const Layout& layout, int from, int to) {
  std::vector<double> counts(layout.cells.size());
  for (int i = from; i < to; ++i) counts[std::size_t(layout.order[std::size_t(i)])] += 1;
  std::vector<StageKind::Share> out;
  out.reserve(std::min(std::size_t(to - from), counts.size()));
  for (std::size_t cell = 0; cell < counts.size(); ++cell)
    if (counts[cell] > 0) out.push_back({int(cell), counts[cell]});
  return out;
}

StagePlan cut_at(std::vector<int> first_layer, const Layout& layout, const Workload& work,
                 const StageBorders& borders) {
  const auto& [stages, S, chunks, schedule] = borders.pipeline;
  StagePlan plan{.stages = stages, .chunks = chunks};
  plan.first_layer = std::move(first_layer);
  const auto piece_with = [&](int layer) {
    return int(std::ranges::upper_bound(plan.first_layer, layer) - plan.first_layer.begin()) - 1;
  };

  const int layers = int(layout.order.size());
  for (int i = 0; i < layers && stages > 1; ++i) {
    const int owner = work.layers[std::size_t(i)].tied;
    if (owner >= 0 && piece_with(owner) % stages != piece_with(i) % stages)
      plan.tied.push_back(
          {layout.order[std::size_t(owner)], piece_with(owner) % stages, piece_with(i) % stages});
  }
  for (int s = 0; s < stages; ++s) {
    StageKind kind{.chunks = {}, .cells = {}, .first = s, .count = 1};
    for (int piece = s; piece < stages * chunks; piece += stages) {
      const bool last = piece + 1 == stages * chunks;
      const int end = last ? layers : plan.first_layer[std::size_t(piece) + 1];
      StageKind::Chunk chunk{shares_of(layout, plan.first_layer[std::size_t(piece)], end), {}};
      if (!last) {
        const auto sent = borders.crossing.behind(end - 1);
        chunk.sent.assign(sent.begin(), sent.end());
      }
      kind.cells.insert(kind.cells.end(), chunk.cells.begin(), chunk.cells.end());
      kind.piece.push_back(piece_of(chunk, plan.pieces));
      kind.chunks.push_back(std::move(chunk));
    }
    for (const StagePlan::Tied& tied : plan.tied)
      if (tied.user == s) kind.cells.push_back({tied.cell, 1});
    kind.borrowed = borrowed(kind.cells, layout, work);
    const auto twin = std::ranges::find_if(plan.kinds, [&](const StageKind& k) { return same(k, kind); });
    plan.kind.push_back(int(twin - plan.kinds.begin()));
    if (twin == plan.kinds.end())
      plan.kinds.push_back(std::move(kind));
    else
      twin->count += 1;
  }
  const auto shares_weights = [&](int stage) {
    return std::ranges::any_of(plan.tied,
                               [&](const StagePlan::Tied& t) { return t.owner == stage || t.user == stage; });
  };
  for (int s = 0; s < stages; ++s) {
    const bool alone = shares_weights(s) || (s > 0 && shares_weights(s - 1));
    if (s > 0 && !alone && plan.kind[std::size_t(s)] == plan.runs.back().kind)
      plan.runs.back().count += 1;
    else
      plan.runs.push_back({plan.kind[std::size_t(s)], s, 1});
  }
  return plan;
}

}  // namespace

Crossing::Crossing(const Layout& layout, const Workload& work) {
  const std::size_t n = layout.order.size();
  first_.resize(n + 1);
  for (std::size_t i = 0; i < n; ++i) {  // the output of layer i crosses borders from i up to its last reader
    first_[i] += 1;
    first_[std::size_t(layout.last_reader[i])] -= 1;
  }
  std::size_t alive = 0, sum = 0;
  for (std::size_t& first : first_) {
    alive += first;
    first = std::exchange(sum, sum + alive);
  }
  tensors_.resize(first_.back());
  std::vector<std::size_t> next = first_;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t border = i; border < std::size_t(layout.last_reader[i]); ++border)
      tensors_[next[border]++] = {work.layers[i].y.items(), layout.left[i]};
}

int StagePlan::run_of(int stage) const {
  return int(std::ranges::upper_bound(runs, stage, {}, &Run::first) - runs.begin()) - 1;
}

bool can_share_blocks(std::span<const int> border, int pieces) {
  const int blocks = int(border.size()) - 1;
  return blocks >= pieces && blocks % pieces == 0;
}

std::vector<int> repeated_blocks(const Workload& work) {
  constexpr int longest_block = 128;
  std::vector<int> shape;
  for (const Layer& layer : work.layers) shape.push_back(layer.shape_class);
  const int n = int(shape.size());
  // By period: the layers with an equal layer one period earlier. A period cannot cover more layers than
  // that.
  std::array<int, longest_block + 1> matches{};
  std::vector<int> before(shape.size(), -1), newest(shape.size(), -1);
  for (int i = 0; i < n; ++i) {
    before[std::size_t(i)] = std::exchange(newest[std::size_t(shape[std::size_t(i)])], i);
    for (int j = before[std::size_t(i)]; j >= 0 && i - j <= longest_block; j = before[std::size_t(j)])
      ++matches[std::size_t(i - j)];
  }
  std::vector<int> best;
  int covered = 0;
  for (int period = 2; period <= longest_block; ++period) {
    if (matches[std::size_t(period)] + period <= covered) continue;
    for (int from = 0, i = period; i <= n; ++i) {
      if (i < n && shape[std::size_t(i)] == shape[std::size_t(i - period)]) continue;
      const int repeats = (i - from) / period;
      if (repeats > 1 && repeats * period > covered) {
        covered = repeats * period;
        best.clear();
        for (int r = 0; r <= repeats; ++r) best.push_back(from + r * period);
      }
      from = i - period + 1;
    }
  }
  return best;
}

StagePlan plan_stages(const Layout& layout, const Workload& work, const StageBorders& borders) {
  return cut_at(find_borders(borders), layout, work, borders);
}

StagePlan plan_stages(const Layout& layout, const Workload& work, const LayerTimes& times, int stages) {
  StageBorders borders{
      .pipeline = {.stages = stages}, .layer = {}, .border = {}, .blocks = {}, .crossing = {}};
  if (stages > 1) borders.crossing = Crossing(layout, work);
  for (const LayerTime& time : times.layer)
    borders.layer.push_back({.forward = time.FW.base(), .backward = time.BW.base()});
  return plan_stages(layout, work, borders);
}

namespace {

constexpr double worth_saving = 0.1;  // share of transfers in the work: below it, other cuts save little

/// The time of all transfers between stages, divided by the work of a micro-batch on all stages.
double passed_on(std::span<const int> first_layer, const StageBorders& borders) {
  double sent = 0, work = 0;
  for (const int first : first_layer.subspan(1)) sent += 2 * borders.border[std::size_t(first) - 1];
  for (const LayerLoad& load : borders.layer) work += load.forward + load.backward;
  return sent / work;
}

}  // namespace

std::vector<StagePlan> stage_candidates(const Layout& layout, const Workload& work,
                                        const StageBorders& borders) {
  const auto& [stages, S, chunks, schedule] = borders.pipeline;
  std::vector<StagePlan> out;
  out.reserve(4);  // at most: growing would copy plans
  out.push_back(plan_stages(layout, work, borders));
  if (stages == 1 || borders.cut != StageCut::balanced) return out;
  const auto add = [&](std::vector<int> first) {
    if (!first.empty() && first != out.front().first_layer)
      out.push_back(cut_at(std::move(first), layout, work, borders));
  };
  add(equal_blocks(borders.blocks, borders.pipeline.pieces()));
  // With fewer micro-batches than stages the pipeline is never full: the transfers of all stages count for
  // more than the longest stage.
  if (S < stages && chunks == 1 && passed_on(out.front().first_layer, borders) > worth_saving) {
    add(cheapest_partition(borders.layer, stages, borders.border));
    add(balanced_partition(borders.layer, stages));
  }
  return out;
}

}  // namespace paradl
