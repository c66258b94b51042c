#pragma once
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "paradl/core/quantity.hpp"
#include "paradl/spec/document.hpp"
#include "paradl/spec/override.hpp"
#include "paradl/spec/update_work.hpp"

namespace paradl {

/// How the sum of gradients travels, where it is not one ring for each group of PEs that share weights.
enum class GradientRoute { rings, leader };
inline constexpr std::array<std::string_view, 2> gradient_route_names{"rings", "leader"};
static_assert(names_every(GradientRoute::leader, gradient_route_names), "name every GradientRoute");

/// Along which way exchanges leave a GPU.
enum class Transport { gpu, host };
inline constexpr std::array<std::string_view, 2> transport_names{"gpu", "host"};
static_assert(names_every(Transport::host, transport_names), "name every Transport");

/// Which convolution algorithms a framework lets its library choose from. `best` is the default: what a
/// framework that times all of them finds.
struct ConvolutionPolicy {
  bool winograd = true;
  Bytes workspace{std::numeric_limits<double>::infinity()};
  friend bool operator==(const ConvolutionPolicy&, const ConvolutionPolicy&) = default;
};

/// `best`, `no-winograd`, or the largest workspace, such as `1GB`; nothing if it is none of these.
std::optional<ConvolutionPolicy> convolution_policy(const std::string& text);

/// When a vocabulary is padded: where the parts of `tensor` do not divide it, in any case, or not at all.
enum class VocabularyPadding { split, always, never };
inline constexpr std::array<std::string_view, 3> vocabulary_padding_names{"split", "always", "never"};
static_assert(names_every(VocabularyPadding::never, vocabulary_padding_names),
              "name every VocabularyPadding");

/// What a framework does differently from the ideal, each as a term of its own. The defaults are the ideal.
struct FrameworkTerms {
  bool convolutions_only = false;   // filter and channel split convolutions; the rest runs whole on every PE
  bool gathers_reduce = false;      // the backward pass of an allgather is a reduce-scatter
  bool one_extent = false;          // spatial cuts along the first extent only
  bool flat_rings = false;          // one ring through all GPUs of a group, in place of one on every level
  bool fused_kernels = false;       // norms in one kernel, dropout in that of the addition behind it
  bool gathers_by_tensor = false;   // ZeRO-3: one ring through one port for each weight tensor, ahead of its use
  bool scatters_transfers = false;  // PEs that all have what a stage passes on send a part each
  GradientRoute hybrid_gradients = GradientRoute::rings;  // of strategies with several axes
  Transport halos = Transport::gpu;                       // of everything that a spatial axis exchanges
  Transport staging = Transport::gpu;                     // of samples that one PE reads for others
  VocabularyPadding padding = VocabularyPadding::split;
  UpdateKernels update_kernels = UpdateKernels::fused;
  double vocabulary_multiple = 128;  // that a padded vocabulary has for each part of `tensor`

  Seconds split_layer;     // slices, copies and small kernels of one split layer, forward and backward
  Seconds tensor;          // to pack one weight tensor's gradient, scale and unpack it
  SecondsPerByte packing;  // and for each byte of gradients
  /// Of the host to start the kernels of one layer forward; backward it takes `host_backward` times as long.
  /// The GPU works behind it: a pass takes no less than the host needs for all its layers, and a little more
  /// where both need about as long.
  Seconds host;
  double host_backward = 1.6;
  /// Of an exchange of activations, besides what its bytes take: GPUs wait for the latest of them, hosts go on
  /// starting kernels.
  Seconds sync;
  Bytes accumulation;  // read and written to add one weight's gradient to those of earlier micro-batches
  double hidden_sums = 0;  // share of `tensor`'s backward exchanges behind products that add gradients up
  std::optional<Bandwidth> reader;  // of one process that reads and prepares samples; none: no bound
};

/// A framework as written: systems/frameworks/*.yaml.
struct FrameworkSpec {
  SourceText source;
  std::string name, summary, origin;
  // What it takes where nobody says otherwise.
  std::optional<std::string> precision, optimizer, overlap, reduction, convolutions, transport,
      prefetch;
  bool equal_stages = false;  // of a pipeline: as many blocks each, whatever those take
  FrameworkTerms terms;
};

/// Reads a framework, with values of the command line in place of the file's. SpecError lists what is wrong
/// with the file, UsageError what is wrong with an override.
FrameworkSpec read_framework(SourceText source, const std::vector<Override>& overrides = {});

/// One term of a framework, for people.
struct ListedTerm {
  std::string key;           // as in the file, `costs.host`
  std::string value, ideal;  // what it says, and what one says that costs nothing
  std::string_view meaning;
};
/// All terms, also those that are at their ideal value.
std::vector<ListedTerm> listed_terms(const FrameworkSpec& framework);

}  // namespace paradl
