// cuda_gpu_tests PRECISION | nccl: compares the CUDA back end with the plain one, or tests NCCL among this
// machine's GPUs, with one thread for each. Exit code 77 if there are too few GPUs.
#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>

#include <cuda_runtime_api.h>

#include "calibrate/backend/threads.hpp"
#include "calibrate/cuda/cuda.hpp"
#include "calibrate/cuda/nccl.hpp"
#include "paradl/core/error.hpp"
#include "tests/calibrate/cuda/compare.hpp"

namespace paradl::test {
namespace {

constexpr int skipped = 77;

int gpus() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

// Tolerances, relative to the largest number of a tensor, for sums of at most a few hundred products. The
// types have 24, 11 and 8 bits.
double tolerance(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return 2e-5;
    case Precision::bf16:
      return 3e-2;
    default:
      return 4e-3;
  }
}

int conformance(Precision precision) {
  const auto device = calibrate::make_cuda_device(0, precision);
  const calibrate::DeviceFacts facts = device->facts();
  std::printf("%s, %s\n", facts.name.c_str(), facts.libraries.c_str());
  const std::int64_t exact = precision == Precision::bf16   ? 1 << 8
                             : precision == Precision::fp16 ? 1 << 11
                                                            : 1 << 24;
  return Comparison(*device, tolerance(precision), exact).run() == 0 ? 0 : 1;
}

/// All numbers of rank r are r + 1, so that every result is known.
int collectives(calibrate::Device& device, calibrate::Communicator& all) {
  const int p = all.size(), r = all.rank();
  const float total = float(p * (p + 1) / 2);
  int wrong = 0;
  const auto expect = [&](const char* what, const calibrate::Buffer& buffer,
                          const std::vector<float>& wanted) {
    std::vector<float> got(wanted.size());
    device.read(got, buffer.get());
    if (got == wanted) return;
    ++wrong;
    std::printf("rank %d of %d: %s gives %g ...\n", r, p, what, double(got.front()));
  };
  constexpr std::size_t items = 1001;
  const auto buffer_of = [&](std::size_t n) {
    calibrate::Buffer buffer = device.allocate(n);
    device.fill(buffer.get(), n, float(r + 1));
    return buffer;
  };

  calibrate::Buffer data = buffer_of(items);
  all.allreduce(data.get(), items);
  expect("allreduce", data, std::vector<float>(items, total));

  for (const bool even : {true, false}) {
    std::vector<std::size_t> parts;
    for (int rank = 0; rank < p; ++rank) parts.push_back(even ? 5 : 3 * std::size_t(rank));
    const std::size_t sum = std::accumulate(parts.begin(), parts.end(), std::size_t{0});
    if (sum == 0) continue;
    data = buffer_of(sum);
    all.allgather(data.get(), parts);
    std::vector<float> wanted;
    for (int rank = 0; rank < p; ++rank)
      wanted.insert(wanted.end(), parts[std::size_t(rank)], float(rank + 1));
    expect("allgather", data, wanted);

    data = buffer_of(sum);
    all.reduce_scatter(data.get(), parts);
    const auto first = std::accumulate(parts.begin(), parts.begin() + r, std::size_t{0});
    const std::size_t own = parts[std::size_t(r)];
    std::vector<float> got(own);
    if (own > 0) device.read(got, data.get() + first);
    if (got != std::vector<float>(own, total)) {
      ++wrong;
      std::printf("rank %d of %d: reduce_scatter is wrong\n", r, p);
    }
  }

  calibrate::Buffer sent = buffer_of(items), received = device.allocate(items);
  const calibrate::Message send{(r + 1) % p, sent.get(), items},
      receive{(r + p - 1) % p, received.get(), items};
  all.exchange({&send, 1}, {&receive, 1});
  expect("exchange", received, std::vector<float>(items, float((r + p - 1) % p + 1)));

  const auto half = all.split(r % 2, -r);  // in reverse order
  if (half->size() != (p + (r % 2 == 0 ? 1 : 0)) / 2) ++wrong;
  data = buffer_of(items);
  half->allreduce(data.get(), items);
  float wanted = 0;
  for (int rank = r % 2; rank < p; rank += 2) wanted += float(rank + 1);
  expect("allreduce in a part", data, std::vector<float>(items, wanted));
  all.barrier();
  return wrong;
}

int nccl() {
  const int count = std::min(gpus(), 4);
  if (count < 2) {
    std::puts("skipped: NCCL needs two GPUs");
    return skipped;
  }
  std::atomic<int> wrong{0};
  for (const Precision precision : {Precision::fp32, Precision::bf16})
    calibrate::run_threads(count, [&](calibrate::Communicator& host) {
      const auto device = calibrate::make_cuda_device(host.rank(), precision);
      const auto all = calibrate::make_nccl_communicator(*device, host);
      wrong += collectives(*device, *all);
    });
  return wrong == 0 ? 0 : 1;
}

int run(const char* what) {
  if (gpus() == 0) {
    std::puts("skipped: no GPU");
    return skipped;
  }
  try {
    if (std::strcmp(what, "nccl") == 0) return nccl();
    const auto precision = find_name<Precision>(precision_names, what);
    if (!precision) return 2;
    return conformance(*precision);
  } catch (const EnvironmentError& error) {
    std::printf("error: %s\nhelp: %s\n", error.what(), error.help().c_str());
    return 4;
  }
}

}  // namespace
}  // namespace paradl::test

int main(int argc, char** argv) { return argc == 2 ? paradl::test::run(argv[1]) : 2; }
