#include <doctest/doctest.h>

#include "paradl/network/algorithm/nccl.hpp"
#include "tests/support/approx.hpp"

namespace paradl {
namespace {
using namespace literals;

/// DGX A100: 8 GPUs on NVLink with 230 GB/s for a ring, 8 cards of 25 GB/s.
Ways dgx_a100(int nodes) {
  return {.inner = {8, {2.0_us, 1.0 / 230.0_GBps}, 1, ""},
          .outer = {double(nodes), {5.0_us, 1.0 / 25.0_GBps}, 1, ""}};
}

NcclChoice choice(int nodes, double bytes, Operation operation = Operation::allreduce) {
  return nccl_choice({.operation = operation, .ranks = 8 * nodes, .bytes = Bytes{bytes}, .per_node = 8},
                     dgx_a100(nodes));
}

TEST_CASE("NCCL's time of a small allreduce on one node, by hand") {
  // Tree, LL: 6.8 us + 2 * 7 * 0.6 us = 15.2 us; ring, LL: 6.6 + 14 * 0.6 = 15.0 us, 8 B at 230/4 * 8/14 GB/s
  const NcclChoice small = choice(1, 8);
  CHECK(small.algorithm == "ring");
  CHECK(small.protocol == "LL");
  CHECK(small.time.base() == paradl::test::approx(15.0e-6).epsilon(1e-4));
}

TEST_CASE("NCCL's time of a large allreduce on one node, by hand") {
  // Ring, Simple: 8.4 us + 14 * 3.4 us + 1 GB / (230 * 8/14 GB/s)
  const NcclChoice large = choice(1, 1e9);
  CHECK(large.algorithm == "ring");
  CHECK(large.protocol == "Simple");
  CHECK(large.time.base() == paradl::test::approx(56e-6 + 1.0 / (230 * 8.0 / 14)).epsilon(1e-6));
}

TEST_CASE("NCCL uses trees for small buffers on many nodes, and rings for large ones on few") {
  CHECK(choice(64, 8).algorithm == "double-tree");
  CHECK(choice(64, 8).protocol == "LL");
  CHECK(choice(4, 4e9).algorithm == "ring");
  CHECK(choice(4, 4e9).protocol == "Simple");
  // a ring of 512 ranks has over a millisecond of latency, too much for 16 MB
  CHECK(choice(64, 16e6).algorithm == "double-tree");
  // only allreduce has a tree
  CHECK(choice(64, 8, Operation::allgather).algorithm == "ring");
}

TEST_CASE("LL128 needs NVLink") {
  const Ways pcie{.inner = {4, {2.0_us, 1.0 / 12.0_GBps}, 1, ""},
                  .outer = {2, {5.0_us, 1.0 / 12.5_GBps}, 4, ""}};
  for (double bytes = 8; bytes < 1e10; bytes *= 2) {
    CAPTURE(bytes);
    CHECK(nccl_choice({.ranks = 8, .bytes = Bytes{bytes}, .per_node = 4}, pcie).protocol != "LL128");
  }
  bool used = false;
  for (double bytes = 8; bytes < 1e10; bytes *= 2) used |= choice(2, bytes).protocol == "LL128";
  CHECK(used);
}

TEST_CASE("the curve of `auto` is the time of NCCL's choice") {
  for (const Operation operation : {Operation::allreduce, Operation::allgather})
    for (const int nodes : {1, 2, 16, 128})
      for (double bytes = 1; bytes < 1e10; bytes *= 3.7) {
        CAPTURE(nodes);
        CAPTURE(bytes);
        const Job job{.operation = operation, .ranks = 8 * nodes, .bytes = Bytes{bytes}, .per_node = 8};
        const Curve curve = find_algorithm("auto")->closed_form(job, dgx_a100(nodes));
        CHECK(curve(job.bytes) == nccl_choice(job, dgx_a100(nodes)).time);
      }
}

TEST_CASE("more nodes never make NCCL's choice faster") {
  for (const double bytes : {1e3, 1e6, 1e8})
    for (int nodes = 4; nodes < 256; nodes *= 2)
      CHECK(choice(nodes, bytes).time <= choice(2 * nodes, bytes).time);
}

TEST_CASE("one rank communicates nothing") {
  CHECK(nccl_choice({.ranks = 1, .bytes = 1.0_MB}, Ways{}).time == Seconds{});
}

}  // namespace
}  // namespace paradl
