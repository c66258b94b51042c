// Layers that run in our own kernels: all except convolution, matrix product and attention.
#include <cmath>

#include "calibrate/cuda/work.hpp"

namespace paradl::calibrate::cuda {
namespace {

/// The passes of one operation; nullptr if there is nothing to do.
struct Passes {
  using Function = void (*)(Context&, const LocalLayer&, const LayerData&);
  Function forward = nullptr, backward_data = nullptr, backward_weights = nullptr;
  Function forward_statistics = nullptr, backward_statistics = nullptr;
  std::size_t (*kept_items)(const LocalLayer&) = nullptr;
};

std::size_t bytes_of(const Context& c, std::int64_t items) { return std::size_t(items) * c.item_bytes(); }

// Element-wise layers. `keeps` is the tensor, x or y, from which the slope is computed.

struct ActivationKernels {
  const char *forward, *backward;
  Keeps keeps;
};
constexpr ActivationKernels relu{"relu_forward", "relu_backward", Keeps::y};
constexpr ActivationKernels gelu{"gelu_forward", "gelu_backward", Keeps::x};
constexpr ActivationKernels silu{"silu_forward", "silu_backward", Keeps::x};
constexpr ActivationKernels hyperbolic{"tanh_forward", "tanh_backward", Keeps::y};
constexpr ActivationKernels sigmoid{"sigmoid_forward", "sigmoid_backward", Keeps::y};

template <const ActivationKernels& kernels>
constexpr Passes activation{
    .forward =
        [](Context& c, const LocalLayer& l, const LayerData& d) {
          c.launch(kernels.forward, l.y_items(), l.y_items(), c.in(d.x[0]), c.out(d.y));
        },
    .backward_data =
        [](Context& c, const LocalLayer& l, const LayerData& d) {
          if (!d.dx[0]) return;
          const void* from = kernels.keeps == Keeps::x ? c.in(d.x[0]) : c.in(d.y);
          c.launch(kernels.backward, l.y_items(), l.y_items(), from, c.in(d.dy), c.out(d.dx[0]));
        }};

constexpr Passes gate{.forward =
                          [](Context& c, const LocalLayer& l, const LayerData& d) {
                            c.launch("gate_forward", l.y_items(), l.y_items(), c.in(d.x[0]), c.out(d.y));
                          },
                      .backward_data =
                          [](Context& c, const LocalLayer& l, const LayerData& d) {
                            if (d.dx[0])
                              c.launch("gate_backward", l.y_items(), l.y_items(), c.in(d.x[0]), c.in(d.dy),
                                       c.out(d.dx[0]));
                          }};

constexpr Passes softmax{.forward =
                             [](Context& c, const LocalLayer& l, const LayerData& d) {
                               const std::int64_t rows = l.samples * l.x_positions();
                               c.launch_rows("softmax_forward", rows, rows, l.x_channels, std::int64_t{0},
                                             c.in(d.x[0]), c.out(d.y));
                             },
                         .backward_data =
                             [](Context& c, const LocalLayer& l, const LayerData& d) {
                               if (!d.dx[0]) return;
                               const std::int64_t rows = l.samples * l.x_positions();
                               c.launch_rows("softmax_backward", rows, rows, l.x_channels, c.in(d.y),
                                             c.in(d.dy), c.out(d.dx[0]));
                             }};

// Layers with little or no computation. Dropout (at a rate of zero) and the loss (whose gradient comes from
// outside) are copies.

void copy_gradient(Context& c, const LocalLayer& l, const LayerData& d) {
  for (float* dx : d.dx)
    if (dx) c.move(c.out(dx), c.in(d.dy), bytes_of(c, l.y_items()));
}

constexpr Passes copy{
    .forward = [](Context& c, const LocalLayer& l,
                  const LayerData& d) { c.move(c.out(d.y), c.in(d.x[0]), bytes_of(c, l.y_items())); },
    .backward_data = copy_gradient};

constexpr Passes add{.forward =
                         [](Context& c, const LocalLayer& l, const LayerData& d) {
                           const std::int64_t n = l.y_items();
                           if (d.x.size() == 1) return c.move(c.out(d.y), c.in(d.x[0]), bytes_of(c, n));
                           c.launch("add_two", n, n, c.in(d.x[0]), c.in(d.x[1]), c.out(d.y));
                           for (std::size_t i = 2; i < d.x.size(); ++i)
                             c.launch("add_two", n, n, c.in(d.y), c.in(d.x[i]), c.out(d.y));
                         },
                     .backward_data = copy_gradient};

/// `rows` rows of `width` items each, `to_stride` and `from_stride` items apart.
void copy_rows(Context& c, std::int64_t rows, std::int64_t width, const void* from, std::int64_t from_stride,
               void* to, std::int64_t to_stride) {
  const RegionSizes sizes{
      .length = {1, 1, 1, rows, width}, .to = {0, 0, 0, to_stride, 1}, .from = {0, 0, 0, from_stride, 1}};
  // Both are in storage, which for fp32 is the same as wide.
  c.launch("copy_region", rows * width, rows * width, sizes, from, std::int64_t{0}, to, std::int64_t{0},
           std::int64_t{0});
}
const void* ahead(const Context& c, const void* p, std::int64_t items) {
  return static_cast<const char*>(p) + bytes_of(c, items);
}
void* ahead(const Context& c, void* p, std::int64_t items) {
  return static_cast<char*>(p) + bytes_of(c, items);
}

constexpr Passes concat{.forward =
                            [](Context& c, const LocalLayer& l, const LayerData& d) {
                              std::int64_t first = 0;
                              for (std::size_t i = 0; i < d.x.size(); ++i) {
                                const std::int64_t width = d.x_channels[i];
                                copy_rows(c, l.samples * l.y_positions(), width, c.in(d.x[i]), width,
                                          ahead(c, c.out(d.y), first), l.y_channels);
                                first += width;
                              }
                            },
                        .backward_data =
                            [](Context& c, const LocalLayer& l, const LayerData& d) {
                              std::int64_t first = 0;
                              for (std::size_t i = 0; i < d.dx.size(); ++i) {
                                const std::int64_t width = d.x_channels[i];
                                if (d.dx[i])
                                  copy_rows(c, l.samples * l.y_positions(), width,
                                            ahead(c, c.in(d.dy), first), l.y_channels, c.out(d.dx[i]), width);
                                first += width;
                              }
                            }};

constexpr Passes flatten{.forward =
                             [](Context& c, const LocalLayer& l, const LayerData& d) {
                               c.launch("transpose", l.x_items(), l.x_items(), l.x_positions(), l.x_channels,
                                        c.in(d.x[0]), c.out(d.y));
                             },
                         .backward_data =
                             [](Context& c, const LocalLayer& l, const LayerData& d) {
                               if (d.dx[0])
                                 c.launch("transpose", l.x_items(), l.x_items(), l.x_channels,
                                          l.x_positions(), c.in(d.dy), c.out(d.dx[0]));
                             }};

constexpr Passes select{.forward =
                            [](Context& c, const LocalLayer& l, const LayerData& d) {
                              copy_rows(c, l.samples, l.x_channels, c.in(d.x[0]),
                                        l.x_positions() * l.x_channels, c.out(d.y), l.x_channels);
                            },
                        .backward_data =
                            [](Context& c, const LocalLayer& l, const LayerData& d) {
                              if (!d.dx[0]) return;
                              c.zero(c.out(d.dx[0]), bytes_of(c, l.x_items()));
                              copy_rows(c, l.samples, l.x_channels, c.in(d.dy), l.x_channels, c.out(d.dx[0]),
                                        l.x_positions() * l.x_channels);
                            }};

// Pooling.

WindowSizes window(const LocalLayer& l) {
  return {.channels = l.y_channels,
          .x = l.x_extent,
          .y = l.y_extent,
          .kernel = l.kernel,
          .stride = l.stride,
          .dilation = l.dilation,
          .padding = l.padding};
}
float share(const LocalLayer& l) { return 1.0f / float(l.kernel[0] * l.kernel[1] * l.kernel[2]); }

constexpr Passes max_pool{.forward =
                              [](Context& c, const LocalLayer& l, const LayerData& d) {
                                c.launch("max_pool_forward", l.y_items(), l.y_items(), window(l),
                                         c.in(d.x[0]), c.out(d.y), c.wide(d.kept));
                              },
                          .backward_data =
                              [](Context& c, const LocalLayer& l, const LayerData& d) {
                                if (d.dx[0])
                                  c.launch("max_pool_backward", l.x_items(), l.x_items(), window(l),
                                           c.in(d.dy), c.wide(d.kept), c.out(d.dx[0]));
                              },
                          .kept_items = [](const LocalLayer& l) { return std::size_t(l.y_items()); }};

constexpr Passes avg_pool{.forward =
                              [](Context& c, const LocalLayer& l, const LayerData& d) {
                                c.launch("avg_pool_forward", l.y_items(), l.y_items(), window(l), share(l),
                                         c.in(d.x[0]), c.out(d.y));
                              },
                          .backward_data =
                              [](Context& c, const LocalLayer& l, const LayerData& d) {
                                if (d.dx[0])
                                  c.launch("avg_pool_backward", l.x_items(), l.x_items(), window(l), share(l),
                                           c.in(d.dy), c.out(d.dx[0]));
                              }};

constexpr Passes global_pool{.forward =
                                 [](Context& c, const LocalLayer& l, const LayerData& d) {
                                   const std::int64_t n = l.samples * l.x_channels;
                                   c.launch("global_pool_forward", n, n, l.x_positions(), l.x_channels,
                                            c.in(d.x[0]), c.out(d.y));
                                 },
                             .backward_data =
                                 [](Context& c, const LocalLayer& l, const LayerData& d) {
                                   if (d.dx[0])
                                     c.launch("global_pool_backward", l.x_items(), l.x_items(),
                                              l.x_positions(), l.x_channels, c.in(d.dy), c.out(d.dx[0]));
                                 }};

// For each channel batch norm keeps the mean, r, and this rank's sums of dy and of dy z, because weight
// gradients are those of this rank's samples.

constexpr Passes batch_norm{
    .forward =
        [](Context& c, const LocalLayer& l, const LayerData& d) {
          c.launch("batch_moments", l.x_channels, l.x_channels, float(d.counted), c.wide(d.statistics),
                   c.wide(d.kept));
          c.launch("batch_forward", l.y_items(), l.y_items(), l.x_channels, c.in(d.x[0]), c.wide(d.kept),
                   c.in(d.w[0]), c.in(d.w[1]), c.out(d.y));
        },
    .backward_data =
        [](Context& c, const LocalLayer& l, const LayerData& d) {
          if (d.dx[0])
            c.launch("batch_backward", l.x_items(), l.x_items(), l.x_channels, float(d.counted), c.in(d.x[0]),
                     c.in(d.dy), c.wide(d.kept), c.wide(d.statistics), c.in(d.w[0]), c.out(d.dx[0]));
        },
    .backward_weights =
        [](Context& c, const LocalLayer& l, const LayerData& d) {
          const float* kept = c.wide(d.kept);
          const auto channels = std::size_t(l.x_channels);
          if (d.dw[1]) c.convert(channels, kept + 2 * channels, true, c.out(d.dw[1]), false);
          if (d.dw[0]) c.convert(channels, kept + 3 * channels, true, c.out(d.dw[0]), false);
        },
    .forward_statistics =
        [](Context& c, const LocalLayer& l, const LayerData& d) {
          const std::int64_t rows = l.samples * l.x_positions();
          const Chunks chunks(c, rows, l.x_channels);
          float* statistics = c.wide(d.statistics);
          c.zero(statistics, 2 * std::size_t(l.x_channels) * sizeof(float));
          c.launch_rows("batch_sums", chunks.blocks, rows, l.x_channels, chunks.count, c.in(d.x[0]),
                        statistics);
        },
    .backward_statistics =
        [](Context& c, const LocalLayer& l, const LayerData& d) {
          const std::int64_t rows = l.samples * l.x_positions();
          const Chunks chunks(c, rows, l.x_channels);
          float *statistics = c.wide(d.statistics), *kept = c.wide(d.kept);
          const std::size_t bytes = 2 * std::size_t(l.x_channels) * sizeof(float);
          c.zero(statistics, bytes);
          c.launch_rows("batch_backward_sums", chunks.blocks, rows, l.x_channels, chunks.count, c.in(d.x[0]),
                        c.in(d.dy), kept, statistics);
          c.move(kept + 2 * l.x_channels, statistics, bytes);
        },
    .kept_items = [](const LocalLayer& l) { return 4 * std::size_t(l.x_channels); }};

// The other norms: which items are normalised together.

BlockSizes by_position(const LocalLayer& l) { return {l.samples * l.x_positions(), 1, 1, l.x_channels, 1}; }
BlockSizes by_position_uncentred(const LocalLayer& l) {
  return {l.samples * l.x_positions(), 1, 1, l.x_channels, 0};
}
BlockSizes by_group(const LocalLayer& l) {
  return {l.samples, l.x_positions(), l.groups, l.x_channels / l.groups, 1};
}

template <BlockSizes (*blocks_of)(const LocalLayer&)>
constexpr Passes norm{.forward =
                          [](Context& c, const LocalLayer& l, const LayerData& d) {
                            const BlockSizes b = blocks_of(l);
                            c.launch_rows("norm_forward", b.samples * b.groups, b, c.in(d.x[0]), c.in(d.w[0]),
                                          c.in(d.w[1]), c.out(d.y), c.wide(d.kept));
                          },
                      .backward_data =
                          [](Context& c, const LocalLayer& l, const LayerData& d) {
                            if (!d.dx[0]) return;
                            const BlockSizes b = blocks_of(l);
                            c.launch_rows("norm_backward", b.samples * b.groups, b, c.in(d.x[0]), c.in(d.dy),
                                          c.wide(d.kept), c.in(d.w[0]), c.out(d.dx[0]));
                          },
                      .backward_weights =
                          [](Context& c, const LocalLayer& l, const LayerData& d) {
                            if (!d.dw[0]) return;
                            const Chunks chunks(c, l.samples * l.x_positions(), l.x_channels);
                            Sums factors(c, d.dw[0], l.x_channels), addends(c, d.dw[1], l.x_channels);
                            c.launch_rows("norm_weight_sums", chunks.blocks, blocks_of(l), chunks.count,
                                          c.in(d.x[0]), c.in(d.dy), c.wide(d.kept), factors.get(),
                                          addends.get());
                            factors.store();
                            addends.store();
                          },
                      .kept_items =
                          [](const LocalLayer& l) {
                            const BlockSizes b = blocks_of(l);
                            return 2 * std::size_t(b.samples * b.groups);
                          }};

// Layers whose weights are a table. Token ids stay in the width in which they were written.

constexpr Passes embedding{
    .forward =
        [](Context& c, const LocalLayer& l, const LayerData& d) {
          Memory& memory = c.memory();
          c.launch("embedding_forward", l.y_items(), l.y_items(), l.y_channels, d.first_row, l.rows,
                   memory.as_is(d.x[0]), std::int64_t(memory.is_wide(d.x[0])), c.in(d.w[0]), c.out(d.y));
        },
    .backward_data =
        [](Context& c, const LocalLayer& l, const LayerData& d) {
          if (d.dx[0]) c.zero(c.out(d.dx[0]), bytes_of(c, l.x_items()));
        },
    .backward_weights =
        [](Context& c, const LocalLayer& l, const LayerData& d) {
          if (!d.dw[0]) return;
          Memory& memory = c.memory();
          Sums sums(c, d.dw[0], l.rows * l.y_channels);
          c.launch("embedding_sums", l.y_items(), l.y_items(), l.y_channels, d.first_row, l.rows,
                   memory.as_is(d.x[0]), std::int64_t(memory.is_wide(d.x[0])), c.in(d.dy), sums.get());
          sums.store();
        }};

constexpr Passes position{.forward =
                              [](Context& c, const LocalLayer& l, const LayerData& d) {
                                c.launch("position_forward", l.y_items(), l.y_items(), l.x_positions(),
                                         l.x_channels, d.first_row, l.rows, c.in(d.x[0]), c.in(d.w[0]),
                                         c.out(d.y));
                              },
                          .backward_data = copy_gradient,
                          .backward_weights =
                              [](Context& c, const LocalLayer& l, const LayerData& d) {
                                const std::int64_t n = l.rows * l.x_channels;
                                if (d.dw[0])
                                  c.launch("position_weights", n, n, l.samples, l.x_positions(), l.x_channels,
                                           d.first_row, l.rows, c.in(d.dy), c.out(d.dw[0]));
                              }};

constexpr Passes tokens{
    .forward =
        [](Context& c, const LocalLayer& l, const LayerData& d) {
          const std::int64_t front = l.rows * l.x_channels, rest = l.x_positions() * l.x_channels,
                             n = l.samples * (front + rest);
          c.launch("tokens_forward", n, n, front, rest, c.in(d.w[0]), c.in(d.x[0]), c.out(d.y));
        },
    .backward_data =
        [](Context& c, const LocalLayer& l, const LayerData& d) {
          if (!d.dx[0]) return;
          const std::int64_t front = l.rows * l.x_channels, rest = l.x_positions() * l.x_channels;
          copy_rows(c, l.samples, rest, ahead(c, c.in(d.dy), front), front + rest, c.out(d.dx[0]), rest);
        },
    .backward_weights =
        [](Context& c, const LocalLayer& l, const LayerData& d) {
          const std::int64_t front = l.rows * l.x_channels, rest = l.x_positions() * l.x_channels;
          if (d.dw[0]) c.launch("tokens_weights", front, front, rest, l.samples, c.in(d.dy), c.out(d.dw[0]));
        }};

// clang-format off
constexpr std::array<const Passes*, std::size_t(Op::loss) + 1> passes_of{
    nullptr, nullptr,                                               // conv, fc
    &embedding, &position,
    &max_pool, &avg_pool, &global_pool,
    &batch_norm, &norm<by_position>, &norm<by_group>, &norm<by_position_uncentred>,
    &activation<relu>, &activation<gelu>, &activation<silu>, &activation<hyperbolic>, &activation<sigmoid>,
    &gate,
    &copy,                                                          // dropout
    &softmax, nullptr,                                              // attention
    &add, &concat, &flatten, &tokens, &select,
    &copy,                                                          // rotary: a copy takes as long
    &copy,                                                          // loss
};
// clang-format on

class SimpleWork : public CudaWork {
 public:
  SimpleWork(std::shared_ptr<Context> context, const LocalLayer& layer, const Passes& passes)
      : CudaWork(std::move(context), layer), passes_(passes) {}

  void forward(const LayerData& data) override { run(passes_.forward, data); }
  void backward_data(const LayerData& data) override { run(passes_.backward_data, data); }
  void backward_weights(const LayerData& data) override { run(passes_.backward_weights, data); }
  void forward_statistics(const LayerData& data) override { run(passes_.forward_statistics, data); }
  void backward_statistics(const LayerData& data) override { run(passes_.backward_statistics, data); }
  std::size_t kept_items() const override { return passes_.kept_items ? passes_.kept_items(layer()) : 0; }

 private:
  void run(Passes::Function function, const LayerData& data) {
    const Pass pass(context());
    if (function) function(context(), layer(), data);
  }

  const Passes& passes_;
};

}  // namespace

std::unique_ptr<LayerWork> prepare_simple(std::shared_ptr<Context> context, const LocalLayer& layer) {
  const Passes* passes = passes_of[std::size_t(layer.op)];
  if (!passes) return nullptr;
  return std::make_unique<SimpleWork>(std::move(context), layer, *passes);
}

}  // namespace paradl::calibrate::cuda
