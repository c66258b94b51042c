// paradl-calibrate fit: parameters of the kernel-time model from timings of kernels.
#include <filesystem>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/commands/commands.hpp"
#include "calibrate/kernels/aceso.hpp"
#include "calibrate/kernels/benchmarks.hpp"
#include "calibrate/kernels/pipedream.hpp"
#include "paradl/cli/ranges.hpp"
#include "paradl/spec/kernel_errors.hpp"

namespace paradl::calibrate {
namespace {

struct Words {
  std::string what, folder, only;
  std::string seed = "1", to = "kernels";
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

int run(const Session& session, const Words& words) {
  if (words.what != "kernels")
    throw UsageError(fmt::format("`{}` cannot be fitted", words.what),
                     "write: paradl-calibrate fit kernels FOLDER");
  if (std::error_code failed; !std::filesystem::is_directory(words.folder, failed))
    throw UsageError(fmt::format("no folder is called `{}`", words.folder),
                     "name the one that has deepbench_conv.csv and the other timings");
  const auto seed = unsigned(read_count("seed", words.seed, 0, 1'000'000));
  bool any = false;
  for (const BenchedDevice& benched : benched_devices()) {
    if (!words.only.empty() && words.only != benched.name) continue;
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
      const auto timings = read_deepbench(words.folder, set);
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
        print(transfer_text(words.folder, fit.device));
    }
    if (words.dry_run) continue;
    const std::string path = (std::filesystem::path(words.to) / (benched.name + ".yaml")).string();
    std::filesystem::create_directories(words.to);
    if (!(std::ofstream(path) << fmt::format("# kernels/{}.yaml: what kernels of {} reach on {}\n",
                                             benched.name, benched.libraries, system.device.name)
                              << kernels_text(spec) << kernel_errors_text(errors)))
      throw EnvironmentError(fmt::format("cannot write {}", path));
    print(fmt::format("Wrote {}\n", path));
  }
  if (!any)
    throw UsageError(fmt::format("no kernels are called `{}`", words.only), "use v100-cuda10 or p100-cuda8");
  return answered;
}

}  // namespace

void define_fit(const Arguments& root, Session& session, Action& action) {
  auto words = std::make_shared<Words>();
  const Arguments command =
      root.add_command("fit", "parameters of the kernel-time model, from timings of kernels");
  command.text("WHAT", words->what, {.help = "kernels", .required = true});
  command.text(
      "FOLDER", words->folder,
      {.help = "has deepbench_conv.csv, deepbench_gemm.csv, profiles_aceso_v100.csv, profiles_pipedream.csv, "
               "alpha_beta_fits.csv",
       .required = true});
  command.text("--only", words->only, {.help = "v100-cuda10 or p100-cuda8; default: both", .meta = "NAME"});
  command.text("--seed", words->seed, {.help = "of the folds; default 1", .meta = "N"});
  command.text("--to", words->to,
               {.help = "folder of the files that are written; default kernels", .meta = "DIR"});
  command.flag("--dry-run", words->dry_run, {.help = "print only"});
  command.footer(
      R"(The fit is bounded and robust (log error, soft L1) and gives the same numbers every time. Cross-validation leaves
each fifth of the shapes out once; shapes are told apart without batch and transposition.

Examples:
  paradl-calibrate fit kernels ../data
  paradl-calibrate fit kernels ../data --only p100-cuda8 --dry-run
  paradl-calibrate fit kernels ../data --seed 2 --dry-run)");
  command.when_chosen(
      [&session, &action, words] { action = [&session, words] { return run(session, *words); }; });
}

}  // namespace paradl::calibrate
