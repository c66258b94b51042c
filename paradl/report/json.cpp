#include "paradl/report/json.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sha2.h>

#include "paradl/judge/plan_notes.hpp"
#include "paradl/judge/reason.hpp"
#include "paradl/network/measured_cost.hpp"
#include "paradl/report/bottleneck_table.hpp"
#include "paradl/report/expense_text.hpp"
#include "paradl/report/input_lines.hpp"
#include "paradl/report/json_object.hpp"

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

/// The value at a path, made if it is not there.
Json& made(Json& object, std::string_view path) {
  constexpr std::size_t usual = 12;  // fields of a part of a result
  const std::size_t dot = path.find('.');
  Json& here = object[path.substr(0, dot)];
  if (dot == path.npos) return here;
  if (here.is_null()) here = json_object({}, usual);
  return made(here, path.substr(dot + 1));
}

/// Writes a field of the list, if JSON has it.
void add_field(Json& out, const ResultField& field, const Result& result) {
  if (field.json.empty() || (field.needs == Needs::times && !result.projection().timed())) return;
  const Value value = json_value(field, result);
  const auto* number = std::get_if<double>(&value);
  if (field.in_json == InJson::positive && !(number && *number > 0)) return;
  if (number)
    made(out, field.json) = field.whole ? Json(std::int64_t(*number)) : Json(*number);
  else if (const auto* text = std::get_if<std::string>(&value))
    made(out, field.json) = *text;
  else if (field.in_json == InJson::always)
    made(out, field.json) = nullptr;
}

/// What belongs to the interval in addition to the epoch's bounds.
void add_interval(Json& out, const Answer& answer, const Projection& p, const RecordedError& error) {
  out["share"] = 0.9;
  out["iteration_low"] = error.low * p.iteration().base();
  out["iteration_high"] = error.high * p.iteration().base();
  out["runs"] = error.runs;
  if (borrowed(answer, p, error))
    out["runs_of"] = json_object({{"framework", error.level.framework},
                                  {"device", error.level.device},
                                  {"precision", precision_names[std::size_t(error.level.precision)]},
                                  {"networks", network_kind_names[std::size_t(error.level.networks)]},
                                  {"layers", layer_source_names[std::size_t(error.level.layers)]},
                                  {"links", link_level_names[std::size_t(error.level.links)]},
                                  {"strategy", error.strategy}});
}

Json out_of_core(const Projection::OutOfCore& plan) {
  return json_object({{"kept", plan.kept},
                      {"swapped", plan.swapped},
                      {"recomputed", plan.recomputed},
                      {"weights", weight_home_names[std::size_t(plan.weights)]},
                      {"host_bytes", plan.host.base()}});
}

Json limits(const Projection& p, const Workload& work) {
  Json out = Json::array();
  for (const Limit& limit : p.limits.all()) {
    Json one = json_object(
        {{"rule", limit.name()}, {"value", limit.value}, {"bound", limit.bound}, {"holds", limit.holds()}},
        2);
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

/// The source of each level's links, if some were not measured.
void add_links(Json& out, const Machine& machine) {
  const auto source = [](const Level& level) {
    if (level.measured.empty()) return "specified";
    return taken_from(level, Collective::allreduce) ? "measured" : "measured only for single messages";
  };
  const auto measured = [&](const Level& level) { return source(level) == std::string_view("measured"); };
  if (std::ranges::all_of(machine.levels, measured)) return;
  Json& by_level = out["links_by_level"];
  for (const Level& level : machine.levels) by_level[level.name] = source(level);
}

/// What was assumed.
Json parameters(const Answer& answer, const Projection& p) {
  const Setting& setting = *answer.setting;
  const Training& training = setting.training;
  Json out = json_object({{"layers", source_key(setting.times)},
                          {"links", answer.level.links == LinkLevel::measured ? "measured" : "specified"},
                          {"framework", answer.framework},
                          {"fidelity", answer.fidelity},
                          {"precision", precision_names[std::size_t(training.precision)]},
                          {"optimizer", optimizer_names[std::size_t(training.optimizer)]}},
                         7);
  if (answer.level.links == LinkLevel::measured) add_links(out, setting.machine);
  if (p.timed()) {
    Json& record = out["accuracy"] = json_object({{"text", record_text(answer, p)}}, 4);
    if (const auto error = recorded_error(answer, p)) {
      record["mean"] = error->mean_accuracy;
      if (error->left_out_accuracy) record["left_out_mean"] = *error->left_out_accuracy;
      record["runs"] = error->runs;
      record["strategy"] = error->strategy;
    }
  }
  if (p.plan.zero > 0) out["zero"] = p.plan.zero;
  if (p.plan.sequence_parallel) out["sequence_parallel"] = true;
  if (p.plan.recompute != Recompute::none) out["recompute"] = recompute_names[std::size_t(p.plan.recompute)];
  if (p.plan.allreduce.algorithm) out["allreduce"] = allreduce_text(p.plan);
  if (p.allreduce) out["allreduce_fidelity"] = network_fidelities[std::size_t(*p.allreduce)];
  if (!p.chosen.empty()) out["allreduce_chosen"] = p.chosen;
  return out;
}

/// What only a plan with times has, apart from the fields of the list.
void add_timed(Json& out, const Answer& answer, const Projection& p) {
  const Setting& setting = *answer.setting;
  if (p.out_of_core) out["out_of_core"] = out_of_core(*p.out_of_core);
  if (p.cost->worst_stage > 0) out["worst_stage"] = p.cost->worst_stage;
  if (const auto error = recorded_error(answer, p)) add_interval(out["interval_s"], answer, p, *error);
  if (const auto joules = network_joules(p, setting.machine)) out["network_energy_j"]["iteration"] = *joules;
  if (p.input) out["input"] = input_json(setting, *p.input);
  if (const Algorithm* sum = p.plan.allreduce.algorithm) out["allreduce"] = sum->name;
  const Expense expense = expense_of(answer, p);
  if (answer.epochs > 0) out["total"].update({{"epochs", answer.epochs}, {"gpu_hours", expense.gpu_hours}});
  out["cost"].update(expense_json(expense, setting.machine));
}

}  // namespace

Json result_json(const Result& result) {
  const Answer& answer = result.answer;
  const Projection& p = result.projection();
  const Setting& setting = *answer.setting;
  const Workload& work = setting.work;
  constexpr std::size_t usual = 32;  // further fields
  Json out = json_object(
      {{"model", answer.model}, {"system", answer.system}, {"grid", grid_json(p.plan.mesh)}}, usual);
  for (const ResultField& field : result_fields()) add_field(out, field, result);
  out["batch"]["per_gpu"] = p.plan.batch / p.gpus;
  out["iterations_per_epoch"] = p.iterations;
  if (Json shape = cut(p.plan.mesh, std::max(1, work.input.dims)); !shape.is_null())
    out["cut"] = std::move(shape);
  if (p.plan.micro_batches > 1) {
    out["micro_batches"] = p.plan.micro_batches;
    out["schedule"] = schedule_text(p.plan);
  }
  if (p.timed()) add_timed(out, answer, p);
  if (const double words = padded_words(work, setting.training.framework, p.plan.mesh); words > 0)
    out["padded_vocabulary"] = words;
  if (const double copies = kv_copies(work, p.plan.mesh); copies > 1) out["kv_copies"] = copies;
  if (const auto notes = plan_notes(setting, p.plan); p.cost && !notes.empty()) out["notes"] = notes;
  out["feasible"] = p.feasible();
  out["limits"] = limits(p, work);
  out["bottlenecks"] = found_bottlenecks(answer, result.index);
  out["parameters"] = parameters(answer, p);
  return out;
}

Json grid_json(const Mesh& mesh) {
  Json out = json_object({}, std::size_t(mesh.axes));
  for (int a = 0; a < mesh.axes; ++a)
    out[mesh.axis[std::size_t(a)].strategy->name] = mesh.axis[std::size_t(a)].parts.total;
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

Json answer_json(const std::vector<std::string>& command, const std::vector<InputFile>& inputs,
                 Json results) {
  Json out = json_header("paradl.projection/1", command, inputs);
  out["results"] = std::move(results);
  return out;
}

Json to_json(const Answer& answer) {
  Json::array_t results;
  results.reserve(answer.results.size());
  for (std::size_t i = 0; i < answer.results.size(); ++i) results.push_back(result_json({answer, i}));
  Json out = answer_json(answer.command, answer.inputs, std::move(results));
  for (const Remedy& remedy : answer.fitting)
    out["fitting"].push_back(json_object({{"strategy", remedy.projection.strategy()},
                                          {"grid", grid_json(remedy.projection.plan.mesh)},
                                          {"change", remedy.change},
                                          {"option", remedy.option},
                                          {"text", text(remedy)},
                                          {"gpus", remedy.projection.gpus},
                                          {"iteration_s", remedy.projection.iteration().base()},
                                          {"memory_bytes", remedy.projection.cost->memory.total().base()}}));
  return out;
}

const Json* find_json(const Json& object, std::string_view path) {
  const std::size_t dot = path.find('.');
  if (!object.is_object()) return nullptr;
  const auto found = object.find(std::string(path.substr(0, dot)));
  if (found == object.end()) return nullptr;
  return dot == path.npos ? &*found : find_json(*found, path.substr(dot + 1));
}

std::string json_text(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string json_lines(const Json& answer) {
  const auto line = [](const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  };
  const Json* results = find_json(answer, "results");
  if (!results) return line(answer);
  std::string out;
  for (const Json& result : *results) out += line(result);
  return out;
}

std::string error_json(const std::string& kind, const std::string& message, const std::string& help) {
  Json error{{"kind", kind}, {"message", message}};
  if (!help.empty()) error["help"] = help;
  return json_text(Json{{"error", error}});
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
  return json_text(Json{{"error", out}});
}

}  // namespace paradl
