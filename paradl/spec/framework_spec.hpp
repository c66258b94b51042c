#pragma once
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/core/quantity.hpp"
#include "paradl/spec/collective.hpp"
#include "paradl/spec/document.hpp"
#include "paradl/spec/override.hpp"
#include "paradl/spec/update_work.hpp"

namespace paradl {

/// How gradients are summed: one ring for each group of GPUs that share weights, or through a leader.
enum class GradientRoute { rings, leader };
inline constexpr std::array<std::string_view, 2> gradient_route_names{"rings", "leader"};
static_assert(names_every(GradientRoute::leader, gradient_route_names), "name every GradientRoute");

/// Whether exchanges go directly from GPU to GPU or through host memory.
enum class Transport { gpu, host };
inline constexpr std::array<std::string_view, 2> transport_names{"gpu", "host"};
static_assert(names_every(Transport::host, transport_names), "name every Transport");

/// The convolution algorithms that a framework lets its library choose from. `best`, the default, is what a
/// framework finds that times all of them.
struct ConvolutionPolicy {
  bool winograd = true;
  Bytes workspace{std::numeric_limits<double>::infinity()};
  friend bool operator==(const ConvolutionPolicy&, const ConvolutionPolicy&) = default;
};

/// Parses `best`, `no-winograd`, or the largest workspace, such as `1GB`; nothing if it is none of these.
std::optional<ConvolutionPolicy> convolution_policy(const std::string& text);

/// When a vocabulary is padded: if the parts of `tensor` do not divide it, always, or never.
enum class VocabularyPadding { split, always, never };
inline constexpr std::array<std::string_view, 3> vocabulary_padding_names{"split", "always", "never"};
static_assert(names_every(VocabularyPadding::never, vocabulary_padding_names),
              "name every VocabularyPadding");

/// The framework without terms of its own, which is used if none is named.
inline constexpr const char* ideal_framework = "ideal";
inline bool is_ideal(std::string_view framework) { return framework == ideal_framework; }

/// How a framework differs from the ideal one, term by term. The defaults are the ideal.
struct FrameworkTerms {
  bool convolutions_only = false;  // filter and channel split convolutions; the rest runs whole on every GPU
  bool gathers_reduce = false;     // the backward pass of an allgather is a reduce-scatter
  bool one_extent = false;         // spatial cuts along the first extent only
  bool flat_rings = false;         // one ring through all GPUs of a group instead of one on every level
  bool fused_kernels = false;      // norms in one kernel, dropout in the kernel of the addition after it
  bool gathers_by_tensor =
      false;  // ZeRO-3: one ring through one port for each weight tensor, ahead of its use
  bool scatters_transfers = false;  // GPUs that hold the same stage output send one part each
  GradientRoute hybrid_gradients = GradientRoute::rings;  // of strategies with several axes
  Transport halos = Transport::gpu;                       // of all exchanges along a spatial axis
  Transport staging = Transport::gpu;                     // of samples that one GPU reads for others
  VocabularyPadding padding = VocabularyPadding::split;
  UpdateKernels update_kernels = UpdateKernels::fused;
  double vocabulary_multiple = 128;  // a padded vocabulary is a multiple of this, for each part of `tensor`

  Seconds split_layer;     // for slices, copies and small kernels of one split layer, forward and backward
  Seconds tensor;          // to pack, scale and unpack one weight tensor's gradient
  SecondsPerByte packing;  // the same for each byte of gradients
  /// Host time to launch the kernels of one layer forward; backward it takes `host_backward` times as long.
  /// The GPU works in parallel: a pass takes at least as long as the host needs for all its layers, and a
  /// little longer where both need about the same time.
  Seconds host;
  double host_backward = 1.6;
  /// Added to each exchange of activations: GPUs wait for the slowest of them, while hosts continue to launch
  /// kernels.
  Seconds sync;
  Bytes accumulation;      // memory traffic to add one weight's gradient to those of earlier micro-batches
  double hidden_sums = 0;  // share of `tensor`'s backward exchanges that weight-gradient products overlap
  std::optional<Bandwidth> reader;  // of one process that reads and prepares samples; none: unlimited
};

/// A framework as written: systems/frameworks/*.yaml.
struct FrameworkSpec {
  SourceText source;
  std::string name, summary, origin;
  // Defaults of the command-line options of the same name.
  std::optional<Precision> precision;
  std::optional<Optimizer> optimizer;
  std::optional<bool> overlap, prefetch;
  std::optional<Reduction> reduction;
  std::optional<Transport> transport;
  std::optional<ConvolutionPolicy> convolutions;
  std::string convolutions_text = "best";  // as written
  bool equal_stages = false;  // of a pipeline: equal numbers of blocks instead of equal times
  FrameworkTerms terms;
};

/// Reads a framework; overrides from the command line replace values of the file. SpecError lists the
/// mistakes in the file, UsageError those in an override.
FrameworkSpec read_framework(SourceText source, const std::vector<Override>& overrides = {});

/// One term of a framework, as text.
struct ListedTerm {
  std::string key;           // as in the file, `costs.host`
  std::string value, ideal;  // this framework's value, and the ideal one
  std::string_view meaning;
};
/// All terms, including those that have their ideal value.
std::vector<ListedTerm> listed_terms(const FrameworkSpec& framework);

}  // namespace paradl
