// paradl-calibrate links: latency and bandwidth of every level of links -> systems/.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "calibrate/commands/commands.hpp"
#include "calibrate/commands/interrupt.hpp"
#include "calibrate/commands/layer_job.hpp"
#include "calibrate/commands/link_job.hpp"
#include "calibrate/files/logs.hpp"
#include "calibrate/files/replace_file.hpp"
#include "calibrate/measure/kept_points.hpp"
#include "calibrate/rehearse/survey.hpp"
#include "paradl/console/deliver.hpp"
#include "paradl/console/ranges.hpp"
#include "paradl/core/format.hpp"
#include "paradl/report/json.hpp"

namespace paradl::calibrate {
namespace {

struct Words {
  std::string name, backend, most = "256MB", time = "60s", operations, ranks, level;
  std::vector<std::string> logs;
  bool dry_run = false;
  Options options;
};

std::vector<LinkOperation> read_operations(const std::string& text) {
  std::vector<LinkOperation> out;
  for (const std::string& word : split_list(text, ',')) {
    const auto found = find_name<LinkOperation>(link_operation_names, word);
    if (!found)
      throw UsageError(fmt::format("--operations {}: no operation is called `{}`", text, word),
                       fmt::format("use {}", fmt::join(link_operation_names, ", ")));
    out.push_back(*found);
  }
  if (out.empty() && !text.empty())
    throw UsageError(fmt::format("--operations {}: names none", text),
                     fmt::format("use {}", fmt::join(link_operation_names, ", ")));
  return out;
}

LinkOptions read_options(const Words& words) {
  LinkOptions out;
  out.most = read_bytes("max-size", words.most);
  out.time = read_seconds("time", words.time);
  if (!words.operations.empty()) out.operations = read_operations(words.operations);
  return out;
}

std::vector<LinkPoint> read_logs(const Words& words) {
  LogOptions options{.operation = {}, .ranks = 0, .level = words.level};
  if (!words.ranks.empty()) options.ranks = read_count("ranks", words.ranks, 2, 1 << 24);
  if (words.level != "" && words.level != level_node && words.level != level_between)
    throw UsageError(fmt::format("--level {}: not known", words.level),
                     "use node (within one) or cluster (between nodes)");
  if (const auto named = read_operations(words.operations); named.size() == 1) options.operation = named[0];
  std::vector<LinkPoint> out;
  for (const std::string& path : words.logs)
    for (const LinkPoint& point : read_log(read_source(path), options)) out.push_back(point);
  return out;
}

nlohmann::ordered_json fit_json(const LinkFit& fit) {
  nlohmann::ordered_json out{{"level", fit.level},
                             {"operation", link_operation_names[std::size_t(fit.operation)]},
                             {"ranks", fit.ranks},
                             {"mean_error", fit.mean_error},
                             {"ranges", nlohmann::ordered_json::array()}};
  for (const RangeFit& range : fit.ranges) {
    const LineFit& line = range.line;
    nlohmann::ordered_json item{{"from_bytes", range.from}};
    if (std::isfinite(range.below)) item["below_bytes"] = range.below;
    item["alpha_s"] = line.alpha.value;
    item["alpha_interval_s"] = line.alpha.interval();
    item["beta_s_per_byte"] = line.beta.value;
    item["beta_interval_s_per_byte"] = line.beta.interval();
    item["mean_error"] = line.mean_error;
    item["worst_error"] = line.worst_error;
    item["r2"] = line.r2;
    item["points"] = line.points;
    item["outliers"] = line.outliers;
    out["ranges"].push_back(std::move(item));
  }
  return out;
}

std::string answer(const std::string& format, Style style, const Session& session, const LinkTarget& target,
                   const std::vector<LinkPoint>& points, const std::vector<MeasuredLevel>& levels) {
  const auto fits = fit_links(points);
  if (format == "json") {
    nlohmann::ordered_json out = json_header("paradl.links/1", session.arguments, {});
    out["file"] = target.path;
    out["results"] = nlohmann::ordered_json::array();
    for (const LinkFit& fit : fits) out["results"].push_back(fit_json(fit));
    out["points"] = points_json(points);
    return out.dump(2) + "\n";
  }
  if (format != "text") return render_table(format, links_table(fits));
  return fmt::format(
      "Wrote {}\n{}\n{}\nalpha and beta are those of one message of the operation's ring; ± are 95 % "
      "intervals.\n"
      "Use it: paradl project MODEL --on {}\n",
      target.path, links_summary(levels), to_text(links_table(fits), style).text,
      target.path == fmt::format("systems/{}.yaml", target.name) ? target.name : target.path);
}

int finish(const Session& session, const Words& words, const LinkTarget& target,
           const std::vector<LinkPoint>& points, const std::vector<MeasuredLevel>& levels,
           const std::string& text) {
  replace_file(target.path, text);
  print(words.options.read("format", "text", [&](const std::string& format) {
    return answer(format, session.style(), session, target, points, levels);
  }));
  return answered;
}

int run_from_logs(const Session& session, const Words& words, const LinkTarget& target) {
  const auto points = read_logs(words);
  const auto levels = measured_levels(points);
  if (levels.empty())
    throw UsageError("these logs are of groups that span nodes with several GPUs on each",
                     "log runs within one node, and runs of one GPU a node; or say --level cluster");
  const std::string text =
      target_text(target, levels, {}, {fmt::format("logs {}", fmt::join(words.logs, ", ")), today()});
  warn_of_links(session, fit_links(points));
  if (!words.dry_run) return finish(session, words, target, points, levels, text);
  print(fmt::format("{} points of {} logs. Would write {}\n", points.size(), words.logs.size(), target.path));
  return answered;
}

std::string plan_text(const LinkOptions& options, const Bench& bench, const LinkTarget& target) {
  const double sizes = 1 + std::floor(std::log(options.most / options.least) / std::log(options.factor));
  std::vector<std::string_view> names;
  for (const LinkOperation op : options.operations) names.push_back(link_operation_names[std::size_t(op)]);
  return fmt::format("Would measure on {}, {} at most:\n  {}\n  {} sizes up to {}\nWould {} {}\n",
                     ranks_text(bench.ranks->nodes()), text(options.time), fmt::join(names, ", "), sizes,
                     decimal(options.most), target.existing ? "change the levels in" : "write", target.path);
}

int run(const Session& session, Words& words) {
  words.options.complete();
  const LinkOptions options = read_options(words);
  check_format(words.options);
  const auto& outputs = words.options.outputs();
  if (outputs.size() > 1) throw UsageError("a system is written to one file", "leave one -o out");
  const LinkTarget target = find_target(session, words.name, outputs.empty() ? "" : outputs.front());
  if (!words.logs.empty()) return run_from_logs(session, words, target);
  const Bench bench =
      open_bench(words.backend, Precision::fp32, words.dry_run ? Absent::allowed : Absent::refused);
  if (bench.ranks->size() < 2)
    throw UsageError("links are measured between ranks, and there is one",
                     "start it with mpirun -np 2 (or srun -n 2); logs of other tools go with --from");
  if (words.dry_run) {
    if (bench.speaks()) print(plan_text(options, bench, target));
    return answered;
  }
  if (bench.speaks()) demand_writable(target.path);
  note_interrupts();
  const KeptPoints kept(target.path, provenance_of(bench).tool);
  const auto [points, was_interrupted] = run_links(session, bench, options, kept);
  if (was_interrupted) return exit_interrupted;
  const auto nodes = bench.ranks->nodes();
  const auto levels = measured_levels(points, nodes);
  if (!bench.speaks()) return answered;
  const int on_first = int(std::ranges::count(nodes, 0));
  const int code = finish(
      session, words, target, points, levels,
      target_text(target, levels,
                  target.existing ? std::optional<DeviceSpec>{} : measure_device(*bench.device, on_first),
                  provenance_of(bench)));
  kept.remove();
  return code;
}

}  // namespace

void define_links(const Arguments& root, Session& session, Action& action) {
  auto words = std::make_shared<Words>();
  const Arguments command = root.add_command("links", "latency and bandwidth of every level of links");
  command.text(
      "NAME", words->name,
      {.help = "of the system: systems/NAME.yaml is written; of one that is there, its levels change",
       .required = true});
  command.text("--max-size", words->most, {.help = "largest buffer; default 256MB", .meta = "SIZE"});
  command.text("--time", words->time,
               {.help = "for all of it; sizes that do not fit in are left out; default 60s", .meta = "TIME"});
  command.text("--operations", words->operations,
               {.help = "allreduce, allgather, reduce-scatter, all-to-all, point-to-point; default all",
                .meta = "LIST"});
  command.texts(
      "--from", words->logs,
      {.help = "a log of nccl-tests or of the OSU benchmarks, in the place of measuring; repeatable",
       .meta = "LOG"});
  command.text("--ranks", words->ranks, {.help = "with --from: if the log does not tell", .meta = "N"});
  command.text("--level", words->level,
               {.help = "with --from: node or cluster, if the log does not tell", .meta = "NAME"});
  command.text("--backend", words->backend, {.help = "cpu, cuda or plain; default cpu", .meta = "NAME"});
  command.flag("--dry-run", words->dry_run, {.help = "what would be measured"});
  words->options.define_only(command, {"format"}, "write the system there; default systems/NAME.yaml");
  command.footer(R"(Examples:
  mpirun -np 2 paradl-calibrate links here
  mpirun -np 8 paradl-calibrate links lab --max-size 64MB --operations allreduce,point-to-point
  paradl-calibrate links lab --from all_reduce.log --from osu_latency.log --level cluster)");
  command.when_chosen(
      [&session, &action, words] { action = [&session, words] { return run(session, *words); }; });
}

}  // namespace paradl::calibrate
