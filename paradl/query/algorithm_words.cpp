#include "paradl/query/algorithm_words.hpp"

#include <charconv>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/core/error.hpp"

namespace paradl {

AlgorithmWord read_algorithm(std::string_view option, const std::string& text, Operation operation,
                             std::optional<double> density) {
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  const Algorithm* algorithm = find_algorithm(name);
  if (!algorithm) {
    std::vector<std::string> known;
    for (const Algorithm* a : algorithms())
      if (a->serves(operation)) known.emplace_back(a->name);
    const std::string near = did_you_mean(name, known);
    throw UsageError(fmt::format("no algorithm is called `{}`", shortened(name)),
                     near.empty()
                         ? fmt::format("for {} there are: {}", text_of(operation), fmt::join(known, ", "))
                         : near);
  }
  if (colon != text.npos && !algorithm->sparse)
    throw UsageError(fmt::format("--{} {}: only sparse algorithms have a density", option, text),
                     fmt::format("write {}", name));
  if (colon != text.npos) {
    double share = 0;
    const char *const first = text.data() + colon + 1, *const last = text.data() + text.size();
    const auto [end, failed] = std::from_chars(first, last, share);
    if (failed != std::errc{} || end != last || !(share >= least_density && share <= 1))
      throw UsageError(
          fmt::format("--{} {}: the density is not a number from {} to 1", option, text, least_density),
          fmt::format("write {}:0.01, with the share of values that are not zero", name));
    density = share;
  }
  if (algorithm->sparse && !density)
    throw UsageError(fmt::format("--{} {}: the density is missing", option, name),
                     fmt::format("write {}:0.01, with the share of values that are not zero", name));
  return {algorithm, algorithm->sparse ? *density : 1};
}

void refuse(const std::string& refusal) {
  const std::size_t cure = refusal.rfind("; ");
  if (cure == refusal.npos) throw UsageError(refusal);
  throw UsageError(refusal.substr(0, cure), refusal.substr(cure + 2));
}

}  // namespace paradl
