#include "calibrate/commands/bench.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include <fmt/format.h>

#include "calibrate/backend/threads.hpp"
#include "calibrate/commands/interrupt.hpp"
#include "calibrate/plain/plain.hpp"
#include "paradl/console/deliver.hpp"
#include "paradl/core/error.hpp"
#ifdef PARADL_HAS_MPI
#include "calibrate/mpi/mpi.hpp"
#endif
#ifdef PARADL_HAS_ONEDNN
#include "calibrate/onednn/onednn.hpp"
#endif
#ifdef PARADL_HAS_CUDA
#include "calibrate/cuda/cuda.hpp"
#include "calibrate/cuda/nccl.hpp"
#endif

namespace paradl::calibrate {
namespace {

const char* launcher_word() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char* text = std::getenv(name)) return text;
  return nullptr;
}

bool started_ranks = false;  // MPI has to be told when one of them fails

std::unique_ptr<Communicator> open_ranks() {
#ifdef PARADL_HAS_MPI
  static int argc = 0;
  static char** argv = nullptr;
  auto ranks = make_mpi_communicator(argc, argv);
  started_ranks = ranks->size() > 1;
  return ranks;
#else
  if (launched_rank() > 0 || std::getenv("OMPI_COMM_WORLD_SIZE"))
    throw EnvironmentError("this build has no MPI, so ranks cannot find each other",
                           "install libopenmpi-dev and openmpi-bin, and build again");
  return make_single_rank();
#endif
}

[[noreturn, maybe_unused]] void refuse_missing(std::string_view backend, std::string_view packages) {
  throw EnvironmentError(fmt::format("the back end {} is not part of this build", backend),
                         fmt::format("install {}, and build again", packages));
}

std::unique_ptr<Device> open_cpu() {
#ifdef PARADL_HAS_ONEDNN
  return make_cpu_device();
#else
  refuse_missing("cpu", "libdnnl-dev and ocl-icd-opencl-dev");
#endif
}

/// One GPU for each rank of a node.
void open_cuda([[maybe_unused]] Bench& bench, [[maybe_unused]] Precision precision) {
#ifdef PARADL_HAS_CUDA
  const auto nodes = bench.ranks->nodes();
  const auto rank = std::size_t(bench.ranks->rank());
  const auto before = std::count(nodes.begin(), nodes.begin() + std::ptrdiff_t(rank), nodes[rank]);
  bench.device = make_cuda_device(int(before), precision);
  if (bench.ranks->size() > 1) bench.links = make_nccl_communicator(*bench.device, *bench.ranks);
#else
  refuse_missing("cuda", "the CUDA toolkit, cuDNN 9 and NCCL");
#endif
}

void open_device(Bench& bench, Precision precision) {
  if (bench.backend == "cuda")
    open_cuda(bench, precision);
  else if (bench.backend == "plain")
    bench.device = make_plain_device();
  else
    bench.device = open_cpu();
}

}  // namespace

DeviceFacts Bench::facts() const {
  if (device) return device->facts();
  return {.backend = backend, .name = fmt::format("{} (not here)", backend)};
}

std::string device_text(const DeviceFacts& facts) {
  return facts.libraries.empty() ? facts.name : fmt::format("{} ({})", facts.name, facts.libraries);
}

Bench open_bench(const std::string& backend, Precision precision, Absent absent) {
  if (backend != "" && backend != "cpu" && backend != "cuda" && backend != "plain")
    throw UsageError(fmt::format("no back end is called `{}`", backend), "use cpu, cuda or plain");
  if (backend != "cuda" && precision != Precision::fp32)
    throw UsageError("a CPU is measured in fp32", "leave --precision out, or use --backend cuda");
  Bench bench{.backend = backend.empty() ? "cpu" : backend, .ranks = open_ranks()};
  try {
    open_device(bench, precision);
  } catch (const EnvironmentError&) {
    if (absent == Absent::refused) throw;
    bench.device.reset();  // its links may be what failed
  }
  return bench;
}

int launched_rank() {
  const char* text = launcher_word();
  return text ? std::atoi(text) : 0;
}

bool launched() { return launcher_word() != nullptr; }

std::string parts_of_this_build() {
  std::string out;
#ifdef PARADL_HAS_MPI
  out += fmt::format("ranks: {}\n", mpi_version());
#else
  out += "ranks: one (built without MPI)\n";
#endif
#ifdef PARADL_HAS_ONEDNN
  out += fmt::format("cpu: {}\n", make_cpu_device()->facts().libraries);
#else
  out += "cpu: not part of this build (needs oneDNN)\n";
#endif
#ifdef PARADL_HAS_CUDA
  out += fmt::format("cuda: {}\n", cuda_versions());
#else
  out += "cuda: not part of this build (needs the CUDA toolkit, cuDNN 9 and NCCL)\n";
#endif
  return out;
}

void check_name(const std::string& name) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == '+';
  };
  if (name.empty() || name.front() == '.' || name.front() == '-' || !std::ranges::all_of(name, plain))
    throw UsageError(fmt::format("`{}` cannot be the name of a file", name),
                     "use letters, digits, - _ . and +; another folder goes with -o");
}

void check_format(const Options& options) {
  options.read("format", "text", [](const std::string& format) {
    if (format == "jsonl")
      throw UsageError("-f jsonl: there is one answer", "use text, markdown, csv, json or latex");
    return format == "text" || format == "json" ? format : render_table(format, {});
  });
}

int leave(int exit_code) {
#ifdef PARADL_HAS_MPI
  // All ranks agree on an interruption; an error may be of one alone.
  if (exit_code > 1 && exit_code != exit_interrupted && started_ranks) end_all_ranks(exit_code);
#endif
  return exit_code;
}

}  // namespace paradl::calibrate
