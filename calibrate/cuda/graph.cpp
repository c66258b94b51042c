// The only file that includes cudnn-frontend, which is slow to compile.
#include "calibrate/cuda/graph.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <vector>

#include <cudnn_frontend.h>

namespace paradl::calibrate::cuda {
namespace {

namespace fe = cudnn_frontend;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;
using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t largest_workspace = std::int64_t{1} << 30;
constexpr std::int64_t tried = 8;  // plans to time, the best by the heuristics

fe::DataType_t type_of(Precision precision) {
  switch (storage_of(precision)) {
    case Storage::fp16:
      return fe::DataType_t::HALF;
    case Storage::bf16:
      return fe::DataType_t::BFLOAT16;
    default:
      return fe::DataType_t::FLOAT;
  }
}

/// A graph that is not yet bound to a GPU: tensor i has the number i + 1 and `bytes[i]`.
struct Drawing {
  Drawing(Precision chosen, int architecture) : precision(chosen) {
    graph.set_io_data_type(type_of(chosen))
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT)
        .set_sm_version(architecture);  // otherwise the library would ask a GPU
  }

  Tensor input(const Numbers& sizes, const Numbers& strides, std::optional<fe::DataType_t> type = {}) {
    fe::graph::Tensor_attributes attributes;
    attributes.set_dim(sizes).set_stride(strides).set_uid(next(sizes, strides, type));
    attributes.set_data_type(type.value_or(type_of(precision)));
    return graph.tensor(attributes);
  }
  void output(const Tensor& tensor, const Numbers& sizes, const Numbers& strides,
              std::optional<fe::DataType_t> type = {}) {
    tensor->set_output(true).set_dim(sizes).set_stride(strides).set_uid(next(sizes, strides, type));
    tensor->set_data_type(type.value_or(type_of(precision)));
  }

  /// An output whose sizes cuDNN infers; they must equal ours.
  void inferred_output(const Tensor& tensor, const Numbers& sizes, const Numbers& strides) {
    tensor->set_output(true).set_stride(strides).set_uid(next(sizes, strides, {}));
    tensor->set_data_type(type_of(precision));
    inferred = tensor;
    expected = sizes;
  }

  /// Why cuDNN rejects it, or "".
  std::string problem() {
    fe::error_t result = graph.validate();
    if (result.is_bad()) return result.get_message();
    return inferred && inferred->get_dim() != expected ? "cuDNN infers other sizes" : "";
  }

  Precision precision;
  fe::graph::Graph graph;
  std::vector<std::size_t> bytes;

 private:
  Tensor inferred;
  Numbers expected;

  std::int64_t next(const Numbers& sizes, const Numbers& strides, std::optional<fe::DataType_t> type) {
    std::int64_t last = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) last += (sizes[d] - 1) * strides[d];
    const std::size_t item = type ? sizeof(float) : item_size(storage_of(precision));
    bytes.push_back(std::size_t(last + 1) * item);
    return std::int64_t(bytes.size());
  }
};

/// Sizes in cuDNN's order (samples, channels, extents) of a tensor whose channels are innermost in memory.
struct ChannelsLast {
  ChannelsLast(std::int64_t outer, std::int64_t channels, std::span<const std::int64_t> extents) {
    sizes = {outer, channels};
    sizes.insert(sizes.end(), extents.begin(), extents.end());
    strides.resize(sizes.size());
    std::int64_t stride = channels;
    for (std::size_t d = sizes.size(); d-- > 2;) {
      strides[d] = stride;
      stride *= sizes[d];
    }
    strides[1] = 1;
    strides[0] = stride;
  }
  Numbers sizes, strides;
};

void draw_conv(Drawing& drawing, GraphKind kind, const LocalLayer& l) {
  const std::size_t dims = l.dims == 3 ? 3 : 2;  // cuDNN supports two and three
  const auto first = [dims](const std::array<std::int64_t, 3>& values) {
    return Numbers(values.begin(), values.begin() + std::ptrdiff_t(dims));
  };
  const ChannelsLast x(l.samples, l.x_channels, first(l.x_extent)),
      y(l.samples, l.y_channels, first(l.y_extent)),
      w(l.y_channels, l.x_channels / l.groups, first(l.kernel));
  const auto with_window = [&](auto attributes) {
    attributes.set_pre_padding(first(l.padding))
        .set_post_padding(first(l.padding))
        .set_stride(first(l.stride))
        .set_dilation(first(l.dilation));
    return attributes;
  };
  if (kind == GraphKind::conv_forward) {
    const Tensor a = drawing.input(x.sizes, x.strides), b = drawing.input(w.sizes, w.strides);
    drawing.inferred_output(drawing.graph.conv_fprop(a, b, with_window(fe::graph::Conv_fprop_attributes())),
                            y.sizes, y.strides);
  } else if (kind == GraphKind::conv_data) {
    const Tensor a = drawing.input(y.sizes, y.strides), b = drawing.input(w.sizes, w.strides);
    drawing.output(drawing.graph.conv_dgrad(a, b, with_window(fe::graph::Conv_dgrad_attributes())), x.sizes,
                   x.strides);
  } else {
    const Tensor a = drawing.input(y.sizes, y.strides), b = drawing.input(x.sizes, x.strides);
    drawing.output(drawing.graph.conv_wgrad(a, b, with_window(fe::graph::Conv_wgrad_attributes())), w.sizes,
                   w.strides);
  }
}

void draw_attention(Drawing& drawing, GraphKind kind, const LocalLayer& l) {
  const std::int64_t length = l.x_positions(), size = l.y_channels / l.heads;
  // Samples, heads, positions, and the numbers of a head; `in_x` and `in_y` as they are stored there.
  const Numbers q{l.samples, l.heads, length, size}, kv{l.samples, l.kv_heads, length, size};
  const auto packed = [](const Numbers& sizes) {
    return Numbers{sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
  };
  const Numbers in_x{length * l.x_channels, 3 * size, l.x_channels, 1},
      in_y{length * l.y_channels, size, l.y_channels, 1};
  const bool shared = l.heads != l.kv_heads;
  const Numbers q_strides = shared ? packed(q) : in_x, kv_strides = shared ? packed(kv) : in_x;
  const Numbers statistics{l.samples, l.heads, length, 1};
  const float scale = 1.0f / std::sqrt(float(size));
  const Tensor Q = drawing.input(q, q_strides), K = drawing.input(kv, kv_strides),
               V = drawing.input(kv, kv_strides);
  if (kind == GraphKind::attention_forward) {
    auto options = fe::graph::SDPA_attributes().set_generate_stats(true).set_attn_scale(scale);
    options.set_causal_mask(l.causal).set_name("attention");
    const auto [out, shares] = drawing.graph.sdpa(Q, K, V, options);
    drawing.output(out, q, in_y);
    drawing.output(shares, statistics, packed(statistics), fe::DataType_t::FLOAT);
    return;
  }
  const Tensor y = drawing.input(q, in_y), dy = drawing.input(q, in_y),
               shares = drawing.input(statistics, packed(statistics), fe::DataType_t::FLOAT);
  auto options = fe::graph::SDPA_backward_attributes().set_attn_scale(scale);
  options.set_causal_mask(l.causal).set_name("attention");
  const auto [dQ, dK, dV] = drawing.graph.sdpa_backward(Q, K, V, y, dy, shares, options);
  drawing.output(dQ, q, q_strides);
  drawing.output(dK, kv, kv_strides);
  drawing.output(dV, kv, kv_strides);
}

bool is_attention(GraphKind kind) {
  return kind == GraphKind::attention_forward || kind == GraphKind::attention_backward;
}

std::unique_ptr<Drawing> draw(GraphKind kind, const LocalLayer& layer, Precision precision,
                              int architecture) {
  auto drawing = std::make_unique<Drawing>(precision, architecture);
  if (is_attention(kind))
    draw_attention(*drawing, kind, layer);
  else
    draw_conv(*drawing, kind, layer);
  return drawing;
}

class PlannedGraph : public Graph {
 public:
  PlannedGraph(Context& context, std::unique_ptr<Drawing> drawing)
      : context_(context), drawing_(std::move(drawing)) {}

  /// False without a plan.
  bool choose();
  void run(std::span<const void* const> tensors) override {
    fe::error_t result = run(tensors, chosen_, context_.lend(workspace_));
    if (result.is_bad())
      check(CUDNN_STATUS_EXECUTION_FAILED, ("cudnnBackendExecute (" + result.get_message() + ")").c_str());
  }

 private:
  fe::error_t run(std::span<const void* const> tensors, std::int64_t plan, void* workspace) {
    std::unordered_map<std::int64_t, void*> places;
    for (std::size_t i = 0; i < tensors.size(); ++i)
      places[std::int64_t(i) + 1] = const_cast<void*>(tensors[i]);
    return drawing_->graph.execute_plan_at_index(context_.dnn(), places, workspace, plan);
  }

  Context& context_;
  std::unique_ptr<Drawing> drawing_;
  std::int64_t chosen_ = 0;
  std::size_t workspace_ = 0;
};

bool PlannedGraph::choose() {
  fe::graph::Graph& graph = drawing_->graph;
  if (!drawing_->problem().empty() || graph.build_operation_graph(context_.dnn()).is_bad()) return false;
  if (graph.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}).is_bad()) return false;
  // True fp32: tensor cores would round the inputs to tf32.
  if (drawing_->precision == Precision::fp32)
    graph.deselect_numeric_notes(
        {fe::NumericalNote_t::TENSOR_CORE, fe::NumericalNote_t::DOWN_CONVERT_INPUTS});
  graph.deselect_workspace_greater_than(largest_workspace);

  std::vector<Room> rooms;
  std::vector<const void*> tensors;
  for (const std::size_t bytes : drawing_->bytes) {
    tensors.push_back(rooms.emplace_back(bytes).get());
    context_.zero(rooms.back().get(), bytes);
  }
  std::optional<Seconds> best;
  std::int64_t built = 0;
  for (std::int64_t plan = 0; plan < graph.get_execution_plan_count() && built < tried; ++plan) {
    std::int64_t bytes = 0;
    if (graph.build_plan_at_index(plan).is_bad()) continue;  // excluded, or not for this GPU
    if (graph.get_workspace_size_plan_at_index(plan, bytes).is_bad() || bytes > largest_workspace) continue;
    ++built;
    const Room workspace{std::size_t(bytes)};
    bool ran = true;
    const Seconds time =
        shortest_time(context_, [&] { ran = ran && run(tensors, plan, workspace.get()).is_good(); });
    if (!ran || (best && *best <= time)) continue;
    best = time;
    chosen_ = plan;
    workspace_ = std::size_t(bytes);
  }
  return best.has_value();
}

}  // namespace

std::string problem_with(GraphKind kind, const LocalLayer& layer, Precision precision, int architecture) {
  return draw(kind, layer, precision, architecture)->problem();
}

std::unique_ptr<Graph> make_graph(Context& context, GraphKind kind, const LocalLayer& layer) {
  auto drawing = draw(kind, layer, context.precision(), context.architecture());
  auto graph = std::make_unique<PlannedGraph>(context, std::move(drawing));
  if (!graph->choose()) return nullptr;
  return graph;
}

}  // namespace paradl::calibrate::cuda
