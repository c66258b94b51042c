#include "paradl/cost/block_chain.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace paradl {
namespace {

class Cutter {
 public:
  Cutter(const Workload& work, const Layout& layout, std::span<const Piece> pieces)
      : work_(work), layout_(layout), readers_(work.layers.size()) {
    const auto in_piece = [&](int i) {
      return std::ranges::any_of(pieces, [i](const Piece& p) { return p.first <= i && i < p.end; });
    };
    for (std::size_t i = 0; i < work.layers.size(); ++i)
      for (const int from : work.layers[i].inputs)
        if (in_piece(from)) readers_[std::size_t(from)].push_back(int(i));
  }

  /// The layers of a piece that can begin a block, and the end of the piece.
  std::vector<int> borders(const Piece& piece) const {
    std::vector<int> out{piece.first};
    std::vector<int> on_its_way;  // tensors of earlier layers that later layers read
    for (int l = piece.first; l + 1 < piece.end; ++l) {
      std::erase_if(on_its_way, [&](int i) { return last_reader(i) <= l; });
      if (may_end(l, on_its_way)) out.push_back(l + 1);
      on_its_way.push_back(l);
    }
    out.push_back(piece.end);
    return out;
  }

  /// Blocks by their borders in each piece. Layers outside of all pieces have no block.
  BlockChain chain(std::span<const std::vector<int>> pieces) const {
    BlockChain out;
    std::vector<int> block_of(work_.layers.size(), nobody);
    int number = 0;
    for (const std::vector<int>& border : pieces)
      for (std::size_t b = 0; b + 1 < border.size(); ++b, ++number)
        std::fill(block_of.begin() + border[b], block_of.begin() + border[b + 1], number);
    for (const std::vector<int>& border : pieces)
      for (std::size_t b = 0; b + 1 < border.size(); ++b)
        out.blocks.push_back(block(border[b], border[b + 1], block_of));
    out.shared = shared(block_of);
    return out;
  }

 private:
  static constexpr int nobody = -1;
  const Layer& layer(int i) const { return work_.layers[std::size_t(i)]; }
  int maker(int tensor) const {
    while (tensor >= 0 && is_view(layer(tensor).op)) tensor = layer(tensor).inputs.front();
    return tensor;
  }
  int last_reader(int i) const {
    const auto& readers = readers_[std::size_t(i)];
    return readers.empty() ? i : readers.back();
  }

  /// Whether a block can end after layer l. Its own backward pass must not need its output (else two blocks
  /// would need it), and no other tensor may cross the border to a layer of the same repeated block: no cut
  /// goes through a residual block.
  bool may_end(int l, const std::vector<int>& on_its_way) const {
    const int made = maker(l);
    if (made < 0 || traits(layer(made).op).keeps == Keeps::y || last_reader(l) == l) return false;
    for (const int i : on_its_way) {
      if (i == made || maker(i) == made) continue;
      for (const int reader : readers_[std::size_t(i)])
        if (reader > l && (layer(l).block < 0 || layer(reader).block == layer(l).block)) return false;
    }
    return true;
  }

  /// A tensor with the axes that split it when its maker has finished.
  Kept tensor(int i) const {
    if (i < 0) return {work_.input.items(), layout_.cells[std::size_t(layout_.order.front())].x.divided};
    return {layer(i).y.items(), layout_.left[std::size_t(i)]};
  }

  ChainBlock block(int first, int end, const std::vector<int>& block_of) const {
    ChainBlock out{.first = first, .end = end, .again = first};
    std::set<int> inputs;
    for (int i = first; i < end; ++i) {
      for (const int from : layer(i).inputs)
        if (from < first && inputs.insert(from).second) out.inputs.push_back(tensor(from));
      const int next = block_of[std::size_t(first)] + 1;
      if (last_reader(i) >= end && block_of[std::size_t(last_reader(i))] > next)
        out.skips.push_back(tensor(i));
      const Cell& cell = layout_.cells[std::size_t(layout_.order[std::size_t(i)])];
      if (cell.kept[1].items > 0 || cell.kept[2].items > 0 || cell.mask.items > 0) out.again = i + 1;
      if (traits(layer(i).op).keeps == Keeps::x)
        for (const int from : layer(i).inputs) out.again = std::max(out.again, maker(from) + 1);
    }
    return out;
  }

  /// By layer: whether another block also needs its kept input.
  std::vector<bool> shared(const std::vector<int>& block_of) const {
    struct Need {
      int first_keeper, block;
      bool several = false;
    };
    std::map<int, Need> needs;  // by tensor
    for (int i = 0; i < int(work_.layers.size()); ++i) {
      const int block = block_of[std::size_t(i)];
      if (block == nobody) continue;
      const auto need = [&](int tensor, int keeper) {
        const auto [known, fresh] = needs.emplace(tensor, Need{keeper, block});
        if (!fresh) known->second.several |= known->second.block != block;
      };
      if (traits(layer(i).op).keeps == Keeps::y) need(i, i);
      if (traits(layer(i).op).keeps == Keeps::x)
        for (const int from : layer(i).inputs) need(maker(from), i);
    }
    std::vector<bool> out(work_.layers.size());
    for (const auto& [tensor, need] : needs)
      if (need.several) out[std::size_t(need.first_keeper)] = true;
    return out;
  }

  const Workload& work_;
  const Layout& layout_;
  std::vector<std::vector<int>> readers_;  // of each layer of the pieces, ascending
};

}  // namespace

std::vector<BlockChain> find_chains(const Workload& work, const Layout& layout, std::span<const Piece> pieces,
                                    int micro_batches) {
  constexpr std::size_t fewest = 4;  // blocks: fewer leave nothing to choose
  constexpr std::size_t most = 256;  // blocks: avoid longer chains, which take long to plan
  const auto copies = std::size_t(micro_batches);
  const Cutter cutter(work, layout, pieces);
  std::vector<std::vector<int>> borders;
  for (const Piece& piece : pieces) borders.push_back(cutter.borders(piece));
  std::vector<BlockChain> out;
  for (;;) {
    std::size_t blocks = 0;
    for (const std::vector<int>& border : borders) blocks += border.size() - 1;
    const bool last = blocks < 2 * fewest || blocks <= pieces.size();
    if (copies == 1 || copies * blocks <= most || last) {
      BlockChain chain = cutter.chain(borders);
      for (std::size_t i = blocks; i < copies * blocks; ++i) chain.blocks.push_back(chain.blocks[i - blocks]);
      out.push_back(std::move(chain));
    }
    if (last) return out;
    for (std::vector<int>& border : borders) {  // drop every second border
      std::vector<int> coarser;
      for (std::size_t b = 0; b + 1 < border.size(); b += 2) coarser.push_back(border[b]);
      coarser.push_back(border.back());
      border = std::move(coarser);
    }
  }
}

std::vector<BlockChain> find_chains(const Workload& work, const Layout& layout) {
  const Piece all{0, int(work.layers.size())};
  return find_chains(work, layout, {&all, 1}, 1);
}

}  // namespace paradl
