// paradl-calibrate fit: parameters from what others measured.
// Kernels -> profiles/kernels/, collectives -> systems/.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/commands/commands.hpp"
#include "calibrate/commands/fit_links.hpp"
#include "calibrate/kernels/aceso.hpp"
#include "calibrate/kernels/benchmarks.hpp"
#include "calibrate/kernels/pipedream.hpp"
#include "paradl/console/ranges.hpp"
#include "paradl/spec/kernel_errors.hpp"

namespace paradl::calibrate {
namespace {

struct Words {
  std::string what, seed, to;
  std::vector<std::string> from, only;
  bool dry_run = false;
};

std::string errors_text(const std::string& title, const ErrorsByClass& errors) {
  std::string line = fmt::format("  {:<16}", title);
  for (const KernelErrors& e : errors)
    line +=
        fmt::format("  {:5.1f} /{:4.0f} % {:6.3f}", 100 * e.median, 100 * e.ninetieth, e.rank_correlation);
  return line + "\n";
}

std::string fit_text(const FittedSet& fit, std::size_t timings) {
  std::string out =
      fmt::format("{}, {} kernels\n  {:<16}", precision_names[std::size_t(fit.precision)], timings, "");
  for (const std::string_view name : kernel_class_names) out += fmt::format("  {:>21}", name);
  out += "\n" + errors_text("cross-validated", fit.cross_validated) +
         errors_text("in sample", fit.in_sample) + " ";
  for (const FittedParameter& p : fitted_parameters(fit.device))
    out += fmt::format(" {} {:.3g}", p.name, p.get(fit.device.fitted));
  return out + fmt::format("\n  at a bound: {}\n", fit.at_bounds.empty()
                                                       ? "none"
                                                       : fmt::format("{}", fmt::join(fit.at_bounds, ", ")));
}

/// What the parameters say of operators and networks that they were not fitted on.
std::string transfer_text(const std::string& folder, KernelDevice device) {
  std::string out = "Not fitted on, fp32:\n";
  const NodeCollectives node(folder);
  const auto operators = read_aceso(folder);
  for (const int ways : {1, 2, 4, 8})
    for (const ChannelSplit split : {ChannelSplit::filters, ChannelSplit::channels}) {
      std::vector<double> forward, backward, measured_forward, measured_backward;
      for (const OperatorTiming& t : operators) {
        if (t.ways != ways || t.split != split) continue;
        const OperatorTime time = modelled_operator(device, node, t);
        forward.push_back(time.forward), backward.push_back(time.backward);
        measured_forward.push_back(t.forward), measured_backward.push_back(t.backward);
      }
      if (forward.empty()) continue;
      const KernelErrors f = errors_of(forward, measured_forward), b = errors_of(backward, measured_backward);
      out += fmt::format(
          "  Aceso, convolutions, {} in {}: forward {:.1f} /{:3.0f} %, backward {:.1f} /{:3.0f} %\n",
          split == ChannelSplit::filters ? "filters" : "channels", ways, 100 * f.median, 100 * f.ninetieth,
          100 * b.median, 100 * b.ninetieth);
    }
  device.policy.convolutions.workspace = Bytes{1e9};  // of the framework that PipeDream profiled
  for (const ProfiledNetwork& network : read_pipedream(folder))
    out += fmt::format("  PipeDream, {}: {:.3f} of what was measured\n", network.name,
                       modelled_network(device, network) / network.measured());
  return out;
}

int run_kernels(const Session& session, const Words& words) {
  if (words.from.size() != 1)
    throw UsageError("kernels are fitted on the tables of one folder",
                     "write: paradl-calibrate fit kernels FOLDER");
  const std::string& folder = words.from.front();
  if (std::error_code failed; !std::filesystem::is_directory(folder, failed))
    throw UsageError(fmt::format("no folder is called `{}`", folder),
                     "name the one that has deepbench_conv.csv and the other timings");
  const std::string to = words.to.empty() ? "profiles/kernels" : words.to;
  const auto seed = unsigned(read_count("seed", words.seed.empty() ? "1" : words.seed, 0, 1'000'000));
  bool any = false;
  for (const BenchedDevice& benched : benched_devices()) {
    if (!words.only.empty() && std::ranges::find(words.only, benched.name) == words.only.end()) continue;
    any = true;
    const SystemSpec system = read_system(session.catalog.find("systems", benched.system));
    std::string about = fmt::format("{}: {}, {}; median / 90th percentile of the error, rank correlation\n",
                                    benched.name, system.device.name, benched.libraries);
    KernelSpec spec{
        .source = {}, .name = benched.name, .device = system.device.name, .libraries = benched.libraries};
    spec.origin = fmt::format(
        "Fitted by `paradl-calibrate fit kernels` on DeepBench (Baidu Research) timings of single kernels, "
        "{}; log\n"
        "error, soft L1, each kind of kernel weighing alike. `stream` and `volume` are not fitted there: "
        "0.91 is what\n"
        "ReLU and additions reach on V100 (Aceso's operator times), and 0.25 rests on one network, "
        "CosmoFlow, whose two\n"
        "published totals are all that is known of three-dimensional convolutions here.\n"
        "`cross-validated`: median errors of shapes that were left out (5 folds over shapes).",
        benched.libraries);
    ErrorsByPrecision errors;
    for (const auto& [precision, set] : benched.sets) {
      const auto timings = read_deepbench(folder, set);
      const FittedSet fit = fit_set(system.device, precision, timings, seed);
      print(std::exchange(about, "") + fit_text(fit, timings.size()));
      spec.fitted[std::size_t(precision)] = fit.device.fitted;
      const auto& cv = fit.cross_validated;
      errors[std::size_t(precision)] =
          paradl::KernelErrors{cv[0].median, cv[1].median, cv[2].median, cv[3].median};
      if (!fit.at_bounds.empty())
        spec.origin += fmt::format("\nAt a bound in {}: {}.", precision_names[std::size_t(precision)],
                                   fmt::join(fit.at_bounds, ", "));
      if (benched.system == "dgx1-v100" && precision == Precision::fp32)
        print(transfer_text(folder, fit.device));
    }
    if (words.dry_run) continue;
    const std::string path = (std::filesystem::path(to) / (benched.name + ".yaml")).string();
    std::filesystem::create_directories(to);
    if (!(std::ofstream(path) << fmt::format("# profiles/kernels/{}.yaml: what kernels of {} reach on {}\n",
                                             benched.name, benched.libraries, system.device.name)
                              << kernels_text(spec) << kernel_errors_text(errors)))
      throw EnvironmentError(fmt::format("cannot write {}", path));
    print(fmt::format("Wrote {}\n", path));
  }
  if (!any)
    throw UsageError(fmt::format("no kernels are called `{}`", fmt::join(words.only, ", ")),
                     "use v100-cuda10 or p100-cuda8");
  return answered;
}

int run(const Session& session, const Words& words) {
  if (words.what == "kernels") return run_kernels(session, words);
  if (words.what != "links")
    throw UsageError(fmt::format("`{}` cannot be fitted", words.what),
                     "write: paradl-calibrate fit kernels FOLDER, or paradl-calibrate fit links FOLDER");
  if (!words.seed.empty()) throw UsageError("--seed says nothing here: no chance is in it", "leave it out");
  return fit_published_links(session, {words.from, words.only, words.to, words.dry_run});
}

}  // namespace

void define_fit(const Arguments& root, Session& session, Action& action) {
  auto words = std::make_shared<Words>();
  const Arguments command =
      root.add_command("fit", "parameters from timings of kernels or collectives that others published");
  command.text("WHAT", words->what, {.help = "kernels or links", .required = true});
  command.texts(
      "FROM", words->from,
      {.help = "kernels: a folder with deepbench_conv.csv, deepbench_gemm.csv, "
               "profiles_aceso_v100.csv, profiles_pipedream.csv, alpha_beta_fits.csv; links: tables "
               "of collectives, or folders with a comm_measured.csv",
       .required = true});
  command.texts("--only", words->only,
                {.help = "kernels: v100-cuda10 or p100-cuda8; links: curves whose source, system or "
                         "interconnect has this in it; repeatable; default: all",
                 .meta = "NAME"});
  command.text("--seed", words->seed, {.help = "kernels: of the folds; default 1", .meta = "N"});
  command.text("--to", words->to,
               {.help = "kernels: folder of the files that are written, default profiles/kernels; "
                        "links: the system whose `measured` is written, by name or path, default none",
                .meta = "WHERE"});
  command.flag("--dry-run", words->dry_run, {.help = "print only"});
  command.footer(
      R"(Kernels: the fit is bounded and robust (log error, soft L1) and gives the same numbers every time. Cross-validation
leaves each fifth of the shapes out once; shapes are told apart without batch and transposition.
Links: alpha and beta by ranges of size, for each operation and group; where ranges end is found from the times
(`paradl help calibrate` has the columns of the table). Every second size is left out once, and predicted.

Examples:
  paradl-calibrate fit kernels ../data --only p100-cuda8 --dry-run
  paradl-calibrate fit links ../data
  paradl-calibrate fit links ../data --only dgxc-benchmarking --only '2x p5' --to dgx-h100 --dry-run)");
  command.when_chosen(
      [&session, &action, words] { action = [&session, words] { return run(session, *words); }; });
}

}  // namespace paradl::calibrate
