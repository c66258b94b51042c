#include "paradl/strategy/fold.hpp"

#include <algorithm>

namespace paradl {
namespace {

constexpr int fewest_repeats = 8;  // folding fewer saves too little

/// Whether a layer equals the one a block before it, with inputs that are also a block later, or the same
/// inputs from before the run.
bool repeats(const Workload& work, int i, int period, int first) {
  const Layer &now = work.layers[std::size_t(i)], &before = work.layers[std::size_t(i - period)];
  if (now.shape_class != before.shape_class || now.tied >= 0 || before.tied >= 0) return false;
  for (const Cuttable& cuttable : work.split)
    if (cuttable(std::size_t(i)) != cuttable(std::size_t(i - period))) return false;
  // Every period has the same number of blocks of the model file, or none.
  const int next = work.layers[std::size_t(first + period)].block - work.layers[std::size_t(first)].block;
  if (now.block < 0 ? before.block >= 0 : now.block != before.block + next) return false;
  const int block = first + (i - first) / period * period;
  return std::ranges::equal(now.inputs, before.inputs, [&](int a, int b) {
    return (a == b && a < first) || (a == b + period && a >= block - period);
  });
}

/// Whether layers after the run read only its last block, and share no weights with the run.
bool stands_alone(const Workload& work, const Fold& fold) {
  const int end = fold.first + fold.repeats * fold.period, last = end - fold.period;
  const auto inside = [&](int i) { return i >= fold.first && i < last; };
  for (std::size_t i = std::size_t(end); i < work.layers.size(); ++i) {
    if (std::ranges::any_of(work.layers[i].inputs, inside)) return false;
    if (work.layers[i].tied >= fold.first) return false;
  }
  return true;
}

/// Expands a vector by layer of the folded network to the whole network.
template <class T>
std::vector<T> repeated(const std::vector<T>& list, const Fold& fold) {
  std::vector<T> out;
  out.reserve(list.size() + std::size_t(fold.removed()));
  const auto seam = list.begin() + fold.seam();
  out.insert(out.end(), list.begin(), seam);
  for (int r = 4; r < fold.repeats; ++r) out.insert(out.end(), seam - fold.period, seam);
  out.insert(out.end(), seam, list.end());
  return out;
}

/// Whether the two blocks in the middle are equal.
template <class T>
bool middle_repeats(const std::vector<T>& list, const Fold& fold) {
  const auto second = list.begin() + fold.first + fold.period, third = second + fold.period;
  return std::equal(second, third, third);
}

}  // namespace

std::optional<Fold> find_fold(const Workload& work, std::span<const int> blocks) {
  Fold best;
  if (int(blocks.size()) <= fewest_repeats) return {};
  Fold run{.first = blocks[0], .period = blocks[1] - blocks[0], .repeats = 1};
  for (std::size_t b = 1; b + 1 < blocks.size(); ++b) {
    int i = blocks[b];
    while (i < blocks[b + 1] && repeats(work, i, run.period, run.first)) ++i;
    if (i == blocks[b + 1])
      run.repeats += 1;
    else
      run = {.first = blocks[b], .period = run.period, .repeats = 1};
    if (run.repeats > best.repeats) best = run;
  }
  if (best.repeats < fewest_repeats || !stands_alone(work, best)) return {};
  return best;
}

Workload folded(const Workload& work, const Fold& fold) {
  Workload out = work;
  const auto cut = [&](auto& list) {
    if (!list.empty()) list.erase(list.begin() + fold.seam(), list.begin() + fold.seam() + fold.removed());
  };
  const int blocks = work.layers[std::size_t(fold.seam() + fold.removed())].block -
                     work.layers[std::size_t(fold.seam())].block;  // blocks that are removed
  cut(out.layers);
  for (Cuttable& cuttable : out.split) cut(cuttable.layer);
  for (std::size_t i = std::size_t(fold.seam()); i < out.layers.size(); ++i) {
    if (out.layers[i].block >= 0) out.layers[i].block -= blocks;
    for (int& from : out.layers[i].inputs)
      if (from >= fold.seam()) from -= fold.removed();
  }
  return out;
}

std::optional<Layout> unfolded(Layout layout, const Fold& fold) {
  if (!middle_repeats(layout.order, fold) || !middle_repeats(layout.left, fold)) return {};
  const auto moved = [&](int layer) { return layer < fold.seam() ? layer : layer + fold.removed(); };
  for (int i = fold.seam() - fold.period; i < fold.seam(); ++i)
    layout.cells[std::size_t(layout.order[std::size_t(i)])].count += fold.repeats - 4;
  for (Cell& cell : layout.cells) {
    cell.layer = moved(cell.layer);
    for (Kept& kept : cell.kept) kept.grows = moved(kept.grows);
    for (Kept* kept : {&cell.mask, &cell.x, &cell.y}) kept->grows = moved(kept->grows);
  }
  for (auto* list : {&layout.rebuilt, &layout.rebuilt_masks})
    for (Kept& kept : *list) kept.grows = moved(kept.grows);
  for (Layout::SharedSplit& split : layout.shared_splits) split.layer = moved(split.layer);
  layout.order = repeated(layout.order, fold);
  layout.left = repeated(layout.left, fold);
  for (std::vector<Role>& role : layout.role) role = repeated(role, fold);

  // Layers of the third block and its copies are read by their own block or the next one. Readers of all
  // other layers only move with the removed blocks.
  const int third = fold.seam() - fold.period;
  layout.last_reader = repeated(layout.last_reader, fold);
  for (int i = 0; i < int(layout.last_reader.size()); ++i) {
    int& last = layout.last_reader[std::size_t(i)];
    const int copies = (i - third) / fold.period;
    last = i >= third && copies <= fold.repeats - 4 ? last + copies * fold.period : moved(last);
  }
  layout.runs = find_runs(layout.order);
  return layout;
}

}  // namespace paradl
