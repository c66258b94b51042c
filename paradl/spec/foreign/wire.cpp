#include <algorithm>

#include <fmt/format.h>

#include "paradl/spec/foreign/net.hpp"

namespace paradl::foreign {
namespace {

constexpr std::size_t most_warnings = 10;  // a file with more has one cause for all of them
constexpr double most_items = 1e18;        // larger numbers of items are not exact in doubles

Numbers extents(const Numbers& shape) { return {shape.begin() + 1, shape.end()}; }

bool all_one(const Numbers& numbers) {
  return std::ranges::all_of(numbers, [](std::int64_t n) { return n == 1; });
}

constexpr bool is_pool(Op op) { return op == Op::max_pool || op == Op::avg_pool; }

class Wirer {
 public:
  Wirer(Net& net, const SourceText& source, std::vector<std::string>& warnings)
      : net_(net), problems_(source), warnings_(warnings), wiring_(net.layers.size()) {}

  std::vector<Wiring> wire() {
    if (!(product(net_.input) < most_items))
      problems_.add(net_.input_field.spot, "this input is implausibly large", "check its sizes");
    for (std::size_t i = 0; i < net_.layers.size() && !problems_.full(); ++i) {
      fix_x(i);
      check(i);
      check_size(i);
    }
    problems_.raise();
    if (hidden_ > 0)
      warnings_.push_back(
          fmt::format("{} more input shapes were replaced by the output of the layer before", hidden_));
    if (lonely_ > 0)
      warnings_.push_back(fmt::format(
          "line {}: the file has no shortcut with the shape that ADD needs, so the layer before is "
          "added to itself ({} such layers)",
          first_lonely_, lonely_));
    return std::move(wiring_);
  }

 private:
  std::string_view name(std::size_t i) const { return net_.names[i].written.text; }
  Op op(std::size_t i) const { return net_.names[i].op; }
  const Numbers& coming_in(std::size_t i) const { return i == 0 ? net_.input : net_.layers[i - 1].y; }

  void fix_x(std::size_t i) {
    NetLayer& layer = net_.layers[i];
    const Numbers& in = coming_in(i);
    if (layer.x == in) return;
    // A fully connected layer may count all items as channels; its input is the same.
    if (op(i) == Op::fc && all_one(extents(layer.x)) && product(layer.x) == product(in)) return;
    if (warnings_.size() < most_warnings)
      warnings_.push_back(
          fmt::format("line {}: the input of {} is {}, but the output of {} is {}; using the latter",
                      layer.line, name(i), text(layer.x), i == 0 ? "the input" : name(i - 1), text(in)));
    else
      ++hidden_;
    layer.x = in;
  }

  void check(std::size_t i) {
    if (op(i) == Op::conv || is_pool(op(i)))
      check_window(i);
    else if (op(i) == Op::fc)
      check_fc(i);
    else
      check_plain(i);
    if (op(i) == Op::add) find_shortcut(i);
    if (starts_block(i)) block_start_ = int(i);
  }

  void check_plain(std::size_t i) {
    NetLayer& layer = net_.layers[i];
    if (layer.y != layer.x)
      problems_.add(
          layer.y_field.spot,
          fmt::format("the output of {} is {}, but its input is {}", name(i), text(layer.y), text(layer.x)),
          "write equal shapes for this kind of layer");
    if (product(layer.w) != 0)
      problems_.add(layer.w_field.spot, fmt::format("{} has no window", name(i)),
                    "write 0 for each extent of w");
    layer.y = layer.x;  // so that one wrong shape is reported once
  }

  void check_window(std::size_t i) {
    const NetLayer& layer = net_.layers[i];
    const bool pool = is_pool(op(i));
    if (flat_from_ >= 0)
      return problems_.add(layer.x_field.spot,
                           fmt::format("{} has a window, but follows a fully connected layer", name(i)),
                           "move it before that layer");
    if (!pool && !filters_agree(i)) return;
    if (pool && layer.y[0] != layer.x[0])
      return problems_.add(
          layer.y_field.spot,
          fmt::format("the output of {} is {}, but its input is {}", name(i), text(layer.y), text(layer.x)),
          "write equal channels: pooling keeps them");
    const Numbers K = layer.window();
    if (std::ranges::find(K, 0) != K.end())
      return problems_.add(layer.w_field.spot, fmt::format("{} has an empty window", name(i)),
                           "write its extents after the channels and filters");
    const auto window =
        find_window(extents(layer.x), K, extents(layer.y), pool ? WindowOf::pooling : WindowOf::convolution);
    if (!window)
      return problems_.add(layer.y_field.spot,
                           fmt::format("no stride and padding give {1} from {0} with a window of {2}",
                                       text(extents(layer.x)), text(extents(layer.y)), text(K)),
                           "check the shapes of this line");
    wiring_[i].window = *window;
  }

  bool filters_agree(std::size_t i) {
    const NetLayer& layer = net_.layers[i];
    if (layer.w[0] == layer.x[0] && layer.w[1] == layer.y[0]) return true;
    problems_.add(layer.w_field.spot,
                  fmt::format("{} has {} channels and {} filters, but its input is {} and its output {}",
                              name(i), layer.w[0], layer.w[1], text(layer.x), text(layer.y)),
                  "start w with the channels of x and of y");
    return false;
  }

  /// Either the window is all of the input, or the layer works position by position.
  void check_fc(std::size_t i) {
    const NetLayer& layer = net_.layers[i];
    if (!filters_agree(i)) return;
    const Numbers X = extents(layer.x), Y = extents(layer.y), K = layer.window();
    if (K == X && all_one(Y)) {
      wiring_[i].flatten = flat_from_ < 0;
      if (flat_from_ < 0) flat_from_ = int(i);
    } else if (!all_one(K) || Y != X) {
      problems_.add(layer.w_field.spot,
                    fmt::format("{} has a window of {}, but its input is {} and its output {}", name(i),
                                text(K), text(layer.x), text(layer.y)),
                    "write a window of the whole input, or of one position");
    }
  }

  /// Doubles count a layer's items and operations; above this size they are not exact.
  void check_size(std::size_t i) {
    const NetLayer& layer = net_.layers[i];
    const bool weighs = op(i) == Op::conv || op(i) == Op::fc;
    const double multiply_adds = weighs ? product(layer.w) * product(extents(layer.y)) : 0;
    if (!(std::max(product(layer.y), multiply_adds) < most_items))
      problems_.add(layer.y_field.spot, fmt::format("{} is implausibly large", name(i)), "check its sizes");
  }

  /// A block's input is the output of a pool, of an ADD, or of the RELU after it. Without a pool the first
  /// RELU
  /// ends the stem.
  bool starts_block(std::size_t i) const {
    if (op(i) == Op::add || is_pool(op(i))) return true;
    return op(i) == Op::relu && (block_start_ < 0 || (i > 0 && op(i - 1) == Op::add));
  }

  // The file lists only one input of an ADD. The other one is the input of its block.
  void find_shortcut(std::size_t i) {
    const int start = block_start_, before = int(i) - 1;
    const bool apart = start >= 0 && start < before && (flat_from_ < 0 || start >= flat_from_);
    if (apart && net_.layers[std::size_t(start)].y == net_.layers[i].x) {
      wiring_[i].shortcut = start;
      return;
    }
    wiring_[i].shortcut = before;
    if (lonely_++ == 0) first_lonely_ = net_.layers[i].line;
  }

  Net& net_;
  Problems problems_;
  std::vector<std::string>& warnings_;
  std::vector<Wiring> wiring_;
  int block_start_ = -1;  // the layer whose output the current block reads; -1: none yet
  int flat_from_ = -1;    // the first layer whose output has no extents; -1: none yet
  int lonely_ = 0, first_lonely_ = 0;
  std::size_t hidden_ = 0;
};

}  // namespace

std::vector<Wiring> wire(Net& net, const SourceText& source, std::vector<std::string>& warnings) {
  return Wirer(net, source, warnings).wire();
}

}  // namespace paradl::foreign
