// paradl-calibrate contention: what flows that share a link, and ranks that share a memory, cost each other.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "calibrate/commands/commands.hpp"
#include "calibrate/commands/contention_job.hpp"
#include "calibrate/commands/interrupt.hpp"
#include "calibrate/commands/layer_job.hpp"
#include "calibrate/commands/link_job.hpp"
#include "calibrate/files/replace_file.hpp"
#include "paradl/console/deliver.hpp"
#include "paradl/console/ranges.hpp"
#include "paradl/core/format.hpp"
#include "paradl/report/json.hpp"

namespace paradl::calibrate {
namespace {

struct Words {
  std::string backend, flows = "4", most = "16MB", time = "30s", model;
  bool dry_run = false;
  Options options;
};

/// Here, as no name is given that could tell machines apart.
constexpr const char* kept_path = "contention.samples";

std::string answer(const std::string& format, Style style, const Session& session,
                   const ContentionOutcome& outcome) {
  if (format != "json" && format != "text") return render_table(format, contention_table(outcome));
  if (format == "text") return contention_text(outcome, style);
  nlohmann::ordered_json out = json_header("paradl.contention/1", session.arguments, {});
  out["between"] = outcome.between_nodes ? "nodes" : "ranks";
  out["flows"] = nlohmann::ordered_json::array();
  if (outcome.flows) {
    const SharingFit& fit = outcome.flows->fit;
    out["alpha_s"] = fit.alpha.value;
    out["beta_s_per_byte"] = fit.beta.value;
    out["slope"] = fit.slope.value;
    out["mean_error"] = fit.mean_error;
    for (const Sharing& s : fit.phi)
      out["flows"].push_back({{"flows", s.flows}, {"phi", s.phi.value}, {"interval", s.phi.interval()}});
  }
  out["memory"] = nlohmann::ordered_json::array();
  for (const SharedWork& work : outcome.memory)
    for (const Slowdown& s : work.slowdowns)
      out["memory"].push_back({{"work", work.name},
                               {"active", s.active},
                               {"time_s", s.time.median.base()},
                               {"factor", s.factor}});
  return out.dump(2) + "\n";
}

int run(const Session& session, Words& words) {
  words.options.complete();
  if (!words.options.outputs().empty())
    throw UsageError("contention writes no file", "leave -o out; `>` sends what it prints to one");
  check_format(words.options);
  const int flows = read_count("flows", words.flows, 1, 1 << 16);
  ContentionOptions options;
  options.most = read_bytes("size", words.most);
  options.least = std::min(options.least, options.most);
  options.time = read_seconds("time", words.time);
  std::optional<Workload> work;
  BatchRule batch;
  if (!words.model.empty()) {
    work = load_model(session.catalog, words.model).second;
    batch = read_layer_batch(words.options, *work);
  } else if (words.options.typed("batch")) {
    throw UsageError("-b says nothing without a network", "add --memory MODEL");
  }
  const Bench bench =
      open_bench(words.backend, Precision::fp32, words.dry_run ? Absent::allowed : Absent::refused);
  if (bench.ranks->size() < 2)
    throw UsageError("contention is what ranks cost each other, and there is one",
                     "start it with mpirun -np 4");
  if (words.dry_run) {
    const auto nodes = bench.ranks->nodes();
    const auto pairs = std::min(crossing_pairs(nodes).size(), std::size_t(flows));
    if (bench.speaks())
      print(
          fmt::format("Would measure on {}, {} at most:\n{}  copies{} beside other ranks of the first node\n"
                      "Would write nothing\n",
                      ranks_text(nodes), text(options.time + Seconds{6}),
                      pairs > 1 ? fmt::format("  1..{} flows of up to {}\n", pairs, decimal(options.most))
                                : "  no flows: two need four ranks\n",
                      work ? fmt::format(" and a layer of {}", work->name) : ""));
    return answered;
  }
  if (bench.speaks()) demand_writable(kept_path);
  note_interrupts();
  const KeptSamples kept(kept_path, provenance_of(bench).tool);
  const ContentionOutcome outcome =
      run_contention(session, bench, flows, options, work ? &*work : nullptr, batch, kept);
  if (outcome.interrupted) return exit_interrupted;
  if (bench.speaks())
    print(words.options.read("format", "text", [&](const std::string& format) {
      return answer(format, session.style(), session, outcome);
    }));
  return answered;
}

}  // namespace

void define_contention(const Arguments& root, Session& session, Action& action) {
  auto words = std::make_shared<Words>();
  const Arguments command = root.add_command(
      "contention", "what flows that share a link, and ranks that share a memory, cost each other");
  command.text("-k,--flows", words->flows,
               {.help = "flows at the same time, at most; default 4", .meta = "N"});
  command.text("--size", words->most, {.help = "largest message; default 16MB", .meta = "SIZE"});
  command.text("--time", words->time, {.help = "for the flows; default 30s", .meta = "TIME"});
  command.text("--memory", words->model,
               {.help = "also time the heaviest layer of this network beside other ranks", .meta = "MODEL"});
  command.text("--backend", words->backend, {.help = "cpu, cuda or plain; default cpu", .meta = "NAME"});
  command.flag("--dry-run", words->dry_run, {.help = "what would be measured"});
  words->options.define_only(command, {"batch", "format"}, "refused: nothing is written");
  command.footer(
      R"(phi(k) is how many times as long the bytes of one flow take beside k - 1 others. Between nodes k / phi(k) is the
number of `ports` to write at that level of the system file. Ctrl-C keeps the samples in contention.samples, and the
next run here goes on from there.

Examples:
  mpirun -np 4 paradl-calibrate contention
  mpirun -np 8 paradl-calibrate contention -k 4 --size 64MB --json
  mpirun -np 2 paradl-calibrate contention --memory tiny-cnn -b 8)");
  command.when_chosen(
      [&session, &action, words] { action = [&session, words] { return run(session, *words); }; });
}

}  // namespace paradl::calibrate
