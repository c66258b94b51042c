#include "calibrate/commands/bench.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "calibrate/backend/threads.hpp"
#include "calibrate/commands/interrupt.hpp"
#include "calibrate/plain/plain.hpp"
#include "calibrate/rehearse/survey.hpp"
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

bool started_ranks = false;  // if so, an error of one rank must end the others

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
  switch (bench.backend) {
    case Backend::cpu:
      bench.device = open_cpu();
      break;
    case Backend::cuda:
      open_cuda(bench, precision);
      break;
    case Backend::plain:
      bench.device = make_plain_device();
      break;
  }
}

Backend read_backend(const std::string& word) {
  if (word.empty()) return Backend::cpu;
  if (const auto backend = find_name<Backend>(backend_names, word)) return *backend;
  throw UsageError(fmt::format("no back end is called `{}`", word), "use cpu, cuda or plain");
}

}  // namespace

DeviceFacts Bench::facts() const {
  if (device) return device->facts();
  return {.name = fmt::format("{} (no such device here)", backend_names[std::size_t(backend)])};
}

std::string device_text(const DeviceFacts& facts) {
  return facts.libraries.empty() ? facts.name : fmt::format("{} ({})", facts.name, facts.libraries);
}

std::string ranks_text(const std::vector<int>& nodes) {
  const auto count = std::size_t(1 + *std::ranges::max_element(nodes));
  return fmt::format("{} rank{} on {} node{}", nodes.size(), nodes.size() == 1 ? "" : "s", count,
                     count == 1 ? "" : "s");
}

Provenance provenance_of(const Bench& bench) {
  return {fmt::format("paradl-calibrate {}, {}, {}", PARADL_VERSION, bench.device->facts().libraries,
                      ranks_text(bench.ranks->nodes())),
          today()};
}

Rates rates_of(const Bench& bench) {
  if (!bench.device) return nominal_rates(bench.backend);
  const DeviceSpec spec = measure_device(*bench.device, 1);
  Rates rates{.flop = nominal_rates(Backend::cpu).flop,
              .bytes = spec.memory_bandwidth.base(),
              .source = "a quick run"};
  if (const auto peak = spec.peak[std::size_t(Precision::fp32)]) rates.flop = peak->base();
  return rates;
}

void BenchWords::define(const Arguments& command) {
  command.text("--backend", backend, {.help = "cpu, cuda or plain; default cpu", .meta = "NAME"});
  command.flag("--dry-run", dry_run, {.help = "print what would be done, and about how long it takes"});
}

Bench open_bench(const BenchWords& words, Precision precision) {
  const Backend backend = read_backend(words.backend);
  if (backend != Backend::cuda && precision != Precision::fp32)
    throw UsageError("a CPU is measured in fp32", "leave --precision out, or use --backend cuda");
  Bench bench{.backend = backend, .ranks = open_ranks()};
  try {
    open_device(bench, precision);
  } catch (const EnvironmentError&) {
    if (!words.dry_run) throw;
    bench.device.reset();  // it may be open, if only its links failed
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

int leave(int exit_code) {
#ifdef PARADL_HAS_MPI
  // All ranks stop together if interrupted, but an error may concern one rank only.
  if (exit_code > 1 && exit_code != exit_interrupted && started_ranks) end_all_ranks(exit_code);
#endif
  return exit_code;
}

}  // namespace paradl::calibrate
