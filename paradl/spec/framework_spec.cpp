#include "paradl/spec/framework_spec.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/core/format.hpp"
#include "paradl/core/units.hpp"
#include "paradl/spec/override.hpp"
#include "paradl/spec/reader.hpp"

namespace paradl {
namespace {

using Words = std::vector<std::string>;

template <std::size_t N>
Words list(const std::array<std::string_view, N>& names) {
  return {names.begin(), names.end()};
}

/// A framework's default for the command-line option of the same name; one of a few words.
struct DefaultTerm {
  const char* key;
  Words words;
  std::optional<std::size_t> (*get)(const FrameworkSpec&);
  void (*set)(FrameworkSpec&, std::size_t);
  std::string_view meaning;
  std::string_view ideal;
};

/// Words of a switch: `on` comes first, because it is the ideal.
const Words& switch_words() {
  static const Words words{"on", "off"};
  return words;
}

template <auto Member>
DefaultTerm default_term(const char* key, const Words& words, std::string_view meaning,
                         std::string_view ideal = {}) {
  using Value = typename std::remove_cvref_t<decltype(std::declval<FrameworkSpec&>().*Member)>::value_type;
  constexpr bool is_switch = std::is_same_v<Value, bool>;
  return {key,
          words,
          [](const FrameworkSpec& f) -> std::optional<std::size_t> {
            if (!(f.*Member)) return {};
            return is_switch ? std::size_t(*(f.*Member) == Value{}) : std::size_t(*(f.*Member));
          },
          [](FrameworkSpec& f, std::size_t word) { f.*Member = is_switch ? Value(word == 0) : Value(word); },
          meaning,
          ideal};
}

const std::vector<DefaultTerm>& default_terms() {
  using F = FrameworkSpec;
  static const std::vector<DefaultTerm> table{
      default_term<&F::precision>("precision", list(precision_names), "of weights and activations",
                                  "as asked"),
      default_term<&F::optimizer>("optimizer", list(optimizer_names), "that updates the weights", "as asked"),
      default_term<&F::overlap>("overlap", switch_words(), "gradients are sent during the backward pass"),
      default_term<&F::reduction>("reduction", list(reduction_names),
                                  "operation that sums partial results (filter's backward pass)"),
      default_term<&F::transport>("transport", list(transport_names), "exchanges pass through host memory"),
      default_term<&F::prefetch>("prefetch", switch_words(),
                                 "samples are read during the previous iteration"),
  };
  return table;
}

/// A term that is one of a few words; the first is the ideal one.
struct ChoiceTerm {
  const char* key;
  Words words;
  std::size_t (*get)(const FrameworkTerms&);
  void (*set)(FrameworkTerms&, std::size_t);
  std::string_view meaning;
};

template <auto Member>
ChoiceTerm choice_term(const char* key, Words words, std::string_view meaning) {
  using Value = std::remove_cvref_t<decltype(std::declval<FrameworkTerms&>().*Member)>;
  return {key, std::move(words), [](const FrameworkTerms& t) { return std::size_t(t.*Member); },
          [](FrameworkTerms& t, std::size_t word) { t.*Member = Value(word); }, meaning};
}

const std::vector<ChoiceTerm>& choice_terms() {
  using T = FrameworkTerms;
  static const std::vector<ChoiceTerm> table{
      choice_term<&T::convolutions_only>(
          "split", {"all", "convolutions"},
          "layers that filter and channel split; others run whole on every GPU"),
      choice_term<&T::gathers_reduce>("backward-of-allgather", {"slice", "reduce-scatter"},
                                      "backward pass of an allgather: take a slice, or reduce-scatter"),
      choice_term<&T::one_extent>("spatial-cut", {"any", "first"}, "extents along which spatial may split"),
      choice_term<&T::flat_rings>("rings", {"levels", "flat"},
                                  "one ring per level, or one flat ring through all GPUs of a group"),
      choice_term<&T::hybrid_gradients>("hybrid-gradients", list(gradient_route_names),
                                        "hybrid strategies: every GPU takes part, or one leader per node"),
      choice_term<&T::halos>("halos", list(transport_names),
                             "route of halo exchanges: GPU to GPU, or through the host"),
      choice_term<&T::staging>("staging", list(transport_names),
                               "route of samples that one GPU reads for others"),
      choice_term<&T::scatters_transfers>("stage-transfers", {"whole", "scattered"},
                                          "to the next stage: in full, or one part per tensor-parallel GPU"),
      choice_term<&T::gathers_by_tensor>("weight-gathers", {"rings", "by-tensor"},
                                         "ZeRO-3: all weights at once, or one tensor at a time (one port)"),
      choice_term<&T::fused_kernels>("kernels", {"plain", "fused"},
                                     "modelled times: fused norms, and dropout fused with additions"),
      choice_term<&T::update_kernels>("optimizer-kernels", list(update_kernel_names),
                                      "one kernel per weight tensor, or one per optimizer operation"),
      choice_term<&T::padding>("vocabulary-padding", list(vocabulary_padding_names),
                               "pad if tensor does not divide it, always, or never"),
  };
  return table;
}

/// How a pipeline divides its layers into stages.
const Words& stage_words() {
  static const Words words{"balanced", "equal"};
  return words;
}

/// A term that is a quantity; the ideal value is zero.
struct CostTerm {
  const char* key;
  void (*read)(Reader&, const char*, FrameworkTerms&);
  std::string (*value)(const FrameworkTerms&);
  std::string_view meaning;
};

template <Seconds FrameworkTerms::*Member>
CostTerm time_term(const char* key, std::string_view meaning) {
  return {key,
          [](Reader& map, const char* name, FrameworkTerms& terms) {
            terms.*Member = map.quantity_or_zero<Seconds>(name);
          },
          [](const FrameworkTerms& terms) { return text(terms.*Member); }, meaning};
}

const std::vector<CostTerm>& cost_terms() {
  using T = FrameworkTerms;
  static const std::vector<CostTerm> table{
      time_term<&T::split_layer>("split-layer",
                                 "time for slices, copies and small kernels of one split layer"),
      time_term<&T::tensor>("tensor", "time to pack, scale and unpack one weight tensor's gradient"),
      {"packing",
       [](Reader& map, const char* key, FrameworkTerms& terms) {
         terms.packing = 1.0 / map.quantity<Bandwidth>(key);
       },
       [](const FrameworkTerms& terms) {
         return terms.packing > SecondsPerByte{} ? text(1.0 / terms.packing) : std::string("none");
       },
       "rate at which gradients are packed"},
      time_term<&T::host>("host", "host time to launch one layer's kernels"),
      time_term<&T::sync>("sync", "wait for the slowest GPU at each exchange of activations"),
      {"accumulation",
       [](Reader& map, const char* key, FrameworkTerms& terms) {
         terms.accumulation = map.quantity_or_zero<Bytes>(key);
       },
       [](const FrameworkTerms& terms) { return fmt::format("{:g} B", terms.accumulation.base()); },
       "memory traffic to accumulate one weight's gradient"},
      {"reader",
       [](Reader& map, const char* key, FrameworkTerms& terms) {
         terms.reader = map.quantity<Bandwidth>(key);
       },
       [](const FrameworkTerms& terms) { return terms.reader ? text(*terms.reader) : std::string("none"); },
       "rate at which one process reads and prepares samples"},
  };
  return table;
}

/// One of a few words; the first is the default.
std::size_t choice(Reader& map, const std::string& key, const Words& words) {
  const std::string word = map.text(key, words.front());
  const auto found = std::ranges::find(words, word);
  if (found != words.end()) return std::size_t(found - words.begin());
  map.wrong(key, fmt::format("`{}` cannot be `{}`", key, word),
            fmt::format("write {}", fmt::join(words, " or ")));
  return 0;
}

void read_costs(Reader& framework, Problems& problems, FrameworkTerms& terms) {
  if (!framework.has("costs")) return;
  Reader map(framework.node("costs"), problems, "`costs`");
  for (const CostTerm& term : cost_terms())
    if (map.has(term.key)) term.read(map, term.key, terms);
  map.finish();
}

FrameworkSpec read(SourceText source, const YAML::Node& root) {
  Problems problems(source);
  Reader map(root, problems, "a framework file");
  FrameworkSpec spec;
  spec.name = map.text("name");
  spec.summary = map.text("summary", "");
  spec.origin = map.text("source", "");
  for (const DefaultTerm& term : default_terms())
    if (map.has(term.key)) term.set(spec, choice(map, term.key, term.words));
  if (map.has("convolutions")) {
    spec.convolutions_text = map.text("convolutions");
    spec.convolutions = convolution_policy(spec.convolutions_text);
    if (!spec.convolutions)
      map.wrong("convolutions", fmt::format("`convolutions` cannot be `{}`", spec.convolutions_text),
                "write best, no-winograd, or the largest workspace such as 1 GB");
  }
  for (const ChoiceTerm& term : choice_terms()) term.set(spec.terms, choice(map, term.key, term.words));
  spec.terms.vocabulary_multiple = map.whole("vocabulary-multiple", 1, 1e6, 128.0);
  spec.terms.hidden_sums = map.number("hidden-sums", 0, 1, 0.0);
  spec.equal_stages = choice(map, "stages", stage_words()) == 1;
  read_costs(map, problems, spec.terms);
  map.finish();
  problems.raise();
  spec.source = std::move(source);
  return spec;
}

}  // namespace

std::optional<ConvolutionPolicy> convolution_policy(const std::string& text) {
  if (text == "best") return ConvolutionPolicy{};
  if (text == "no-winograd") return ConvolutionPolicy{.winograd = false};
  if (const auto workspace = parse<Bytes>(text)) return ConvolutionPolicy{.workspace = *workspace};
  return {};
}

FrameworkSpec read_framework(SourceText source, const std::vector<Override>& overrides) {
  FrameworkSpec spec = read(source, shared_yaml(source));  // reports mistakes of the file itself first
  if (overrides.empty()) return spec;
  const YAML::Node root = parse_yaml(source);
  apply(overrides, root, "framework file", "framework.overlap");
  try {
    return read(std::move(source), root);
  } catch (const SpecError& error) {
    const Problem& first = error.problems().front();
    throw UsageError(fmt::format("{}: {}", text_of(overrides, "framework."), first.message), first.help);
  }
}

std::vector<ListedTerm> listed_terms(const FrameworkSpec& framework) {
  std::vector<ListedTerm> out;
  const FrameworkTerms& terms = framework.terms;
  for (const DefaultTerm& term : default_terms()) {
    const std::string ideal = term.ideal.empty() ? term.words.front() : std::string(term.ideal);
    const auto word = term.get(framework);
    out.push_back({term.key, word ? term.words[*word] : ideal, ideal, term.meaning});
  }
  out.push_back({"convolutions", framework.convolutions_text, "best",
                 "allowed algorithms: all, no Winograd, or by workspace"});
  for (const ChoiceTerm& term : choice_terms())
    out.push_back({term.key, term.words[term.get(terms)], term.words.front(), term.meaning});
  out.push_back({"stages", stage_words()[framework.equal_stages], stage_words().front(),
                 "of a pipeline: equal times, or equal numbers of blocks"});
  out.push_back({"vocabulary-multiple", fmt::format("{:g}", terms.vocabulary_multiple), "128",
                 "a padded vocabulary is a multiple of this, for each part"});
  out.push_back({"hidden-sums", fmt::format("{:g}", terms.hidden_sums), "0",
                 "share of tensor's backward exchanges that is overlapped"});
  for (const CostTerm& term : cost_terms())
    out.push_back({fmt::format("costs.{}", term.key), term.value(terms), term.value({}), term.meaning});
  return out;
}

}  // namespace paradl
