// paradl-calibrate fit: parameters from published measurements.
// Kernels -> profiles/kernels/, collectives -> systems/.
#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/commands/commands.hpp"
#include "calibrate/commands/fit_links.hpp"
#include "calibrate/files/replace_file.hpp"
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

/// The error on operators and networks that the parameters were not fitted to.
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
  device.policy.convolutions.workspace =
      Bytes{1e9};  // the workspace limit of the framework that PipeDream profiled
  for (const ProfiledNetwork& network : read_pipedream(folder))
    out += fmt::format("  PipeDream, {}: {:.3f} of the measured time\n", network.name,
                       modelled_network(device, network) / network.measured());
  return out;
}

/// What the file says about its own source.
std::string origin_text(const BenchedDevice& benched) {
  return fmt::format(
      "Fitted by `paradl-calibrate fit kernels` on DeepBench (Baidu Research) timings of single kernels, "
      "{}; log\n"
      "error, soft L1, with equal weight for each kind of kernel. `stream` and `volume` are not fitted "
      "there: "
      "0.91 is what\n"
      "ReLU and additions reach on V100 (Aceso's operator times), and 0.25 rests on one network, "
      "CosmoFlow, whose two\n"
      "published totals are all that is known of three-dimensional convolutions here.\n"
      "`cross-validated`: median errors of shapes that were left out (5 folds over shapes).",
      benched.libraries);
}

struct FittedKernels {
  KernelSpec spec;
  ErrorsByPrecision errors;
};

/// Fits the kernels of one device, and prints each fit when it is complete.
FittedKernels fit_device(const BenchedDevice& benched, const DeviceSpec& device, const std::string& folder,
                         unsigned seed) {
  FittedKernels out{.spec = {.source = {},
                             .name = benched.name,
                             .device = device.name,
                             .libraries = benched.libraries,
                             .origin = origin_text(benched)},
                    .errors = {}};
  std::string about = fmt::format("{}: {}, {}; median / 90th percentile of the error, rank correlation\n",
                                  benched.name, device.name, benched.libraries);
  for (const auto& [precision, set] : benched.sets) {
    const auto timings = read_deepbench(folder, set);
    const FittedSet fit = fit_set(device, precision, timings, seed);
    print(std::exchange(about, "") + fit_text(fit, timings.size()));
    out.spec.fitted[std::size_t(precision)] = fit.device.fitted;
    const auto& cv = fit.cross_validated;
    out.errors[std::size_t(precision)] =
        paradl::KernelErrors{cv[0].median, cv[1].median, cv[2].median, cv[3].median};
    if (!fit.at_bounds.empty())
      out.spec.origin += fmt::format("\nAt a bound in {}: {}.", precision_names[std::size_t(precision)],
                                     fmt::join(fit.at_bounds, ", "));
    if (benched.has_operators && precision == Precision::fp32) print(transfer_text(folder, fit.device));
  }
  return out;
}

void write_kernels(const FittedKernels& kernels, const std::string& folder) {
  const KernelSpec& spec = kernels.spec;
  const std::string path = (std::filesystem::path(folder) / (spec.name + ".yaml")).string();
  replace_file(path, fmt::format("# profiles/kernels/{}.yaml: fitted efficiency of kernels of {} on {}\n",
                                 spec.name, spec.libraries, spec.device) +
                         kernels_text(spec) + kernel_errors_text(kernels.errors));
  print(fmt::format("Wrote {}\n", path));
}

int run_kernels(const Session& session, const Words& words) {
  if (words.from.size() != 1)
    throw UsageError("kernels are fitted to the tables of one folder",
                     "write: paradl-calibrate fit kernels FOLDER");
  const std::string& folder = words.from.front();
  if (std::error_code failed; !std::filesystem::is_directory(folder, failed))
    throw UsageError(fmt::format("no folder is called `{}`", folder),
                     "name the folder that has deepbench_conv.csv and the other timings");
  const auto seed = unsigned(read_count("seed", words.seed.empty() ? "1" : words.seed, 0, 1'000'000));
  auto devices = benched_devices();
  std::erase_if(devices, [&](const BenchedDevice& benched) {
    return !words.only.empty() && std::ranges::find(words.only, benched.name) == words.only.end();
  });
  if (devices.empty())
    throw UsageError(fmt::format("no kernels are called `{}`", fmt::join(words.only, ", ")),
                     "use v100-cuda10 or p100-cuda8");
  for (const BenchedDevice& benched : devices) {
    const SystemSpec system = read_system(session.catalog.find(SpecKind::systems, benched.system));
    const FittedKernels kernels = fit_device(benched, system.device, folder, seed);
    if (!words.dry_run) write_kernels(kernels, words.to.empty() ? "profiles/kernels" : words.to);
  }
  return answered;
}

int run(const Session& session, const Words& words) {
  if (words.what == "kernels") return run_kernels(session, words);
  if (words.what != "links")
    throw UsageError(fmt::format("`{}` cannot be fitted", words.what),
                     "write: paradl-calibrate fit kernels FOLDER, or paradl-calibrate fit links FOLDER");
  if (!words.seed.empty()) throw UsageError("--seed has no effect on `fit links`", "leave it out");
  return fit_published_links(session, {words.from, words.only, words.to, words.dry_run});
}

}  // namespace

void define_fit(const Arguments& root, Session& session, Action& action) {
  auto words = std::make_shared<Words>();
  const Arguments command =
      root.add_command("fit", "parameters from published timings of kernels or collectives");
  command.text("WHAT", words->what, {.help = "kernels or links", .required = true});
  command.texts(
      "FROM", words->from,
      {.help = "kernels: a folder with deepbench_conv.csv, deepbench_gemm.csv, "
               "profiles_aceso_v100.csv, profiles_pipedream.csv, alpha_beta_fits.csv; links: tables "
               "of collectives, or folders with a comm_measured.csv",
       .required = true});
  command.texts("--only", words->only,
                {.help = "kernels: v100-cuda10 or p100-cuda8; links: curves whose source, system or "
                         "interconnect contains this; repeatable; default: all",
                 .meta = "NAME"});
  command.text("--seed", words->seed,
               {.help = "kernels: seed of the cross-validation folds; default 1", .meta = "N"});
  command.text("--to", words->to,
               {.help = "kernels: folder to write to, default profiles/kernels; "
                        "links: system whose `measured` is written, by name or path, default none",
                .meta = "WHERE"});
  command.flag("--dry-run", words->dry_run, {.help = "print only"});
  command.footer(
      R"(Kernels: the fit is bounded and robust (log error, soft L1) and gives the same numbers every time.
Cross-validation leaves out each fifth of the shapes once; shapes that differ only in batch or transposition
count as one.
Links: alpha and beta by ranges of size, for each operation and group; the ranges are found from the times
(`paradl help calibrate` has the columns of the table). Every second size is left out once, and predicted.

Examples:
  paradl-calibrate fit kernels ../data --only p100-cuda8 --dry-run
  paradl-calibrate fit links ../data
  paradl-calibrate fit links ../data --only dgxc-benchmarking --only '2x p5' --to dgx-h100 --dry-run)");
  command.runs(action, [&session, words] { return run(session, *words); });
}

}  // namespace paradl::calibrate
