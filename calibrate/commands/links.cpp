// paradl-calibrate links: latency and bandwidth of every level of links -> systems/.
#include "calibrate/commands/links.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/commands/commands.hpp"
#include "calibrate/commands/interrupt.hpp"
#include "calibrate/commands/progress.hpp"
#include "calibrate/commands/values.hpp"
#include "calibrate/files/logs.hpp"
#include "calibrate/files/replace_file.hpp"
#include "calibrate/rehearse/survey.hpp"
#include "paradl/console/deliver.hpp"
#include "paradl/console/ranges.hpp"
#include "paradl/core/format.hpp"

namespace paradl::calibrate {
namespace {

/// The points of rank 0 on all ranks: other nodes may not have its file.
std::vector<LinkPoint> from_first(Communicator& ranks, std::vector<LinkPoint> points) {
  const auto first = [&](double mine) { return ranks.gather(mine).front(); };
  points.resize(std::size_t(first(double(points.size()))));
  for (LinkPoint& p : points) {
    p.operation = Collective(int(first(double(p.operation))));
    p.level = GroupLevel(int(first(double(p.level))));
    p.ranks = int(first(p.ranks));
    p.bytes = Bytes{first(p.bytes.base())};
    p.seconds = Seconds{first(p.seconds.base())};
    p.noise = first(p.noise);
  }
  return points;
}

struct Words {
  std::string name, most = "256MB", time = "60s", operations, ranks, level;
  std::vector<std::string> logs;
  BenchWords bench;
  Options options;
};

std::vector<Collective> read_operations(const std::string& text) {
  std::vector<Collective> out;
  for (const std::string& word : split_list(text, ',')) {
    const auto found = find_name<Collective>(collective_names, word);
    if (!found)
      throw UsageError(fmt::format("--operations {}: no operation is called `{}`", text, word),
                       fmt::format("use {}", fmt::join(collective_names, ", ")));
    out.push_back(*found);
  }
  if (out.empty() && !text.empty())
    throw UsageError(fmt::format("--operations {}: no operation is named", text),
                     fmt::format("use {}", fmt::join(collective_names, ", ")));
  return out;
}

LinkOptions read_options(const Words& words) {
  LinkOptions out;
  out.most = read_bytes("max-size", words.most);
  out.time = read_seconds("time", words.time);
  if (!words.operations.empty()) out.operations = read_operations(words.operations);
  return out;
}

std::optional<GroupLevel> read_level(const std::string& word) {
  if (word.empty()) return {};
  const auto level = find_name<GroupLevel>(group_level_names, word);
  if (!level || *level == GroupLevel::all)
    throw UsageError(fmt::format("--level {}: unknown", word),
                     "use node (within a node) or cluster (between nodes)");
  return level;
}

std::vector<LinkPoint> read_logs(const Words& words) {
  LogOptions options{.operation = {}, .ranks = 0, .level = read_level(words.level)};
  if (!words.ranks.empty()) options.ranks = read_count("ranks", words.ranks, 2, 1 << 24);
  if (const auto named = read_operations(words.operations); named.size() == 1) options.operation = named[0];
  std::vector<LinkPoint> out;
  for (const std::string& path : words.logs)
    for (const LinkPoint& point : read_log(read_source(path), options)) out.push_back(point);
  return out;
}

void finish(const Session& session, const Options& options, const LinkReport& report,
            const std::string& text) {
  replace_file(report.target.path, text);
  print_answer(session, options, links_answer(session, report));
}

int run_from_logs(const Session& session, const Words& words, const LinkTarget& target) {
  const auto points = read_logs(words);
  const auto levels = measured_levels(points);
  if (levels.empty())
    throw UsageError("all groups in these logs span nodes with several GPUs on each",
                     "log runs within one node, and runs with one GPU per node; or use --level cluster");
  const std::string text =
      target_text(target, levels, {}, {fmt::format("logs {}", fmt::join(words.logs, ", ")), today()});
  warn_of_links(session, fit_links(points));
  if (words.bench.dry_run)
    print(
        fmt::format("{} points in {} logs. Would write {}\n", points.size(), words.logs.size(), target.path));
  else
    finish(session, words.options, {target, points, levels}, text);
  return answered;
}

std::string plan_text(const LinkOptions& options, const Bench& bench, const LinkTarget& target) {
  const double sizes = 1 + std::floor(std::log(options.most / options.least) / std::log(options.factor));
  std::vector<std::string_view> names;
  for (const Collective op : options.operations) names.push_back(collective_names[std::size_t(op)]);
  return fmt::format("Would measure on {}, {} at most:\n  {}\n  {} sizes up to {}\nWould {} {}\n",
                     ranks_text(bench.ranks->nodes()), text(options.time), fmt::join(names, ", "), sizes,
                     decimal(options.most), target.existing ? "change the levels in" : "write", target.path);
}

int run(const Session& session, Words& words) {
  words.options.complete();
  const LinkOptions options = read_options(words);
  words.options.format();  // a mistake in -f must not cost a measurement
  const auto& outputs = words.options.outputs();
  if (outputs.size() > 1) throw UsageError("a system is written to one file", "leave one -o out");
  refuse_overwriting(outputs, words.logs);
  const LinkTarget target = find_target(session, words.name, outputs.empty() ? "" : outputs.front());
  if (!words.logs.empty()) return run_from_logs(session, words, target);
  const Bench bench = open_bench(words.bench, Precision::fp32);
  if (bench.ranks->size() < 2)
    throw UsageError("links are measured between ranks, but there is one",
                     "start it with mpirun -np 2 (or srun -n 2), or read logs of other tools with --from");
  if (words.bench.dry_run) {
    if (bench.prints()) print(plan_text(options, bench, target));
    return answered;
  }
  if (bench.prints()) demand_writable(target.path);
  note_interrupts();
  const Kept kept(target.path + ".points", provenance_of(bench).tool);
  const auto [points, was_interrupted] = run_links(session, bench, options, kept);
  if (was_interrupted) return exit_interrupted;
  if (!bench.prints()) return answered;
  const auto nodes = bench.ranks->nodes();
  const auto levels = measured_levels(points, nodes);
  std::optional<DeviceSpec> device;
  if (!target.existing) device = measure_device(*bench.device, int(std::ranges::count(nodes, 0)));
  finish(session, words.options, {target, points, levels},
         target_text(target, levels, device, provenance_of(bench)));
  kept.remove();
  return answered;
}

}  // namespace

LinkTarget find_target(const Session& session, const std::string& name, const std::string& path) {
  std::error_code failed;
  const bool is_path = name.find('/') != name.npos || name.ends_with(".yaml");
  if (!is_path) check_name(name);
  LinkTarget out{.name = is_path ? std::filesystem::path(name).stem().string() : name,
                 .path = !path.empty() ? path
                         : is_path     ? name
                                       : fmt::format("systems/{}.yaml", name)};
  if (std::filesystem::exists(out.path, failed))
    out.existing = read_system(read_source(out.path));
  else if (const auto known = session.catalog.names(SpecKind::systems);
           path.empty() && std::ranges::find(known, name) != known.end())
    out.existing = read_system(session.catalog.find(SpecKind::systems, name));
  return out;
}

LinkMeasurement run_links(const Session& session, const Bench& bench, LinkOptions options, const Kept& kept) {
  Communicator& ranks = bench.between_devices();
  Progress progress(session, bench.prints());
  options.progress = [&](double share) { progress.show("links", share); };
  if (bench.links) options.allocate = [&](std::size_t items) { return bench.device->allocate(items); };
  options.stop = interrupted;
  options.known = from_first(ranks, bench.prints() ? kept.points() : std::vector<LinkPoint>{});
  LoadWatch watch;
  watch.look();
  auto out = measure_links(ranks, options);
  watch.look();
  progress.clear();
  if (!bench.prints()) return out;
  for (const std::string& warning : watch.warnings()) hint(session, "warning: " + warning);
  if (out.interrupted) {
    kept.write(out.points);
    hint(session, interrupted_text(kept.path()));
  } else {
    warn_of_links(session, fit_links(out.points));
  }
  return out;
}

std::string target_text(const LinkTarget& target, std::vector<MeasuredLevel> levels,
                        const std::optional<DeviceSpec>& device, const Provenance& provenance) {
  if (target.existing) {
    // With one rank per node the links within nodes were not measured.
    if (levels.size() < target.existing->levels.size() && !levels.empty() &&
        levels.front().level == GroupLevel::cluster)
      levels.insert(levels.begin(), MeasuredLevel{.level = GroupLevel::node, .size = 1, .fits = {}});
    return updated_system(*target.existing, levels, provenance);
  }
  if (!device)
    throw UsageError(fmt::format("{} does not exist, and logs do not describe the device", target.path),
                     "write its `device` and `levels` first (`paradl help systems`), then run this again");
  return system_text({.name = target.name, .summary = "", .device = *device, .levels = levels}, provenance);
}

void define_links(const Arguments& root, Session& session, Action& action) {
  auto words = std::make_shared<Words>();
  const Arguments command = root.add_command("links", "latency and bandwidth of every level of links");
  command.text("NAME", words->name,
               {.help = "name of the system; writes systems/NAME.yaml, or changes its levels if it exists",
                .required = true});
  command.text("--max-size", words->most, {.help = "largest buffer; default 256MB", .meta = "SIZE"});
  command.text(
      "--time", words->time,
      {.help = "total time; sizes that would take longer are left out; default 60s", .meta = "TIME"});
  command.text("--operations", words->operations,
               {.help = "allreduce, allgather, reduce-scatter, all-to-all, point-to-point; default all",
                .meta = "LIST"});
  command.texts("--from", words->logs,
                {.help = "read a log of nccl-tests or of the OSU benchmarks instead of measuring; repeatable",
                 .meta = "LOG"});
  command.text("--ranks", words->ranks,
               {.help = "with --from: ranks of the run, if the log does not state them", .meta = "N"});
  command.text("--level", words->level,
               {.help = "with --from: node or cluster, if the log does not state it", .meta = "NAME"});
  words->bench.define(command);
  words->options.define_only(command, {"format"}, "write the system there; default systems/NAME.yaml");
  command.footer(R"(Examples:
  mpirun -np 2 paradl-calibrate links here
  mpirun -np 8 paradl-calibrate links lab --max-size 64MB --operations allreduce,point-to-point
  paradl-calibrate links lab --from all_reduce.log --from osu_latency.log --level cluster)");
  command.runs(action, [&session, words] { return run(session, *words); });
}

}  // namespace paradl::calibrate
