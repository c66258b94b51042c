#include "paradl/report/answer.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "paradl/cost/price.hpp"

namespace paradl {

const RecordedError* recorded_error(const Answer& answer, const Projection& projection) {
  if (!projection.cost || answer.fidelity == "paper") return nullptr;
  return find_recorded(answer.recorded, answer.level, projection.strategy->text, projection.gpus);
}

double model_flop(const Setting& setting, double batch) {
  constexpr double passes = 3;  // forward, and backward with respect to inputs and weights
  constexpr double flop_per_mac = 2;
  return passes * flop_per_mac * setting.work.train_macs() * batch;
}

std::string allreduce_text(const Training& training) {
  if (!training.allreduce) return {};
  const std::string_view name = training.allreduce->name;
  return name.starts_with("sparse") ? fmt::format("{}:{}", name, training.density) : std::string(name);
}

std::string allreduce_basis(const Training& training, const std::vector<Projection>& results) {
  if (!training.allreduce) return {};
  int followed = 0, formula = 0;
  for (const Projection& p : results)
    if (p.allreduce) ++(*p.allreduce == NetworkFidelity::link_load ? followed : formula);
  const std::string name = allreduce_text(training);
  constexpr std::string_view on_wires = "message by message on the wires (link-load)";
  if (formula == 0)
    return followed == 0 ? fmt::format("Allreduce: {}.", name)
                         : fmt::format("Allreduce: {}, {}.", name, on_wires);
  if (training.allreduce->tabulated) {
    std::vector<std::string_view> chosen;
    for (const Projection& p : results)
      if (!p.chosen.empty() && std::ranges::find(chosen, p.chosen) == chosen.end())
        chosen.push_back(p.chosen);
    return fmt::format("Allreduce: {} ({}), by NCCL's own model (closed form).", name,
                       fmt::join(chosen, "; "));
  }
  const std::string_view why = "too many messages to follow";
  if (followed == 0) return fmt::format("Allreduce: {}, by its closed form: {}.", name, why);
  return fmt::format("Allreduce: {}, {}; {} of {} results by its closed form: {}.", name, on_wires, formula,
                     formula + followed, why);
}

namespace {

/// Parts to which heads and words are dealt out.
double tensor_parts(const Mesh& mesh) {
  double parts = 1;
  for (int a = 0; a < mesh.axes; ++a)
    if (mesh.axis[std::size_t(a)].strategy->pairs) parts *= mesh.axis[std::size_t(a)].parts.total;
  return parts;
}

}  // namespace

double padded_words(const Workload& work, const Mesh& mesh) {
  double words = 0;
  for (const Layer& layer : work.layers) words = std::max(words, layer.vocabulary);
  const double padded = words > 0 ? padded_vocabulary(words, tensor_parts(mesh)) : 0;
  return padded > words ? padded : 0;
}

double kv_copies(const Workload& work, const Mesh& mesh) {
  double copies = 1;
  for (const Layer& layer : work.layers)
    if (layer.op == Op::attention) copies = std::max(copies, tensor_parts(mesh) / layer.heads);
  return copies;
}

double tokens_per_sample(const Workload& work) { return work.tokens ? work.input.positions() : 0; }

}  // namespace paradl
