#include "calibrate/kernels/deepbench.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "calibrate/kernels/csv.hpp"

namespace paradl::calibrate {
namespace {

bool is_of(const CsvRow& row, const BenchSet& set) {
  return row.text("device") == set.device && row.text("precision") == set.precision &&
         row.text("software").starts_with(set.software);
}

}  // namespace

double modelled_seconds(const KernelDevice& device, const KernelTiming& t) {
  switch (t.kind) {
    case KernelClass::product:
      return product_time(device, t.m, t.n, t.k).base();
    case KernelClass::forward:
      return convolution_time(device, t.convolution, ConvolutionPass::forward).base();
    case KernelClass::backward_data:
      return convolution_time(device, t.convolution, ConvolutionPass::backward_data).base();
    default:
      return convolution_time(device, t.convolution, ConvolutionPass::backward_weights).base();
  }
}

std::vector<KernelTiming> read_deepbench(const std::string& folder, const BenchSet& set) {
  std::vector<KernelTiming> all;
  for (const CsvRow& row : read_rows(folder + "/deepbench_gemm.csv")) {
    if (!is_of(row, set) || !row.has("time_ms")) continue;
    KernelTiming t{.m = row.positive("M"), .n = row.positive("N"), .k = row.positive("K")};
    t.seconds = 1e-3 * row.positive("time_ms");
    t.shape = fmt::format("{}x{}x{}", t.m, t.n, t.k);
    all.push_back(t);
  }
  for (const CsvRow& row : read_rows(folder + "/deepbench_conv.csv")) {
    if (!is_of(row, set)) continue;
    Convolution c{
        .samples = row.positive("N"), .x_channels = row.positive("C"), .y_channels = row.positive("K")};
    c.x = {row.positive("H"), row.positive("W"), 1};
    c.y = {row.positive("out_h"), row.positive("out_w"), 1};
    c.kernel = {row.positive("R_filter_h"), row.positive("S_filter_w"), 1};
    c.stride = {row.positive("stride_h"), row.positive("stride_w"), 1};
    const std::string shape = fmt::format("{}x{}x{}->{} {}x{}/{}x{}", c.x_channels, c.x[0], c.x[1],
                                          c.y_channels, c.kernel[0], c.kernel[1], c.stride[0], c.stride[1]);
    for (const auto& [kind, column] : {std::pair{KernelClass::forward, "fwd_ms"},
                                       {KernelClass::backward_data, "bwd_data_ms"},
                                       {KernelClass::backward_weights, "bwd_weight_ms"}}) {
      if (!row.has(column) || !(row.number(column) > 0)) continue;
      KernelTiming t{.kind = kind, .convolution = c, .seconds = 1e-3 * row.number(column), .shape = shape};
      all.push_back(t);
    }
  }
  for (std::size_t kind = 0; kind < kernel_class_names.size(); ++kind)
    if (std::ranges::none_of(all, [&](const KernelTiming& t) { return t.kind == KernelClass(kind); }))
      throw UsageError(fmt::format("{} has no timings of {} on {}, {}, {}", folder, kernel_class_names[kind],
                                   set.device, set.precision, set.software),
                       "every kind of kernel needs timings");
  return all;
}

}  // namespace paradl::calibrate
