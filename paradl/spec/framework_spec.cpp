#include "paradl/spec/framework_spec.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/spec/reader.hpp"

namespace paradl {
namespace {

/// One of a few words; the first is what a file that says nothing means.
std::size_t choice(Reader& map, const std::string& key, const std::vector<std::string>& words) {
  const std::string word = map.text(key, words.front());
  const auto found = std::ranges::find(words, word);
  if (found != words.end()) return std::size_t(found - words.begin());
  map.wrong(key, fmt::format("`{}` cannot be `{}`", key, word),
            fmt::format("write {}", fmt::join(words, " or ")));
  return 0;
}

std::optional<std::string> named(Reader& map, const std::string& key, const std::vector<std::string>& words) {
  if (!map.has(key)) return {};
  return words[choice(map, key, words)];
}

template <std::size_t N>
std::vector<std::string> list(const std::array<std::string_view, N>& names) {
  return {names.begin(), names.end()};
}

void read_costs(Reader& framework, Problems& problems, FrameworkTerms& terms) {
  if (!framework.has("costs")) return;
  Reader map(framework.node("costs"), problems, "`costs`");
  const auto time = [&](const char* key) {
    return map.has(key) ? map.quantity_or_zero<Seconds>(key) : Seconds{};
  };
  terms.split_layer = time("split-layer");
  terms.tensor = time("tensor");
  terms.leader_tensor = map.has("leader-tensor") ? time("leader-tensor") : terms.tensor;
  if (const auto rate = map.optional<Bandwidth>("packing")) terms.packing = 1.0 / *rate;
  terms.host = time("host");
  terms.sync = time("sync");
  if (const auto bytes = map.optional<Bytes>("accumulation")) terms.accumulation = *bytes;
  map.finish();
}

}  // namespace

FrameworkSpec read_framework(SourceText source) {
  const YAML::Node root = parse_yaml(source);
  Problems problems(source);
  Reader map(root, problems, "a framework file");
  FrameworkSpec spec;
  spec.name = map.text("name");
  spec.summary = map.text("summary", "");
  spec.origin = map.text("source", "");
  spec.precision = named(map, "precision", list(precision_names));
  spec.optimizer = named(map, "optimizer", list(optimizer_names));
  spec.overlap = named(map, "overlap", {"on", "off"});
  spec.reduction = named(map, "reduction", {"allreduce", "reduce-scatter"});
  spec.terms.convolutions_only = choice(map, "split", {"all", "convolutions"}) == 1;
  spec.terms.gathers_reduce = choice(map, "backward-of-allgather", {"slice", "reduce-scatter"}) == 1;
  spec.terms.one_extent = choice(map, "spatial-cut", {"any", "first"}) == 1;
  spec.equal_stages = choice(map, "stages", {"balanced", "equal"}) == 1;
  spec.terms.flat_rings = choice(map, "rings", {"levels", "flat"}) == 1;
  spec.terms.last_stage_keeps = choice(map, "last-stage", {"recomputes", "keeps"}) == 1;
  spec.terms.fused_kernels = choice(map, "kernels", {"plain", "fused"}) == 1;
  spec.terms.scatters_transfers = choice(map, "stage-transfers", {"whole", "scattered"}) == 1;
  spec.terms.hidden_sums = map.has("hidden-sums") ? map.number("hidden-sums", 0, 1) : 0;
  spec.terms.hybrid_gradients = GradientRoute(choice(map, "hybrid-gradients", list(gradient_route_names)));
  spec.terms.halos = Transport(choice(map, "halos", list(transport_names)));
  read_costs(map, problems, spec.terms);
  map.finish();
  problems.raise();
  spec.source = std::move(source);
  return spec;
}

}  // namespace paradl
