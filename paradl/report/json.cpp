#include "paradl/report/json.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sha2.h>

#include "paradl/judge/reason.hpp"
#include "paradl/network/measured_cost.hpp"
#include "paradl/report/bottleneck_table.hpp"
#include "paradl/report/expense_text.hpp"
#include "paradl/report/explanation.hpp"
#include "paradl/report/input_lines.hpp"

namespace paradl {
namespace {

using Json = nlohmann::ordered_json;

/// How an axis splits space, if one does.
Json cut(const Mesh& mesh, int extents) {
  for (int a = 0; a < mesh.axes; ++a) {
    const Axis& axis = mesh.axis[std::size_t(a)];
    if (axis.strategy->input != Placement::split_space) continue;
    Json out = Json::array();
    for (int d = 0; d < extents; ++d) out.push_back(axis.parts.cut[std::size_t(d)]);
    return out;
  }
  return nullptr;
}

Json times(const Projection& p) {
  const Cost& cost = *p.cost;
  Json named = Json::object();
  for (std::size_t t = 0; t < terms; ++t)
    if (cost.exposed[t] > Seconds{}) named[std::string(term_names[t].json)] = cost.exposed[t].base();
  return {{"iteration", p.iteration().base()},
          {"epoch", p.epoch().base()},
          {"compute", cost.compute().base()},
          {"communication", cost.communication().base()},
          {"exposed_communication", cost.exposed_communication().base()},
          {"terms", named}};
}

Json memory(const Memory& m) {
  Json out{{"total", m.total().base()}};
  for (const MemoryName& one : memory_names) out[std::string(one.name)] = (m.*one.part).base();
  return out;
}

Json limits(const Projection& p, const Workload& work) {
  Json out = Json::array();
  for (const Limit& limit : p.limits.all()) {
    Json one{
        {"rule", limit.name()}, {"value", limit.value}, {"bound", limit.bound}, {"holds", limit.holds()}};
    if (limit.layer >= 0) one["layer"] = work.layers[std::size_t(limit.layer)].name;
    const bool refused = limit.rule == LimitRule::allreduce && !p.refused.empty();
    if (!limit.holds()) one["reason"] = refused ? p.refused : reason(limit, work);
    out.push_back(std::move(one));
  }
  return out;
}

Json found_bottlenecks(const Answer& answer, std::size_t index) {
  Json out = Json::array();
  if (index < answer.bottlenecks.size())
    for (const Bottleneck& b : answer.bottlenecks[index]) out.push_back(bottleneck_json(b));
  return out;
}

Json result(const Answer& answer, std::size_t index) {
  const Projection& p = answer.results[index];
  const Setting& setting = *answer.setting;
  const Workload& work = setting.work;
  Json out{{"model", answer.model},
           {"system", answer.system},
           {"strategy", p.strategy->text},
           {"grid", grid_json(p.mesh)},
           {"gpus", p.gpus},
           {"batch", {{"global", p.batch}, {"per_gpu", p.batch / p.gpus}}},
           {"iterations_per_epoch", p.iterations}};
  out["gpus"] = int(p.gpus);
  if (Json shape = cut(p.mesh, std::max(1, work.input.dims)); !shape.is_null()) out["cut"] = std::move(shape);
  if (setting.training.micro_batches > 1) {
    out["micro_batches"] = setting.training.micro_batches;
    out["schedule"] = schedule_text(setting.training);
  }
  if (p.cost && !p.timed()) out["memory_bytes"] = memory(p.cost->memory);
  if (p.timed()) {
    out["time_s"] = times(p);
    out["samples_per_s"] = p.samples_per_s();
    if (const double tokens = tokens_per_sample(work); tokens > 0)
      out["tokens_per_s"] = tokens * p.samples_per_s();
    out["efficiency"] = p.efficiency();
    const double rate = model_flop(setting, setting.work.D / p.iterations) / p.iteration().base() / p.gpus;
    out["flops_per_s_per_gpu"] = rate;
    out["mfu"] = rate / peak(setting.machine, setting.training.precision).base();
    out["memory_bytes"] = memory(p.cost->memory);
    if (p.out_of_core) {
      const Projection::OutOfCore& plan = *p.out_of_core;
      out["out_of_core"] = {{"kept", plan.kept},
                            {"swapped", plan.swapped},
                            {"recomputed", plan.recomputed},
                            {"weights", weight_home_names[std::size_t(plan.weights)]},
                            {"host_bytes", plan.host.base()}};
    }
    if (p.cost->worst_stage > 0) out["worst_stage"] = p.cost->worst_stage;
    if (const auto error = recorded_error(answer, p)) {
      out["interval_s"] = {{"share", 0.9},
                           {"iteration_low", error->low * p.iteration().base()},
                           {"iteration_high", error->high * p.iteration().base()},
                           {"epoch_low", error->low * p.epoch().base()},
                           {"epoch_high", error->high * p.epoch().base()},
                           {"runs", error->runs}};
      if (borrowed(answer, p, *error))
        out["interval_s"]["runs_of"] = {
            {"framework", error->level.framework}, {"device", error->level.device},
            {"precision", error->level.precision}, {"networks", error->level.networks},
            {"layers", error->level.layers},       {"links", error->level.links},
            {"strategy", error->strategy}};
    }
    if (p.congested) {
      const auto& [low, typical, high] = *p.congested;
      out["congested_time_s"] = {{"epoch_low", (p.iterations * low).base()},
                                 {"epoch_typical", (p.iterations * typical).base()},
                                 {"epoch_high", (p.iterations * high).base()}};
    }
    if (const auto joules = network_joules(p, setting.machine))
      out["network_energy_j"] = {{"iteration", *joules}, {"epoch", p.iterations * *joules}};
    if (p.input) out["input"] = input_json(setting, *p.input);
    if (setting.training.allreduce) out["allreduce"] = setting.training.allreduce->name;
    if (answer.epochs > 0) {
      out["total"] = {{"epochs", answer.epochs},
                      {"time_s", answer.epochs * p.epoch().base()},
                      {"gpu_hours", expense_of(answer, p).gpu_hours}};
    }
    out["cost"] = expense_json(expense_of(answer, p), setting.machine);
  }
  if (const double words = padded_words(work, setting.training.framework, p.mesh); words > 0)
    out["padded_vocabulary"] = words;
  if (const double copies = kv_copies(work, p.mesh); copies > 1) out["kv_copies"] = copies;
  if (const auto notes = plan_notes(setting, p.mesh); p.cost && !notes.empty()) out["notes"] = notes;
  out["feasible"] = p.feasible();
  out["limits"] = limits(p, work);
  out["bottlenecks"] = found_bottlenecks(answer, index);
  out["parameters"] = {{"layers", setting.times.level},
                       {"links", answer.level.links == "measured" ? "measured" : "specified"},
                       {"framework", answer.framework},
                       {"fidelity", answer.fidelity},
                       {"precision", precision_names[std::size_t(setting.training.precision)]},
                       {"optimizer", optimizer_names[std::size_t(setting.training.optimizer)]}};
  if (p.timed()) {
    Json record{{"text", record_text(answer, p)}};
    if (const auto error = recorded_error(answer, p)) {
      record["mean"] = error->mean_accuracy;
      if (error->left_out_accuracy) record["left_out_mean"] = *error->left_out_accuracy;
      record["runs"] = error->runs;
      record["strategy"] = error->strategy;
    }
    out["parameters"]["accuracy"] = std::move(record);
  }
  const Training& training = setting.training;
  if (training.zero > 0) out["parameters"]["zero"] = training.zero;
  if (training.sequence_parallel) out["parameters"]["sequence_parallel"] = true;
  if (training.recompute != Recompute::none)
    out["parameters"]["recompute"] = training.recompute == Recompute::full ? "full" : "selective";
  if (setting.training.allreduce) out["parameters"]["allreduce"] = allreduce_text(setting.training);
  if (p.allreduce) out["parameters"]["allreduce_fidelity"] = network_fidelities[std::size_t(*p.allreduce)];
  if (!p.chosen.empty()) out["parameters"]["allreduce_chosen"] = p.chosen;
  return out;
}

}  // namespace

Json grid_json(const Mesh& mesh) {
  Json out = Json::object();
  for (int a = 0; a < mesh.axes; ++a)
    out[std::string(mesh.axis[std::size_t(a)].strategy->name)] = mesh.axis[std::size_t(a)].parts.total;
  return out;
}

std::string sha256(const std::string& text) {
  std::array<char, SHA256_DIGEST_STRING_LENGTH> digest{};
  SHA256Data(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), digest.data());
  return digest.data();
}

Json json_header(std::string_view schema, const std::vector<std::string>& command,
                 const std::vector<InputFile>& inputs) {
  Json out{{"schema", schema}, {"version", PARADL_VERSION}, {"command", command}};
  out["inputs"] = Json::array();
  for (const InputFile& input : inputs) {
    Json one{{"kind", input.kind},
             {"name", input.name},
             {"path", input.source.file},
             {"sha256", sha256(input.source.text)}};
    if (std::ranges::find(out["inputs"], one) == out["inputs"].end()) out["inputs"].push_back(std::move(one));
  }
  return out;
}

namespace {

Json whole_answer(const std::vector<std::string>& command, const std::vector<InputFile>& inputs,
                  Json results) {
  Json out = json_header("paradl.projection/1", command, inputs);
  out["results"] = std::move(results);
  return out;
}

std::string dumped(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string answer_json(const std::vector<std::string>& command, const std::vector<InputFile>& inputs,
                        const std::string& results) {
  return dumped(whole_answer(command, inputs, Json::parse(results)));
}

std::string to_json(const Answer& answer) {
  Json results = Json::array();
  for (std::size_t i = 0; i < answer.results.size(); ++i) results.push_back(result(answer, i));
  Json out = whole_answer(answer.command, answer.inputs, std::move(results));
  for (const Remedy& remedy : answer.fitting)
    out["fitting"].push_back({{"strategy", remedy.projection.strategy->text},
                              {"grid", grid_json(remedy.projection.mesh)},
                              {"change", remedy.change},
                              {"option", remedy.option},
                              {"text", text(remedy)},
                              {"gpus", remedy.projection.gpus},
                              {"iteration_s", remedy.projection.iteration().base()},
                              {"memory_bytes", remedy.projection.cost->memory.total().base()}});
  return dumped(out);
}

std::string to_jsonl(const Answer& answer) {
  std::string out;
  for (std::size_t i = 0; i < answer.results.size(); ++i)
    out += result(answer, i).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  return out;
}

std::string result_lines(const std::string& answer) {
  std::string out;
  const Json whole = Json::parse(answer);
  for (const Json& one : whole.at("results"))
    out += one.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  return out;
}

std::string error_json(const std::string& kind, const std::string& message, const std::string& help) {
  Json error{{"kind", kind}, {"message", message}};
  if (!help.empty()) error["help"] = help;
  return Json{{"error", error}}.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string error_json(const SpecError& error) {
  Json problems = Json::array();
  for (const auto& [where, message, help] : error.problems())
    problems.push_back(
        {{"message", message}, {"line", where.line}, {"column", where.column}, {"help", help}});
  const Json out{{"kind", "spec"},
                 {"message", error.problems().front().message},
                 {"file", error.file()},
                 {"problems", problems}};
  return Json{{"error", out}}.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace paradl
